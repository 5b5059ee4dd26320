"""LangGraph's own development server over `langgraph.json`, for the tests that want a real one.

Whatever it wanted from elsewhere it would ask a proxy of ours for, which writes that down and gives nothing.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest
from conftest import ROOT
from loopback import free_port, serving

LANGGRAPH = ROOT / ".venvs" / "langgraph" / "bin" / "langgraph"
UP_WITHIN = 240.0
"""Seconds for the server to answer; some 12 on two idle cores."""
QUIET = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "true", "LANGSMITH_TRACING": "false"}
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")


@dataclass(frozen=True)
class DevServer:
    """url: without a path. asked_elsewhere: what the proxy was asked for. ended: the exit status, once it has one."""

    url: str
    log: Path
    asked_elsewhere: list[str]
    process: "subprocess.Popen[bytes]"

    def stop(self) -> int:
        """Ends it as Ctrl-C does, and returns its exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)


@contextmanager
def dev_server(base: Path, shared_cache: Path, **variables: str) -> Iterator[DevServer]:
    """The server as `make studio` starts it, with more variables, over a data folder in `base`. Skips without it."""
    if not LANGGRAPH.exists():
        pytest.skip("langgraph-cli is not installed; `make test-all` does that")
    data, port, log = base / "data", free_port(), base / "log"
    data.mkdir()
    (data / "cache").symlink_to(shared_cache, target_is_directory=True)
    with _recording_proxy() as (proxy, asked):
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | QUIET
        environment |= dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), proxy)
        environment |= {"no_proxy": "127.0.0.1,localhost", "STEELMAN_DATA_DIR": str(data), "PYTHONPATH": str(ROOT)}
        environment |= variables
        command = [str(LANGGRAPH), "dev", "--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(port)]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, "--config", str(ROOT / "langgraph.json")],
                cwd=base,  # the server keeps its threads there
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        server = DevServer(f"http://127.0.0.1:{port}", log, asked, process)
        try:
            _wait(server)
            yield server
        finally:
            process.kill()
            process.wait()


def _wait(server: DevServer) -> None:
    until = time.monotonic() + UP_WITHIN
    while True:
        try:
            if httpx.get(f"{server.url}/ok", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        if server.process.poll() is not None or time.monotonic() > until:
            raise AssertionError(f"the server did not come up:\n{server.log.read_text()[-3000:]}")
        time.sleep(0.25)


@contextmanager
def _recording_proxy() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65537)
            asked.append(self.raw_requestline.decode("latin-1").strip())
            self.close_connection = True
            self.wfile.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with serving(Handler) as url:
        yield url, asked
