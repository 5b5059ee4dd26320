"""What a vendor's client raises, read alike for all of them: the status of a refusal, its words, a lost connection.

Each client has errors of its own, with the status as a number, the server's words, or what it came from behind them.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tools.errors import ProviderReplyError
from tools.net.http import answered

if TYPE_CHECKING:
    import httpx


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


def _message(body: Any) -> str:
    """The message in what a refusal holds: itself, {'message': …} or {'error': {'message': …}}."""
    while isinstance(body, dict):
        body = body.get("message") or body.get("error")
    return body if isinstance(body, str) else ""
