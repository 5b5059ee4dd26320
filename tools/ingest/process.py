"""One process that reads foreign files, as its parent sees it: asked, listened to within limits, and ended."""

import json
import logging
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from tools.errors import ReaderFailedError, SourceError
from tools.ingest.documents import Found, Note
from tools.ingest.limits import Limits
from tools.passages import SourceDocument

_ROOT = Path(__file__).parents[2]
_START_SECONDS = 60.0  # until a process has loaded what it needs
_CLOCK = 3.0  # seconds by the clock for each of work, since machines are shared
_PIECE = 1 << 20
_LOOK_SECONDS = 0.1  # until it is noticed that nobody waits any more
_ENVIRONMENT = {"MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"}  # less memory that is reserved for threads
# What a reader may know of this process's environment, where the keys of services stand beside it.
_HANDED_ON = frozenset("PATH HOME LANG LANGUAGE TZ TMPDIR TEMP TMP LD_LIBRARY_PATH TESSDATA_PREFIX".split())
_HANDED_ON_KINDS = ("LC_", "PYTHON", "MALLOC_", "COVERAGE_", "COV_")
_LOG = logging.getLogger("steelman.reading")


class GivenUpError(Exception):
    """Nobody waits for the reading any more."""


class _TooLongError(Exception):
    """A line of the process is longer than it may be."""


class _Said(BaseModel):
    """A line of a process; what is of other types is none, whatever has taken the process over."""

    model_config = ConfigDict(strict=True, extra="forbid")

    begun: bool = False
    document: SourceDocument | None = None
    note: str | None = None
    problem: str | None = None
    error: str | None = None
    hint: str = ""
    foreseen: bool = True
    trace: str = ""
    memory: bool = False
    end: bool = False


class Process:
    """A process that runs a module, with a pipe in each direction; `waits`: for the next request.

    It has a group of its own: Ctrl-C at a terminal does not reach it, and what it starts is ended with it.
    """

    def __init__(self, module: str) -> None:
        """Raises OSError where the system has no room for another process."""
        handed_on = {k: v for k, v in os.environ.items() if k in _HANDED_ON or k.startswith(_HANDED_ON_KINDS)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,
            env={**handed_on, **_ENVIRONMENT},
            process_group=0,
        )
        self._rest = b""
        self.waits = False

    def begins(self, request: Mapping[str, Any], given_up: Callable[[], bool]) -> bool:
        """Asks, and tells whether the process took it. Raises GivenUpError."""
        assert self._process.stdin
        self.waits = False
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            self._line(_START_SECONDS, _PIECE, given_up)
        except (OSError, EOFError, _TooLongError):
            return False
        return True

    def found(self, name: str, limits: Limits, given_up: Callable[[], bool]) -> Iterator[Found]:
        """What the process finds in the file that it was asked for. Bytes and seconds are counted here.

        Raises SourceError where the reading failed or has to be ended, GivenUpError.
        """
        seconds, left = _CLOCK * limits.seconds + limits.recognising, limits.output
        while not self.waits:
            began = time.monotonic()
            try:
                line = self._line(seconds, left, given_up)
                said = _Said.model_validate_json(line)
            except TimeoutError as exc:
                raise limits.too_slow(name) from exc
            except _TooLongError as exc:
                raise limits.problem(name, "holds, or unpacks to, more text than is taken of one file.") from exc
            except (EOFError, ValueError) as exc:
                raise limits.ended(name, self._status() if isinstance(exc, EOFError) else 0) from exc
            seconds -= time.monotonic() - began  # what passes here between two answers is not the reader's
            left -= len(line)
            self.waits = said.end or said.error is not None
            if said.document is not None:
                yield said.document
            elif said.note is not None:
                yield Note(said.note)
            elif said.problem is not None:
                yield SourceError(said.problem, hint=said.hint)
            elif said.memory:
                raise limits.too_large(name)
            elif said.error is not None:
                level = logging.DEBUG if said.foreseen else logging.ERROR
                _LOG.log(level, "%s: its reader failed\n%s", name, said.trace)
                raise (SourceError if said.foreseen else ReaderFailedError)(said.error, hint=said.hint)

    def _line(self, seconds: float, most: int, given_up: Callable[[], bool]) -> bytes:
        """The next line. Raises TimeoutError where it does not come in time, _TooLongError where it is of more
        bytes than `most`, EOFError where the process is gone, GivenUpError."""
        assert self._process.stdout
        pipe, end = self._process.stdout.fileno(), time.monotonic() + seconds
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        pieces, size = [self._rest], len(self._rest)
        while b"\n" not in pieces[-1]:
            if size > most:
                raise _TooLongError
            while not poll.poll(max(0.0, min(_LOOK_SECONDS, end - time.monotonic())) * 1000):
                if time.monotonic() >= end:
                    raise TimeoutError
                if given_up():
                    raise GivenUpError
            pieces.append(os.read(pipe, _PIECE))
            if not pieces[-1]:
                raise EOFError
            size += len(pieces[-1])
        if given_up():
            raise GivenUpError
        line, _, self._rest = b"".join(pieces).partition(b"\n")
        return line

    def kill(self) -> None:
        """Ends the process and what it has started, now."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _status(self) -> int:
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
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # of what it did not take any more
                assert pipe
                pipe.close()
