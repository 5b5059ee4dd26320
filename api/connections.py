"""A connection and its patience: requests whose head does not arrive, and readers that do not read, are cut off.

uvicorn times the pause between two requests and nothing else.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from api.problems import MEDIA_TYPE, ProblemError

_LARGEST_HEAD = 64 * 1024
_MOST_CONNECTIONS = 512
_TOO_LATE = ProblemError(
    408, "request-too-slow", "The request did not arrive in time", "Send the whole request at once, then read."
)
_TOO_LONG = ProblemError(
    431, "head-too-large", "The head of the request is too large", f"At most {_LARGEST_HEAD} bytes before the body."
)
_NO_HTTP = ProblemError(400, "no-http", "The request is not HTTP/1.1", "Send HTTP/1.1, without TLS.")
_FULL = ProblemError(
    503,
    "too-many-connections",
    "Too many connections",
    f"{_MOST_CONNECTIONS} are open, the most there may be. Come again in 5 seconds.",
    headers={"Retry-After": "5"},
)


class Connection(HttpToolsProtocol):
    """uvicorn's connection with an end to waiting. `patience` in seconds; `patient` makes the class with it set."""

    patience = 30.0
    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None
    _unread = 0  # bytes in the writing buffer when the reader was looked at last
    _unparsed = 0  # bytes since the parser last got on to something

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        # Whatever the reader has not taken counts, so that nothing is kept for one that takes nothing.
        transport.set_write_buffer_limits(high=0)
        self._await_head()
        if len(self.connections) > _MOST_CONNECTIONS:
            self._refuse(_FULL)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timers()
        super().connection_lost(exc)

    # A head that does not come, or does not end

    def data_received(self, data: bytes) -> None:
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > _LARGEST_HEAD and not self.transport.is_closing():
            self._refuse(_TOO_LONG)

    def on_headers_complete(self) -> None:
        self._unparsed = 0
        if self._head_timer:
            self._head_timer.cancel()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unparsed = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._await_head()

    def _await_head(self) -> None:
        """The next request's head has to come within the patience, counted from now however slowly it drips in."""
        if self._head_timer:
            self._head_timer.cancel()
        self._head_timer = self.loop.call_later(self.patience, self._head_is_late)

    def _head_is_late(self) -> None:
        if self.transport.is_closing() or not (self.cycle is None or self.cycle.response_complete):
            return
        if self._unparsed:
            self._refuse(_TOO_LATE)
        else:
            self.transport.close()

    # A reader that does not read

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.transport.get_write_buffer_size()
        self._read_timer = self.loop.call_later(self.patience, self._look_at_reader)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._read_timer:
            self._read_timer.cancel()

    def _look_at_reader(self) -> None:
        """Cuts the connection if nothing was read since the last look; what waits to be sent is dropped with it."""
        unread = self.transport.get_write_buffer_size()
        if unread >= self._unread:
            self.transport.abort()
            return
        self._unread = unread
        self._read_timer = self.loop.call_later(self.patience, self._look_at_reader)

    # Refusals before there is a request

    def send_400_response(self, msg: str) -> None:
        """What uvicorn calls when the bytes cannot be read as HTTP."""
        self._refuse(_NO_HTTP)

    def _refuse(self, problem: ProblemError) -> None:
        if self.cycle is None or self.cycle.response_complete:  # else the bytes would stand inside another reply
            body = problem.problem.model_dump_json(exclude_none=True).encode()
            headers = {
                "content-type": MEDIA_TYPE,
                "content-length": str(len(body)),
                "connection": "close",
                **problem.headers,
            }
            head = b"".join(f"{name}: {value}\r\n".encode() for name, value in headers.items())
            self.transport.write(STATUS_LINE[problem.problem.status] + head + b"\r\n" + body)
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing to warn of: a request that offers another protocol is answered in this one."""

    def _cancel_timers(self) -> None:
        for timer in (self._head_timer, self._read_timer):
            if timer:
                timer.cancel()


def patient(seconds: float) -> type[Connection]:
    """Connections of this patience."""
    return type("PatientConnection", (Connection,), {"patience": seconds})
