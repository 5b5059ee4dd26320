"""What a vendor's client raises, read alike for all of them: the status of a refusal, its words, a lost connection.

Each client has errors of its own, with the status as a number, the server's words, or what it came from behind them.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tools.errors import ProviderReplyError
from tools.net.http import answered

if TYPE_CHECKING:
    import httpx

_LENGTH_CODES = frozenset(
    """context_length_exceeded exceed_context_size_error model_context_window_exceeded request_too_large
    tokens_limit_reached string_above_max_length""".split()
)
_SENT = (None, "", "messages", "message", "prompt", "input", "inputs", "input_tokens", "contents")
"""What a refusal names as its parameter where it is about the text that was sent, or about nothing in particular."""
_TOO_LONG = re.compile(
    r"""context[ _-]?(length|window|size|limit) | (prompt|input|sequence|model)\ length | (is|are|was|were)\ too\ long
    | (prompt|inputs?|request|messages?|contents?|entity|body)\ (\(\d+\ tokens\)\ )?(is\ |are\ )?too\ (long|large)
    | longer\ than\ the\ model | too\ large\ for\ model | too\ many\ (input\ )?tokens
    | reduce\ (the|your)\ (length|prompt|input)
    | number\ of\ tokens | tokens?\ (count|limit)\b | max(imum)?\ tokens | inputs?`?\ tokens | size\ exceeds
    | (less\ than|at\ most|exceeds?|limit\ of)\ [\d,]+\ (tokens|characters) | at\ least\ 1,\ got\ - | 超长 | 长度超""",
    re.IGNORECASE | re.VERBOSE,
)
_FORM = re.compile(r"schema|response_format", re.IGNORECASE)
_WORDS = 600  # characters of a refusal; what follows may be what was sent, said back


def status_of(exc: BaseException) -> int | None:
    """The HTTP status of the refusal that an error is, or came from; None for what is no refusal."""
    return next((status for one in _causes(exc) if (status := _status(one)) is not None), None)


def server_words(exc: BaseException) -> str:
    """The server's own words where there are any, else the error's."""
    for one in _causes(exc):
        said = _message(getattr(one, "body", None)) or _message(getattr(one, "error", None))
        if said or (_status(one) is not None and (said := _message(getattr(one, "message", None)))):
            return said
    return str(exc)


def too_long(exc: BaseException) -> bool:
    """Whether a refusal says that what was sent is longer than the model reads: by its status, its code or the
    parameter that it names, and by its words where none of them says so."""
    status, told = status_of(exc), [d for one in _causes(exc) for a in ("body", "details") for d in _nested(one, a)]
    if status in (401, 403, 404) or (status is None and not told):
        return False
    if status == 413 or any(d.get(name) in _LENGTH_CODES for d in told for name in ("code", "type")):
        return True
    if any(d.get("param") not in _SENT for d in told):
        return False
    said = server_words(exc)
    if status == 429:  # of tokens a minute there is another one; this is one request with too many of them
        return "request too large" in said.lower()
    return speaks_of_length(said)


def speaks_of_length(said: str) -> bool:
    """Whether a refusal in these words is about the length of a text."""
    return bool(_TOO_LONG.search(said[:_WORDS])) and not _FORM.search(said[:_WORDS])


def connection_failure(exc: BaseException) -> "httpx.HTTPError | httpx.InvalidURL | None":
    """The failure of the connection that an error is, or came from."""
    import httpx

    return next((one for one in _causes(exc) if isinstance(one, httpx.HTTPError | httpx.InvalidURL)), None)


def limit_error(exc: BaseException) -> ProviderReplyError | None:
    """The limit that the reply was stopped at, where a client took that for a failure of the connection."""
    return next((one for one in _causes(exc) if isinstance(one, ProviderReplyError)), None)


def reply_had_begun(exc: BaseException) -> bool:
    """Whether the server was at work on a reply, for which it may count tokens, when the error came."""
    if status_of(exc) is not None:
        return False
    failure = connection_failure(exc)
    return failure is None or answered(failure)


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


def _nested(exc: BaseException, name: str) -> Iterator[dict[str, Any]]:
    """What a refusal says, from the outside in."""
    body = getattr(exc, name, None)
    while isinstance(body, dict):
        yield body
        body = body.get("error")


def _message(body: Any) -> str:
    """The message in what a refusal holds: itself, {'message': …}, {'error': {'message': …}} or {'detail': …}."""
    while isinstance(body, dict):
        body = body.get("message") or body.get("error") or body.get("detail")
    return body if isinstance(body, str) else ""
