"""What is made of refusals: each vendor's client raises errors of its own, with the status as a number, the server's
words, or what it came from behind them; they are read alike for all.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools.errors import ProviderError, ProviderReplyError
from tools.net.retries import had_response

if TYPE_CHECKING:
    import httpx

_LENGTH_CODES = frozenset(
    """context_length_exceeded exceed_context_size_error model_context_window_exceeded request_too_large
    tokens_limit_reached string_above_max_length""".split()
)
_SENT = ("", "messages", "message", "prompt", "input", "inputs", "input_tokens", "contents")
"""What a refusal names as its parameter where it is about the text that was sent, or about nothing in particular."""
_TOO_LONG = re.compile(
    r"""context[ _-]?(length|window|size|limit) | n_ctx | n_keep | context\ the\ overflows
    | (prompt|input|sequence|model)\ length | (is|are|was|were)\ too\ long
    | (prompt|inputs?|request|messages?|contents?|entity|body)\ (\(\d+\ tokens\)\ )?(is\ |are\ )?too\ (long|large)
    | longer\ than\ the\ model | too\ large\ for\ model | too\ many\ (input\ )?tokens
    | reduce\ (the|your)\ (length|prompt|input)
    | number\ of\ tokens | tokens?\ (count|limit)\b | max(imum)?\ tokens | inputs?`?\ tokens | size\ exceeds
    | (less\ than|at\ most|exceeds?|limit\ of)\ [\d,]+\ (tokens|characters) | at\ least\ 1,\ got\ - | 超长 | 长度超""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_LENGTH = re.compile(r"schema|response_format|quota|monthly|per (?:minute|day|month)", re.IGNORECASE)
_TELLING = ("error", "errors", "message", "detail", "details", "msg", "loc", "raw", "reason")
_NOTHING = ("None", "null", "")
_WORDS = 600  # characters of a refusal; what follows may be what was sent, said back


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a server says where it refuses a request. code, param: its own names for what is wrong and for the field
    that is, empty where it has none. words: all that it said, lists of complaints included."""

    status: int
    code: str = ""
    param: str = ""
    words: str = ""


def is_too_long(refusal: Refusal) -> bool:
    """Whether a refusal says that what was sent is longer than the model reads: by its status, its code or the field
    that it names, and by its words where none of them says so."""
    if refusal.status in (401, 403, 404):
        return False
    if refusal.status == 413 or refusal.code in _LENGTH_CODES:
        return True
    if refusal.status == 429:  # of tokens a minute there is another one; this is one request with too many of them
        return "request too large" in refusal.words.lower()
    return refusal.param in _SENT and is_about_length(refusal.words)


def is_about_length(said: str) -> bool:
    """Whether a refusal in these words is about the length of a text."""
    return bool(_TOO_LONG.search(said[:_WORDS])) and not _NO_LENGTH.search(said[:_WORDS])


def refusal_of(exc: BaseException) -> Refusal | None:
    """The refusal that an error is, or came from; None for what is no refusal. An error in the middle of a stream has
    the status that its code says, or 0."""
    status, bodies = status_of(exc), list(filter(None, map(_body, _causes(exc))))
    inners = [error if isinstance(error := body.get("error"), dict) else body for body in bodies]
    named = [str(inner[k]) for inner in inners for k in ("code", "type", "status") if inner.get(k)]
    if status is None:
        if not bodies:
            return None
        status = next((int(n) for n in named if n.isdigit() and 400 <= int(n) < 600), 0)
    # A number is the status again; some name the kind of error where others have a code.
    code = next((n for n in named if not n.isdigit() and n not in _NOTHING), "")
    params = (p for inner in inners if isinstance(p := inner.get("param"), str) and p not in _NOTHING)
    param = next(params, "") or next(filter(None, map(_place, bodies)), "")
    words = " ".join(dict.fromkeys(w for body in bodies for w in _told(body))) or str(exc)
    return Refusal(status, code, param, "" if words.lstrip().startswith("<") else words[:_WORDS])


def _body(exc: BaseException) -> dict[str, Any] | None:
    """What a refusal says as a JSON object, under the names that the vendors' clients have for it; some put it in a
    list, and some servers say a word."""
    for name in ("body", "details", "error"):
        body = getattr(exc, name, None)
        body = body[0] if isinstance(body, list) and len(body) == 1 else body
        if isinstance(body, dict):
            return body
        if isinstance(body, str) and body:
            return {"error": body}
    return None


def _told(body: Any) -> Iterator[str]:
    """What a refusal says, without what it says back of the request or of the reply."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, list | tuple):
        for part in body:
            yield from _told(part)
    elif isinstance(body, dict):
        for key in _TELLING:
            yield from _told(body.get(key))


def _place(body: dict[str, Any]) -> str:
    """The field that FastAPI's list of complaints is about: {'detail': [{'loc': ['body', …]}]}."""
    detail = body.get("detail")
    first = detail[0] if isinstance(detail, list) and detail and isinstance(detail[0], dict) else {}
    return ".".join(str(part) for part in first.get("loc", ()) if part != "body")


def status_of(exc: BaseException) -> int | None:
    """The HTTP status of the refusal that an error is, or came from; None for what is no refusal."""
    return next((status for one in _causes(exc) if (status := _status(one)) is not None), None)


def connection_failure(exc: BaseException) -> "httpx.HTTPError | httpx.InvalidURL | None":
    """The failure of the connection that an error is, or came from."""
    import httpx

    return next((one for one in _causes(exc) if isinstance(one, httpx.HTTPError | httpx.InvalidURL)), None)


def own_error(exc: BaseException) -> ProviderError | None:
    """What the project's own transport raised, where a client took that for a failure of the connection."""
    return next((one for one in _causes(exc) if isinstance(one, ProviderError)), None)


def reply_had_begun(exc: BaseException) -> bool:
    """Whether the server was at work on a reply, for which it may count tokens, when the error came."""
    if status_of(exc) is not None:
        return False
    failure = connection_failure(exc)
    return failure is None or had_response(failure)


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    while exc is not None:
        yield exc
        exc = exc.__cause__


def _status(exc: BaseException) -> int | None:
    for name in ("status_code", "code"):
        status = getattr(exc, name, None)
        if isinstance(status, int) and 300 <= status < 600:
            return status
    return None


def is_of_content(refusal: Refusal) -> bool:
    """Whether it was refused for what it speaks of."""
    return bool(re.search(r"moderation|content|guideline|flagged", refusal.words, re.IGNORECASE))


class RefusedError(ProviderReplyError):
    """There is no answer, and asking once more would change nothing."""


class BrokenOffError(ProviderReplyError):
    """The reply ended without a word on why."""


class DislikedError(ProviderError):
    """The server refused the request, perhaps for how it was put. `failure`: what is told where that cannot help."""

    def __init__(self, refusal: Refusal, failure: ProviderError) -> None:
        super().__init__(str(failure))
        self.refusal, self.failure = refusal, failure
