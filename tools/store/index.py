"""What an index made from the store is; the folder of one on this machine; and whose fault a failure of it is."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tools.disk import disk_errors, full_error
from tools.errors import IndexDamagedError, StoreError
from tools.passages import Passage

Entry = tuple[int, Passage, NDArray[np.float32]]
"""Collection id, passage, vector."""

_FULL = ("No space left", "disk is full", "Disk quota")
_ROOM = 5_000_000  # bytes
_OUTSIDE = (
    *("Permission denied", "Read-only file system", "readonly database", "Too many open files", "LockBusy"),
    *("Cannot allocate memory", "database is locked", "database table is locked"),
)
"""Words for what is wrong with the machine, or with who asks, and not with the files."""


class Index(Protocol):
    """An index made from the store. All its methods are called under its lock, those that change it under the lock of
    one writer. They raise IndexDamagedError where it may be at fault."""

    name: str
    survives: bool
    """Whether a process that ends while it opens the index, or writes to it, does it no harm."""

    def number(self) -> str:
        """What `set_number` kept last; empty where there is no index."""
        ...

    def set_number(self, number: str) -> None: ...

    def clear(self) -> None:
        """Removes all of it; the number goes first."""
        ...

    def reopen(self) -> None:
        """Forgets what is held in memory, after another process changed the index."""
        ...

    def apply(self, adds: Sequence[Entry], removes: Sequence[tuple[int, int]]) -> None:
        """Removes (collection id, passage id) pairs, of which `EVERYTHING` may be one, then adds entries.

        Doing so twice changes nothing.
        """
        ...

    def count(self) -> int:
        """How many passages it holds."""
        ...


class VectorIndex(Index, Protocol):
    """An index that finds passages by their vectors."""

    def search(self, vector: NDArray[np.float32], collection_ids: Sequence[int], k: int) -> list[tuple[int, float]]:
        """Up to k (passage id, cosine), best first; `vector` has shape (dimensions,) and unit length."""
        ...

    def close(self) -> None:
        """Releases files and connections; the next use opens them again."""
        ...


class IndexFolder:
    """The files of an index with the number of the last change that they hold; they are removed as a whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = folder / "NUMBER"

    def number(self) -> str:
        with disk_errors(self.folder):
            return self._number.read_text(encoding="utf-8", errors="replace") if self._number.is_file() else ""

    def set_number(self, number: str) -> None:
        """In its place, so that a full disk does not refuse it; a process that ends on the way leaves its mark."""
        with disk_errors(self.folder):
            self._number.touch()
            with self._number.open("r+") as file:
                file.write(number)
                file.truncate()

    def empty(self) -> None:
        """An empty folder in the place of whatever was there."""
        with disk_errors(self.folder):
            if self.folder.is_dir():
                shutil.rmtree(self.folder)
            self.folder.unlink(missing_ok=True)
            self.folder.mkdir(parents=True)


def index_error(name: str, folder: Path, exc: BaseException) -> StoreError:
    """An index's own words for a failure, as IndexDamagedError where its files may be at fault, else as an error that
    says what is."""
    text = str(exc)
    if any(words in text for words in _FULL) or _is_short_of_room(folder):
        return full_error(folder)
    if is_outside(text):
        return StoreError(f"the {name} index in {folder} cannot be used now ({text}). Put that right, then try again.")
    return damaged(name, f"in {folder}", exc)


def damaged(name: str, where: str, exc: BaseException) -> IndexDamagedError:
    """That the index is at fault, which has it made again."""
    hint = "Make it again: `python -m agent rebuild`."
    error = IndexDamagedError(
        f"the {name} index {where} cannot be used ({exc}). {hint} Your documents are safe in the store.", hint=hint
    )
    error.index = name
    return error


def is_outside(text: str) -> bool:
    """Whether an error's words blame something else than the index."""
    return any(words in text for words in (*_FULL, *_OUTSIDE))


def _is_short_of_room(folder: Path) -> bool:
    """Whether the largest of the files would not fit on the disk once more: Chroma, which writes whole files, does not
    say so when one did not fit."""
    with suppress(OSError):
        largest = max((f.stat().st_size for f in folder.rglob("*") if f.is_file()), default=0)
        return shutil.disk_usage(folder).free < largest + _ROOM
    return False


def is_panic(exc: BaseException) -> bool:
    """Whether a library in Rust gave up, as on files that are not what it wrote; it's no `Exception`."""
    return type(exc).__name__ == "PanicException"
