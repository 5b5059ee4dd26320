"""What a request may carry: how much, and how long it may take to arrive."""

import asyncio
import re

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.settings import Settings
from api.guard.refusing import refuse
from api.problems import ProblemError

_UPLOAD = re.compile(r"/v1/collections/[^/]+/files/?")
_LARGEST_JSON = 8_000_000


class Bodies:
    """Refuses a body that is too large, at once; and one that does not arrive in time."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._upload = settings.api_upload * 1_000_000
        self._patience = settings.api_patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        most = self._upload if _UPLOAD.fullmatch(scope["path"]) else min(_LARGEST_JSON, self._upload)
        if int(Headers(scope=scope).get("content-length", 0)) > most:  # the head says so alone
            await refuse(_large(most), scope, receive, send)
        else:
            await _Arriving(self._app, scope, receive, send, most, self._patience).pass_on()


class _Arriving:
    """One request while its body comes in.

    A limit that is passed raises inside whatever reads the body, and then takes the place of any reply that it makes of
    that, since an application may turn such a failure into another one.
    """

    def __init__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, most: int, patience: float) -> None:
        self._app = app
        self._scope = scope
        self._receive = receive
        self._send = send
        self._left = self._most = most
        self._patience = patience
        self._ends_at = asyncio.get_running_loop().time() + patience
        self._complete = self._replied = False
        self._problem: ProblemError | None = None

    async def pass_on(self) -> None:
        try:
            await self._app(self._scope, self._receive_body, self._send_reply)
        except Exception:
            if self._problem is None or self._replied:
                raise
        if self._problem and not self._replied:
            await self._refuse(self._problem)

    async def _receive_body(self) -> Message:
        if self._problem:
            raise HTTPException(self._problem.problem.status)
        if self._complete:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._ends_at):
                message = await self._receive()
        except TimeoutError:
            self._problem = _slow(self._patience)
            raise HTTPException(408) from None
        self._complete = not message.get("more_body", False)
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self._problem = _large(self._most)
            raise HTTPException(413)
        return message

    async def _send_reply(self, message: Message) -> None:
        if self._problem is None or self._replied:
            self._replied = True
            await self._send(message)

    async def _refuse(self, problem: ProblemError) -> None:
        await refuse(problem, self._scope, self._receive, self._send, linger=problem.problem.status == 413)


def _large(most: int) -> ProblemError:
    detail = f"At most {most / 1_000_000:g} MB are taken here. Send less at once."
    return ProblemError(413, "body-too-large", "The body is too large", detail)


def _slow(seconds: float) -> ProblemError:
    detail = f"The body has to arrive within {seconds:g} seconds. Send it whole."
    return ProblemError(408, "request-too-slow", "The request did not arrive in time", detail)
