"""Failures of the disk as errors that say what to do next."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


def make_private_folder(folder: Path) -> None:
    """The folder, which nobody else may look into where it is made here; one that was there stays as it is."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


def keep_folder_private(folder: Path) -> None:
    """Has the folder, made where it is missing, be its owner's alone; one that is somebody else's is left as it is.

    Raises OSError where it cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _close_to_others(folder)


def keep_private(file: Path) -> None:
    """Has the file, made where it is missing, and SQLite's companions of it readable by their owner alone; what belongs
    to somebody else is left as it is."""
    with suppress(OSError):  # what opens it next says what is wrong with it
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    for each in (file, *(file.with_name(f"{file.name}{end}") for end in ("-wal", "-shm", "-journal"))):
        _close_to_others(each)


def _close_to_others(path: Path) -> None:
    with suppress(FileNotFoundError, PermissionError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            path.chmod(mode & 0o700)
