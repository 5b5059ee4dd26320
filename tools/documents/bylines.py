"""Author and date in the first lines of a document: 'By A. Name', '*Gazette, 14 March 2025*'; or in its properties.

In doubt nothing is read: no author is better than a wrong one.
"""

import re
from collections.abc import Mapping, Sequence

from tools.dates import date_of_cell
from tools.language.lexicon import lookup
from tools.passages import Block

_HEAD, _TOP, _MOST = 3, 8, 500  # blocks
_LONGEST = 160  # characters
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|fall|winter)[a-z]{0,6}\.?"
_DATE = (
    rf"(?:[a-z]{{3,6}}day,? )?(\d\d?(?:[a-z]{{2}})? {_MONTH},? \d{{4}}|{_MONTH} (?:\d\d?(?:[a-z]{{2}})?,? )?\d{{4}}"
    r"|\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d{4})(?:,? (?:at )?\d\d?[:.]\d\d(?: ?[ap]m)?)?"
)
_DATED = re.compile(
    r"(?i)(?:^\W*|(?<=[|·•,;.(])\s*|\s[–—-]+\s|\b(?:published|posted|written|dated?|issued|held|minutes|meeting|hearing):?\s)"
    rf"(?:(?:on|of|in) )?{_DATE}(?=\W*$|\s?[|·•,;.)]|\s[–—-]|\s(?:by|in)\s)"
)
_OTHER_DATE = re.compile(
    r"(?i)\b(?:next|previous|last meeting|deadline|until|due|clos\w+|expir\w+|born|died|effective|since|before|after|"
    r"between|copyright|accessed|retrieved|updated|changed)\b|©|\d(?: [a-z]+)? ?[–—] ?\d\d? [a-z]"
)
_SENTENCE = re.compile(r"\w{2}[.!?][\"'”’)*_]*(?!\S)")
_PART = re.compile(r"\s[–—-]+\s|,\s+|(?<=[^\W\d_]{2})\.\s+")
_BY = re.compile(
    r"(?i)(?:^|[|·•,;.])\W*(?:(?:(?:words|text|story|report|column|opinion|interview|essay|speech|article|letter|"
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
    """The date and the author that the first lines tell; what is missing is empty.

    Of two dates that differ neither counts. Where lines further down name other authors, nobody wrote the whole.
    """
    (date, first), (_, authors) = _read(blocks[:_TOP]), _read(blocks[:_MOST])
    return {"date": date, "author": first[0] if first and len(set(authors)) == 1 else ""}


def _read(blocks: Sequence[Block]) -> tuple[str, list[str]]:
    """The date and the authors that these blocks tell."""
    dates, authors = set[str](), list[str]()
    told = [(line, each) for each in blocks if each.form not in ("table", "note") for line in _lines(each.text)]
    for line, block in told:
        rest = _DATED.sub(" | ", line)
        ends = [end.end() for end in _SENTENCE.finditer(line)]
        running = (len(ends) > 1 or ends == [len(line)]) and re.search(r"\w", rest)  # sentences, not dates alone
        if not running and not _OTHER_DATE.search(line):
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
