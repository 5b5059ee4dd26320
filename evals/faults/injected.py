"""Faults of a server behind HTTP, by name, and how each is done to a reply that would have been a good one."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

HUGE = 50_000_000
"""Bytes of a huge body."""
_PIECE = b" " * (1 << 16)
_HTML = b"<!doctype html><html><head><title>Log in</title></head><body>Please log in to this network.</body></html>"


@dataclass(frozen=True)
class Reply:
    """What a server sends: `value` is what `packed` makes the body of. altered: the value with a fault of the part's
    own in it ('wrong shape', 'wrong count', 'NaN'), by the fault's name; those that are missing make no sense there."""

    value: Any
    packed: Callable[[Any], bytes]
    content_type: str = "application/json"
    status: int = 200
    altered: Mapping[str, Any] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        return self.packed(self.value)


def packed_json(value: Any) -> bytes:
    """The value as JSON; not-a-number as Python writes it, which no JSON has and many servers send."""
    return json.dumps(value).encode()


@dataclass(frozen=True)
class Exchange:
    """One request that is to be answered badly. `closing` is set when the server ends; `refuse` stops it listening."""

    handler: BaseHTTPRequestHandler
    reply: Reply
    closing: threading.Event
    refuse: Callable[[], None]

    def send(self, body: bytes, status: int = 200, content_type: str = "", **headers: str) -> None:
        """A whole reply of this body."""
        self.start(len(body), status, content_type, **headers)
        self.handler.wfile.write(body)

    def start(self, length: int, status: int = 200, content_type: str = "", **headers: str) -> None:
        """The head of a reply."""
        self.handler.send_response(status)
        self.handler.send_header("content-type", content_type or self.reply.content_type)
        self.handler.send_header("content-length", str(length))
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()

    def reset(self) -> None:
        """Ends the connection as a crash does: without a word, what was sent last perhaps lost."""
        connection = self.handler.connection
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        self.handler.close_connection = True


Fault = Callable[[Exchange], None]


def _refused(exchange: Exchange) -> None:
    exchange.refuse()
    exchange.reset()


def _reset(exchange: Exchange) -> None:
    body = exchange.reply.body
    exchange.start(len(body))
    exchange.handler.wfile.write(body[: len(body) // 2])
    exchange.handler.wfile.flush()
    exchange.closing.wait(0.05)  # so that the half arrives before the reset does
    exchange.reset()


def _hang(exchange: Exchange) -> None:
    exchange.closing.wait()
    exchange.reset()


def _drip(exchange: Exchange) -> None:
    body = exchange.reply.body
    exchange.start(len(body))
    for at in range(len(body)):
        exchange.handler.wfile.write(body[at : at + 1])
        if exchange.closing.wait(1.0):
            break
    exchange.reset()


def _status(status: int, **headers: str) -> Fault:
    body = packed_json({"error": {"message": f"status {status} was asked for", "type": "fault"}})
    return lambda exchange: exchange.send(body, status, "application/json", **headers)


def _raw(change: Callable[[bytes], bytes], content_type: str = "") -> Fault:
    return lambda exchange: exchange.send(change(exchange.reply.body), content_type=content_type)


def _huge(exchange: Exchange) -> None:
    exchange.start(HUGE)
    for _ in range(HUGE // len(_PIECE) + 1):
        exchange.handler.wfile.write(_PIECE)


def _invalid_utf8(body: bytes) -> bytes:
    middle = len(body) // 2
    return body[:middle] + b"\xff\xfe\xc3\x28" + body[middle:]


def _loop(exchange: Exchange) -> None:
    exchange.send(b"", 307, location=exchange.handler.path)


def _altered(name: str) -> Fault:
    def fault(exchange: Exchange) -> None:
        exchange.send(exchange.reply.packed(exchange.reply.altered[name]))

    return fault


WRONG_SHAPE, WRONG_COUNT, NAN = "wrong shape", "wrong count", "NaN"
FAULTS: dict[str, Fault] = {
    "refused": _refused,
    "reset": _reset,
    "hang": _hang,
    "drip": _drip,
    "429": _status(429),
    "429 in 1 s": _status(429, retry_after="1"),
    "429 in 60 s": _status(429, retry_after="60"),
    "500": _status(500),
    "503": _status(503),
    "401": _status(401),
    "empty body": _raw(lambda _: b""),
    "HTML": _raw(lambda _: _HTML, "text/html"),
    "truncated": _raw(lambda body: body[: len(body) // 2]),
    WRONG_SHAPE: _altered(WRONG_SHAPE),
    "50 MB": _huge,
    "invalid UTF-8": _raw(_invalid_utf8),
    "redirect loop": _loop,
    WRONG_COUNT: _altered(WRONG_COUNT),
    NAN: _altered(NAN),
}
"""Every fault by its name in the table."""
OWN = (WRONG_SHAPE, WRONG_COUNT, NAN)
"""Faults inside a body that is well-formed: each part has its own, or none."""
