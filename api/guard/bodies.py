"""How much a request may carry."""

import re

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.settings import Settings
from api.guard.refusing import refuse, thrown_away
from api.problems import ProblemError

_UPLOAD = re.compile(r"/v1/collections/[^/]+/files/?")
_LARGEST_JSON = 8_000_000


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
                await thrown_away(receive)
                raise HTTPException(413, headers={"Connection": "close"})
            return message

        return await self._app(scope, limited, send)


def _large(most: int) -> ProblemError:
    detail = f"At most {most / 1_000_000:g} MB are taken here. Send less at once."
    return ProblemError(413, "body-too-large", "The body is too large", detail)
