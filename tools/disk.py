"""Disk errors with advice, private folders and files, and a fallback for HOME."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tools.errors import StoreError, StoreFullError

ROOT = Path(__file__).parents[1]  # the folder with all packages


def is_checkout() -> bool:
    """Whether the code runs from the project's folder, not from an installed package."""
    return (ROOT / "pyproject.toml").is_file()


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raises StoreFullError for a full disk and StoreError for every other OSError. Both name the path."""
    try:
        yield
    except OSError as exc:
        if exc.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full_error(path) from exc
        if exc.errno in (errno.EMFILE, errno.ENFILE):
            raise StoreError(f"{path} cannot be opened: too many files are open. Raise the limit (ulimit -n).") from exc
        raise StoreError(
            f"{path} cannot be used ({exc.strerror}). Set STEELMAN_DATA_DIR to a folder that you can write."
        ) from exc


def full_error(path: Path) -> StoreFullError:
    return StoreFullError(f"the disk with {path} is full. Free some room and run the same command again; it goes on.")


def keep_folder_private(folder: Path) -> None:
    """Creates the folder if needed and sets mode 700, except on another user's folder. Raises OSError if the folder
    cannot be created."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _close_to_others(folder)


def keep_private(file: Path) -> None:
    """Creates the file if needed. Makes the file and SQLite's companion files readable by the owner alone. Does not
    change another user's files."""
    with suppress(OSError):  # the next user of the file reports the error
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    for each in (file, *(file.with_name(f"{file.name}{end}") for end in ("-wal", "-shm", "-journal"))):
        _close_to_others(each)


def _close_to_others(path: Path) -> None:
    with suppress(FileNotFoundError, PermissionError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            path.chmod(mode & 0o700)


def provide_home(folder: Path) -> None:
    """Sets HOME to the folder if there is no home, as in a container. Libraries ask for HOME when they are imported."""
    with suppress(RuntimeError):
        if Path.home().is_absolute():
            return
    os.environ["HOME"] = str(folder)
