"""Where a request comes from: the name that it reached the server by, and the web page that sent it.

A page on the web can have a browser call a server on the same machine: by a form, or under a name of its own that
resolves to this machine (DNS rebinding). Neither gets past here.
"""

import re

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.settings import Settings, listed
from api.guard.refusing import refuse
from api.loopback import is_loopback
from api.problems import ProblemError

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+))(?::\d{1,5})?")
_METHODS = ("GET", "POST", "DELETE")
_SHOWN = ("Location", "Content-Location", "Retry-After", "X-Request-Id", "WWW-Authenticate", "Mcp-Session-Id")


class Places:
    """Lets requests through that name this server, and that no page sent which may not. Its own page may."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        origins = listed(settings.api_origins)
        self._app: ASGIApp = app
        if origins:  # no cookie means anything here, so that any header may be sent
            self._app = _Cors(app, origins, _METHODS, allow_headers=("*",), expose_headers=_SHOWN)
        self._origins = frozenset(origins)
        self._hosts = frozenset(name.lower() for name in listed(settings.api_hosts))
        self._any_host = not is_loopback(settings.api_host) and not self._hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if problem := self._problem(Headers(scope=scope)):
            await refuse(problem, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _problem(self, headers: Headers) -> ProblemError | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            detail = (
                "The Host header does not name this server. Call it by its address, or have whoever runs it put the "
                "name into STEELMAN_API_HOSTS."
            )
            return ProblemError(403, "unknown-host", "The server has another name", detail)
        if not all(origin in self._origins or self._is_own(origin, hosts[0]) for origin in origins):
            detail = (
                "A web page sent this, and pages of its address may not call here. Whoever runs this server can let "
                "them in with STEELMAN_API_ORIGINS."
            )
            return ProblemError(403, "unknown-origin", "The page is not let in", detail)
        return None

    def _is_own(self, origin: str, host: str) -> bool:
        """Whether the page came from this server, under a name that it is known by: the page of the calls."""
        return not self._any_host and origin.lower() in (f"http://{host}".lower(), f"https://{host}".lower())

    def _is_ours(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        name = (found[1] or found[2]).lower() if found else ""
        return bool(found) and (self._any_host or is_loopback(name) or name in self._hosts)


class _Cors(CORSMiddleware):
    """Starlette's, with a problem document for a preflight that asks for too much."""

    def preflight_response(self, request_headers: Headers) -> Response:
        response = super().preflight_response(request_headers)
        if response.status_code == 200:
            return response
        detail = f"{bytes(response.body).decode()}. Pages may use {', '.join(self.allow_methods)}."
        return ProblemError(403, "preflight-refused", "The page may not do that", detail).response()
