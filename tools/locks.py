"""One lock on the data directory orders the processes that use the indexes: many readers, or one writer."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.database import translated
from tools.errors import StoreBusyError

_POLL_SECONDS = 0.02


@contextmanager
def index_lock(path: Path, *, exclusive: bool, timeout: float) -> Iterator[None]:
    """Holds the lock file; the system lets go of it when the process ends, however it ends.

    Raises StoreBusyError when other processes hold it for longer than `timeout` seconds.
    """
    import portalocker

    flags = (portalocker.LOCK_EX if exclusive else portalocker.LOCK_SH) | portalocker.LOCK_NB
    give_up = time.monotonic() + timeout
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    with file:
        while True:
            try:
                portalocker.lock(file, flags)
                break
            except portalocker.AlreadyLocked as exc:
                if time.monotonic() > give_up:
                    raise StoreBusyError(
                        f"another process has been working on the indexes in {path.parent} for {timeout:.0f} seconds. "
                        "Wait for it to end, then try again; nothing is lost."
                    ) from exc
                time.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            portalocker.unlock(file)
