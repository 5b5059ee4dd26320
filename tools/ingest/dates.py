"""Dates as other people's tables write them."""

import re
from datetime import UTC, datetime

_ISO = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?![\d-])")
_SLASHES = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?!\d)")
_EPOCH = re.compile(r"(\d{9,10})(?:\d{3})?(?:\.\d+)?")
_NUMBERS = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?!\d)")
_FORMATS = (
    *("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%a %b %d %H:%M:%S %z %Y"),
    *("%a, %d %b %Y %H:%M:%S %z", "%a, %d %b %Y %H:%M:%S GMT"),
)


def iso_date(value: str) -> str:
    """The day as ISO (`2026-03-12`), or the year or month where no more is said; empty where it is not plain.

    Seconds and milliseconds since 1970 are dates too. 3/4/2026 is the third of April or the fourth of March, and so
    neither; dots stand between day and month wherever they are used.
    """
    if not any(c.isdecimal() for c in value):
        return ""
    if found := _SLASHES.match(value):
        return _day(found[0], "%Y/%m/%d")
    if found := _ISO.match(value):
        return found[0]
    if found := _EPOCH.fullmatch(value):
        return datetime.fromtimestamp(int(found[1]), UTC).date().isoformat()
    if found := _NUMBERS.match(value):
        first, sign, second, year = int(found[1]), found[2], int(found[3]), int(found[4])
        if sign == "." or first > 12 or second > 12 or first == second:
            day, month = (second, first) if second > 12 else (first, second)
            return _day(f"{year}/{month}/{day}", "%Y/%m/%d")
        return ""
    return next(filter(None, (_day(value, form) for form in _FORMATS)), "")


def _day(value: str, form: str) -> str:
    try:
        return datetime.strptime(value, form).date().isoformat()
    except ValueError:
        return ""
