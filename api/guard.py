"""Checks each request before its route: host, origin, key, rate, size.

A web page can make a browser call a server on the same machine. For example, the page sends a form, or the page's host
name resolves to this machine (DNS rebinding). The checks of host and origin refuse such calls. Starlette's
TrustedHostMiddleware is not sufficient: it replies in plain text, and it compares names, while the guard allows the
whole loopback range.
"""

import asyncio
import contextlib
import math
import re
import time
from urllib.parse import urlsplit

from limits import RateLimitItem, parse_many
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.settings import Settings, split_list
from api.callers import Caller, Keys, over_rate
from api.observing import Exchange
from api.problems import BASE, ProblemError, problem_of
from tools.errors import StoreError
from tools.net.http import is_loopback
from tools.store.database import Database

_PROBES = ("/healthz", "/readyz")
"""Paths that the guard allows under any host name, since load balancers and container runtimes know no host name."""
OPEN = (*_PROBES, "/docs", "/openapi.json")
"""Paths that need no key. The assets of /docs need none either: a browser cannot send a key for a page."""
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+))(?::\d{1,5})?")
_EXPOSED = ("Location", "Content-Location", "Retry-After", "X-Request-Id", "WWW-Authenticate", "Mcp-Session-Id")
_UPLOAD = re.compile(r"/v1/collections/[^/]+/files/?")
_LARGEST_JSON = 8_000_000  # bytes
_DROP_SECONDS = 5.0
_HOST_ADVICE = "Use the server's address, or add the name to STEELMAN_API_HOSTS, a proxy's to STEELMAN_PUBLIC_URL."
_PAGE_ADVICE = "STEELMAN_API_ORIGINS allows it; STEELMAN_PUBLIC_URL allows the server's own page behind a proxy."


class Guard:
    """exchange (id, log line, failure) ─▶ host, origin ─▶ key, rate, size ─▶ routes"""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._inner = app, self._check_caller
        if origins := split_list(settings.api_origins):  # callers may send any header: no cookies are used
            methods = "GET", "POST", "DELETE"
            self._inner = CORSMiddleware(self._check_caller, origins, methods, ("*",), expose_headers=_EXPOSED).__call__
        self._public, self._loopback = urlsplit(settings.public_url), is_loopback(settings.api_host)
        self._origins, hosts = frozenset(origins), split_list(settings.api_hosts.lower())
        self._any_host = not self._loopback and not hosts
        self._hosts = frozenset((*hosts, self._public.hostname))
        self._rates, self._window = parse_many(settings.api_rate), MovingWindowRateLimiter(MemoryStorage())
        self._upload = settings.api_upload * 1_000_000

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        BASE.set(self._public.geturl())
        if self._public.path and f"{scope['path']}/".startswith(f"{self._public.path}/"):  # the proxy kept the prefix
            scope["path"] = scope["path"].removeprefix(self._public.path) or "/"
        return await Exchange(scope, send).run(self._check_host, receive)

    async def _check_host(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses a request under a foreign host name, and a request from a page of a foreign origin."""
        headers, problem = Headers(scope=scope), None
        host = headers.get("host", "")
        scope.setdefault("state", {})["caller"] = ""
        own = {name.lower() for name in (host, self._public.netloc) if self._is_own(name)}
        pages = self._origins | {f"{scheme}://{name}" for name in own for scheme in ("http", "https")}
        if not (self._any_host or self._is_own(host) or scope["path"] in _PROBES):
            problem = ProblemError(403, "unknown-host", f"The Host header does not name this server. {_HOST_ADVICE}")
        elif not pages.issuperset(headers.getlist("origin")):
            problem = ProblemError(403, "unknown-origin", f"A web page of another origin sent this. {_PAGE_ADVICE}")
        await (problem.response(scope) if problem else self._inner)(scope, receive, send)

    def _is_own(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        name = (match[1] or match[2]).lower() if match else ""
        return bool(name) and (is_loopback(name) or name in self._hosts)

    async def _check_caller(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses a caller without a valid key, a caller above its rate limit, and a body that is too large."""
        path, taken = scope["path"], 0
        most = self._upload if _UPLOAD.fullmatch(path) else min(_LARGEST_JSON, self._upload)
        too_large = ProblemError(413, "body-too-large", f"Send at most {most / 1_000_000:g} MB at once.")
        try:
            if path not in OPEN and not path.startswith("/docs/assets/"):
                database = scope["app"].state.service.runs.database
                if database.shared:
                    await asyncio.to_thread(self._identify, scope, database)
                else:
                    self._identify(scope, database)  # takes less than a millisecond
            if int(Headers(scope=scope).get("content-length", 0)) > most:
                raise too_large
        except (ProblemError, StoreError) as exc:  # if the keys are unreadable, nobody gets in
            if exc is too_large:
                await _drop_body(receive, 2 * most)
            await problem_of(exc).response(scope)(scope, receive, send)
            return

        async def limited() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise too_large
            return message

        await self._app(scope, limited, send)

    def _over(self, rate: RateLimitItem, caller: Caller, database: Database) -> float:
        """Counts a request. Returns 0 within the rate, otherwise the seconds to wait."""
        if database.shared:
            return over_rate(database, caller, rate.amount, rate.get_expiry())
        free = self._window.hit(rate, caller)
        return 0.0 if free else max(1.0, self._window.get_window_stats(rate, caller).reset_time - time.time())

    def _identify(self, scope: Scope, database: Database) -> None:
        """Finds the caller by the request's key, and counts the request. Raises ProblemError.

        Callers without a valid key share one rate limit, so that nobody can guess keys quickly.
        """
        given = Headers(scope=scope).getlist("authorization")
        keys = Keys(database)
        known = keys.caller(given[0]) if len(given) == 1 else None
        scope["state"]["caller"] = caller = known or ""
        for rate in self._rates:
            if wait := self._over(rate, caller, database):
                seconds = math.ceil(wait)
                detail = f"The rate is {rate.amount} in {rate.get_expiry()} seconds. Try again in {seconds} seconds."
                raise ProblemError(429, "too-many-requests", detail, headers={"Retry-After": str(seconds)})
        if known is None and (not self._loopback or keys.all()):
            name, cause, asks = "key-missing", "This call needs a key.", "Bearer"
            if given:
                name, cause, asks = "key-wrong", "The key is wrong or revoked.", 'Bearer error="invalid_token"'
            detail = f"{cause} Send `Authorization: Bearer KEY`; `keys make` on the server's machine makes one."
            raise ProblemError(401, name, detail, headers={"WWW-Authenticate": asks})


async def _drop_body(receive: Receive, most: int) -> None:
    """Reads at most so many bytes of a refused body: a proxy that still sends would lose the reply and answer 502."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DROP_SECONDS):
            while most > 0 and (message := await receive()).get("more_body"):
                most -= len(message["body"])
