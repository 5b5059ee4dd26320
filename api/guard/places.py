"""Where a request comes from: the name that it reached the server by, and the web page that sent it.

A page on the web can have a browser call a server on the same machine: by a form, or under a name of its own that
resolves to this machine (DNS rebinding). Neither gets past here.
"""

import ipaddress
import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.forms import listed
from agent.settings import Settings
from api.guard.bodies import refuse
from api.guard.outside import link
from api.problems import ProblemError

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+))(?::\d{1,5})?")
PROBES = frozenset(("/healthz", "/readyz"))
"""What is answered to a caller that knows no name of the server."""
_METHODS = ("GET", "POST", "DELETE")
_SHOWN = ("Location", "Content-Location", "Retry-After", "X-Request-Id", "WWW-Authenticate", "Mcp-Session-Id")


def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine and nothing else."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Places:
    """Lets requests through that name this server, and that no page sent which may not. Its own page may."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        origins = listed(settings.api_origins)
        self._app: ASGIApp = app
        if origins:  # no cookie means anything here, so that any header may be sent
            self._app = _Cors(app, origins, _METHODS, allow_headers=("*",), expose_headers=_SHOWN)
        self._origins = frozenset(origins)
        hosts = [name.lower() for name in listed(settings.api_hosts)]
        self._any_host = not is_loopback(settings.api_host) and not hosts
        self._hosts = frozenset((*hosts, urlsplit(settings.public_url).hostname or ""))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        foreign = len(hosts) != 1 or not (self._any_host or self._knows(hosts[0]))
        scope.setdefault("state", {})["foreign"] = foreign
        # What balances load or looks after containers asks by a bare address, or over HTTP/1.0 by no name at all.
        named = not foreign or (scope["path"] in PROBES and len(hosts) < 2)
        if problem := self._problem(named, "".join(hosts), headers.getlist("origin")):
            await refuse(problem, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _problem(self, named: bool, host: str, origins: list[str]) -> ProblemError | None:
        if not named:
            detail = (
                "The Host header does not name this server. Call it by its address, or have whoever runs it put the "
                "name into STEELMAN_API_HOSTS, or into STEELMAN_PUBLIC_URL where it is a proxy's."
            )
            return ProblemError(403, "unknown-host", "The server has another name", detail)
        if not all(origin in self._origins or self._is_own(origin, host) for origin in origins):
            detail = (
                "A web page sent this, and pages of its address may not call here. Whoever runs this server can let "
                "them in with STEELMAN_API_ORIGINS; the server's own page behind a proxy, with STEELMAN_PUBLIC_URL."
            )
            return ProblemError(403, "unknown-origin", "The page is not let in", detail)
        return None

    def _is_own(self, origin: str, host: str) -> bool:
        """Whether the page came from this server, under a name that it is known by: the page of the calls."""
        names = (host.lower(), urlsplit(link("")).netloc)
        return any(self._knows(name) and origin.lower() in (f"http://{name}", f"https://{name}") for name in names)

    def _knows(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        name = (found[1] or found[2]).lower() if found else ""
        return bool(name) and (is_loopback(name) or name in self._hosts)


class _Cors(CORSMiddleware):
    """Starlette's, with a problem document for a preflight that asks for too much."""

    def preflight_response(self, request_headers: Headers) -> Response:
        response = super().preflight_response(request_headers)
        if response.status_code == 200:
            return response
        detail = f"{bytes(response.body).decode()}. Pages may use {', '.join(self.allow_methods)}."
        return ProblemError(403, "preflight-refused", "The page may not do that", detail).response()
