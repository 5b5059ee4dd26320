"""A refusal before a request was read: its problem document, sent so that the caller gets to see it."""

import asyncio
import contextlib

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from api.problems import ProblemError

_SMALL = 64 * 1024
_LINGER_SECONDS, _LINGER_BYTES = 2.0, 16 * 1024 * 1024


async def refuse(problem: ProblemError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the problem. A small body is no reason to end the connection, a large one is."""
    response = problem.response()
    if not _sends_much(scope):
        await response(scope, receive, send)
        return
    response.headers["Connection"] = "close"
    await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": bytes(response.body), "more_body": True})
    await thrown_away(receive)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def thrown_away(receive: Receive) -> None:
    """Reads for a moment longer what a caller still sends: closed at once, it would lose the reply."""
    left = _LINGER_BYTES
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_SECONDS):
            while left > 0 and (message := await receive()).get("more_body", False):
                left -= len(message.get("body", b""))


def _sends_much(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or int(headers.get("content-length", 0)) > _SMALL
