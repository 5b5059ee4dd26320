"""Sockets, uvicorn options and shutdown of the API and the page."""

import contextlib
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any

import uvicorn

from tools.errors import SteelmanError
from tools.net.connections import HEAD_SECONDS, Connection

_BACKLOG, _FILES = 512, 4096
_CLOSING_SECONDS, _CUT_SECONDS = 3, 9.0


def listen(host: str, port: int) -> socket.socket:
    """Opens the listening socket and raises the limit of open files.

    A second server on the same port fails here, before it opens anything else. Raises SteelmanError.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(_FILES, hard)), hard))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as exc:
        number = 0 if isinstance(exc, socket.gaierror) else getattr(exc, "errno", None)
        why = os.strerror(number) if number else getattr(exc, "strerror", None) or str(exc)
        raise SteelmanError(
            f"cannot listen on port {port} of {host} ({why}). Give an address of this machine with --host, and a port "
            f"that is free with --port {port + 1}, or 0."
        ) from exc


def config_of(app: Any, **options: Any) -> uvicorn.Config:
    """uvicorn's options: the shared options and the given options."""
    return uvicorn.Config(
        app,
        http=Connection,
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=HEAD_SECONDS,
        timeout_graceful_shutdown=_CLOSING_SECONDS,
        **options,
    )


class Server(uvicorn.Server):
    """Reports its address once it listens, and stops on a signal without waiting for running models.

    No data is lost, because each change of the store is one transaction. Another process resumes a run once the run's
    heartbeat is stale.
    """

    def __init__(self, config: uvicorn.Config, say: Callable[[str], object]) -> None:
        super().__init__(config)
        self._say = say

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal allows some seconds for shutdown. The second signal allows none."""
        if self.should_exit:
            os._exit(128 + sig)
        cut = threading.Timer(_CUT_SECONDS, os._exit, (0,))
        cut.daemon = True
        cut.start()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        self._say(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        for sig in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sig, self.handle_exit)  # also during shutdown: a second signal ends the process
        yield
