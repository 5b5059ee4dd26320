"""The Chroma server as an outside part: a real one in a process of its own, whose replies are passed on or spoilt."""

import atexit
import contextlib
import http.client
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from evals.faults.injected import NAN, WRONG_COUNT, WRONG_SHAPE, Reply
from evals.faults.server import Asked
from tools.errors import ModelError

_START = "from chromadb.cli.cli import app; app()"
_UP_WITHIN, _SECONDS = 120.0, 60.0
_PASSED_ON = ("content-type", "accept", "user-agent")


def play_chroma(asked: Asked) -> tuple[str, Reply]:
    """What the real server says. Raises ModelError where it cannot be started."""
    connection = http.client.HTTPConnection("127.0.0.1", _real(), timeout=_SECONDS)
    with contextlib.closing(connection):
        headers = {name: asked.headers[name] for name in _PASSED_ON if name in asked.headers}
        connection.request(asked.method, asked.path, asked.data, headers)
        reply = connection.getresponse()
        body, kind = reply.read(), reply.headers.get("content-type", "application/json")
    stage = "query" if asked.path.partition("?")[0].endswith("/query") else "open"
    altered = {WRONG_SHAPE: b'{"unexpected": [1, {"two": null}]}'}
    if stage == "query":
        altered |= {
            WRONG_COUNT: b'{"ids": [["1", "2"]], "distances": [[0.5]], "include": ["distances"]}',
            NAN: b'{"ids": [["1", "2"]], "distances": [[NaN, NaN]], "include": ["distances"]}',
        }
    return stage, Reply(body, bytes, kind, reply.status, altered)


@cache
def _real() -> int:
    """The port of a Chroma server over a folder of its own; both go with this process."""
    folder = tempfile.TemporaryDirectory()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-c", _START, "run", "--path", folder.name, "--host", "127.0.0.1", "--port", str(port)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=Path(folder.name), stdout=quiet, stderr=quiet)
    for last in (folder.cleanup, process.wait, process.kill):  # what is registered last is called first
        atexit.register(last)
    give_up = time.monotonic() + _UP_WITHIN
    while time.monotonic() < give_up and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return port
        time.sleep(0.1)
    raise ModelError("a Chroma server for the measure did not start. Leave it out with --parts.")
