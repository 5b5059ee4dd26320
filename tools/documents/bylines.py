"""Author and date in the first or last lines of a document: 'By A. Name', '*Gazette, 14 March 2025*', '— A. Name'.

In doubt nothing is read: no author is better than a wrong one.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise, takewhile

from tools.dates import date_of_cell
from tools.language.lexicon import lookup
from tools.passages import Block

_HEAD, _TOP, _END, _MOST = 3, 8, 3, 500  # blocks
_LONGEST, _LONGEST_SIGNATURE = 160, 80  # characters
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|fall|winter)[a-z]{0,6}\.?"
_DATE = (
    rf"(?:[a-z]{{3,6}}day,? )?(\d\d?(?:[a-z]{{2}})? {_MONTH},? \d{{4}}|{_MONTH} (?:\d\d?(?:[a-z]{{2}})?,? )?\d{{4}}"
    r"|\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d{4})(?:,? (?:at )?\d\d?[:.]\d\d(?: ?[ap]m)?)?"
)
_LABEL = r"(?:published|posted|written|dated?|issued):?|held|(?:minutes|meeting|hearing|session)\b.{0,80} (?=o[nf] )"
_DATED = re.compile(
    rf"(?i)(?:^\W*|[|·•,;.(]\s*|\s[–—-]+\s|\b(?:(?P<label>{_LABEL})|updated:?|changed)\s)(?:(?:on|of|in) )?{_DATE}"
    r"(?=\W*$|\s?[|·•,;.)]|\s[–—-]|\s(?:by|in)\s)"
)
_OTHER_DATE = re.compile(
    r"(?i)\b(?:next|previous|last meeting|deadline|until|due|clos\w+|expir\w+|born|died|effective|since|before|after|"
    r"between|copyright|accessed|retrieved)\b|©|\d(?: [a-z]+)? ?[–—] ?\d\d? [a-z]"
)
_SENTENCE = re.compile(r"\w{2}[.!?][\"'”’)*_]*(?!\S)")
_PART = re.compile(r"\s*[|·•;(]\s*|\s[–—-]+\s|,\s+|(?<=[^\W\d_]{2})\.\s+")
_BY = re.compile(
    r"(?i)(?:^|[|·•,;.])\W*(?:(?:(?:words|text|report|story|column|opinion|interview|essay|speech|article|letter) )?"
    r"(?:(?:written|posted|submitted|prepared|delivered) )?by:?|letter (?:to the \w+ )?from"
    r"|(?:authors?|writer|text|words|interview|from):) +(.+)"
)
_SEVERAL = re.compile(r"((?:[^,|]+, )*[^,|]+?) (?:and|&) ([^,|]+)")
_SIGNED = re.compile(r"(?i)[—–]+ ?|-- ?|(?:yours|sincerely|(?:kind|best) regards|respectfully)\b[^,]{0,12}(?:, ?|$)")
_TITLED = re.compile(r"[^\W\d_]\. |(?:Dr|Prof|Professor|Mrs?|Ms|Cllr|Councillor|Rev|Dame)\b")
_PARTICLES = frozenset("de van von der den da di la le al bin ap ter dos du y".split())
_PAPERS = frozenset("gazette tribune times herald courier chronicle guardian argus mercury".split())
_NO_AUTHOR = re.compile(
    r"(?i)\d|[:/@]|\b(?:(?:your|author|company) name|user|customer|admin\w*|owner|unknown|anonymous|python|microsoft|"
    r"acrobat|adobe|(?:libre|open)office|root|guest|default|windows|template|staff|reporter|correspondent|editor|our)\b"
)


def stated(properties: Mapping[str, str], blocks: Sequence[Block]) -> dict[str, str]:
    """The date and the author in the properties of a file: 'date', 'author', and 'made' for the day of the file.

    No author is a program, an account or a single word. The day on which a file was made counts as the document's
    unless the first lines name another year.
    """
    parts = re.split(r"\s*[;\n]\s*", re.sub(r"\s*[<(]?\S+@\S+|\([^)]*\)", "", properties.get("author", "")[:_LONGEST]))
    author = ", ".join(part for part in parts if " " in part.strip() and not _NO_AUTHOR.search(part))
    head = " ".join(block.text for block in blocks[:_HEAD] if len(block.text) <= _LONGEST)
    date, made = (date_of_cell(properties.get(name, "")) for name in ("date", "made"))
    agreed = all(year == made[:4] for year in re.findall(r"\b(?:19|20)\d\d\b", head))
    return {"date": date or (made if agreed else ""), "author": author}


def byline(blocks: Sequence[Block]) -> dict[str, str]:
    """The date and the author that the first lines tell, or else the last ones; what is missing is empty.

    'Published 3 May 2024' counts more than a bare date, and of two bare ones that differ neither counts. Where
    several authors are named, or several lines signed, nobody wrote the whole.
    """
    (date, first), (_, authors) = _read(blocks[:_TOP]), _read(blocks[:_MOST])
    end = [*takewhile(lambda block: not _is_text(block.text), blocks[:0:-1][:_END])]
    signed = [(block, name) for above, block in pairwise(blocks) if (name := _signature(block, above.text))]
    if not authors and len(signed) == 1 and signed[0][0] in end:
        first = authors = [signed[0][1]]
    return {"date": date or _read(end)[0], "author": first[0] if first and len(set(authors)) == 1 else ""}


def _is_text(line: str) -> bool:
    ends = [end.end() for end in _SENTENCE.finditer(line[: _LONGEST + 1])]
    return len(line) > _LONGEST or len(ends) > 1 or ends == [len(line)]


def _read(blocks: Sequence[Block]) -> tuple[str, list[str]]:
    """The date and the authors that these blocks tell."""
    labelled, bare, authors, above = list[str](), list[str](), list[str](), ""
    for block in [each for each in blocks if each.form not in ("table", "note")]:
        line, heading = block.text[: 2 * _LONGEST], block.form == "heading"
        rest = re.sub(r"\b(Dr|Mrs?|Ms|Prof|Cllr|Rev)\. ", r"\1 ", _DATED.sub(" | ", line))
        dates = [] if _OTHER_DATE.search(line) else list(_DATED.finditer(line))
        alone = not re.search(r"\w", rest)  # dates and nothing else
        if _is_text(line) and not alone:  # running text, but for 'Held on 6 March 2025 in the hall. …'
            dates = [each for each in dates if each.start() == 0 and line.startswith("Held")]
        for each in dates:
            (labelled if each["label"] else bare).append(date_of_cell(each[2]))
        if len(line) <= _LONGEST:
            author = _author(rest, bool(dates), heading) or (_name(above, strict=True) if dates and alone else "")
            authors += [author] if author else []
        above = "" if heading else line
    found = labelled[:1] or bare
    finest = max(found, key=len, default="")
    return finest if all(date and finest.startswith(date) for date in found) else "", authors


def _author(line: str, dated: bool, heading: bool) -> str:
    """The author of a line such as 'By A. Name, reporter'; beside a date the name may stand alone: 'A. Name | …'."""
    if by := _BY.search(line):
        several = _SEVERAL.match(by[1])
        names = [_name(n, heading) for n in (*several[1].split(", "), several[2])] if several else [""]
        return ", ".join(names) if all(names) else _name(_PART.split(by[1])[0], heading)
    parts = _PART.split(line.strip(" *_|")) if dated else []
    if ", " in line:  # 'New York, 3 May 2024' looks like a name
        parts = [part for part in parts if _TITLED.match(part) or " for " in part]
    return next(filter(None, (_name(part, strict=", " not in line) for part in parts)), "")


def _name(text: str, strict: bool) -> str:
    """The text as a person's name, without a role behind it; empty if it is none.

    strict: its words must not be those of a place, a paper or a heading either.
    """
    name = re.split(r" (?:for|in|at|from|on) ", text.strip(" *_.|"))[0]
    words = name.split()
    if not 1 < len(words) < 7 or _NO_AUTHOR.search(name) or not words[-1][0].isupper():
        return ""
    strict |= len(words) > 3  # a place may have been joined to it
    common = not _TITLED.match(name) and any(lookup(w.lower()) or w.lower() in _PAPERS for w in words)
    return name if all(w[0].isupper() or w in _PARTICLES for w in words) and not (strict and common) else ""


def _signature(block: Block, above: str) -> str:
    """Who signed with this line. A dash may have been read as a bullet; below a quotation it names its speaker."""
    closed, mark, item = _SIGNED.fullmatch(above), _SIGNED.match(block.text), block.form == "item"
    signed = (mark or item or closed or _TITLED.match(block.text)) and block.form != "heading"
    if not signed or above.startswith(("“", '"', "‘", ">")) or len(block.text) > _LONGEST_SIGNATURE:
        return ""
    return _name(_PART.split(block.text[mark.end() if mark else 0 :])[0], strict=item and not closed)
