"""A connection whose refusals are problem documents too: a head that is too large, too many connections, no HTTP.

Slow senders and slow readers are not timed here: that is the work of a proxy.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from api.problems import MEDIA_TYPE, ProblemError

_LARGEST_HEAD = 64 * 1024
_MOST_CONNECTIONS = 512
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
    """uvicorn's connection with a limit for heads and for how many connections there are."""

    _unparsed = 0  # bytes since the parser last got on to something

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        if len(self.connections) > _MOST_CONNECTIONS:
            self._refuse(_FULL)

    def data_received(self, data: bytes) -> None:
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > _LARGEST_HEAD and not self.transport.is_closing():
            self._refuse(_TOO_LONG)

    def on_headers_complete(self) -> None:
        self._unparsed = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unparsed = 0
        super().on_message_complete()

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
