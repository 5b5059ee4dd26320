"""Pools of reader processes: foreign files are read outside of this process, within limits of time and memory.

A reader may loop, unpack a few kilobytes to gigabytes, or fail inside of a C library: whatever it does, it is one
problem of one file. The processes stay for the next file, and are started with the first one that needs them.
"""

import asyncio
import atexit
import json
import logging
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from tools.disk import ROOT
from tools.documents.document import GUESS_ALL, Columns, Note, ReaderOutput, output_from_json
from tools.documents.limits import DEFAULT_LIMITS, Limits
from tools.errors import ReaderFailedError, SourceError
from tools.models.worker import lower_priority
from tools.passages import SourceDocument

T = TypeVar("T")
IsCancelled = Callable[[], bool]
"""Whether nobody waits for a reading any more, such as `is_set` of an event; asked ten times a second. `bool` is never
so."""
_POOLS: "weakref.WeakSet[ReaderPool]" = weakref.WeakSet()
_START_SECONDS = 60.0  # until a process has loaded what it needs
_CLOCK = 3.0  # seconds by the clock for each of work, since machines are shared
_PIECE = 1 << 20
_NO_START = "cannot be read, since the process that reads files does not start here"
_OUTPUT_A_BYTE = 16  # bytes of what is found for each of the file: a row of a few letters is a whole document
_LONG_SECONDS = 20.0  # after which a fresh process is better than one that may hold much
_LOOK_SECONDS = 0.1  # until it is noticed that nobody waits any more
# Less memory that is reserved for threads; with `-P` nothing is imported but what belongs to Steelman and to Python.
_ENVIRONMENT = {"MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
# What a reader may know of this process's environment, where the keys of services stand beside it.
_HANDED_ON = frozenset("PATH HOME LANG LANGUAGE TZ TMPDIR TEMP TMP LD_LIBRARY_PATH".split())
_HANDED_ON_KINDS = ("LC_", "PYTHON", "MALLOC_", "COVERAGE_", "COV_")
_LOG = logging.getLogger("steelman.reading")


class ReadingCancelledError(Exception):
    """Nobody waits for the reading any more."""


def read_in_process(
    path: Path,
    name: str,
    skip: Callable[[SourceError], None] | None = None,
    columns: Columns = GUESS_ALL,
    tell: Callable[[str], None] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    given_up: IsCancelled = bool,
) -> Iterator[SourceDocument]:
    """What `read_file` finds in a file; the only way to read one that others wrote.

    Raises SourceError also where the file takes more than the limits, or ends its reader; GivenUpError once nobody
    waits for it.
    """
    request = {"path": str(path.absolute()), "name": name, "columns": asdict(columns)}
    size = path.stat().st_size if path.is_file() else 0
    own = replace(limits, output=limits.output + _OUTPUT_A_BYTE * size)
    for each in FILE_READERS.read(request, name, own, given_up):
        if isinstance(each, SourceDocument):
            yield each
        elif isinstance(each, Note):
            if tell:
                tell(each.text)
        elif skip is None:
            raise each
        else:
            skip(each)


@atexit.register
def stop_readers() -> None:
    """Ends all processes that read; what is being read fails, so that whoever waits for it can end."""
    for readers in list(_POOLS):
        readers.close()


class ReaderPool:
    """A pool of processes that run one reader module: at most `at_once` read, further requests wait for their turn."""

    def __init__(self, module: str, at_once: int) -> None:
        self._module = module
        self._threads = ThreadPoolExecutor(at_once, module, lower_priority)
        self._turns: queue.LifoQueue[_Process | None] = queue.LifoQueue()  # each with the process that waits, if any
        self._reading: set[_Process] = set()
        for _ in range(at_once):
            self._turns.put(None)
        _POOLS.add(self)

    def start(self) -> None:
        """Starts a process ahead of the first file, if none waits; it loads what it needs meanwhile."""
        with suppress(queue.Empty):
            waiting = self._turns.get_nowait()
            with suppress(OSError):  # the first file is told so
                waiting = waiting or _Process(self._module)
            self._turns.put(waiting)

    async def run_cancellable(self, work: Callable[[IsCancelled], T]) -> T:
        """Runs blocking work in a thread of this pool, so that waiting for a turn holds no thread that others need.

        The work is given a function that tells whether the awaiting task was cancelled, to read with.
        """
        gone = threading.Event()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, gone.is_set)
        finally:
            gone.set()

    def read(
        self, request: Mapping[str, Any], name: str, limits: Limits, given_up: IsCancelled = bool
    ) -> Iterator[ReaderOutput]:
        """What a process answers to the request, wrong rows and notes among the documents.

        Raises SourceError with what the process says, or where it does not start, ended or had to be ended;
        GivenUpError once nobody waits for it. A reading that is not taken to its end is ended.
        """
        process = self._turn(given_up)
        try:
            try:
                process = (process.reusable() if process else None) or _Process(self._module)
            except OSError as exc:
                why = f"{_NO_START} ({exc.strerror or exc}). Try again once this machine has less to do."
                raise SourceError(f"{name}: {why}") from exc
            self._reading.add(process)
            yield from process.outputs(request, name, limits, given_up)
        finally:
            if process is not None:
                self._reading.discard(process)
                process = process.reusable()
            self._turns.put(process)

    def _turn(self, given_up: IsCancelled) -> "_Process | None":
        while not given_up():
            with suppress(queue.Empty):
                return self._turns.get(timeout=_LOOK_SECONDS)
        raise ReadingCancelledError

    def close(self) -> None:
        """Ends all processes; what is being read fails."""
        waiting: list[_Process | None] = []
        with suppress(queue.Empty):
            while True:
                waiting.append(self._turns.get_nowait())
        for process in waiting:
            if process is not None:
                process.end()
            self._turns.put(None)
        for process in list(self._reading):
            process.kill()


class _Process:
    """A process that runs a module, with a pipe in each direction.

    It has a group of its own: Ctrl-C at a terminal does not reach it, and what it starts is ended with it.
    """

    def __init__(self, module: str) -> None:
        """Raises OSError where the system has no room for another process."""
        handed_on = {k: v for k, v in os.environ.items() if k in _HANDED_ON or k.startswith(_HANDED_ON_KINDS)}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**handed_on, **_ENVIRONMENT},
            process_group=0,
        )
        self._rest = b""
        self._serves_again = True
        self._start_seconds = _START_SECONDS

    def reusable(self) -> "_Process | None":
        """The process itself where it can take another request; None, and it is ended, where it cannot."""
        if self._serves_again and self._process.poll() is None:
            return self
        self.end()
        return None

    def outputs(
        self, request: Mapping[str, Any], name: str, limits: Limits, given_up: IsCancelled
    ) -> Iterator[ReaderOutput]:
        """What the process reads in the file of the request, within the limits of bytes and seconds. Raises SourceError
        where the reading failed or has to be ended, ReadingCancelledError."""
        self._serves_again = False
        whole = seconds = _CLOCK * limits.seconds
        left = limits.output
        try:
            assert self._process.stdin
            asked = {**request, "seconds": limits.seconds, "megabytes": limits.megabytes}
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            self._process.stdin.flush()
            said: dict[str, Any] = {}
            while "end" not in said:
                began = time.monotonic()
                line = self._line(seconds + self._start_seconds, left, given_up)
                said = dict(json.loads(line))
                found = None if "end" in said else output_from_json(said)
                # What passes here between two answers is not the reader's.
                seconds -= max(0.0, time.monotonic() - began - self._start_seconds)
                self._start_seconds, left = 0.0, left - len(line)
                if found is not None:
                    yield found
            if "memory" in said:
                told = f"unpacks to more than the {limits.megabytes:,} MB of memory that reading it may take."
                raise limits.problem(name, told, limits.more_memory)
            self._serves_again = bool(said["again"]) and whole - seconds < _LONG_SECONDS
            if "error" in said:
                raise _source_error(said, name)
        except TimeoutError as exc:
            raise limits.too_slow(name) from exc
        except OverflowError as exc:
            raise limits.problem(name, "holds, or unpacks to, more text than is taken of one file.") from exc
        except (EOFError, BrokenPipeError) as exc:
            if self._start_seconds and self._status() > 0:  # it said nothing yet, of this file or of another
                raise SourceError(f"{name}: {_NO_START}. Is everything installed? Run `make install`.") from exc
            raise limits.ended(name, self._status()) from exc
        except (ValueError, TypeError, KeyError, RecursionError) as exc:  # it is not itself
            raise limits.ended(name, 0) from exc

    def _line(self, seconds: float, most: int, given_up: IsCancelled) -> bytes:
        """The next line. Raises TimeoutError where it does not come in time, OverflowError where it is of more bytes
        than `most`, EOFError where the process is gone, GivenUpError."""
        assert self._process.stdout
        pipe, end = self._process.stdout.fileno(), time.monotonic() + seconds
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        said, seen = bytearray(self._rest), 0
        while not given_up():
            if (at := said.find(b"\n", seen)) >= 0:
                self._rest = bytes(said[at + 1 :])
                return bytes(said[:at])
            seen = len(said)
            if seen > most:
                raise OverflowError
            if poll.poll(_LOOK_SECONDS * 1000):
                piece = os.read(pipe, _PIECE)
                if not piece:
                    raise EOFError
                said += piece
            elif time.monotonic() > end:
                raise TimeoutError
        raise ReadingCancelledError

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


def _source_error(said: Mapping[str, Any], name: str) -> SourceError:
    foreseen, hint = bool(said.get("foreseen")), str(said.get("hint", ""))
    level = logging.DEBUG if foreseen else logging.ERROR
    _LOG.log(level, "%s: its reader failed\n%s", name, said.get("trace", ""))
    error = (SourceError if foreseen else ReaderFailedError)(str(said["error"]), hint=hint)
    error.columns = [(str(column), str(example)) for column, example in said.get("columns", ())]
    return error


FILE_READERS = ReaderPool("tools.documents.child", at_once=min(4, max(2, os.cpu_count() or 1)))
