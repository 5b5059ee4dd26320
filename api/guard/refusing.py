"""A refusal before a request was read: its problem document, sent so that the caller gets to see it."""

import asyncio
import contextlib

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from api.problems import ProblemError

_SMALL = 64 * 1024
_LINGER_SECONDS, _LINGER_BYTES = 2.0, 16 * 1024 * 1024


async def refuse(problem: ProblemError, scope: Scope, receive: Receive, send: Send, *, linger: bool = True) -> None:
    """Answers with the problem.

    A caller that is still sending a large body would lose the reply if the connection were closed on it at once: what
    it sends is read for a moment longer and thrown away (`linger`). A small body is no reason to end the connection.
    """
    response = problem.response()
    if linger and not _sends_much(scope):
        await response(scope, receive, send)
        return
    response.headers["Connection"] = "close"
    await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": bytes(response.body), "more_body": True})
    if linger:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_SECONDS):
                await _throw_away(receive)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _sends_much(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or int(headers.get("content-length", 0)) > _SMALL


async def _throw_away(receive: Receive) -> None:
    left = _LINGER_BYTES
    while left > 0:
        message = await receive()
        if not message.get("more_body", False):
            return
        left -= len(message.get("body", b""))
