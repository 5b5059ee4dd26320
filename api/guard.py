"""What every request passes before it is answered: by which name and from which page it comes, whose it is, how many
one caller may send, how many may be open, how much one may carry.

A page on the web can have a browser call a server on the same machine: by a form, or under a name of its own that
resolves to this machine (DNS rebinding). Neither gets past here. A key is needed once one was ever made.
"""

import asyncio
import contextlib
import hmac
import math
import re
import time
from collections import Counter
from urllib.parse import urlsplit

from limits import parse_many
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.forms import split_list
from agent.settings import Settings
from api.callers import Caller, Keys, digest_of
from api.observing import Metrics, Observed
from api.outside import link
from api.problems import ProblemError, problem_of
from tools.errors import StoreError
from tools.net.connections import most_connections
from tools.net.listening import is_loopback

_PROBES = frozenset(("/healthz", "/readyz"))
"""What is answered to a caller that knows no name of the server."""
OPEN = _PROBES | {"/docs", "/openapi.json"}
"""What needs no key, besides what the page of the calls loads: a browser that opens it could not send one."""
_LOADED = "/docs/assets/"
_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+))(?::\d{1,5})?")
_METHODS = ("GET", "POST", "DELETE")
_SHOWN = ("Location", "Content-Location", "Retry-After", "X-Request-Id", "WWW-Authenticate", "Mcp-Session-Id")
_UPLOAD = re.compile(r"/v1/collections/[^/]+/files/?")
_LARGEST_JSON, _MOST_BODIES = 8_000_000, 256_000_000  # of one request, and of all that are open
_SMALL = 64 * 1024
_CALLER_SHARE = 4  # one key may have a quarter of all open requests and bodies, and so may all without a key
_COME_AGAIN = 10
_LINGER_SECONDS, _LINGER_BYTES, _MOST_LINGERING = 2.0, 16 * 1024 * 1024, 32
_OTHER_HOST = (
    "The Host header does not name this server. Call it by its address, or have whoever runs it put the name into "
    "STEELMAN_API_HOSTS, or into STEELMAN_PUBLIC_URL where it is a proxy's."
)
_OTHER_PAGE = (
    "A web page sent this, and pages of its address may not call here. Whoever runs this server can let them in with "
    "STEELMAN_API_ORIGINS; the server's own page behind a proxy, with STEELMAN_PUBLIC_URL."
)


class Guard:
    """Lets a request in with its caller, or tells a problem:

    observed (id, log line, crash) ─▶ named (host, page) ─▶ known (key, rate) ─▶ bounded (number, size) ─▶ routes
    """

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app = app
        self._observed = Observed(self._named, metrics)
        self._origins = frozenset(split_list(settings.api_origins))
        self._inner: ASGIApp = self._known
        if self._origins:  # no cookie means anything here, so that any header may be sent
            self._inner = CORSMiddleware(self._known, self._origins, _METHODS, ("*",), expose_headers=_SHOWN)
        hosts = [name.lower() for name in split_list(settings.api_hosts)]
        self._loopback = is_loopback(settings.api_host)
        self._any_host = not self._loopback and not hosts
        self._hosts = frozenset((*hosts, urlsplit(settings.public_url).hostname or ""))
        self._limits = parse_many(settings.api_rate)
        self._window = MovingWindowRateLimiter(MemoryStorage())
        self._upload = settings.api_upload * 1_000_000
        self._most = most_connections() // 2  # the other half of the connections wait for a head
        self._open: Counter[str] = Counter()  # open requests, by key; those without a key together
        self._bodies: Counter[str] = Counter()  # and bytes of their bodies in memory
        self._lingering = asyncio.Semaphore(_MOST_LINGERING)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._observed(scope, *_ended(Headers(scope=scope), receive, send, self._lingering))
        else:
            await self._app(scope, receive, send)

    async def _named(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets requests through that name this server, and that no page sent which may not. Its own page may."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        foreign = len(hosts) != 1 or not (self._any_host or self._is_mine(hosts[0]))
        scope.setdefault("state", {})["foreign"] = foreign
        problem = None
        # What balances load or looks after containers asks by a bare address, or over HTTP/1.0 by no name at all.
        if foreign and not (scope["path"] in _PROBES and len(hosts) < 2):
            problem = ProblemError(403, "unknown-host", _OTHER_HOST)
        else:
            own = {name for name in ("".join(hosts).lower(), urlsplit(link("")).netloc) if self._is_mine(name)}
            pages = self._origins | {f"{scheme}://{name}" for name in own for scheme in ("http", "https")}
            if not all(page in pages or page.lower() in pages for page in headers.getlist("origin")):
                problem = ProblemError(403, "unknown-origin", _OTHER_PAGE)
        await (problem.response(scope) if problem else self._inner)(scope, receive, send)

    def _is_mine(self, host: str) -> bool:
        named = _HOST.fullmatch(host)
        name = (named[1] or named[2]).lower() if named else ""
        return bool(name) and (is_loopback(name) or name in self._hosts)

    async def _known(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets in whom it may, no more than the rate of each caller, with a body that is not too large."""
        try:
            scope["state"]["caller"] = Caller()
            if scope["path"] not in OPEN and not scope["path"].startswith(_LOADED):
                self._identify(scope)
            files = _UPLOAD.fullmatch(scope["path"])
            most = self._upload if files else min(_LARGEST_JSON, self._upload)
            if int(Headers(scope=scope).get("content-length", 0)) > most:
                raise _too_large(most)
            who = scope["state"]["caller"].key_id
            if scope["path"] not in _PROBES:
                self._check_room(who)
        except (ProblemError, StoreError) as exc:  # where the keys cannot be read nobody gets in
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
            _check_bodies(bodies, who)
            return message

        self._open[who] += 1
        try:
            await self._app(scope, limited, send)
        finally:
            self._open[who] -= 1
            bodies[who] -= taken
            bodies += Counter()  # removes callers without a body
            self._open += Counter()  # removes callers without a request

    def _check_room(self, caller: str) -> None:
        """Raises ProblemError where too many requests are open: in all (503), or the caller's (429)."""
        again = {"Retry-After": f"{_COME_AGAIN}"}
        if self._open.total() >= self._most:
            detail = f"{self._most} requests are open, which is the limit. Try again in {_COME_AGAIN} seconds."
            raise ProblemError(503, "server-full", detail, headers=again)
        if self._open[caller] >= self._most // _CALLER_SHARE:
            whose = "of this key" if caller else "without a key"
            detail = f"{self._open[caller]} requests {whose} are open, which is the limit. End one first."
            raise ProblemError(429, "too-many-requests", detail, headers=again)

    def _identify(self, scope: Scope) -> None:
        """Finds out who calls. Raises ProblemError.

        Callers without a key, or with a wrong one, share one rate, so that nobody can try keys at any speed.
        """
        given = Headers(scope=scope).getlist("authorization")
        keys = Keys(scope["app"].state.service.runs.database).all()  # which takes no millisecond
        bearer, caller = _BEARER.fullmatch(given[0]) if len(given) == 1 else None, None
        if bearer:  # every digest is compared, each in the same time
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
            detail = f"{told} Send `Authorization: Bearer KEY`; whoever runs this server makes keys."
            raise ProblemError(401, name, detail, headers={"WWW-Authenticate": asks})

    def _count(self, caller: str) -> None:
        """Counts a request of the caller. Raises ProblemError (429) for one too many, which counts by no limit."""
        for limit in self._limits:
            if not self._window.test(limit, caller):
                seconds = max(1, math.ceil(self._window.get_window_stats(limit, caller).reset_time - time.time()))
                detail = f"The rate is {limit.amount} in {limit.get_expiry()} seconds. Come again in {seconds} seconds."
                raise ProblemError(429, "too-many-requests", detail, headers={"Retry-After": str(seconds)})
        for limit in self._limits:
            self._window.hit(limit, caller)


def _check_bodies(bodies: Counter[str], caller: str) -> None:
    """Raises ProblemError where the bodies in memory are too large: in all (503), or the caller's (429)."""
    for size, most, status, name in (
        (bodies.total(), _MOST_BODIES, 503, "server-full"),
        (bodies[caller], _MOST_BODIES // _CALLER_SHARE, 429, "too-many-requests"),
    ):
        if size > most:
            detail = f"Open requests may hold {most / 1_000_000:g} MB. Try again in {_COME_AGAIN} seconds."
            raise ProblemError(status, name, detail, headers={"Retry-After": f"{_COME_AGAIN}"})


def _too_large(most: int) -> ProblemError:
    return ProblemError(413, "body-too-large", f"At most {most / 1_000_000:g} MB are taken here. Send less at once.")


def _ended(headers: Headers, receive: Receive, send: Send, lingering: asyncio.Semaphore) -> tuple[Receive, Send]:
    """Both, so that a large body which nobody read ends its connection after the reply.

    Some more of the body is thrown away first: a caller would lose the reply of a connection that is closed at once.
    No more connections than `lingering` allows are held open for that, so that refused requests leave room for others.
    """
    unread = "transfer-encoding" in headers or int(headers.get("content-length", 0)) > _SMALL

    async def received() -> Message:
        nonlocal unread
        message = await receive()
        unread = unread and message.get("more_body", False)
        return message

    async def sent(message: Message) -> None:
        if unread and message["type"] == "http.response.start":
            MutableHeaders(scope=message)["Connection"] = "close"
        elif unread and not message.get("more_body", False) and not lingering.locked():
            await send({**message, "more_body": True})
            left = _LINGER_BYTES
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LINGER_SECONDS), lingering:
                    while left > 0 and (more := await receive()).get("more_body", False):
                        left -= len(more["body"])
            message = {"type": message["type"], "body": b""}
        await send(message)

    return received, sent
