"""Servers on a free port of this machine, each served by a thread as long as its context is open."""

import contextlib
import ipaddress
import random
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_PEM = serialization.Encoding.PEM


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def free_ports(number: int) -> int:
    """Returns the first of several free ports in a row, below the ports that the system gives to other programs."""
    while True:
        first = random.randrange(10_000, 30_000)
        with contextlib.ExitStack() as probes, contextlib.suppress(OSError):
            for port in range(first, first + number):
                probes.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first


class Served:
    """A server that is served while the context is open; `port` is where."""

    def __init__(self, server: socketserver.TCPServer) -> None:
        self._server = server
        self.port = int(server.server_address[1])
        self._thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Connections(ThreadingHTTPServer):
    """Waits for its threads when it is closed, and ends all connections, the hanging ones too, before."""

    daemon_threads = False
    request_queue_size = 512  # a connection that finds the queue full tries again a second later

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self.connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), handler)

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        self.connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        for connection in list(self.connections):
            with contextlib.suppress(OSError):  # it is closed already
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()


class Silent(BaseHTTPRequestHandler):
    """Logs no requests."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextlib.contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address at which the handler answers."""
    with Served(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield f"http://127.0.0.1:{server.port}"


class Speaks(Served):
    """Sends these bytes to each connection, whatever it asks, and closes it. `met`: connections so far.

    then: 'hang' stays silent instead of closing, 'drip' sends a blank now and then, 'flood' blanks without end.
    """

    def __init__(self, said: bytes, then: str = "") -> None:
        self._over, self.met = threading.Event(), 0
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                outer.met += 1
                with contextlib.suppress(OSError):
                    outer._speak(self.request, said, then)

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        super().__init__(server)

    def _speak(self, connection: socket.socket, said: bytes, then: str) -> None:
        connection.recv(65536)
        connection.sendall(said)
        if then == "hang":
            self._over.wait(20)
        while then in ("drip", "flood") and not self._over.wait(0.1 if then == "drip" else 0):
            connection.sendall(b" " if then == "drip" else b" " * 1_000_000)
        connection.shutdown(socket.SHUT_WR)
        while not self._over.is_set() and connection.recv(65536):
            pass

    def __exit__(self, *error: object) -> None:
        self._over.set()
        super().__exit__(*error)


def certified(folder: Path, name: str, begins: float = -9, ends: float = 1, alone: bool = False) -> ssl.SSLContext:
    """TLS with a certificate for a name or an IP address. begins, ends: days from now. alone: it is signed by itself;
    else by an authority of its own, `authority.pem`."""
    now, keys = datetime.now(UTC), [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, who)]) for who in (name, "The company")]
    ip = x509.IPAddress(ipaddress.ip_address(name)) if name.replace(".", "").isdigit() else None

    def signed(who: int, by: int) -> bytes:
        made = x509.CertificateBuilder(names[by], names[who], keys[who].public_key(), x509.random_serial_number())
        made = made.not_valid_before(now + timedelta(begins)).not_valid_after(now + timedelta(ends))
        made = made.add_extension(x509.BasicConstraints(who == 1, None), True)
        made = made.add_extension(x509.SubjectAlternativeName([ip or x509.DNSName(name)]), False)
        return made.sign(keys[by], hashes.SHA256()).public_bytes(_PEM)

    private = keys[0].private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "authority.pem").write_bytes(signed(1, 1))
    (folder / "server.pem").write_bytes(private + signed(0, 0 if alone else 1))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "server.pem")
    return tls
