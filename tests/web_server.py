"""A web site on loopback with pages of every kind, the misbehaving ones included.

    with WebServer() as site:
        address = site.page("/harbour", "<html>…</html>")
        fetcher = open_fetcher()  # one that may reach the site

Every method that adds a page returns its address. `requests` lists what was asked for, in order.
"""

import contextlib
import gzip
import ssl
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from loopback import Connections, Served, Silent
from written_files import pdf_of

from tools.web.fetch import PageFetcher

Respond = Callable[["Handler"], None]
HTML = "text/html; charset=utf-8"
LOGIN_WALL = """<!doctype html><html><head><title>Sign in</title></head><body><h1>Sign in to continue</h1>
<p>You must be logged in to view this page. Log in or create an account to keep reading.</p>
<form><input name="user"><input name="password" type="password"><button>Log in</button></form></body></html>"""


def open_fetcher(**limits: Any) -> PageFetcher:
    """A fetcher that may reach 127.0.0.1 and no other address, on any port."""
    return PageFetcher(**{"permit": lambda address: address == "127.0.0.1", "ports": range(1, 65536), **limits})


def article(title: str, paragraphs: Sequence[str], head: str = "") -> str:
    """An HTML page with an article between the furniture that pages have."""
    body = "".join(f"<p>{text}</p>" for text in paragraphs)
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>{head}</head><body>
<nav><a href="/">Home</a> <a href="/about">About us</a></nav><main><article><h1>{title}</h1>{body}</article></main>
<footer>All rights reserved. Subscribe to our newsletter.</footer></body></html>"""


@dataclass(frozen=True)
class Asked:
    """A request as it arrived; `path` with the query, header names in lower case."""

    path: str
    headers: Mapping[str, str]


class Handler(Silent, BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_GET(self) -> None:
        site = self.server.site
        site.requests.append(Asked(self.path, {k.lower(): v for k, v in self.headers.items()}))
        site.ended.wait(site.latency)
        respond = site.routes.get(urlsplit(self.path).path, _answer(b"Not found", status=404))
        with contextlib.suppress(OSError):  # the reader had enough
            respond(self)

    def start(self, headers: Mapping[str, str], status: int = 200) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


class _Server(Connections):
    site: "WebServer"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # connections that end in the middle are what this server is for


class WebServer(Served):
    """The site, served while the context is open. `latency`: seconds before each answer."""

    def __init__(self, latency: float = 0.0, tls: ssl.SSLContext | None = None) -> None:
        self.latency = latency
        self.requests: list[Asked] = []
        self.routes: dict[str, Respond] = {}
        self.ended = threading.Event()
        server = _Server(Handler)
        server.site = self
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        super().__init__(server)
        self.connections = server.connections
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        super().__exit__(*error)

    def at(self, path: str, respond: Respond) -> str:
        self.routes[path] = respond
        return self.url + path

    # Pages that behave

    def page(
        self,
        path: str,
        html: str | bytes,
        *,
        status: int = 200,
        content_type: str = HTML,
        headers: Mapping[str, str] | None = None,
    ) -> str:
        data = html if isinstance(html, bytes) else html.encode()
        return self.at(path, _answer(data, status, content_type, headers))

    def pdf(self, path: str, pages: Sequence[str], title: str = "") -> str:
        return self.page(path, pdf(pages, title), content_type="application/pdf")

    def redirect(self, path: str, to: str, status: int = 302) -> str:
        return self.at(path, _answer(b"", status, headers={"Location": to}))

    def packed(self, path: str, html: str) -> str:
        return self.page(path, gzip.compress(html.encode()), headers={"Content-Encoding": "gzip"})

    # Pages that do not

    def status(self, path: str, status: int) -> str:
        return self.at(path, _answer(b"<html><body>Sorry.</body></html>", status))

    def login_wall(self, path: str) -> str:
        return self.page(path, LOGIN_WALL)

    def redirect_loop(self, path: str) -> str:
        self.redirect(path + "/back", path)
        return self.redirect(path, path + "/back")

    def hang(self, path: str) -> str:
        """Never answers."""

        def respond(handler: Handler) -> None:
            handler.close_connection = True
            self.ended.wait(60)

        return self.at(path, respond)

    def drip(self, path: str, seconds: float = 0.1) -> str:
        """Sends one byte after the other, so that no single read takes long."""

        def respond(handler: Handler) -> None:
            handler.start({"Content-Type": HTML, "Content-Length": "100000"})
            while not self.ended.wait(seconds):
                handler.wfile.write(b"x")

        return self.at(path, respond)

    def endless(self, path: str, megabytes: int = 100) -> str:
        """A large body whose length is not told."""

        def respond(handler: Handler) -> None:
            handler.close_connection = True
            handler.start({"Content-Type": HTML, "Connection": "close"})
            piece = b"<p>word</p>" * 95_000
            for _ in range(megabytes):
                handler.wfile.write(piece)

        return self.at(path, respond)

    def wrong_length(self, path: str, told: int, data: bytes) -> str:
        """Tells another length than it sends, and closes the connection."""

        def respond(handler: Handler) -> None:
            handler.close_connection = True
            handler.start({"Content-Type": HTML, "Content-Length": str(told)})
            handler.wfile.write(data)

        return self.at(path, respond)

    def cut(self, path: str) -> str:
        """Breaks off in the middle of a page."""
        return self.wrong_length(path, 50_000, b"<html><body><p>It was the harbour that")

    def gzip_bomb(self, path: str, megabytes: int = 100) -> str:
        """A hundred kilobytes that expand to a hundred megabytes."""
        return self.page(path, _packed_spaces(megabytes), headers={"Content-Encoding": "gzip"})


def _answer(
    data: bytes, status: int = 200, content_type: str = HTML, headers: Mapping[str, str] | None = None
) -> Respond:
    def respond(handler: Handler) -> None:
        told = {"Content-Type": content_type, "Content-Length": str(len(data)), **(headers or {})}
        handler.start({name: value for name, value in told.items() if value}, status)
        handler.wfile.write(data)

    return respond


def _packed_spaces(megabytes: int) -> bytes:
    pack = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    parts = [pack.compress(b" " * 1_000_000) for _ in range(megabytes)]
    return b"".join((*parts, pack.flush()))


def pdf(pages: Sequence[str], title: str = "") -> bytes:
    """A PDF of one line a page; without one it is a picture."""
    drawn = (f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else "0 0 100 100 re f" for text in pages)
    return pdf_of([each.encode() for each in drawn], title)
