"""One lock on the data directory orders the processes that use the indexes: many readers, or one writer.

A second file is the gate in front of it: whoever wants the lock passes through, and a writer stays in it until it has
the lock, so that readers who come one after the other do not keep a writer out for ever.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tools.disk import disk_errors
from tools.errors import StoreBusyError

_POLL_SECONDS = 0.02


@contextmanager
def index_lock(path: Path, *, exclusive: bool, timeout: float) -> Iterator[None]:
    """Holds the lock file; the system releases it when the process ends, however it ends.

    Raises StoreBusyError when other processes hold it for longer than `timeout` seconds.
    """
    import portalocker

    give_up = time.monotonic() + timeout
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        gate, file = path.with_name(f"{path.name}.gate").open("a"), path.open("a")
    with gate, file:
        _acquire(gate, path, exclusive=True, give_up=give_up, timeout=timeout)
        if not exclusive:
            portalocker.unlock(gate)
        _acquire(file, path, exclusive=exclusive, give_up=give_up, timeout=timeout)
        if exclusive:
            portalocker.unlock(gate)
        try:
            yield
        finally:
            portalocker.unlock(file)


def _acquire(file: IO[str], path: Path, *, exclusive: bool, give_up: float, timeout: float) -> None:
    import portalocker

    flags = (portalocker.LOCK_EX if exclusive else portalocker.LOCK_SH) | portalocker.LOCK_NB
    while True:
        try:
            return portalocker.lock(file, flags)
        except portalocker.AlreadyLocked as exc:
            if time.monotonic() > give_up:
                raise StoreBusyError(
                    f"another process has been working on the indexes in {path.parent} for {timeout:.0f} seconds. "
                    "Wait for it to end, then try again; nothing is lost."
                ) from exc
        time.sleep(_POLL_SECONDS)
