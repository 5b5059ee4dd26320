"""A pool of servers of the same model, as a transport: who gets a request, and which requests wait.

The pools of a process share the servers' counts of open requests and one queue. For example, a chat model and a judge
at one address share its limit.
"""

import asyncio
import math
import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx

from tools.budget import current_budget
from tools.limits import FIRST_PAUSE, MODEL_REQUESTS
from tools.net.retries import causes_of, pause_before, retry_after


def split_addresses(addresses: str) -> list[str]:
    """The addresses of a list. A comma in an address's password separates nothing."""
    return re.split(r"\s*,\s*(?=https?://)", addresses)


_FULL = (429, 503)  # statuses of a server that takes no more requests now
_LONGEST_OUT = 3600.0  # seconds; more than any deadline
_LOCK = threading.RLock()  # encoders use event loops in other threads


@dataclass(eq=False)
class Server:
    """A model server's load and health, as this process sees them.

    place: HOST:PORT. open: requests without a whole reply. ended: requests by outcome. failures: since the last reply.
    out_until: of the monotonic clock. told: the server gave this time itself, by Retry-After.
    """

    place: str
    open: int = 0
    last: float = 0.0
    failures: int = 0
    out_until: float = 0.0
    told: bool = False
    ended: Counter[str] = field(default_factory=Counter)

    @property
    def waiting(self) -> int:
        """The number of requests that wait for this server or for another one of their list."""
        return sum(self in turn.pool.servers for turn in list(_TURNS))

    def leave_out(self, seconds: float) -> None:
        """Leaves the server out for these seconds; NaN: for a time that grows with each failure."""
        now = time.monotonic()
        if self.out_until <= now:  # else a request of the same moment failed too
            self.failures, self.told = self.failures + 1, False
        if math.isnan(seconds):
            seconds = pause_before(min(self.failures, 6))
        else:
            seconds, self.told = min(max(seconds, FIRST_PAUSE), _LONGEST_OUT), True
        self.out_until = max(self.out_until, now + seconds)

    def is_worth_waiting(self, until: float) -> bool:
        """Whether the server said that it takes requests again before this time."""
        return self.told and time.monotonic() < self.out_until < until < math.inf


@dataclass(eq=False)
class _Turn:
    """A request that waits for a server until its deadline. tried: servers that failed it."""

    pool: "ServerPool"
    until: float
    tried: set[Server]
    given: "asyncio.Future[None]"
    server: Server | None = None


SERVERS: dict[str, Server] = {}
"""The model servers of this process, by scheme, host and port."""
_TURNS: list[_Turn] = []  # first come, first served


class ServerPool:
    """Servers of the same model. A request goes to the server with the fewest open requests of this process.

    A server that cannot be reached or answers 429 or 503 is left out for a while, and the request goes to another one.
    If all servers are at their limit, or gave a Retry-After within the deadline, the request waits its turn.
    """

    def __init__(self, addresses: str, per_server: int = MODEL_REQUESTS) -> None:
        """addresses: with commas between them; they differ only in scheme, host and port. per_server: open requests to
        a server."""
        self.urls, self.servers = split_addresses(addresses), dict[Server, str]()
        for parts in map(urlsplit, self.urls):
            place = parts.netloc.rpartition("@")[2]
            origin = f"{parts.scheme}://{place}"
            self.servers[SERVERS.setdefault(origin, Server(place))] = origin
        self._per_server = per_server

    async def turn(self, request: httpx.Request, tried: set[Server]) -> Server:
        """Waits for a server, and directs the request to it."""
        until = time.monotonic() + current_budget().seconds_left()
        turn = _Turn(self, until, tried, asyncio.get_running_loop().create_future())
        with _LOCK:
            _TURNS.append(turn)
        try:
            _assign()
            while turn.server is None:
                if until <= (now := time.monotonic()):
                    raise httpx.PoolTimeout("no server was free before the deadline", request=request)
                wake = min([until, *(s.out_until for s in self.servers if s.out_until > now)])
                await asyncio.wait([turn.given], timeout=wake - now)
                _assign()
        except BaseException:
            with _LOCK:
                _TURNS.remove(turn) if turn.server is None else self.end(turn.server, "cancelled")
            raise
        if len(self.servers) > 1:
            url = httpx.URL(self.servers[turn.server])
            request.url = request.url.copy_with(scheme=url.scheme, host=url.host, port=url.port)
            request.headers["host"] = url.netloc.decode("ascii")
            request.headers.pop("cookie", None)  # another server's
        return turn.server

    def end(self, server: Server, outcome: str, seconds: float = math.nan) -> bool:
        """Ends a request; returns whether its server is left out now. seconds: a full server's Retry-After."""
        with _LOCK:
            server.open -= 1
            server.ended[outcome] += 1
            if is_out := outcome in ("full", "unreachable"):
                server.leave_out(seconds)
            elif outcome in ("answered", "refused") and server.out_until <= time.monotonic():
                server.failures = 0
            _assign()
        return is_out

    def may_go_on(self, tried: set[Server]) -> bool:
        """Whether another server may take the request, or a full server takes it before the deadline."""
        now = time.monotonic()
        until = now + current_budget().seconds_left()
        return any((s.out_until <= now and s not in tried) or s.is_worth_waiting(until) for s in self.servers)

    def choice(self, turn: _Turn) -> Server | None:
        """The server for a waiting request; None: it has to wait on. If no server is worth waiting for, the request
        goes to one that is left out, so that its caller learns why."""
        ready = [s for s in self.servers if s.out_until <= time.monotonic()]
        if not ready and any(s.is_worth_waiting(turn.until) for s in self.servers):
            return None
        # A single request finds out whether a server is back that could not be reached.
        probed = {s for s in ready if s.failures and not s.told and len(self.servers) > 1}
        free = [s for s in ready or self.servers if s.open < (1 if s in probed else self._per_server)]
        return min(free, key=lambda s: (s in turn.tried, s.open, s.last), default=None)


def _assign() -> None:
    """Gives free servers to waiting requests in their order."""
    with _LOCK:
        for turn in list(_TURNS):
            if server := turn.pool.choice(turn):
                _TURNS.remove(turn)
                server.open, server.last = server.open + 1, time.monotonic()
                turn.server = server
                turn.given.get_loop().call_soon_threadsafe(turn.given.cancel)


def _outcome(exc: BaseException) -> str:
    if not isinstance(exc, httpx.TransportError):
        return "cancelled"
    return "failed" if isinstance(exc, httpx.ReadTimeout | httpx.UnsupportedProtocol) else "unreachable"


class PoolTransport(httpx.AsyncBaseTransport):
    """Sends each request to a server of the pool. Raises httpx.PoolTimeout if the request's turn does not come in
    time."""

    def __init__(self, pool: ServerPool, inner: httpx.AsyncBaseTransport) -> None:
        self._pool, self._inner = pool, inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        tried: set[Server] = set()
        while True:
            server = await self._pool.turn(request, tried)
            tried.add(server)
            try:
                response = await self._inner.handle_async_request(request)
            except BaseException as exc:
                if self._pool.end(server, _outcome(exc)) and self._pool.may_go_on(tried):
                    continue
                raise
            if response.status_code not in _FULL:
                response.stream = _CountedStream(response, partial(self._pool.end, server))
                return response
            self._pool.end(server, "full", retry_after(response.headers.get("retry-after", ""), math.nan))
            if not self._pool.may_go_on(tried):
                return response
            await response.aclose()

    async def aclose(self) -> None:
        await self._inner.aclose()


class _CountedStream(httpx.AsyncByteStream):
    """The reply's stream, which calls `end` once with the request's outcome when it is over."""

    def __init__(self, response: httpx.Response, end: Callable[[str], object]) -> None:
        self._stream: Any = response.stream
        self._outcome = "refused" if response.status_code >= 400 else "answered"
        self._end: Callable[[str], object] | None = end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._stream:
                yield part
        except (httpx.TransportError, asyncio.CancelledError) as exc:
            self._outcome = _outcome(exc)
            raise
        finally:  # some clients do not close a reply that they stop reading
            self._done()

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            self._done()

    def _done(self) -> None:
        if self._end:
            self._end(self._outcome)
            self._end = None


def failed_server(name: str, failed: Any) -> str:
    """A name that ends with several addresses, with the one that a failed request or its error concerns."""
    requests = (getattr(one, "_request", None) or vars(one).get("request") for one in causes_of(failed))
    request = None if isinstance(failed, httpx.PoolTimeout) else next(filter(None, requests), None)
    return re.sub(r"\S+(, \S+)+$", request.url.netloc.decode("ascii"), name) if request else name
