"""What texts and numbers of calls look like, and what is told of those that do not."""

from typing import Annotated

from pydantic import BeforeValidator, StringConstraints

from tools.diversity.names import DIALS

_INVISIBLE = r"\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
ONE_LINE = rf"^[^{_INVISIBLE}]*$"
SOME_TEXT = rf"[^\s{_INVISIBLE}]"  # somewhere in it a character that can be seen
DATE = r"^([0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?)?$"
URL = r"^(https?://[!-~]+)?$"
_NEW_COLLECTION = r"^[A-Za-z0-9]([A-Za-z0-9._ -]{0,62}[A-Za-z0-9_-])?$"
_DOMAIN = r"^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$"
_RUN = r"^[0-9a-f]{12}$"
_JOB = r"^j[0-9a-f]{12}$"
_CURSOR = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z-[0-9a-f]{12}$"
IDEMPOTENCY_KEY = r"^[!-~]{1,200}$"
PATTERNS = {
    ONE_LINE: "This holds characters that cannot be seen.",
    SOME_TEXT: "This holds no text.",
    DATE: "A date is 2026, 2026-03 or 2026-03-12.",
    URL: "An address begins with http:// or https://.",
    _NEW_COLLECTION: "A new collection's name has up to 64 letters, digits, spaces, and . _ - between them.",
    _DOMAIN: "A domain looks like gov.uk or example.org.",
    _CURSOR: "This is no 'next' of a list of runs.",
    _RUN: "A run's id has 12 characters of 0-9 and a-f.",
    _JOB: "A job's id is a j and 12 characters of 0-9 and a-f.",
    IDEMPOTENCY_KEY: "An Idempotency-Key has up to 200 letters, digits and signs, and no spaces.",
}
"""What is told of a text that is not as its pattern."""


def _in_digits(value: object) -> object:
    """A number of an address or a header: '1_0', '5.0' and ' 5 ', which pydantic would read, are none."""
    if isinstance(value, str) and not (value.isascii() and value.removeprefix("-").isdigit()):
        raise ValueError("a whole number is written in digits")
    return value


InDigits = BeforeValidator(_in_digits)
WholeNumber = Annotated[int, BeforeValidator(lambda v: int(v) if isinstance(v, float) and v.is_integer() else v)]
"""In JSON 1.0 is a whole number too."""
RunId = Annotated[str, StringConstraints(pattern=_RUN)]
Cursor = Annotated[str, StringConstraints(pattern=_CURSOR)]
"""When a run was begun, and its id."""
JobId = Annotated[str, StringConstraints(pattern=_JOB)]
CollectionName = Annotated[str, StringConstraints(pattern=_NEW_COLLECTION)]
"""What a new collection may be called here."""
AnyCollection = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=ONE_LINE)]
"""A collection may have been made elsewhere, under any name."""
Domain = Annotated[str, StringConstraints(pattern=_DOMAIN, max_length=253)]


def selection_pattern() -> str:
    """What names a selection, as a pattern: those with a dial may be followed by a number from 0 to 1."""
    dialled = "|".join(name for name, dial in DIALS.items() if dial)
    plain = "|".join(name for name, dial in DIALS.items() if not dial)
    return rf"^(({plain})|({dialled})(:(0|1|0?\.[0-9]{{1,6}}|1\.0))?)$"


PATTERNS[selection_pattern()] = f"A selection is one of {', '.join(DIALS)}; of some with a number, such as mmr:0.5."
