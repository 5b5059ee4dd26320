"""The address that callers know this server by, where a proxy stands before it: every link begins with it.

The setting says it, or else a trusted proxy does: by X-Forwarded-Proto, -Host, -Port and -Prefix, or by Forwarded (RFC
7239) where no header begins with X-Forwarded-, since a proxy that writes those passes on a caller's Forwarded. A port
beside a host is an inner proxy's. Of lists that grew from proxy to proxy, what the outermost trusted one wrote counts:
what stands before that came from the caller. What anybody else sends has no effect.
"""

import re
from contextvars import ContextVar
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.forms import listed
from agent.settings import Settings

_BASE: ContextVar[str] = ContextVar("base", default="")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?")
_PREFIX = re.compile(r"(?:/(?!\.+(?:/|$))[A-Za-z0-9._~-]+)+")
_PAIR = re.compile(r'(\w+)="?([^";,]*)"?')
_USUAL = {"http": "80", "https": "443"}
_LINKS = ("location", "content-location")


def link(path: str) -> str:
    """The path with the outside address before it, where one was told."""
    return _BASE.get() + path


def address_of(request: Request) -> str:
    """The server's address as the caller knows it, without a slash at the end."""
    return _BASE.get() or str(request.base_url).rstrip("/")


class Outside:
    """Finds out the address, and takes the setting's path off requests; what a header tells may be a caller's own."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._public = settings.public_url
        self._path = urlsplit(settings.public_url).path
        self._trusted = [ip_network(part, strict=False) for part in listed(settings.trusted_proxies)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        base = (self._public or self._told(scope)) if scope["type"] == "http" else ""
        if not base:
            return await self._app(scope, receive, send)

        async def linked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name in _LINKS:
                    if headers.get(name, "").startswith("/"):
                        headers[name] = base + headers[name]
            await send(message)

        if self._path and f"{scope['path']}/".startswith(f"{self._path}/"):
            scope["path"] = scope["path"].removeprefix(self._path) or "/"
        known = _BASE.set(base)
        try:
            await self._app(scope, receive, linked)
        finally:
            _BASE.reset(known)

    def _told(self, scope: Scope) -> str:
        """What a trusted proxy says; empty where none says anything."""
        if not scope.get("client") or not self._trusts(scope["client"][0]):
            return ""
        headers = Headers(scope=scope)
        sent = {name: _parts(headers, f"x-forwarded-{name}") for name in ("proto", "host", "port", "prefix")}
        senders = _parts(headers, "x-forwarded-for")
        if not any(name.startswith("x-forwarded-") for name in headers):
            elements = [{k.lower(): v for k, v in _PAIR.findall(part)} for part in _parts(headers, "forwarded")]
            sent |= {name: [element.get(name, "") for element in elements] for name in ("proto", "host")}
            senders = [element.get("for", "") for element in elements] or senders
        trusted = 1 + next((n for n, at in enumerate(reversed(senders)) if not self._trusts(at)), len(senders))
        said = {name: values[max(0, len(values) - trusted)] for name, values in sent.items() if values}
        return _joined(said, scope["scheme"], headers.get("host", ""))

    def _trusts(self, sender: str) -> bool:
        found = _HOST.fullmatch(sender)
        try:
            address = ip_address(found[1].strip("[]") if found else sender)
        except ValueError:
            return False
        return any(address in network for network in self._trusted)


def _parts(headers: Headers, name: str) -> list[str]:
    return [part.strip() for line in headers.getlist(name) for part in line.split(",")]


def _joined(said: dict[str, str], scheme: str, host: str) -> str:
    """The address of what was said, in which the request itself fills what was not, or makes no sense."""
    place = _HOST.fullmatch(said.get("host", "")) or _HOST.fullmatch(host)
    if not any(said.values()) or place is None:
        return ""
    scheme = proto if (proto := said.get("proto", "").lower()) in _USUAL else scheme
    port = place[2] or (told if (told := said.get("port", "")).isdecimal() and not said.get("host") else "")
    prefix = said.get("prefix", "").rstrip("/")
    return (
        f"{scheme}://{place[1].lower()}{f':{port}' if port and port != _USUAL.get(scheme) else ''}"
        f"{prefix if _PREFIX.fullmatch(prefix) else ''}"
    )
