"""The ways to a server that companies have: certificates of an authority of their own, TLS in front of a server, and a
forward proxy, each real and on this machine.

    made = Authority(folder)
    with TlsFront(server.port, made.certificate("127.0.0.1")) as front, ForwardProxy({"a.example": front.port}) as way:
        …
"""

import base64
import contextlib
import ipaddress
import select
import socket
import socketserver
import ssl
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


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


class _Listener:
    """Serves each connection in a thread of its own while the context is open."""

    def __init__(self) -> None:
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    outer.serve(self.request)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def serve(self, connection: socket.socket) -> None:
        raise NotImplementedError

    def __enter__(self) -> Any:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class TlsFront(_Listener):
    """TLS in front of a server of plain HTTP on this machine."""

    def __init__(self, port: int, certificate: Path, alpn: str = "") -> None:
        super().__init__()
        self._to = port
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate)
        if alpn:
            self._tls.set_alpn_protocols([alpn])

    def serve(self, connection: socket.socket) -> None:
        with self._tls.wrap_socket(connection, server_side=True) as shown:
            if shown.selected_alpn_protocol() != "h2":
                _join(shown, socket.create_connection(("127.0.0.1", self._to)))


class Speaks(_Listener):
    """Sends these bytes to whoever connects, whatever is asked: a server of another kind."""

    def __init__(self, said: bytes) -> None:
        super().__init__()
        self._said = said

    def serve(self, connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(self._said)


class ForwardProxy(_Listener):
    """A proxy that knows these names, and no others: name to port of this machine. `asked`: what it was asked for.

    login: the NAME:PASSWORD that it wants. answer: the status line that it answers everything with instead.
    """

    def __init__(self, names: Mapping[str, int], login: str = "", answer: str = "") -> None:
        super().__init__()
        self.asked: list[str] = []
        self._names, self._login, self._answer = names, login, answer
        self.url = f"http://{login + '@' if login else ''}127.0.0.1:{self.port}"

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
        to = socket.create_connection(("127.0.0.1", self._names[place.partition(":")[0]]))
        if method == "CONNECT":
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = "/" + target.split("/", 3)[3]
            to.sendall(f"{method} {path} HTTP/1.1\r\nconnection: close\r\n".encode() + rest)
        _join(connection, to)


def _join(one: socket.socket, other: socket.socket) -> None:
    """Hands on what either says, until one of them ends."""
    with other:
        while True:
            waiting = isinstance(one, ssl.SSLSocket) and one.pending()
            ready = [one] if waiting else select.select([one, other], [], [], 10)[0]
            if not ready:
                return
            for said in ready:
                part = said.recv(65536)
                if not part:
                    return
                (other if said is one else one).sendall(part)
