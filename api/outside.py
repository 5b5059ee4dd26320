"""The address that callers know this server by, where a proxy stands before it: every link begins with it."""

from contextvars import ContextVar
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.settings import Settings

_BASE: ContextVar[str] = ContextVar("base", default="")
_LINKS = ("location", "content-location")


def link(path: str) -> str:
    """The path with the outside address before it, where one was told."""
    return _BASE.get() + path


class Outside:
    """Begins links with the address of the settings, and takes its path off requests."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._base = settings.public_url
        self._path = urlsplit(settings.public_url).path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._base:
            return await self._app(scope, receive, send)

        async def linked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name in _LINKS:
                    if headers.get(name, "").startswith("/"):
                        headers[name] = self._base + headers[name]
            await send(message)

        if self._path and f"{scope['path']}/".startswith(f"{self._path}/"):
            scope["path"] = scope["path"].removeprefix(self._path) or "/"
        _BASE.set(self._base)  # each request is a task of its own
        return await self._app(scope, receive, linked)
