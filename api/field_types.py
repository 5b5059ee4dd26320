"""Forms of texts and numbers in requests, and the message for a text of another form."""

from typing import Annotated

from pydantic import BeforeValidator, StringConstraints

from agent.stages.review import SIDE_ID, SIDE_ID_TOLD

_INVISIBLE = r"\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
PATTERNS: dict[str, str] = {}
"""The message for each pattern."""


def _told(pattern: str, words: str) -> str:
    PATTERNS[pattern] = words
    return pattern


ONE_LINE = _told(rf"^[^{_INVISIBLE}]*$", "This holds characters that cannot be seen.")
SOME_TEXT = _told(rf"[^\s{_INVISIBLE}]", "This holds no text.")  # somewhere in it a character that can be seen
DATE = _told(r"^([0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?)?$", "A date is 2026, 2026-03 or 2026-03-12.")
URL = _told(r"^(https?://[!-~]+)?$", "An address begins with http:// or https://.")
IDEMPOTENCY_KEY = _told(r"^[!-~]{1,200}$", "An Idempotency-Key has up to 200 letters, digits and signs, and no spaces.")
_NEW_COLLECTION = _told(
    r"^[A-Za-z0-9]([A-Za-z0-9._ -]{0,62}[A-Za-z0-9_-])?$",
    "A new collection's name has up to 64 letters, digits, spaces, and . _ - between them.",
)
_DOMAIN = _told(r"^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$", "A domain looks like gov.uk or example.org.")
_RUN = _told(r"^[0-9a-f]{12}$", "A run's id has 12 characters of 0-9 and a-f.")
_JOB = _told(r"^j[0-9a-f]{12}$", "A job's id is a j and 12 characters of 0-9 and a-f.")
_CURSOR = _told(r"^[0-9]{4}(-[0-9]{2}){2}T[0-9:]{8}\.[0-9]{3}Z-[0-9a-f]{12}$", "This is no 'next' of a list of runs.")
NEW_SIDE = _told(f"^({SIDE_ID.pattern})?$", SIDE_ID_TOLD)


WholeNumber = Annotated[int, BeforeValidator(lambda v: int(v) if isinstance(v, float) and v.is_integer() else v)]
"""In JSON 1.0 is a whole number too."""
RunId = Annotated[str, StringConstraints(pattern=_RUN)]
Cursor = Annotated[str, StringConstraints(pattern=_CURSOR)]
"""When a run was begun, and its id."""
JobId = Annotated[str, StringConstraints(pattern=_JOB)]
CollectionName = Annotated[str, StringConstraints(pattern=_NEW_COLLECTION)]
AnyCollection = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=ONE_LINE)]
"""A collection may have been made elsewhere, under any name."""
Domain = Annotated[str, StringConstraints(pattern=_DOMAIN, max_length=253)]
