"""The ways to a server that companies have: certificates of an authority of their own, TLS in front of a server, and a
forward proxy, each real and on this machine. `tls`, `says`, `at` and `over` give an address at which one is met.
"""

import base64
import contextlib
import gzip
import ipaddress
import selectors
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from loopback import Served
from model_server import ModelServer
from search_servers import Found, SearchServer
from web_server import WebServer, article

from tools.budget import Budget, budget_scope

GO = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
PACKED = gzip.compress(b'{"object": "list", "data": [{"index": 0, "embedding": [3.0, 4.0]}]}')
PACKED = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n%s" % (len(PACKED), PACKED)
"""A server's whole replies: of one that speaks TLS, and of one that compresses unasked."""


class Authority:
    """A certificate authority that nobody knows; `file` is its certificate."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "The company")])
        made = self._build(self._name, self._key, 1, []).sign(self._key, hashes.SHA256())
        self.file = folder / "authority.pem"
        self.file.write_bytes(made.public_bytes(serialization.Encoding.PEM))

    def certificate(self, name: str, days: float = 1, by_itself: bool = False) -> Path:
        """A certificate with its key for a name or an address, valid for so many days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        try:
            names: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address(name))]
        except ValueError:
            names = [x509.DNSName(name)]
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        made = self._build(subject, key, days, names, subject if by_itself else self._name)
        signed = made.sign(key if by_itself else self._key, hashes.SHA256())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path = self._folder / f"{name}-{days}-{by_itself}.pem"
        path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
        return path

    def _build(
        self, subject: x509.Name, key: Any, days: float, names: list[x509.GeneralName], issuer: x509.Name | None = None
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        build = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer or subject)
        build = build.public_key(key.public_key()).serial_number(x509.random_serial_number())
        build = build.not_valid_before(now - timedelta(days=9)).not_valid_after(now + timedelta(days=days))
        build = build.add_extension(x509.BasicConstraints(ca=not names, path_length=None), critical=True)
        return build.add_extension(x509.SubjectAlternativeName(names), critical=False) if names else build


class _Listener(Served):
    """Serves each connection in a thread of its own while the context is open."""

    def __init__(self) -> None:
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    outer.serve(self.request)

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        super().__init__(server)

    def serve(self, connection: socket.socket) -> None:
        raise NotImplementedError


class TlsFront(_Listener):
    """TLS in front of a server of plain HTTP on this machine."""

    def __init__(self, port: int, certificate: Path, alpn: str = "") -> None:
        super().__init__()
        self._to, self._alpn = port, alpn
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate)
        if alpn:
            self._tls.set_alpn_protocols([alpn])

    def serve(self, connection: socket.socket) -> None:
        with self._tls.wrap_socket(connection, server_side=True) as shown:
            if (shown.selected_alpn_protocol() or "") == self._alpn:
                _join(shown, socket.create_connection(("127.0.0.1", self._to)))


class Speaks(_Listener):
    """Sends these bytes to whoever connects, whatever is asked, and then closes the connection: a server of another
    kind, or one that has a bad day. `met`: how often somebody connected.

    then: what it does in the place of closing: 'hang' says nothing more, 'drip' a blank now and then, 'flood' blanks
    without end.
    """

    def __init__(self, said: bytes, then: str = "") -> None:
        super().__init__()
        self._said, self._then, self._over, self.met = said, then, threading.Event(), 0

    def serve(self, connection: socket.socket) -> None:
        self.met += 1
        connection.recv(65536)
        connection.sendall(self._said)
        if self._then == "hang":
            self._over.wait(20)
        while self._then in ("drip", "flood") and not self._over.wait(0.1 if self._then == "drip" else 0):
            connection.sendall(b" " if self._then == "drip" else b" " * 1_000_000)
        connection.shutdown(socket.SHUT_WR)
        while not self._over.is_set() and connection.recv(65536):
            pass

    def __exit__(self, *error: object) -> None:
        self._over.set()
        super().__exit__(*error)


class ForwardProxy(_Listener):
    """A proxy that knows these names and no others, each with the ports of this machine that stand for its
    plain one and for its one with TLS. `asked`: what it was asked for.

    login: the NAME:PASSWORD that it wants. answer: the status line that it answers everything with instead.
    """

    def __init__(self, names: Mapping[str, tuple[int, int]], login: str = "", answer: str = "") -> None:
        super().__init__()
        self.asked: list[str] = []
        self._names, self._login, self._answer = names, login, answer

    def serve(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            if not (part := connection.recv(65536)):
                return
            head += part
        line, _, rest = head.partition(b"\r\n")
        method, target, _ = line.decode().split(" ", 2)
        self.asked.append(f"{method} {target}")
        login = b"proxy-authorization: basic " + base64.b64encode(self._login.encode())
        if self._answer or (self._login and login.lower() not in head.lower()):
            answer = self._answer or "407 Proxy Authentication Required"
            connection.sendall(f"HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
            return
        place = target if method == "CONNECT" else target.split("/")[2]
        plain, with_tls = self._names[place.partition(":")[0]]
        to = socket.create_connection(("127.0.0.1", with_tls if method == "CONNECT" else plain))
        if method == "CONNECT":
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = "/" + target.split("/", 3)[3]
            to.sendall(f"{method} {path} HTTP/1.1\r\nconnection: close\r\n".encode() + rest)
        _join(connection, to)


def _join(one: socket.socket, other: socket.socket) -> None:
    """Hands on what either says, until one of them ends."""
    with other, selectors.DefaultSelector() as both:
        for end in (one, other):
            both.register(end, selectors.EVENT_READ)
        while True:
            waiting = isinstance(one, ssl.SSLSocket) and one.pending()
            ready = [one] if waiting else [key.fileobj for key, _ in both.select(10)]
            if not ready:
                return
            for said in cast(list[socket.socket], ready):
                part = said.recv(65536)
                if not part:
                    return
                (other if said is one else one).sendall(part)


# Addresses at which one of these is met, as long as the context is open


@dataclass(frozen=True)
class Bench:
    """What a client may use: a folder of its own, the means to set what is set, and the address of the server for
    programs that all of them ask which change nothing of it."""

    folder: Path
    patch: pytest.MonkeyPatch
    door: Callable[[], str]


@contextlib.contextmanager
def tls(bench: Bench, known: bool = True, name: str = "127.0.0.1", scheme: str = "https", **how: Any) -> Iterator[str]:
    """A model server behind TLS, by an authority of its own that this machine knows or not."""
    made = Authority(bench.folder)
    if known:
        bench.patch.setenv("SSL_CERT_FILE", str(made.file))
    alpn = how.pop("alpn", "")
    with (
        ModelServer(strict=False) as server,
        TlsFront(_port(server.root), made.certificate(name, **how), alpn) as front,
    ):
        server.on("", {"shelf": "B"})
        yield f"{scheme}://127.0.0.1:{front.port}"


@contextlib.contextmanager
def says(bench: Bench, said: bytes, scheme: str = "http") -> Iterator[str]:
    with Speaks(said) as server:
        yield f"{scheme}://127.0.0.1:{server.port}"


@contextlib.contextmanager
def bad_day(
    bench: Bench, status: str = "200 OK", body: str = "", then: str = "", met: int = 0, **head: Any
) -> Iterator[str]:
    """A server that answers everything so; `then` as in Speaks. Where it says next to nothing, half a second is left of
    the run. met: how often it has to be asked; 0 for any number."""
    lines = {"Content_Type": "application/json", **({} if then else {"Content_Length": len(body)}), **head}
    headers = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    said = f"HTTP/1.1 {status}\r\n{headers}Connection: close\r\n\r\n{body}" if status else ""
    with (
        Speaks(said.encode(), then) as server,
        budget_scope(Budget(deadline_at=time.time() + (0.5 if then in ("hang", "drip") else 9))),
    ):
        yield f"http://127.0.0.1:{server.port}"
    assert not met or server.met == met, f"{server.met} requests"


@contextlib.contextmanager
def at(bench: Bench, url: str, **environment: str) -> Iterator[str]:
    look_up(bench)
    for name, value in environment.items():
        bench.patch.setenv(name, value)
    yield url


@contextlib.contextmanager
def over(
    bench: Bench, url: str, variable: str = "ALL_PROXY", through: bool = True, no: str = "", given: str = "", **how: Any
) -> Iterator[str]:
    """A server of the world that only a proxy leads to: models at api.…, a search engine at search.…, pages at page.…
    and at page.unknown.example, a name that only the proxy knows. `given`: the login that the variable has.

    Whether anything went through the proxy has to be as `through` says.
    """
    look_up(bench)
    made = Authority(bench.folder)
    bench.patch.setenv("SSL_CERT_FILE", str(made.file))
    names = {}
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(ModelServer(strict=False)).on("", {"shelf": "B"})
        engine, site = stack.enter_context(SearchServer("serper")), stack.enter_context(WebServer())
        engine.otherwise(lambda _: [Found("https://a.public.example/", "The bridge", "It stands.")])
        site.page("/a", article("The old harbour", ["It was closed in May."]))
        site.page("/down", "", status=502)
        site.redirect("/private", "http://10.0.0.1/")
        for name, port in (("api", _port(server.root)), ("search", _port(engine.url)), ("page", site.port)):
            front = TlsFront(port, made.certificate(f"{name}.public.example"))
            names[f"{name}.public.example"] = (port, stack.enter_context(front).port)
        names["page.unknown.example"] = names["page.public.example"]
        proxy = stack.enter_context(ForwardProxy(names, **how))
        bench.patch.setenv(variable, f"http://{given + '@' if given else ''}127.0.0.1:{proxy.port}")
        bench.patch.setenv("NO_PROXY", no)
        yield url.format(port=names["api.public.example"][0], site=site.port)
        assert bool(proxy.asked) is through, proxy.asked


def look_up(bench: Bench) -> None:
    """Names are looked up as a company's own would be: …public.example leads out, to an address that no test may reach,
    …inside.example to this machine, …private.example to the private network; others of .example are not known."""
    real = socket.getaddrinfo
    known = {"public": "93.184.215.14", "inside": "127.0.0.1", "private": "10.0.0.1"}

    def answer(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if not str(name).endswith(".example"):
            return real(host, port, *args, **kwargs)
        if not (found := known.get(name.split(".")[-2])):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (found, int(port or 0)))]

    bench.patch.setattr(socket, "getaddrinfo", answer)


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])
