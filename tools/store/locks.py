"""A lock on a file orders the processes that use what is beside it: many readers, or one writer.

A second file is the gate in front of it: whoever wants the lock passes through, and a writer stays in it until it has
the lock, so that readers who come one after the other do not keep a writer out for ever. A writer leaves its name in a
third, for those who wait.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from tools.disk import disk_errors
from tools.errors import StoreBusyError

_POLL_SECONDS = 0.02


@contextmanager
def index_lock(path: Path, *, exclusive: bool, timeout: float) -> Iterator[Callable[[str], None]]:
    """Holds the lock file; the system releases it when the process ends, however it ends. What it yields tells those
    who wait what a writer does, where that may take long.

    Raises StoreBusyError, which names a writer, when other processes hold it for longer than `timeout` seconds.
    """
    import portalocker

    give_up, since = time.monotonic() + timeout, time.time()
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        gate, file = path.with_name(f"{path.name}.gate").open("a"), path.open("a")

    def tell(doing: str) -> None:
        if exclusive:
            with suppress(OSError):  # it helps those who wait, and no more than that
                _named(path).write_text(json.dumps([os.getpid(), _command(), since, doing]))

    with gate, file:
        _acquire(gate, path, exclusive=True, give_up=give_up, timeout=timeout)
        if not exclusive:
            portalocker.unlock(gate)
        _acquire(file, path, exclusive=exclusive, give_up=give_up, timeout=timeout)
        if exclusive:
            portalocker.unlock(gate)
        since = time.time()
        tell("")
        try:
            yield tell
        finally:
            if exclusive:
                with suppress(OSError):
                    _named(path).unlink(missing_ok=True)
            portalocker.unlock(file)


def writer(path: Path) -> str:
    """The writer who has the lock, since when, and what it does where that takes long; empty where none left its
    name. One that was killed is named until the next one comes: ask only while the lock is held."""
    with suppress(OSError, ValueError, TypeError):
        pid, command, since, doing = json.loads(_named(path).read_text())
        named = f"process {pid} ({command}) for {max(0.0, time.time() - since):.0f} s"
        return f"{named}, which is {doing}" if doing else named
    return ""


def _named(path: Path) -> Path:
    return path.with_name(f"{path.name}.writer")


def _command() -> str:
    """'python -m agent ingest': what was started, without the rest of what was typed, which may be private."""
    program = Path(sys.argv[0] if sys.argv else "")
    name = f"python -m {program.parent.name}" if program.name == "__main__.py" else program.name or "python"
    first = sys.argv[1] if len(sys.argv) > 1 else ""
    return f"{name} {first}" if first.isalpha() and len(first) < 20 and program.name == "__main__.py" else name


def _acquire(file: IO[str], path: Path, *, exclusive: bool, give_up: float, timeout: float) -> None:
    import portalocker

    flags = (portalocker.LOCK_EX if exclusive else portalocker.LOCK_SH) | portalocker.LOCK_NB
    while True:
        try:
            return portalocker.lock(file, flags)
        except portalocker.AlreadyLocked as exc:
            if time.monotonic() > give_up:
                who = writer(path) or f"another process for {timeout:.0f} s"
                raise StoreBusyError(
                    f"{path.parent} was locked by {who}. Wait for it to end, then try again; nothing is lost."
                ) from exc
        time.sleep(_POLL_SECONDS)
