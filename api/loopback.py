"""Where the server listens, and whether only this machine can reach it there."""

import contextlib
import errno
import ipaddress
import socket

from tools.errors import SteelmanError

_BACKLOG = 512


class ListeningError(SteelmanError):
    """The server cannot listen where it was told to."""


def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine and nothing else."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen on every address of the host, all on one port. Raises ListeningError.

    Callers queue from now on, so that a second server on the same port is refused before it has opened anything.
    """
    with contextlib.ExitStack() as opened:
        try:
            sockets: list[socket.socket] = []
            for family, address in _addresses(host):
                bound = socket.socket(family, socket.SOCK_STREAM)
                sockets.append(opened.enter_context(contextlib.closing(bound)))
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a server that is started again at once
                if family == socket.AF_INET6:
                    bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                bound.bind((address, port))
                bound.listen(_BACKLOG)
                port = bound.getsockname()[1]
        except OSError as exc:
            raise ListeningError(_why(exc, host, port)) from exc
        opened.pop_all()
        return sockets


def _addresses(host: str) -> list[tuple[int, str]]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys((int(family), str(address[0])) for family, _, _, _, address in found))


def _why(exc: OSError, host: str, port: int) -> str:
    if isinstance(exc, socket.gaierror):
        return f"there is no machine called '{host}' ({exc.strerror}). Give an address with --host."
    if exc.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken. End what listens there, or take another: --port {port + 1}, or 0."
    if exc.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine. Give one of its own with --host."
    if exc.errno == errno.EACCES:
        return f"port {port} may not be opened by this user. Take one above 1023: --port 8000."
    return f"cannot listen on port {port} of {host} ({exc.strerror})."
