"""Checks that a request passes before its route: host, origin, key, rate, number of open requests, size.

A page on the web can have a browser call a server on the same machine: by a form, or under a name of its own that
resolves to this machine (DNS rebinding). The checks of host and origin refuse both. A key is needed once one was made.
"""

import hmac
import math
import re
import time
from collections import Counter
from urllib.parse import urlsplit

from limits import parse_many
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.forms import split_list
from agent.settings import Settings
from api.callers import Caller, Keys, digest_of
from api.observing import Metrics, Observed
from api.problems import ProblemError, problem_of
from api.public_url import BASE
from tools.errors import StoreError
from tools.net.connections import most_connections
from tools.net.listening import is_loopback

_PROBES = frozenset(("/healthz", "/readyz"))
"""Open under any host name: load balancers and container runtimes know none."""
OPEN = _PROBES | {"/docs", "/openapi.json"}
"""Open without a key, as are the assets of /docs: a browser that opens the page could not send one."""
_ASSETS = "/docs/assets/"
_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+))(?::\d{1,5})?")
_METHODS = ("GET", "POST", "DELETE")
_EXPOSED = ("Location", "Content-Location", "Retry-After", "X-Request-Id", "WWW-Authenticate", "Mcp-Session-Id")
_UPLOAD = re.compile(r"/v1/collections/[^/]+/files/?")
_LARGEST_JSON, _MOST_BODIES = 8_000_000, 256_000_000  # bytes of one request, and of all open ones
_CALLER_SHARE = 4  # one key may have a quarter of all open requests and bodies, and so may all callers without a key
_COME_AGAIN = 10
_OTHER_HOST = (
    "The Host header does not name this server. Call it by its address, or add the name to STEELMAN_API_HOSTS, a "
    "proxy's to STEELMAN_PUBLIC_URL."
)
_OTHER_PAGE = (
    "A web page of another origin sent this. STEELMAN_API_ORIGINS lets it in; STEELMAN_PUBLIC_URL lets in the server's "
    "own page behind a proxy."
)


class Guard:
    """observed (id, log line, crash) ─▶ named (host, origin) ─▶ known (key, rate, open requests, size) ─▶ routes"""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app = app
        self._observed = Observed(self._named, metrics)
        self._origins = frozenset(split_list(settings.api_origins))
        self._inner: ASGIApp = self._known
        if self._origins:  # cookies mean nothing here, so that any header may be sent
            self._inner = CORSMiddleware(self._known, self._origins, _METHODS, ("*",), expose_headers=_EXPOSED)
        hosts = [name.lower() for name in split_list(settings.api_hosts)]
        self._loopback = is_loopback(settings.api_host)
        self._any_host = not self._loopback and not hosts
        self._base, self._public = settings.public_url, urlsplit(settings.public_url)
        self._hosts = frozenset((*hosts, self._public.hostname or ""))
        self._limits = parse_many(settings.api_rate)
        self._window = MovingWindowRateLimiter(MemoryStorage())
        self._upload = settings.api_upload * 1_000_000
        self._most = most_connections() // 2  # the other half of the connections wait for a head
        self._open: Counter[str] = Counter()  # open requests by key
        self._bodies: Counter[str] = Counter()  # bytes of their bodies in memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        BASE.set(self._base)
        if self._public.path and f"{scope['path']}/".startswith(f"{self._public.path}/"):
            scope["path"] = scope["path"].removeprefix(self._public.path) or "/"
        return await self._observed(scope, receive, send)

    async def _named(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses a request under a foreign host name, or from a foreign page."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        foreign = len(hosts) != 1 or not (self._any_host or self._is_mine(hosts[0]))
        scope.setdefault("state", {})["foreign"] = foreign
        problem = None
        if foreign and not (scope["path"] in _PROBES and len(hosts) < 2):
            problem = ProblemError(403, "unknown-host", _OTHER_HOST)
        else:
            own = {name for name in ("".join(hosts).lower(), self._public.netloc) if self._is_mine(name)}
            pages = self._origins | {f"{scheme}://{name}" for name in own for scheme in ("http", "https")}
            if not all(page in pages or page.lower() in pages for page in headers.getlist("origin")):
                problem = ProblemError(403, "unknown-origin", _OTHER_PAGE)
        await (problem.response(scope) if problem else self._inner)(scope, receive, send)

    def _is_mine(self, host: str) -> bool:
        named = _HOST.fullmatch(host)
        name = (named[1] or named[2]).lower() if named else ""
        return bool(name) and (is_loopback(name) or name in self._hosts)

    async def _known(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses an unknown caller, a caller that is too quick or has too much open, and a body that is too large."""
        path = scope["path"]
        files = _UPLOAD.fullmatch(path)
        most = self._upload if files else min(_LARGEST_JSON, self._upload)
        scope["state"]["caller"] = Caller()
        try:
            if path not in OPEN and not path.startswith(_ASSETS):
                self._identify(scope)
            who = scope["state"]["caller"].key_id
            if path not in _PROBES:
                _check_share(self._open, who, self._most, "requests", 1)
            if int(Headers(scope=scope).get("content-length", 0)) > most:
                raise _too_large(most)
        except (ProblemError, StoreError) as exc:  # keys that cannot be read let nobody in
            return await problem_of(exc).response(scope)(scope, receive, send)
        taken, bodies = 0, Counter[str]() if files else self._bodies  # files go to the disk

        async def limited() -> Message:
            nonlocal taken
            message = await receive()
            size = len(message.get("body", b""))
            taken += size
            bodies[who] += size
            if taken > most:
                raise _too_large(most)
            _check_share(bodies, who, _MOST_BODIES, "bytes")
            return message

        self._open[who] += 1
        try:
            await self._app(scope, limited, send)
        finally:
            self._open[who] -= 1
            bodies[who] -= taken
            bodies += Counter()  # removes callers without a body
            self._open += Counter()  # and without a request

    def _identify(self, scope: Scope) -> None:
        """Finds the caller by its key. Raises ProblemError.

        Callers without a key, or with a wrong one, share one rate, so that nobody can try keys at any speed.
        """
        given = Headers(scope=scope).getlist("authorization")
        keys = Keys(scope["app"].state.service.runs.database).all()  # takes less than a millisecond
        bearer, caller = _BEARER.fullmatch(given[0]) if len(given) == 1 else None, None
        if bearer:  # compares every digest, each in the same time
            digest = digest_of(bearer[1].encode("latin-1"))
            matching = [k for k in keys if hmac.compare_digest(k.digest, digest) and k.revoked_at is None]
            caller = Caller(matching[0].id) if matching else None
        scope["state"]["caller"] = caller or Caller()
        self._count(scope["state"]["caller"].key_id)
        if caller is None and (keys or not self._loopback):
            name, told, asks = "key-missing", "This call needs a key.", "Bearer"
            if given:
                name, told = "key-wrong", "The key is wrong, or it was revoked."
                asks = 'Bearer error="invalid_token"'
            detail = f"{told} Send `Authorization: Bearer KEY`; `keys make` on the server's machine makes one."
            raise ProblemError(401, name, detail, headers={"WWW-Authenticate": asks})

    def _count(self, caller: str) -> None:
        """Counts a request of the caller. Raises ProblemError (429) past a rate, which then counts by none."""
        for limit in self._limits:
            if not self._window.test(limit, caller):
                seconds = max(1, math.ceil(self._window.get_window_stats(limit, caller).reset_time - time.time()))
                detail = f"The rate is {limit.amount} in {limit.get_expiry()} seconds. Come again in {seconds} seconds."
                raise ProblemError(429, "too-many-requests", detail, headers={"Retry-After": str(seconds)})
        for limit in self._limits:
            self._window.hit(limit, caller)


def _check_share(taken: Counter[str], caller: str, most: int, unit: str, more: int = 0) -> None:
    """Raises ProblemError if all callers (503), or this one (429), have more open than they may."""
    whose = "this key" if caller else "all callers without a key"
    for held, limit, status, name, who in (
        (taken.total(), most, 503, "server-full", "all callers"),
        (taken[caller], most // _CALLER_SHARE, 429, "too-many-requests", whose),
    ):
        if held + more > limit:
            detail = f"Of {who} at most {limit:,} {unit} may be open. Try again in {_COME_AGAIN} seconds."
            raise ProblemError(status, name, detail, headers={"Retry-After": f"{_COME_AGAIN}"})


def _too_large(most: int) -> ProblemError:
    return ProblemError(413, "body-too-large", f"At most {most / 1_000_000:g} MB are taken here. Send less at once.")
