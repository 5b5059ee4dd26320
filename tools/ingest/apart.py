"""Reads what strangers wrote in processes of their own, which are ended where they exceed their limits.

A reader may loop, unpack a few kilobytes to gigabytes, or fail inside of a C library: whatever it does, it is one
problem of one file. The processes stay for the next file, and are started with the first one that needs them.
"""

import asyncio
import atexit
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from tools.errors import SourceError
from tools.inference.worker import lower_priority
from tools.ingest.columns import GUESSED, Columns
from tools.ingest.documents import Found, Note
from tools.ingest.limits import USUAL, Limits
from tools.ingest.process import GivenUpError, Process
from tools.passages import SourceDocument

T = TypeVar("T")
GivenUp = Callable[[], bool]
"""Whether nobody waits for a reading any more, such as `is_set` of an event; asked ten times a second."""
_MADE: "weakref.WeakSet[Readers]" = weakref.WeakSet()
_RECOGNISING = 1800.0
_OUTPUT_A_BYTE = 16  # bytes of what is found for each of the file: a row of a few letters is a whole document
_LOOK_SECONDS = 0.1  # until a reading that waits its turn notices that nobody waits for it


def _never() -> bool:
    return False


def read_apart(
    path: Path,
    name: str,
    skip: Callable[[SourceError], None] | None = None,
    columns: Columns = GUESSED,
    tell: Callable[[str], None] | None = None,
    limits: Limits = USUAL,
    given_up: GivenUp = _never,
) -> Iterator[SourceDocument]:
    """What `read_file` finds in a file; the only way to read one that others wrote.

    Raises SourceError also where the file takes more than the limits, or ends its reader; GivenUpError once nobody
    waits for it.
    """
    request = {"path": str(path.absolute()), "name": name, "columns": asdict(columns), "skip": skip is not None}
    recognising = _RECOGNISING if path.suffix.lower() == ".pdf" else 0.0
    own = replace(limits, recognising=recognising, output=limits.output + _OUTPUT_A_BYTE * _size(path))
    for each in FILES.read(request, name, own, given_up):
        if isinstance(each, SourceDocument):
            yield each
        elif isinstance(each, Note):
            if tell:
                tell(each.text)
        elif skip is None:
            raise each
        else:
            skip(each)


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


@atexit.register
def end_readers() -> None:
    """Ends all processes that read; what is being read fails, so that whoever waits for it can end."""
    for readers in list(_MADE):
        readers.close()


class Readers:
    """Processes that run a module, started when they are needed; so many read at once, and who comes then waits."""

    def __init__(self, module: str, at_once: int) -> None:
        self._module = module
        self._turns = threading.BoundedSemaphore(at_once)
        self._threads = ThreadPoolExecutor(at_once, module, lower_priority)
        self._lock = threading.Lock()
        self._free: list[Process] = []
        self._all: set[Process] = set()
        _MADE.add(self)

    def start(self) -> None:
        """Starts a process ahead of the first file, if there is none; it loads what it needs meanwhile."""
        with self._lock, suppress(OSError):  # the first file is told so
            if not self._all:
                self._free.append(Process(self._module))
                self._all.update(self._free)

    async def while_awaited(self, work: Callable[[GivenUp], T]) -> T:
        """What the work returns or raises, which reads with what it is given, in a thread of these readers' own: who
        waits for its turn holds none that others need. A reading whose awaiting is cancelled is given up."""
        gone = threading.Event()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, gone.is_set)
        finally:
            gone.set()

    def read(
        self, request: Mapping[str, Any], name: str, limits: Limits, given_up: GivenUp = _never
    ) -> Iterator[Found]:
        """What a process answers to the request, wrong rows and notes among the documents.

        Raises SourceError with what the process says, or where it does not start, ended or had to be ended;
        GivenUpError once nobody waits for it. A reading that is not taken to its end is ended.
        """
        while not self._turns.acquire(timeout=_LOOK_SECONDS):
            if given_up():
                raise GivenUpError
        try:
            request = {**request, "seconds": limits.seconds, "megabytes": limits.megabytes}
            with self._begun(request, name, given_up) as process:
                yield from process.found(name, limits, given_up)
        finally:
            self._turns.release()

    def close(self) -> None:
        """Ends all processes; what is being read fails."""
        with self._lock:
            waiting, self._free = self._free, []
            for process in self._all:
                process.kill()
        for process in waiting:
            self._end(process)

    @contextmanager
    def _begun(self, request: Mapping[str, Any], name: str, given_up: GivenUp) -> Iterator[Process]:
        """A process that has begun with the request; one that waited and is gone meanwhile is replaced."""
        fresh = began = False
        while not began:
            if given_up():
                raise GivenUpError
            if fresh:
                raise _not_started(name)
            with self._lock:
                fresh = not self._free
                try:
                    process = Process(self._module) if fresh else self._free.pop()
                except OSError as exc:
                    raise _not_started(name, exc) from exc
                self._all.add(process)
            try:
                began = process.begins(request, given_up)
            finally:
                if not began:
                    self._end(process)
        try:
            yield process
        finally:
            with self._lock:
                if process.waits:
                    self._free.append(process)
            if not process.waits:
                self._end(process)

    def _end(self, process: Process) -> None:
        with self._lock:
            self._all.discard(process)
        process.end()


def _not_started(name: str, exc: OSError | None = None) -> SourceError:
    why = f" ({exc.strerror or exc})" if exc else ""
    told = f"{name}: cannot be read, since the process that reads files does not start here{why}."
    return SourceError(f"{told} Try again once this machine has less to do.")


FILES = Readers("tools.ingest.child", at_once=min(4, max(2, os.cpu_count() or 1)))
