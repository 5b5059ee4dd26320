"""One process that reads foreign files, as its parent sees it: asked, listened to until a time, and ended."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_START_SECONDS = 60.0  # until a process has loaded what it needs
_PIECE = 1 << 20
_LOOK_SECONDS = 0.1  # until it is noticed that nobody waits any more
_ENVIRONMENT = {"MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"}  # less memory that is reserved for threads


class EndedError(Exception):
    """The process is gone."""


class TooLongError(Exception):
    """A line of the process is longer than it may be."""


class GivenUpError(Exception):
    """Nobody waits for the reading any more."""


class Process:
    """A process that runs a module, with a pipe in each direction.

    It has a group of its own: Ctrl-C at a terminal does not reach it, and what it starts is ended with it.
    """

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,
            env={**os.environ, **_ENVIRONMENT},
            process_group=0,
        )
        self._rest = b""

    def begins(self, request: Mapping[str, Any], given_up: Callable[[], bool]) -> bool:
        """Asks, and tells whether the process took it. Raises GivenUpError."""
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            self.line(_START_SECONDS, _PIECE, given_up)
        except (OSError, EndedError, TooLongError):
            return False
        return True

    def line(self, seconds: float, most: int, given_up: Callable[[], bool]) -> bytes:
        """The next line. Raises TimeoutError where it does not come in so many seconds, TooLongError where it is longer
        than so many bytes, EndedError where the process is gone, GivenUpError."""
        assert self._process.stdout
        pipe, end = self._process.stdout.fileno(), time.monotonic() + seconds
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        pieces, size = [self._rest], len(self._rest)
        while b"\n" not in pieces[-1]:
            if size > most:
                raise TooLongError
            while not poll.poll(max(0.0, min(_LOOK_SECONDS, end - time.monotonic())) * 1000):
                if time.monotonic() >= end:
                    raise TimeoutError
                if given_up():
                    raise GivenUpError
            pieces.append(os.read(pipe, _PIECE))
            if not pieces[-1]:
                raise EndedError
            size += len(pieces[-1])
        line, _, self._rest = b"".join(pieces).partition(b"\n")
        return line

    def kill(self) -> None:
        """Ends the process and what it has started, now."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def status(self) -> int:
        """How a process that is gone has ended: its exit status, or the number of a signal below zero."""
        try:
            return self._process.wait(1.0)
        except subprocess.TimeoutExpired:  # it closed its output and goes on
            self.kill()
            return self._process.wait()

    def end(self) -> None:
        """Ends the process and gives back all that it has; nothing else can be asked of it then."""
        self.kill()
        self._process.wait()
        with suppress(OSError):  # of what it did not take any more
            assert self._process.stdin
            self._process.stdin.close()
        assert self._process.stdout
        self._process.stdout.close()
