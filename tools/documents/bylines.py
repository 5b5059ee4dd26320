"""Finds author, publisher and date in a document's first lines ('By A. Name', '*Gazette, 14 March 2025*'), in its
signature ('Yours faithfully,') or in its properties. If the author is doubtful, returns none, because no author is
better than a wrong author."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise, takewhile

from tools.dates import WRITTEN_DATE, date_of_cell
from tools.language.lexicon import lexicon_tag
from tools.language.person_names import is_organisation, is_surely_person, pattern
from tools.passages import Block
from tools.translation import mark

_HEAD, _TOP, _MINUTES_HEAD, _SEARCHED = 3, 8, 12, 500  # blocks
_LONGEST = 160  # characters
_NO_HEAD = ("table", "note")
_BLOCKS_BELOW_CLOSING, _MOST_SIGNERS = 12, 3  # most blocks below a closing; most signers that are named
_DATED = re.compile(
    r"(?i)(?:^\W*|(?<=[|·•,;.(])\s*|\s[–—-]+\s|\b(?:published|posted|written|dated?|issued|release|"
    r"(?:held|minutes|meeting|hearing)(?: [^.\d]{0,60} o[nf])?):?\s)"
    rf"(?:(?:on|of|in) )?{WRITTEN_DATE}(?=\W*$|\s?[|·•,;.)]|\s[–—-]|\s(?:by|in|at|from|commencing|starting|time:)\s)"
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
_PLACE = re.compile(r"\W*(?:[A-Z][\w'’-]+ ){0,3}[A-Z][\w'’-]+,? ")
_LETTER = re.compile(r"(?i)\b(?:open )?letter\b")
_SALUTED = re.compile(r"(?i)dear \w")
_POSTED = re.compile(rf"(?i)\b(?:wrote|posted|commented|replied|said)\b[,:]?(?: on| at)? .{{0,12}}?{WRITTEN_DATE}")
_WRITTEN = re.compile(rf"(?i){WRITTEN_DATE}")
_LEAST_POSTS = 2
_UPDATED = re.compile(
    rf"(?i)(?:(?:last|first) )?(?:updated|published|posted|issued|revised|reviewed)(?: on)?:?(?: {WRITTEN_DATE})?"
)
_UPDATED_ON = re.compile(rf"(?i)(?<!be )\b(?:updated|reviewed|revised|amended)(?: on)?:? {WRITTEN_DATE}\W*$")
_LAST = re.compile(rf"(?i)\w\w\. {WRITTEN_DATE}\W*$")  # 'Report of the engineer, Una Roe. 2 March 2026'
_HELD = re.compile(rf"(?i)^\W*held on {WRITTEN_DATE}")  # may go on: 'at the town hall. Minutes taken by Ann Lee.'
_ALONE = re.compile(rf"(?i)\W*{WRITTEN_DATE}\W*")
_FAQ = re.compile(r"(?i)\bFAQs?\b|\bfrequently asked\b|\bquestions and answers\b|\bquestions,? answered\b|\bQ ?& ?A\b")
_TITLED = re.compile(r"[^\W\d_]\. |(?:Dr|Prof|Professor|Mrs?|Ms|Cllr|Councillor|Rev|Dame)\b")
_PARTICLES = frozenset("de van von der den da di la le al bin ap ter dos du y".split())
_NO_AUTHOR = re.compile(
    r"(?i)\d|[:/@]|\b(?:(?:your|author|company) name|user|customer|admin\w*|owner|unknown|anonymous|python|microsoft|"
    r"acrobat|adobe|(?:libre|open)office|root|guest|default|windows|template|staff|reporter|correspondent|editor|our)\b"
)


def properties_byline(properties: Mapping[str, str], blocks: Sequence[Block]) -> dict[str, str]:
    """Returns 'date' and 'author' from a file's properties. Refuses authors that are programs, accounts or single
    words. If the properties have no 'date', returns the day of the file's creation ('made'), unless the first blocks
    name a day or another year."""
    parts = re.split(r"\s*[;\n]\s*", properties.get("author", "")[:_LONGEST].strip())
    author = ", ".join(part for part in parts if " " in part and not _NO_AUTHOR.search(part))
    date, made = (date_of_cell(properties.get(name, "")) for name in ("date", "made"))
    head = " ".join(block.text[:_LONGEST] for block in blocks[:_HEAD])
    years = re.findall(r"\b(?:19|20)\d\d\b", head)
    dated = any(len(date_of_cell(day)) == 10 for day in _WRITTEN.findall(head))
    return {"date": date or ("" if dated or not {made[:4]}.issuperset(years) else made), "author": author}


def read_byline(blocks: Sequence[Block]) -> dict[str, str]:
    """Returns date, author and publisher from the first lines, '' if missing. Returns no date if two dates contradict
    each other. Returns no author if later bylines name other people, because nobody wrote the whole."""
    (date, first), (_, authors) = (_dates_and_authors(blocks[:_TOP]), _dates_and_authors(blocks[:_SEARCHED]))
    author = first[0] if first and len(set(authors)) == 1 else ""
    return {"date": date or _later_date(blocks), "author": author, "publisher": _publisher(blocks[:_TOP])}


def _later_date(blocks: Sequence[Block]) -> str:
    """Returns the only day of an update ('Updated 3 May 2024') in the head or foot. Without updates, returns the day
    below a letter's closing, or in its last block."""
    ends = [b.text for b in (*blocks[:_TOP], *blocks[-_HEAD:]) if len(b.text) <= _LONGEST]
    found = {date_of_cell(told[1]) for told in map(_UPDATED_ON.search, ends) if told}
    below = [b.text for b in below_closing(blocks) if is_dateline(b.text)] if not found else []
    last = blocks[-1].text if blocks and not found and _is_letter(blocks) else ""
    days = [_DATED.search(text) for text in below] or [_ALONE.fullmatch(last)]
    return found.pop() if len(found) == 1 else date_of_cell(days[-1][1]) if days[-1] else ""


def read_signature(blocks: Sequence[Block]) -> dict[str, str]:
    """Returns the author or publisher named below the closing of a letter or statement, if there is only one
    closing."""
    below = [block.text for block in below_closing(blocks)]
    signed = [text for text in below if not (has_sentence(text) or is_dateline(text))]
    if not signed and blocks:
        last = pattern("SIGNED_BY").fullmatch(blocks[-1].text)
        signed = [last["who"]] if last else _lines_below_letter(blocks)
    names = [re.split(r"[,(|]| [–—-] ", text.strip(" *_–—-"))[0].strip() for text in signed]
    named = [name for text in signed for name in pattern("SIGNER").findall(text)]
    people = [name for name in named if _is_signer(name)]
    if len(people) > _MOST_SIGNERS + 1:
        people = [*people[:_MOST_SIGNERS], f"{len(people) - _MOST_SIGNERS} others"]
    bodies = [name for name in names if is_organisation(name)]
    return {"author": ", ".join(people), "publisher": "" if people else next(iter(bodies), "")}


def _is_signer(name: str) -> bool:
    role = pattern("ROLE").fullmatch(name)  # 'Secretary'
    return not role and is_surely_person(name) and not is_organisation(name)


def below_closing(blocks: Sequence[Block]) -> Sequence[Block]:
    """Returns the blocks below the closing, if there is only one closing and few blocks follow."""
    closings = [i for i, block in enumerate(blocks) if pattern("CLOSING").fullmatch(block.text)]
    signed = blocks[closings[0] + 1 :] if len(closings) == 1 else []
    return signed if len(signed) <= _BLOCKS_BELOW_CLOSING else []


def _lines_below_letter(blocks: Sequence[Block]) -> list[str]:
    """Returns the last lines of a letter without a closing, if these lines begin with people's names."""
    last = list(takewhile(lambda b: b.form in ("paragraph", "item") and not has_sentence(b.text), reversed(blocks)))
    lines = [block.text for block in reversed(last[:_BLOCKS_BELOW_CLOSING])]
    told = [text for text in lines if (name := pattern("SIGNER").match(text)) and _is_signer(name[1])]
    return told if _is_letter(blocks) and len(last) < len(blocks) else []


def _is_letter(blocks: Sequence[Block]) -> bool:
    """Whether a document is a single letter: a line of its head says so, or the document begins with its only
    salutation."""
    head = [b.text for b in blocks[:_HEAD] if len(b.text) < _LONGEST]
    return any(map(_LETTER.search, head)) or sum(bool(_SALUTED.match(b.text)) for b in blocks) == 1


def is_dateline(line: str) -> bool:
    """Whether a line gives the place and day of a letter: 'Hill Farm, 3 May 2024'."""
    day = _DATED.search(line)
    place = line[: day.start()] if day and len(date_of_cell(day[1])) == 10 else ""
    return bool(
        _PLACE.fullmatch(f"{place.rstrip()} ")
        and not (day and pattern("TIME").search(day[0]))  # a time marks a post
        and not (pattern("MINUTES").search(place) or is_organisation(place.strip(" ,")))
    )


def posts_date(blocks: Sequence[Block]) -> str:
    """Returns the day, month or year that all posts of a thread share; else ''."""
    lines = [block.text for block in blocks if len(block.text) <= _LONGEST]
    found = [_POSTED.search(line) or (pattern("stamp").fullmatch(line) and _WRITTEN.search(line)) for line in lines]
    days = [day.split("-") for match in found if match and (day := date_of_cell(match[1]))]
    same = takewhile(lambda parts: len(set(parts)) == 1, zip(*days, strict=False))
    return "-".join(parts[0] for parts in same) if len(days) >= _LEAST_POSTS else ""


def is_minutes(blocks: Sequence[Block]) -> bool:
    """Whether the first lines say that the document reports a meeting."""
    return any(pattern("MINUTES").search(block.text) for block in blocks[:_MINUTES_HEAD] if len(block.text) < 300)


_STATED = (
    *(mark("press release"), mark("news release"), mark("opinion"), mark("editorial"), mark("leader")),
    *(mark("letter to the editor"), mark("letters to the editor"), mark("statement"), mark("fact sheet")),
    mark("frequently asked questions"),
)
"""The kinds of the pattern KIND, for their translation."""


def stated_kind(blocks: Sequence[Block]) -> str:
    """Returns the kind that the document states: 'minutes', or a first line such as 'PRESS RELEASE'; else ''."""
    head = [block.text for block in blocks[:_MINUTES_HEAD] if len(block.text) < 300]
    if is_minutes(blocks) and re.search(r"(?i)\b(?:minutes|notes by)\b", " ".join(head)):
        return mark("minutes")
    if told := next((m["kind"].lower() for m in map(pattern("KIND").fullmatch, head[:_HEAD]) if m), ""):
        return told
    if posts_date(blocks):
        return mark("forum thread")
    lines = [text for text in head[:_HEAD] if len(text) < _LONGEST and not has_sentence(text.rstrip("?"))]
    found = ((mark("FAQ"), _FAQ), (mark("interview"), pattern("INTERVIEWED")))
    if told := next((kind for kind, form in found if any(map(form.search, lines))), ""):
        return told
    if not _is_letter(blocks):
        return ""
    return mark("open letter") if any("open letter" in text.lower() for text in lines) else mark("letter")


def is_byline(line: str) -> bool:
    """Whether a line of the head names an author, a date or a publisher."""
    return any(read_byline([Block(line.replace("*", ""))]).values())


def _publisher(blocks: Sequence[Block]) -> str:
    """Returns the organisation that a head line names alone, beside a date, or as publisher."""
    for block in blocks:
        if block.form != "heading" and (block.form in _NO_HEAD or has_sentence(block.text)):
            return ""
        for line in _head_lines(block.text):
            if (named := pattern("PUBLISHED").search(line)) and is_organisation(named["who"].strip()):
                return named["who"].strip()
            parts = [part.strip(" *_.") for part in re.split(r"[|·•]|,\s|\s[–—-]+\s", _DATED.sub(" | ", line))]
            parts = [part for part in parts if part and not (_UPDATED.fullmatch(part) or _FAQ.match(part))]
            titled = block.form == "heading" and not (_FAQ.search(line) or is_minutes(blocks))
            if not titled and len(parts) == 1 and is_organisation(parts[0]):
                return parts[0]
    return ""


def has_sentence(text: str) -> bool:
    """Whether the text contains several sentence ends, or ends like a sentence."""
    ends = [end.end() for end in _SENTENCE.finditer(text)]
    return len(ends) > 1 or ends == [len(text)]


def _dates_and_authors(blocks: Sequence[Block]) -> tuple[str, list[str]]:
    dates, authors = set[str](), list[str]()
    under = [before if before.form == "heading" else each for before, each in pairwise([*blocks[:1], *blocks])]
    told = [
        (line, b, u.text)
        for b, u in zip(blocks, under, strict=True)
        if b.form not in _NO_HEAD
        for line in _head_lines(b.text)
    ]
    whole = (_LAST, _HELD) if is_minutes(blocks) else (_LAST,)
    for line, block, heading in told:
        rest = _DATED.sub(" | ", line)
        prose = has_sentence(line) and re.search(r"\w", rest)
        running = prose and not any(dated.search(line) for dated in whole)
        if not running and not _OTHER_DATE.search(line) and not _LATER.search(heading):
            dates.update(map(date_of_cell, _DATED.findall(line)))
        authors += filter(None, [_author_of_line(rest, block.form == "heading")])
    finest = max(dates, key=len, default="")
    return finest if all(date and finest.startswith(date) for date in dates) else "", authors


def _head_lines(text: str) -> list[str]:
    """Returns the lines of a head. A text with a sentence counts as one line. Returns nothing if a line is too long."""
    lines = [text] if _SENTENCE.search(text) else text.split("\n")
    return lines if max(map(len, lines)) <= _LONGEST else []


def _author_of_line(line: str, heading: bool) -> str:
    """Returns the author or authors in a line such as 'By A. Name, reporter'."""
    by = _BY.search(re.sub(r"\b(Dr|Mrs?|Ms|Prof|Cllr|Rev)\. ", r"\1 ", line))
    told = by[1] if by else ""
    several, first = re.split(r",? (?:and|&) |, ", told.strip()), _PART.split(told)[0]
    found = [_person_name(name, heading) for name in several] if re.search(r" (?:and|&) ", told) else [""]
    if all(found):
        return ", ".join(found)
    joined = re.search(r" (?:and|&) ", first)  # 'A. Name, Transport and Food Workers'
    return "" if joined else _person_name(first, heading)


def _person_name(text: str, strict: bool) -> str:
    """Returns the text as a person's name without a role, or ''. strict: refuse names with common words, because such
    names may be headings."""
    name = re.split(r" (?:for|in|at|from|on) ", text.strip(" *_.|"))[0]
    words = name.split()
    if not 1 < len(words) < 7 or _NO_AUTHOR.search(name) or not words[-1][0].isupper():
        return ""
    strict |= len(words) > 3  # the name may include a place
    own = [word for word in words if word not in _PARTICLES]
    common = not _TITLED.match(name) and any(lexicon_tag(word.lower()) for word in own)
    return name if all(word[0].isupper() for word in own) and not (strict and common) else ""
