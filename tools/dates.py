"""Dates as people and search engines write them, as ISO."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

_ISO = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?![\d/-])")
_EPOCH = re.compile(r"(\d{9,10})(?:\d{3})?(?:\.\d+)?")
_NUMBERS = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?!\d)")
_TELLS_YEAR = re.compile(r"\b(?:(?:19|20)\d\d|ago|yesterday|today)\b", re.IGNORECASE)
_CLOCK = re.compile(r"\s\d\d?:\d\d(?::\d\d)?(?:\s(?:[+-]\d{4}|GMT|UTC))?\b")
_LONGEST = 60


def iso_date(value: object, now: datetime | None = None) -> str:
    """The day as ISO (`2026-03-12`), or the year or month where no more is known; empty where it is not plain.

    `Mar 12, 2026`, `3 days ago` and seconds or milliseconds since 1970 are dates too. 3/4/2026 is the third of April or
    the fourth of March, and so neither; dots stand between day and month wherever they are used. A date without a year
    and one in the future are not known.
    """
    text = _CLOCK.sub("", value.strip()) if isinstance(value, str) else ""
    if found := _ISO.match(text):
        return found[0]
    if found := _EPOCH.fullmatch(text):
        return datetime.fromtimestamp(int(found[1]), UTC).date().isoformat()
    if found := _NUMBERS.match(text):
        day, month = int(found[1]), int(found[3])
        if found[2] != "." and day != month and max(day, month) <= 12:
            return ""
        day, month = (month, day) if month > 12 else (day, month)
        text = f"{found[4]}-{month:02}-{day:02}"
    if len(text) > _LONGEST or not _TELLS_YEAR.search(text):
        return ""
    now = now or datetime.now()
    read = _parser(now.strftime("%Y-%m-%dT%H:%M")).get_date_data(text)
    date = read.date_obj
    if date is None or date.date() > now.date() or date.year < 1900:
        return ""
    return str(date.strftime({"year": "%Y", "month": "%Y-%m"}.get(read.period, "%Y-%m-%d")))


@lru_cache(maxsize=2)
def _parser(now: str) -> Any:
    from dateparser.date import DateDataParser

    return DateDataParser(languages=["en"], settings={"RELATIVE_BASE": datetime.fromisoformat(now)})
