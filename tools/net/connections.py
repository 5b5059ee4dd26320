"""Connections: how long each may wait or stall, and how many there may be.

A connection waits for a request's head, or has a request at work. Past a limit the one that waits longest is closed, so
that a new one always gets its turn. The guards of the API and the page limit the requests.
"""

import resource
from asyncio import Transport
from collections import Counter
from ipaddress import IPv6Address

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10
_UNREAD_SECONDS, _UNREAD_BYTES = 30.0, 30_000  # at least so many bytes of a reply are read in so many seconds
_MOST_WAITING = 32  # of one address, beside those that came within the last _TICK
_MOST_CONNECTIONS, FILES = 1024, 4096
_TICK = 1.0
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
    b"The head of the request did not come in time. Send it whole, within %d seconds." % HEAD_SECONDS
)


def most_connections() -> int:
    """How many connections may be open, by the files that this process may open."""
    return min(_MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


class Connection(H11Protocol):
    """HTTP/1.1 over one connection that is closed when its caller is too slow or holds too many."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        network = IPv6Address(host.partition("%")[0]).exploded[:19] if ":" in host else ""  # a caller has all of one
        self.address = network or host
        # Those of this server that wait, and since when; the oldest first.
        self._waiting: dict[Connection, float] = vars(self.server_state).setdefault("waiting", {})
        self._read_at, self._unread = self.loop.time(), 0
        self._sort()
        if len(self.connections) > most_connections():
            self._close_oldest(Counter(c.address for c in self._waiting).most_common(1)[0][0])
        self._looking = self.loop.call_later(_TICK, self._look)

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
        self._waiting.pop(self, None)
        super().connection_lost(exc)

    def _sort(self) -> None:
        """Keeps the connection among those that wait, or takes it from them."""
        at_work = self.cycle and not self.cycle.response_complete
        if at_work or self.transport.is_closing() or self._is_upgraded():
            self._waiting.pop(self, None)
        else:
            self._waiting.setdefault(self, self.loop.time())

    def _is_upgraded(self) -> bool:
        """Whether it has become a WebSocket, which is not looked after here."""
        return self.transport.get_protocol() is not self

    def _close_oldest(self, address: str) -> None:
        """Closes the one that waits longest; if it has sent a part of a head it is told why."""
        oldest = next(c for c in self._waiting if c.address == address)
        self._waiting.pop(oldest)
        if oldest.conn.our_state is h11.IDLE and oldest.conn.trailing_data[0]:
            oldest.transport.write(_LATE)
        oldest.transport.close()

    def _look(self) -> None:
        """Closes what is late: this connection's reader or head, or the oldest of those that are too many."""
        if self._is_upgraded():
            return
        now, unread = self.loop.time(), self.transport.get_write_buffer_size()
        if not unread or unread < self._unread - _UNREAD_BYTES:
            self._read_at, self._unread = now, unread
        self._unread = max(self._unread, unread)
        late = not unread and now - self._waiting.get(self, now) >= HEAD_SECONDS
        if now - self._read_at > _UNREAD_SECONDS:
            self.transport.abort()
        elif late or (self in self._waiting and sum(c.address == self.address for c in self._waiting) > _MOST_WAITING):
            self._close_oldest(self.address)
        self._looking = self.loop.call_later(_TICK, self._look)
