"""Failures of the disk as errors that say what to do next."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.errors import StoreError, StoreFullError


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turns an OSError into StoreFullError where the disk is full, else into StoreError; both name the path."""
    try:
        yield
    except OSError as exc:
        if exc.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full_error(path) from exc
        raise StoreError(
            f"{path} cannot be used ({exc.strerror}). Set STEELMAN_DATA_DIR to a folder that you can write."
        ) from exc


def full_error(path: Path) -> StoreFullError:
    return StoreFullError(f"the disk with {path} is full. Free some room and run the same command again; it goes on.")
