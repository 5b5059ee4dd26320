"""Author, publisher and date in the first lines of a document ('By A. Name', '*Gazette, 14 March 2025*'), in the names
below its closing ('Yours faithfully,') or in its properties.

In doubt nothing is read: no author is better than a wrong one.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from tools.dates import WRITTEN_DATE, date_of_cell
from tools.language.lexicon import lookup
from tools.language.names import is_body, is_entitled, pattern
from tools.passages import Block

_HEAD, _TOP, _MINUTES, _MOST = 3, 8, 12, 500  # blocks
_LONGEST = 160  # characters
_NO_HEAD = ("table", "note")
_SIGNED, _SIGNERS = 12, 3  # blocks below a closing; signers that are named
_DATED = re.compile(
    r"(?i)(?:^\W*|(?<=[|·•,;.(])\s*|\s[–—-]+\s|\b(?:published|posted|written|dated?|issued|release|held|minutes|meeting|hearing):?\s)"
    rf"(?:(?:on|of|in) )?{WRITTEN_DATE}(?=\W*$|\s?[|·•,;.)]|\s[–—-]|\s(?:by|in)\s)"
)
_OTHER_DATE = re.compile(
    r"(?i)\b(?:next|previous|last meeting|deadline|until|due|clos\w+|expir\w+|born|died|effective|since|before|after|"
    r"between|copyright|accessed|retrieved|updated|changed)\b|©|\d(?: [a-z]+)? ?[–—] ?\d\d? [a-z]"
)
_LATER = re.compile(r"(?i)\b(?:next|previous|last) (?:meeting|hearing|session)|deadline")
_SENTENCE = re.compile(r"\w{2}[.!?][\"'”’)*_]*(?!\S)")
_PART = re.compile(r"\s[–—-]+\s|,\s+|(?<=[^\W\d_]{2})\.\s+")
_BY = re.compile(
    r"(?i)(?:^|[|·•,;.])\W*(?:(?:(?:words|text|story|report|column|opinion|interview|essay|speech|article|letter|remarks|round-?up|feature|review|analysis|address|lecture|sermon|talk|keynote|"
    r"written|posted|submitted|prepared) ){0,2}by:?|letter (?:to the \w+ )?from|(?:author|text|words|from)s?:) +"
    r"([^|·•;(]+)"
)
_TITLED = re.compile(r"[^\W\d_]\. |(?:Dr|Prof|Professor|Mrs?|Ms|Cllr|Councillor|Rev|Dame)\b")
_PARTICLES = frozenset("de van von der den da di la le al bin ap ter dos du y".split())
_NO_AUTHOR = re.compile(
    r"(?i)\d|[:/@]|\b(?:(?:your|author|company) name|user|customer|admin\w*|owner|unknown|anonymous|python|microsoft|"
    r"acrobat|adobe|(?:libre|open)office|root|guest|default|windows|template|staff|reporter|correspondent|editor|our)\b"
)


def stated(properties: Mapping[str, str], blocks: Sequence[Block]) -> dict[str, str]:
    """The date and the author in the properties of a file: 'date', 'author', and 'made' for the day of the file.

    No author is a program, an account or a single word. The day on which a file was made counts as the document's
    unless the first blocks name another year.
    """
    parts = re.split(r"\s*[;\n]\s*", properties.get("author", "")[:_LONGEST].strip())
    author = ", ".join(part for part in parts if " " in part and not _NO_AUTHOR.search(part))
    date, made = (date_of_cell(properties.get(name, "")) for name in ("date", "made"))
    years = re.findall(r"\b(?:19|20)\d\d\b", " ".join(block.text[:_LONGEST] for block in blocks[:_HEAD]))
    return {"date": date or (made if {made[:4]}.issuperset(years) else ""), "author": author}


def byline(blocks: Sequence[Block]) -> dict[str, str]:
    """The date, the author and the publisher that the first lines tell; what is missing is empty.

    Of two dates that differ neither counts. Where lines further down name other authors, nobody wrote the whole.
    """
    (date, first), (_, authors) = _read(blocks[:_TOP]), _read(blocks[:_MOST])
    author = first[0] if first and len(set(authors)) == 1 else ""
    return {"date": date, "author": author, "publisher": _publisher(blocks[:_TOP])}


def signature(blocks: Sequence[Block]) -> dict[str, str]:
    """The author or the publisher by the names below the one closing of a letter or a statement."""
    closings = [i for i, block in enumerate(blocks) if pattern("CLOSING").fullmatch(block.text)]
    signed = [b.text for b in blocks[closings[0] + 1 :]] if len(closings) == 1 else []
    signed = [text for text in signed if not is_running(text)] if len(signed) <= _SIGNED else []
    if not signed and blocks:
        last = pattern("SIGNED_BY").fullmatch(blocks[-1].text)
        signed = [last["who"]] if last else []
    names = [re.split(r"[,(|]| [–—-] ", text.strip(" *_–—-"))[0].strip() for text in signed]
    named = [name for text in signed for name in pattern("SIGNER").findall(text)]
    people = [name for name in named if is_entitled(name) and not is_body(name)]
    if len(people) > _SIGNERS + 1:
        people = [*people[:_SIGNERS], f"{len(people) - _SIGNERS} others"]
    bodies = [name for name in names if is_body(name)]
    return {"author": ", ".join(people), "publisher": "" if people else next(iter(bodies), "")}


def is_minuted(blocks: Sequence[Block]) -> bool:
    """Whether the first lines tell that a document reports a meeting."""
    return any(pattern("MINUTES").search(block.text) for block in blocks[:_MINUTES] if len(block.text) < 300)


def kind_told(blocks: Sequence[Block]) -> str:
    """What a document calls itself in its first lines: 'minutes', or a line such as 'PRESS RELEASE'; else empty."""
    head = [block.text for block in blocks[:_MINUTES] if len(block.text) < 300]
    if is_minuted(blocks) and re.search(r"(?i)\b(?:minutes|notes by)\b", " ".join(head)):
        return "minutes"
    return next((found["kind"].lower() for text in head[:_HEAD] if (found := pattern("KIND").fullmatch(text))), "")


def is_byline(line: str) -> bool:
    """Whether a line of a head tells an author, a date or a publisher."""
    return any(byline([Block(line.replace("*", ""))]).values())


def _publisher(blocks: Sequence[Block]) -> str:
    """The body whose name is a line of the head, alone or beside a date, or whom a line calls the publisher."""
    for block in blocks:
        if block.form != "heading" and (block.form in _NO_HEAD or is_running(block.text)):
            return ""
        for line in _lines(block.text):
            if (named := pattern("PUBLISHED").search(line)) and is_body(named["who"].strip()):
                return named["who"].strip()
            parts = [part.strip(" *_.") for part in re.split(r"[|·•]|,\s|\s[–—-]+\s", _DATED.sub(" | ", line))]
            parts = [part for part in parts if part]
            if block.form != "heading" and len(parts) == 1 and is_body(parts[0]):
                return parts[0]
    return ""


def is_running(text: str) -> bool:
    """Whether a text has a sentence that goes on or ends it."""
    ends = [end.end() for end in _SENTENCE.finditer(text)]
    return len(ends) > 1 or ends == [len(text)]


def _read(blocks: Sequence[Block]) -> tuple[str, list[str]]:
    """The date and the authors that these blocks tell."""
    dates, authors = set[str](), list[str]()
    under = [before if before.form == "heading" else each for before, each in pairwise([*blocks[:1], *blocks])]
    told = [
        (line, b, u.text)
        for b, u in zip(blocks, under, strict=True)
        if b.form not in _NO_HEAD
        for line in _lines(b.text)
    ]
    for line, block, heading in told:
        rest = _DATED.sub(" | ", line)
        running = is_running(line) and re.search(r"\w", rest)  # sentences, not dates alone
        if not running and not _OTHER_DATE.search(line) and not _LATER.search(heading):
            dates.update(map(date_of_cell, _DATED.findall(line)))
        authors += filter(None, [_author(rest, block.form == "heading")])
    finest = max(dates, key=len, default="")
    return finest if all(date and finest.startswith(date) for date in dates) else "", authors


def _lines(text: str) -> list[str]:
    """The lines of a head, which has no sentence; else the text as one, if it is short."""
    lines = [text] if _SENTENCE.search(text) else text.split("\n")
    return lines if max(map(len, lines)) <= _LONGEST else []


def _author(line: str, heading: bool) -> str:
    """The author of a line such as 'By A. Name, reporter', or several."""
    by = _BY.search(re.sub(r"\b(Dr|Mrs?|Ms|Prof|Cllr|Rev)\. ", r"\1 ", line))
    told = by[1] if by else ""
    several, first = re.split(r",? (?:and|&) |, ", told.strip()), _PART.split(told)[0]
    found = [_name(name, heading) for name in several] if re.search(r" (?:and|&) ", told) else [""]
    if all(found):
        return ", ".join(found)
    return "" if re.search(r" (?:and|&) ", first) else _name(first, heading)  # 'A. Name, Transport and Food Workers'


def _name(text: str, strict: bool) -> str:
    """The text as a person's name, without a role behind it; empty if it is none.

    strict: it must not be made of common words either, as a heading is.
    """
    name = re.split(r" (?:for|in|at|from|on) ", text.strip(" *_.|"))[0]
    words = name.split()
    if not 1 < len(words) < 7 or _NO_AUTHOR.search(name) or not words[-1][0].isupper():
        return ""
    strict |= len(words) > 3  # a place may have been joined to it
    own = [word for word in words if word not in _PARTICLES]
    common = not _TITLED.match(name) and any(lookup(word.lower()) for word in own)
    return name if all(word[0].isupper() for word in own) and not (strict and common) else ""
