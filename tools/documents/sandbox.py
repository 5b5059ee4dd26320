"""Runs parsers in separate processes with limits on time, memory and output. A hostile file may make its parser loop,
fill the memory or crash. Such a failure affects this file only. Processes start on demand and are reused."""

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
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tools.disk import ROOT
from tools.documents.document import GUESSED_COLUMNS, ColumnNames, ReaderOutput, output_from_json
from tools.errors import ReaderFailedError, SourceError
from tools.models.worker import lower_priority
from tools.passages import SourceDocument


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """Limits for parsing one file. seconds: processor time; the wall-clock limit is three times as long. megabytes:
    memory. output: bytes of the result. advice: what the user can do if a file exceeds the limits. more_time,
    more_memory: hints for raising the limits."""

    seconds: float = 30.0
    megabytes: int = 512
    output: int = 256 << 20
    advice: str = "Split it, or save it in another format."
    more_time: str = ""
    more_memory: str = ""

    def problem(self, name: str, told: str, more: str = "") -> SourceError:
        return SourceError(" ".join(filter(None, (f"{name}: {told}", self.advice))), hint=more)

    def too_slow(self, name: str) -> SourceError:
        return self.problem(name, f"takes too long to read (over {self.seconds:g} seconds).", self.more_time)

    def ended(self, name: str, status: int) -> SourceError:
        """Returns the error for a reader process that ended. status: exit status, or a negative signal number."""
        if status == -signal.SIGXCPU:
            return self.too_slow(name)
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        told = f"is damaged, or unpacks to more than {self.megabytes:,} MB of memory: it ended its reader ({how})."
        return self.problem(name, told, self.more_memory)


DEFAULT_LIMITS = ReaderLimits()


T = TypeVar("T")
IsCancelled = Callable[[], bool]  # such as an event's `is_set`; called ten times a second. `bool()` is always False
_PROCESSES: "set[_ReaderProcess]" = set()  # those that run
_START_SECONDS = 60.0  # time for a process to load its modules
_END_SECONDS = 5.0  # longest wait for a killed process
_WALL_CLOCK_FACTOR = 3.0  # wall-clock seconds per second of processor time
_PIPE_BYTES = 1 << 20
_NO_START = "cannot be read, because the reader process does not start"
_OUTPUT_RATIO = 16  # output bytes for each input byte, because even a short row becomes a whole document
_POLL_SECONDS = 0.1  # seconds between checks for cancellation
# The first two reserve less memory for threads. With `-P`, imports find only Steelman and installed packages.
_ENVIRONMENT = {"MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
# Environment variables that a reader process receives. Keys of services are not among them.
_PASSED_VARIABLES = frozenset("PATH HOME LANG LANGUAGE TZ TMPDIR TEMP TMP LD_LIBRARY_PATH".split())
_PASSED_PREFIXES = ("LC_", "PYTHON", "MALLOC_", "COVERAGE_", "COV_")
_LOG = logging.getLogger("steelman.reading")


class ReadingCancelledError(Exception):
    """The caller cancelled the reading."""


def read_in_process(
    path: Path,
    name: str,
    skip: Callable[[SourceError], None] | None = None,
    columns: ColumnNames = GUESSED_COLUMNS,
    tell: Callable[[str], None] | None = None,
    limits: ReaderLimits = DEFAULT_LIMITS,
    is_cancelled: IsCancelled = bool,
) -> Iterator[SourceDocument]:
    """Yields the documents of `read_file`, which runs in a reader process. Use this function for every untrusted file.
    Raises SourceError for an unreadable file, for a reached limit and for a reader process that ends. Raises
    ReadingCancelledError."""
    request = {"path": str(path.absolute()), "name": name, "columns": asdict(columns)}
    size = path.stat().st_size if path.is_file() else 0
    own = replace(limits, output=limits.output + _OUTPUT_RATIO * size)
    for each in FILE_READERS.read(request, name, own, is_cancelled):
        if isinstance(each, SourceDocument):
            yield each
        elif isinstance(each, str):
            if tell:
                tell(each)
        elif skip is None:
            raise each
        else:
            skip(each)


@atexit.register
def stop_readers() -> None:
    """Ends all reader processes. Files that are being parsed fail."""
    for process in list(_PROCESSES):
        process.kill()


class ReaderPool:
    """A pool of at most `at_once` processes that all run the same module. Further requests wait."""

    def __init__(self, module: str, at_once: int) -> None:
        self._module = module
        self._threads = ThreadPoolExecutor(at_once, module, lower_priority)
        self._turns: queue.LifoQueue[_ReaderProcess | None] = queue.LifoQueue()  # idle processes; None: start one
        for _ in range(at_once):
            self._turns.put(None)

    def start(self) -> None:
        """Starts a process before the first file arrives, if no process is idle."""
        with suppress(queue.Empty):
            waiting = self._turns.get_nowait()
            with suppress(OSError):  # the first file reports the error
                waiting = waiting or _ReaderProcess(self._module)
            self._turns.put(waiting)

    async def run_cancellable(self, work: Callable[[IsCancelled], T]) -> T:
        """Runs blocking work in a thread of this pool. The work receives a function that returns True after the
        awaiting task is cancelled."""
        gone = threading.Event()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, gone.is_set)
        finally:
            gone.set()

    def read(
        self, request: Mapping[str, Any], name: str, limits: ReaderLimits, is_cancelled: IsCancelled = bool
    ) -> Iterator[ReaderOutput]:
        """Yields a process's outputs for the request. Raises SourceError if the process reports an error, fails to
        start or ends. Raises ReadingCancelledError. If the caller does not consume all outputs, ends the process."""
        process = self._turn(is_cancelled)
        try:
            try:
                process = (process.reusable() if process else None) or _ReaderProcess(self._module)
            except OSError as exc:
                why = f"{_NO_START} ({exc.strerror or exc}). Try again once this machine has less to do."
                raise SourceError(f"{name}: {why}") from exc
            yield from process.outputs(request, name, limits, is_cancelled)
        finally:
            self._turns.put(process and process.reusable())

    def _turn(self, is_cancelled: IsCancelled) -> "_ReaderProcess | None":
        while not is_cancelled():
            with suppress(queue.Empty):
                return self._turns.get(timeout=_POLL_SECONDS)
        raise ReadingCancelledError


class _ReaderProcess:
    """A process that runs a reader module, with pipes for requests and outputs. The process has its own process group.
    So Ctrl-C does not reach the process, and `kill` also ends the process's children."""

    def __init__(self, module: str) -> None:
        """Raises OSError if the system cannot start another process."""
        handed_on = {k: v for k, v in os.environ.items() if k in _PASSED_VARIABLES or k.startswith(_PASSED_PREFIXES)}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**handed_on, **_ENVIRONMENT},
            process_group=0,
        )
        _PROCESSES.add(self)
        self._rest = b""
        self._serves_again = True
        self._start_seconds = _START_SECONDS

    def reusable(self) -> "_ReaderProcess | None":
        """Returns the process if it can take another request. Otherwise ends the process and returns None."""
        if self._serves_again and self._process.poll() is None:
            return self
        self.end()
        return None

    def outputs(
        self, request: Mapping[str, Any], name: str, limits: ReaderLimits, is_cancelled: IsCancelled
    ) -> Iterator[ReaderOutput]:
        """Yields the outputs for a request. Raises SourceError if parsing fails or exceeds a limit. Raises
        ReadingCancelledError."""
        self._serves_again = False
        seconds = _WALL_CLOCK_FACTOR * limits.seconds
        left = limits.output
        try:
            assert self._process.stdin
            asked = {**request, "seconds": limits.seconds, "megabytes": limits.megabytes}
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            self._process.stdin.flush()
            said: dict[str, Any] = {}
            while "end" not in said:
                began = time.monotonic()
                line = self._line(seconds + self._start_seconds, left, is_cancelled)
                said = dict(json.loads(line))
                found = None if "end" in said else output_from_json(said)
                # The limit counts the process's time, not the consumer's time.
                seconds -= max(0.0, time.monotonic() - began - self._start_seconds)
                self._start_seconds, left = 0.0, left - len(line)
                if found is not None:
                    yield found
            if "memory" in said:
                told = f"unpacks to more than the {limits.megabytes:,} MB of memory that a reader may use."
                raise limits.problem(name, told, limits.more_memory)
            self._serves_again = bool(said["again"])
            if "error" in said:
                raise _source_error(said, name)
        except TimeoutError as exc:
            raise limits.too_slow(name) from exc
        except OverflowError as exc:
            raise limits.problem(name, "holds, or unpacks to, more text than one file may have.") from exc
        except (EOFError, BrokenPipeError) as exc:
            if self._start_seconds and self._status() > 0:  # the process has sent no output at all
                raise SourceError(f"{name}: {_NO_START}. Is everything installed? Run `make install`.") from exc
            raise limits.ended(name, self._status()) from exc
        except (ValueError, TypeError, KeyError, RecursionError) as exc:  # the process is corrupted
            raise limits.ended(name, 0) from exc

    def _line(self, seconds: float, most: int, is_cancelled: IsCancelled) -> bytes:
        """Returns the next line. Raises TimeoutError after `seconds`, OverflowError for more than `most` bytes,
        EOFError if the process has ended, and ReadingCancelledError."""
        assert self._process.stdout
        pipe, end = self._process.stdout.fileno(), time.monotonic() + seconds
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        said, seen = bytearray(self._rest), 0
        while not is_cancelled():
            if (at := said.find(b"\n", seen)) >= 0:
                self._rest = bytes(said[at + 1 :])
                return bytes(said[:at])
            seen = len(said)
            if seen > most:
                raise OverflowError
            if poll.poll(_POLL_SECONDS * 1000):
                piece = os.read(pipe, _PIPE_BYTES)
                if not piece:
                    raise EOFError
                said += piece
            elif time.monotonic() > end:
                raise TimeoutError
        raise ReadingCancelledError

    def kill(self) -> None:
        """Kills the process and its children, and waits for the process's end."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # a process in the kernel's hands does not end at once
            self._process.wait(_END_SECONDS)
        _PROCESSES.discard(self)

    def _status(self) -> int:
        """Returns the exit status of an ended process, or the negative number of the signal that ended the process."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(1.0)
        self.kill()  # the process closed its output but still runs
        return self._process.wait()

    def end(self) -> None:
        """Kills the process and closes its pipes."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # closing may fail because of unread input
                assert pipe
                pipe.close()


def _source_error(said: Mapping[str, Any], name: str) -> SourceError:
    foreseen, hint = bool(said.get("foreseen")), str(said.get("hint", ""))
    level = logging.DEBUG if foreseen else logging.ERROR
    _LOG.log(level, "%s: its reader failed\n%s", name, said.get("trace", ""))
    error = (SourceError if foreseen else ReaderFailedError)(str(said["error"]), hint=hint)
    error.columns = [(str(column), str(example)) for column, example in said.get("columns", ())]
    return error


FILE_READERS = ReaderPool("tools.documents.reader_process", at_once=min(4, max(2, os.cpu_count() or 1)))
