"""Limits of the API's and the page's connections: speed of sending and reading, and their number.

A connection waits for a request's head or serves a request. Beyond a limit the one with the longest wait is closed, so
a new connection is always accepted. `guard` modules limit requests.
"""

import resource
from asyncio import Transport
from collections import Counter
from ipaddress import IPv6Address

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10
_BODY_SECONDS, _BODY_RATE = 30.0, 4_000  # a body may take 30 seconds, plus one for each 4,000 bytes received
_UNREAD_SECONDS, _UNREAD_BYTES = 30.0, 30_000  # a caller must read at least 30,000 bytes of a reply in 30 seconds
_MOST_WAITING = 32  # connections of one address, checked every _TICK seconds
_MOST_CONNECTIONS = 1024
_TICK = 1.0
_LATE = "HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"


def most_connections() -> int:
    """The limit of open connections: at most half of the files that this process may open."""
    return min(_MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


class Connection(H11Protocol):
    """An HTTP/1.1 connection. It is closed if its caller is too slow or holds too many connections."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        network = (
            IPv6Address(host.partition("%")[0]).exploded[:19] if ":" in host else ""
        )  # the /64 network of an IPv6 caller
        self.address = network or host
        # The server's waiting connections, oldest first, with the start of each wait.
        self._waiting: dict[Connection, float] = vars(self.server_state).setdefault("waiting", {})
        self._read_at, self._unread = self.loop.time(), 0
        self._body_bytes, self._body_waited = 0, 0.0
        self._sort()
        if len(self.connections) > most_connections():
            self._close_oldest(Counter(c.address for c in self._waiting).most_common(1)[0][0])
        self._looking = self.loop.call_later(_TICK, self._look)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._body_bytes += len(data)
        if self._is_at_work() and not self.cycle.more_body and self.conn.trailing_data[0]:
            self.cycle.keep_alive = False  # of pipelined requests only the first is answered
        self._sort()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._body_bytes, self._body_waited = 0, 0.0
        self._sort()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read_at, self._unread = self.loop.time(), 0

    def connection_lost(self, exc: Exception | None) -> None:
        self._looking.cancel()
        self._waiting.pop(self, None)
        super().connection_lost(exc)

    def _sort(self) -> None:
        if self._is_at_work() or self.transport.is_closing() or self._is_upgraded():
            self._waiting.pop(self, None)
        else:
            self._waiting.setdefault(self, self.loop.time())

    def _is_at_work(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    def _is_upgraded(self) -> bool:
        """Whether it has become a WebSocket, which has no limits here."""
        return self.transport.get_protocol() is not self

    def _close_oldest(self, address: str) -> None:
        """Closes the address's connection with the longest wait, with a reply if a part of a head arrived."""
        oldest = next(c for c in self._waiting if c.address == address)
        self._waiting.pop(oldest)
        if oldest.conn.our_state is h11.IDLE and oldest.conn.trailing_data[0]:
            message = f"The head of the request did not come in time. Send it whole, within {HEAD_SECONDS} seconds."
            oldest.transport.write(f"{_LATE}{message}".encode())
        oldest.transport.close()

    def _close_slow_body(self) -> None:
        if not self.cycle.response_started:
            fast = f"within {_BODY_SECONDS:.0f} seconds, or at {_BODY_RATE:,} bytes a second"
            self.transport.write(f"{_LATE}The body came too slowly. Send it {fast}.".encode())
        self.transport.close()

    def _look(self) -> None:
        """Closes this connection if its reader, body or head is late, and the oldest one if too many wait."""
        if self._is_upgraded():
            return
        if self._is_at_work() and self.cycle.more_body and not self.flow.read_paused:  # else the caller cannot send
            self._body_waited += _TICK
        now, unread = self.loop.time(), self.transport.get_write_buffer_size()
        if not unread or unread < self._unread - _UNREAD_BYTES:
            self._read_at, self._unread = now, unread
        self._unread = max(self._unread, unread)
        late = not unread and now - self._waiting.get(self, now) >= HEAD_SECONDS
        if now - self._read_at > _UNREAD_SECONDS:
            self.transport.abort()
        elif self._body_waited > _BODY_SECONDS + self._body_bytes / _BODY_RATE:
            self._close_slow_body()
        elif late or (self in self._waiting and sum(c.address == self.address for c in self._waiting) > _MOST_WAITING):
            self._close_oldest(self.address)
        self._looking = self.loop.call_later(_TICK, self._look)
