"""A server on this machine that plays LangSmith."""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from loopback import Silent, serving

_INFO = {
    "version": "0.0.1",
    "batch_ingest_config": {
        "use_multipart_endpoint": True,
        "size_limit": 100,
        "size_limit_bytes": 20_000_000,
        "scale_up_qsize_trigger": 1000,
        "scale_up_nthreads_limit": 16,
        "scale_down_nempty_trigger": 4,
    },
}


@dataclass
class Collector:
    """url: without a path. bodies: of every request, unpacked; `requests`: their methods and paths."""

    url: str = ""
    requests: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def posted(self) -> list[str]:
        return [r for r in self.requests if r.startswith(("POST", "PATCH"))]


@contextmanager
def collector() -> Iterator[Collector]:
    """Takes whatever is sent to it, and answers a GET as LangSmith says what it is."""
    kept = Collector()

    class Handler(Silent, BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            kept.requests.append(f"GET {self.path}")
            self._answer(json.dumps(_INFO).encode())

        def do_POST(self) -> None:
            body = self._read()
            kept.bodies.append(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            kept.requests.append(f"{self.command} {self.path}")
            self._answer(b"{}")

        do_PATCH = do_POST  # noqa: N815  # the name is the method's

        def _read(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

    with serving(Handler) as kept.url:
        yield kept
