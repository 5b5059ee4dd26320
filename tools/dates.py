"""Converts dates in tables, bylines and search results to ISO dates."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

_ISO = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?![\d/-])")
_EPOCH = re.compile(r"(\d{9,10})(?:\d{3})?(?:\.\d+)?")
_NUMBERS = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|(?<=[./])\d\d(?![./]))(?!\d)")
_FORMATS = (
    *("%Y/%m/%d", "%B %d %Y", "%b %d %Y", "%d %B %Y", "%d %b %Y", "%B %Y", "%b %Y"),
    *("%a %b %d %H:%M:%S %z %Y", "%a %d %b %Y", "%a %d %B %Y"),
)
_TIME = re.compile(r"(?:,| at)? \d{1,2}:\d\d(?::[\d.]{2,12})?(?: ?[ap]m)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?$", re.I)
_SEASON = re.compile(r"(?:early |mid-?|late )?(?:spring|summer|autumn|fall|winter) (?:of )?(\d{4})", re.IGNORECASE)
_WRITTEN = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b|(?<=[a-z])\.|(?<=\bsep)t\b|^[a-z]+day,? |,", re.IGNORECASE)
_TELLS_YEAR = re.compile(r"\b(?:(?:19|20)\d\d|ago|yesterday|today)\b", re.IGNORECASE)
_AMBIGUOUS = re.compile(r"[\d./-]*\d[./]\d+[./]\d{4}")  # 03/04/2021: March or April
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
WRITTEN_DATE = (
    rf"(?:[a-z]{{3,6}}day,? )?(\d\d?(?:[a-z]{{2}})? {_MONTH},? \d{{4}}"
    rf"|{_MONTH} (?:\d\d?(?:[a-z]{{2}})?,? )?\d{{4}}|(?:spring|summer|autumn|fall|winter) \d{{4}}"
    r"|\d{4}-\d\d-\d\d|(?<![\d.])\d\d?[./]\d\d?[./](?:\d{4}|\d\d(?![\d./])))"
    r"(?:,? (?:at )?\d\d?(?:[:.]\d\d(?: ?[ap]m)?| ?[ap]m))?"
)
"""A regular expression for a date, to be matched without regard to case. Its only group leaves out weekday and time."""
_LONGEST = 60
_SHORT_YEARS = 12  # years before the next one that two digits after dots may mean


def date_of_cell(value: str) -> str:
    """The date as ISO (`2026-03-12`, `2026-03`, `2026`); empty if the text is ambiguous or no date.

    Seconds and milliseconds since 1970 count as dates. 3/4/2026 is ambiguous; 3.4.2026 is 3 April.
    """
    value = re.sub(r"^(\d{4})/(\d\d)/(\d\d)(?= )", r"\1-\2-\3", value)  # date and time of Google's forms
    with suppress(ValueError):  # an impossible day
        if found := _ISO.match(value):
            date.fromisoformat(f"{found[0]}-01-01"[:10])
            return found[0]
        if found := _EPOCH.fullmatch(value):
            return datetime.fromtimestamp(int(found[1]), UTC).date().isoformat()
        if found := _NUMBERS.match(value):
            day, month, year = int(found[1]), int(found[3]), int(found[4])
            dotted = found[2] == "."
            if year < 100:  # of the last years; '3.4.12' may number a section
                year, latest = year + 2000, datetime.now(UTC).year + 1
                dotted &= latest - _SHORT_YEARS <= year
                year -= 100 if year > latest else 0
            if found[2] != "." and month > 12:
                day, month = month, day
            plain = dotted or day > 12 or (found[2] != "." and day == month)
            return date(year, month, day).isoformat() if plain else ""
    if season := _SEASON.fullmatch(value):
        return season[1]
    value = _WRITTEN.sub("", _TIME.sub("", value)) if any(map(str.isdecimal, value)) else ""
    for form in _FORMATS if value else ():
        with suppress(ValueError):
            return datetime.strptime(value, form).date().isoformat()[: 10 if "%d" in form else 7]
    return ""


def dates_in(text: str) -> list[str]:
    """The dates and years that are written in a text, as ISO."""
    written = re.findall(rf"(?i)(?<!\w){WRITTEN_DATE}(?!\w)", text)
    return [date_of_cell(told) for told in (*written, *re.findall(r"\b(?:19|20)\d\d\b", text))]


def date_of_result(value: object, now: datetime | None = None) -> str:
    """A search engine's date (`Mar 12, 2026`, `3 days ago`, an ISO timestamp) as ISO, as precise as the engine's date.

    Empty for other texts, dates in the future, dates without a year, and numbers whose month is uncertain.
    """
    text = value.strip() if isinstance(value, str) else ""
    if len(text) > _LONGEST or _AMBIGUOUS.fullmatch(text) or not _TELLS_YEAR.search(text):
        return ""
    now = now or datetime.now()
    found = _parser(now.strftime("%Y-%m-%dT%H:%M")).get_date_data(text)
    if found.date_obj is None or found.date_obj.date() > now.date() or found.date_obj.year < 1900:
        return ""
    return str(found.date_obj.strftime({"year": "%Y", "month": "%Y-%m"}.get(found.period, "%Y-%m-%d")))


@lru_cache(maxsize=2)
def _parser(now: str) -> Any:
    from dateparser.date import DateDataParser

    return DateDataParser(languages=["en"], settings={"RELATIVE_BASE": datetime.fromisoformat(now)})
