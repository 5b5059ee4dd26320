"""A real Chroma server in a process of its own, for tests."""

import contextlib
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from loopback import free_port

_START = "from chromadb.cli.cli import app; app()"


class ChromaServer:
    """Serves a folder on a port that stays its own when it is stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Raises TimeoutError when it does not answer within 30 seconds."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-c", _START, "run", "--path", str(self.folder)]
        self._process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(self._port)],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
        )
        give_up = time.monotonic() + 30
        while time.monotonic() < give_up and self._process.poll() is None:
            with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
                urllib.request.urlopen(f"{self.url}/api/v2/heartbeat", timeout=2).close()
                return
            time.sleep(0.05)
        self.stop()
        raise TimeoutError("the Chroma server did not start")

    def stop(self) -> None:
        """Ends the process at once, as when its machine goes away."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextlib.contextmanager
def chroma_server(folder: Path) -> Iterator[ChromaServer]:
    server = ChromaServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
