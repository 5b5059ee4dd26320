"""Limits the connections of the API and of the page: the time for a request to arrive, and the number of connections.

A connection either waits for a request's head or serves a request. Above the limit, the server closes the connection
that has waited longest, so it always accepts a new connection. The `guard` modules limit requests.
"""

import resource
from asyncio import Transport

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10
_BODY_SECONDS, _BODY_RATE = 30.0, 4_000  # a body may take 30 seconds, plus one for each 4,000 bytes received
_MOST_CONNECTIONS = 1024
_TICK = 1.0
_LATE = "HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"


class Connection(H11Protocol):
    """An HTTP/1.1 connection. The server closes the connection if the caller is too slow, or if there are too many
    connections and this one has waited longest."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # The server's waiting connections, oldest first, with the start of each wait.
        self._waiting: dict[Connection, float] = vars(self.server_state).setdefault("waiting", {})
        self._body_bytes, self._body_waited = 0, 0.0
        self._sort()
        # At most half of the files that this process may open.
        if len(self.connections) > min(_MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2):
            next(iter(self._waiting)).close_late_head()
        self._looking = self.loop.call_later(_TICK, self._look)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._body_bytes += len(data)
        self._sort()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._body_bytes, self._body_waited = 0, 0.0
        self._sort()

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
        """Whether the connection has become a WebSocket. WebSockets have no limits here."""
        return self.transport.get_protocol() is not self

    def close_late_head(self) -> None:
        """Closes this waiting connection, with a reply if a part of a head arrived."""
        self._waiting.pop(self)
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            message = f"The head of the request did not come in time. Send it whole, within {HEAD_SECONDS} seconds."
            self.transport.write(f"{_LATE}{message}".encode())
        self.transport.close()

    def _look(self) -> None:
        """Closes this connection if its head or body is late."""
        if self._is_upgraded():
            return
        if self._is_at_work() and self.cycle.more_body and not self.flow.read_paused:  # else the caller cannot send
            self._body_waited += _TICK
        if self.loop.time() - self._waiting.get(self, self.loop.time()) >= HEAD_SECONDS:
            self.close_late_head()
        elif self._body_waited > _BODY_SECONDS + self._body_bytes / _BODY_RATE:
            if not self.cycle.response_started:
                fast = f"within {_BODY_SECONDS:.0f} seconds, or at {_BODY_RATE:,} bytes a second"
                self.transport.write(f"{_LATE}The body came too slowly. Send it {fast}.".encode())
            self.transport.close()
        self._looking = self.loop.call_later(_TICK, self._look)
