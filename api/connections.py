"""Connections: how long each may wait or stall, and how many there may be.

A connection waits for a request's head, or has a request at work. Those that wait are kept by network address, the
oldest first: past a limit the oldest is closed, so that a new one always gets its turn. `api/guard.py` limits requests.
"""

import resource
from asyncio import Protocol, Transport
from contextlib import suppress
from functools import partial
from ipaddress import ip_network
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10
_UNREAD_SECONDS, _UNREAD_BYTES = 30.0, 30_000  # at least so many bytes of a reply are read in so many seconds
_MOST_WAITING = 32  # of one address; one more may wait for _TICK
_MOST_CONNECTIONS, _FILES = 1024, 4096
_TICK = 1.0
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
    b"The head of the request did not come in time. Send it whole, within %d seconds." % HEAD_SECONDS
)
_Waiting = dict[str, dict["Connection", float]]


def most_connections() -> int:
    """How many connections may be open, by the files that this process may open."""
    return min(_MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


def allow_files() -> None:
    """Lets this process open more files, where the system's usual limit is low."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < _FILES:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES if hard < 0 else min(_FILES, hard), hard))


def connections() -> type[Protocol]:
    """The protocol of one server, whose connections share their limits."""
    return cast(type[Protocol], partial(Connection, {}, most_connections()))


class Connection(H11Protocol):
    """HTTP/1.1 over one connection that is closed when its caller is too slow or holds too many."""

    def __init__(self, waiting: _Waiting, most: int, **given: Any) -> None:
        super().__init__(**given)
        self._waiting, self._most = waiting, most

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        self._address = str(ip_network((host, 64), strict=False)) if ":" in host else host
        self._read_at, self._unread = self.loop.time(), 0
        self._sort()
        if len(self.connections) > self._most:
            next(iter(max(self._waiting.values(), key=len))).give_up()
        self._look_later()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._sort()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._sort()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read_at, self._unread = self.loop.time(), 0

    def connection_lost(self, exc: Exception | None) -> None:
        self._looking.cancel()
        self._leave()
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Closes a connection that waits; one that has sent a part of a head is told why."""
        self._leave()
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            self.transport.write(_LATE)
        self.transport.close()

    def _sort(self) -> None:
        """Keeps the connection among those that wait, since when it began to wait, or takes it from them."""
        if self.transport.is_closing() or (self.cycle and not self.cycle.response_complete):
            self._leave()
        else:
            self._waiting.setdefault(self._address, {}).setdefault(self, self.loop.time())

    def _leave(self) -> None:
        own = self._waiting.get(self._address, {})
        own.pop(self, None)
        if not own:
            self._waiting.pop(self._address, None)

    def _look_later(self) -> None:
        self._looking = self.loop.call_later(_TICK, self._look)

    def _look(self) -> None:
        """Closes what is late: this connection's reader or head, or the oldest that wait where they are too many."""
        now, unread = self.loop.time(), self.transport.get_write_buffer_size()
        if not unread or unread < self._unread - _UNREAD_BYTES:
            self._read_at, self._unread = now, unread
        self._unread = max(self._unread, unread)
        own = self._waiting.get(self._address, {})
        if now - self._read_at > _UNREAD_SECONDS:
            self.transport.abort()
        elif not unread and now - own.get(self, now) >= HEAD_SECONDS:
            self.give_up()
        elif self in own and len(own) > _MOST_WAITING:
            next(iter(own)).give_up()
        self._look_later()
