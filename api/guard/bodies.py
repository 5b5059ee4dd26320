"""How much a request may carry, and how one is refused before it was read."""

import asyncio
import contextlib
import re

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.settings import Settings
from api.problems import ProblemError

_UPLOAD = re.compile(r"/v1/collections/[^/]+/files/?")
_LARGEST_JSON = 8_000_000
_SMALL = 64 * 1024
_LINGER_SECONDS, _LINGER_BYTES = 2.0, 16 * 1024 * 1024


class Bodies:
    """Refuses a body that is too large: at once where its head says so, else as soon as so much has come."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._upload = settings.api_upload * 1_000_000

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        left = most = self._upload if _UPLOAD.fullmatch(scope["path"]) else min(_LARGEST_JSON, self._upload)
        if int(Headers(scope=scope).get("content-length", 0)) > most:
            return await refuse(_large(most), scope, receive, send)

        async def limited() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                await _thrown_away(receive)
                raise HTTPException(413, headers={"Connection": "close"})
            return message

        return await self._app(scope, limited, send)


def _large(most: int) -> ProblemError:
    detail = f"At most {most / 1_000_000:g} MB are taken here. Send less at once."
    return ProblemError(413, "body-too-large", "The body is too large", detail)


async def refuse(problem: ProblemError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the problem. A small body is no reason to end the connection, a large one is."""
    response, headers = problem.response(), Headers(scope=scope)
    if "transfer-encoding" not in headers and int(headers.get("content-length", 0)) <= _SMALL:
        await response(scope, receive, send)
        return

    async def lingering(message: Message) -> None:
        if message["type"] == "http.response.body":
            await send({**message, "more_body": True})
            await _thrown_away(receive)
            message = {"type": "http.response.body", "body": b""}
        await send(message)

    response.headers["Connection"] = "close"
    await response(scope, receive, lingering)


async def _thrown_away(receive: Receive) -> None:
    """Reads for a moment longer what a caller still sends: closed at once, it would lose the reply."""
    left = _LINGER_BYTES
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_SECONDS):
            while left > 0 and (message := await receive()).get("more_body", False):
                left -= len(message.get("body", b""))
