"""A server on loopback that plays an outside part: well, but for the requests of one stage, which meet one fault."""

import contextlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from evals.faults.injected import Exchange, Fault, Reply


@dataclass(frozen=True)
class Asked:
    """A request: its method, its path with the query, its body as sent, and as JSON where it is JSON."""

    method: str
    path: str
    data: bytes
    headers: dict[str, str]

    @property
    def body(self) -> Any:
        """Raises ValueError for what is no JSON."""
        return json.loads(self.data)


Play = Callable[[Asked], tuple[str, Reply]]
"""The stage that a request belongs to, and the good reply to it."""


class FaultServer:
    """The server, while the context is open. `fault` strikes each request of `stage`; `struck` counts these. `own` are
    the faults of the part's own that replies can have, by each stage that asked."""

    def __init__(self, play: Play, stage: str = "", fault: Fault | None = None) -> None:
        self.play, self.stage, self.fault = play, stage, fault
        self.own: dict[str, set[str]] = {}
        self.struck = 0
        self.failures: list[str] = []
        self.closing = threading.Event()
        self._refusing = threading.Lock()
        self._listening = True
        self._server = _Server(self)
        self.root = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> "FaultServer":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, at: TracebackType | None) -> None:
        self.closing.set()
        self.refuse()
        self._thread.join()

    def refuse(self) -> None:
        """Stops listening: from now on connections are refused."""
        with self._refusing:
            if self._listening:
                self._server.shutdown()
                self._server.server_close()
                self._listening = False

    def answer(self, handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        """The good reply, or the fault where it is that stage's turn."""
        stage, reply = self.play(asked)
        self.own.setdefault(stage, set()).update(reply.altered)
        exchange = Exchange(handler, reply, self.closing, self.refuse)
        with contextlib.suppress(OSError):  # whoever asked has gone
            if self.fault is not None and stage == self.stage:
                self.struck += 1
                self.fault(exchange)
            else:
                exchange.send(reply.body, reply.status)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self, owner: FaultServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        import sys

        if not isinstance(error := sys.exc_info()[1], OSError):
            self.owner.failures.append(repr(error))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def _serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        data = self.rfile.read(length)
        if len(data) < length:  # whoever asks was cancelled in the middle of it
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.owner.answer(self, Asked(self.command, self.path, data, headers))

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""
