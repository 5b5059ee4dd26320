"""A lock on a file orders the processes that use what is beside it: many readers, or one writer.

A second file is the gate in front of it: whoever wants the lock passes through, and a writer stays in it until it has
the lock, so that readers who come one after the other do not keep a writer out for ever.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.disk import disk_errors
from tools.errors import StoreBusyError

_POLL_SECONDS = 0.02


@contextmanager
def index_lock(path: Path, *, exclusive: bool, timeout: float) -> Iterator[None]:
    """Holds the lock file; the system releases it when the process ends, however it ends.

    Raises StoreBusyError when other processes hold it for longer than `timeout` seconds.
    """
    give_up = time.monotonic() + timeout
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    gate = _acquired(path.with_name(f"{path.name}.gate"), exclusive=True, give_up=give_up)
    try:
        lock = _acquired(path, exclusive=exclusive, give_up=give_up)
    finally:
        gate.release()
    try:
        yield
    finally:
        lock.release()


def _acquired(file: Path, *, exclusive: bool, give_up: float) -> Any:
    import portalocker

    flags = (portalocker.LOCK_EX if exclusive else portalocker.LOCK_SH) | portalocker.LOCK_NB
    seconds = max(0.0, give_up - time.monotonic())
    lock = portalocker.Lock(file, "a", timeout=seconds, check_interval=_POLL_SECONDS, flags=flags)
    try:
        with disk_errors(file):
            lock.acquire()
    except portalocker.AlreadyLocked as exc:
        raise StoreBusyError(
            f"{file.parent} was locked by another process for {seconds:.0f} s. Wait for it to end, then try again; "
            "nothing is lost."
        ) from exc
    return lock
