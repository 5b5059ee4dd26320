"""Turns disk failures into errors that say what to do next; makes private folders; provides a home and a TMPDIR."""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tools.errors import StoreError, StoreFullError

ROOT = Path(__file__).parents[1]  # the folder with all packages


def is_checkout() -> bool:
    """Whether this code runs from the project's folder, and not from an installed package."""
    return (ROOT / "pyproject.toml").is_file()


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turns an OSError into StoreFullError if the disk is full, else into StoreError. Both name the path."""
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


def provide_home(folder: Path) -> None:
    """Sets HOME to the folder if no home is known, as in a container. Libraries ask for it when they are imported."""
    with suppress(RuntimeError):
        if Path.home().is_absolute():
            return
    os.environ["HOME"] = str(folder)


def provide_temporary_folder(folder: Path) -> None:
    """Puts temporary files into the folder if no usual place is writable; also those of libraries and child processes.

    Raises StoreError if the folder is not writable either.
    """
    named = {os.path.abspath(os.environ.get(name) or "/tmp") for name in ("TMPDIR", "TEMP", "TMP")}  # noqa: PTH100
    found = ""
    with suppress(FileNotFoundError):
        found = tempfile.gettempdir()
    if found not in {*named, "/tmp", "/var/tmp", "/usr/tmp"}:  # the current folder is Python's last resort
        with disk_errors(folder):
            make_private_folder(folder.parent)
            make_private_folder(folder)
            tempfile.TemporaryFile(dir=folder).close()
        found = tempfile.tempdir = str(folder)
    if found != os.environ.get("TMPDIR", "/tmp"):
        os.environ["TMPDIR"] = found  # SQLite, what is written in Rust, and children look there
