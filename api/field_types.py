"""Types of fields in requests, and the messages for texts that do not match."""

from typing import Annotated

from pydantic import BeforeValidator, StringConstraints

from agent.stages.expand import SIDE_ID, SIDE_ID_RULE

_INVISIBLE = r"\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
PATTERNS: dict[str, str] = {}
"""Error messages by pattern."""


def _pattern(pattern: str, message: str) -> str:
    PATTERNS[pattern] = message
    return pattern


ONE_LINE = _pattern(rf"^[^{_INVISIBLE}]*$", "It contains invisible characters.")
SOME_TEXT = _pattern(rf"[^\s{_INVISIBLE}]", "It contains no text.")  # a visible character somewhere
DATE = _pattern(
    r"^([0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?)?$", "A date is 2026, 2026-03 or 2026-03-12."
)
URL = _pattern(r"^(https?://[!-~]+)?$", "An address starts with http:// or https://.")
IDEMPOTENCY_KEY = _pattern(r"^[!-~]{1,200}$", "An Idempotency-Key has 1 to 200 ASCII characters without spaces.")
_NEW_COLLECTION = _pattern(
    r"^[A-Za-z0-9]([A-Za-z0-9._ -]{0,62}[A-Za-z0-9_-])?$",
    "A new collection's name has up to 64 letters, digits, spaces, and . _ - inside it.",
)
_DOMAIN = _pattern(r"^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$", "A domain looks like gov.uk or example.org.")
_RUN = _pattern(r"^[0-9a-f]{12}$", "A run's id has 12 characters of 0-9 and a-f.")
_JOB = _pattern(r"^j[0-9a-f]{12}$", "A job's id is j followed by 12 characters of 0-9 and a-f.")
_CURSOR = _pattern(r"^[0-9]{4}(-[0-9]{2}){2}T[0-9:]{8}\.[0-9]{3}Z-[0-9a-f]{12}$", "Use a list's value of 'next'.")
NEW_SIDE = _pattern(f"^({SIDE_ID.pattern})?$", SIDE_ID_RULE)


WholeNumber = Annotated[int, BeforeValidator(lambda v: int(v) if isinstance(v, float) and v.is_integer() else v)]
"""An integer. JSON clients may send 1.0."""
RunId = Annotated[str, StringConstraints(pattern=_RUN)]
Cursor = Annotated[str, StringConstraints(pattern=_CURSOR)]
"""Start time and id of a run."""
JobId = Annotated[str, StringConstraints(pattern=_JOB)]
CollectionName = Annotated[str, StringConstraints(pattern=_NEW_COLLECTION)]
AnyCollection = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=ONE_LINE)]
"""An existing collection. The page and the command line allow more names than CollectionName."""
Domain = Annotated[str, StringConstraints(pattern=_DOMAIN, max_length=253)]
