"""The facts of a claim that can be looked up word for word: numbers, dates, names and quotations."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tools.language.grounding.names import missing_names
from tools.language.grounding.numerals import Key, numbers, plain, said, values

_MONTHS = {
    name: number
    for number, names in enumerate(
        "January Jan|February Feb|March Mar|April Apr|May|June Jun|July Jul|August Aug|September Sept Sep|October Oct|"
        "November Nov|December Dec".split("|"),
        start=1,
    )
    for name in names.split()
}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12]\d{3})\b"
_DATES = [
    re.compile(pattern)
    for pattern in (
        rf"\b{_YEAR}-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-3]\d))?\b",
        rf"\b(?P<day>[0-3]?\d)[./](?P<month>[0-3]?\d)[./]{_YEAR}",
        rf"\b{_DAY}(?: of|-)? ?{_MONTH}(?:,? (?:of )?{_YEAR})?",
        rf"\b{_MONTH} (?:the )?{_DAY}\b(?:,? (?:of )?{_YEAR})?",
        rf"\b{_MONTH},? (?:of )?{_YEAR}",
        # By itself a month is one inside a sentence only: 'March against …', 'May we …' open one.
        rf"(?<=[a-z,;] )(?P<month>{'|'.join(m for m in _MONTHS if len(m) > 4 or m in ('May', 'June', 'July'))})\b",
    )
]
_QUOTED = re.compile(r'"([^"]+)"|(?<!\w)\'((?:[^\'"]|(?<=\w)\'(?=\w))+)\'(?!\w)')
_LEFT_OUT = re.compile(r"\[[^\]]*\]|\(?\.\.\.\)?")
_SHORTEST_QUOTATION = 3  # words; a shorter one is a title, or a word held at arm's length
_CURRENCY = {
    "dollar": re.compile(r"\$|\bdollars?\b|\bUSD\b"),
    "pound": re.compile(r"£|\bpounds?\b|\bGBP\b"),
    "euro": re.compile(r"€|\beuros?\b|\bEUR\b"),
    "yen": re.compile(r"¥|\byen\b|\bJPY\b"),
}


def missing_facts(claim: str, passages: Sequence[str]) -> list[str]:
    """Every number, date, name and quotation of the claim that is in none of the passages, as the claim has it.

    A fact may be written otherwise ('two thirds' and '2/3', '3 May' and '2019-05-03'), it is not worked out ('a
    majority' is not looked for under '60 %'). Give a passage as 'title. text', since a title says things too.
    """
    said_here, texts = plain(claim), [plain(p) for p in passages]
    missing = [q for q in _quotations(said_here) if not any(_quotes(t, q) for t in texts)]
    known, dated = values(texts), [d for t in texts for d in _dates(t)]
    known |= {("count", Fraction(key)) for date in dated for key in (date.year, date.day) if key}
    for date in _dates(said_here):
        if not any(_agrees(date, other, known) for other in dated):
            missing.append(date.text)
        said_here = said_here.replace(date.text, " , ", 1)
    missing += [n.text for n in numbers(said_here) if not n.soft and not said(n, known)]
    for sign in _CURRENCY.values():
        if (found := sign.search(said_here)) and not any(sign.search(t) for t in texts):
            missing.append(found.group())
    return list(dict.fromkeys([*missing, *missing_names(said_here, texts)]))


@dataclass(frozen=True, slots=True)
class _Date:
    text: str
    year: int | None
    month: int
    day: int | None


def _dates(text: str) -> Iterator[_Date]:
    """The dates of a plain text; day and month of '03/04/2024' may be either way round."""
    for pattern in _DATES:
        for match in pattern.finditer(text):
            fields = match.groupdict()
            month, year, day = fields["month"], fields.get("year"), fields.get("day")
            read = _Date(
                match.group(), int(year) if year else None, _MONTHS.get(month) or int(month), int(day) if day else None
            )
            yield read
            if month.isdigit() and not match.group().startswith(year or " ") and read.day and read.day <= 12:
                yield _Date(read.text, read.year, read.day, read.month)
        text = pattern.sub(" ; ", text)


def _agrees(date: _Date, other: _Date, known: frozenset[Key]) -> bool:
    """Whether a passage's date says what the claim's does; a year may stand elsewhere in the passage."""
    if date.month != other.month or (date.day and date.day != other.day):
        return False
    return not date.year or date.year == other.year or (other.year is None and ("count", Fraction(date.year)) in known)


def _quotations(text: str) -> list[str]:
    found = (m.group(1) or m.group(2) for m in _QUOTED.finditer(text))
    return [q for q in found if len(q.split()) >= _SHORTEST_QUOTATION]


def _quotes(passage: str, quotation: str) -> bool:
    """Whether the passage has the quotation's words in order; what the quotation leaves out may be anything."""
    words, at = _flat(passage), 0
    for part in _LEFT_OUT.split(quotation):
        at = words.find(_flat(part).strip(".,;:!?- "), at)
        if at < 0:
            return False
    return True


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub("[\"']", "", text)).casefold()
