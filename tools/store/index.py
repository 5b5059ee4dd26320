"""What an index made from the store is and what it follows; its folder on this machine; whose fault a failure of it is.

Passages come with numbers that only grow, and those that go leave a line.
"""

import shutil
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tools.disk import disk_errors, full_error
from tools.errors import IndexDamagedError, SteelmanError, StoreError
from tools.passages import Passage
from tools.store.database import Database

Entry = tuple[int, Passage, NDArray[np.float32]]
"""Collection id, passage, vector."""

_FULL = ("No space left", "disk is full", "Disk quota")
_ROOM = 5_000_000  # bytes
PANICS = ("out of bounds", "out of range", "assertion failed", "mid > len", "too small", "a `None` value", "overflow")
"""Words of panics in Rust over what was read. No error of the operating system has them."""
ALL_PASSAGES = 0
"""Stands for all passages of a collection where they are removed: a line for each would take minutes."""


class Index(ABC):
    """An index made from the store. All its methods are called under its lock, those that change it under the lock of
    one writer. They raise IndexDamagedError where it may be at fault."""

    name: str
    survives = False
    """Whether a process that ends while it opens the index, or writes to it, does it no harm."""

    @abstractmethod
    def number(self) -> str:
        """What `set_number` kept last; empty where there is no index."""

    @abstractmethod
    def set_number(self, number: str) -> None: ...

    @abstractmethod
    def clear(self) -> None:
        """Removes all of it; the number goes first."""

    @abstractmethod
    def reopen(self) -> None:
        """Forgets what is held in memory, after another process changed the index."""

    @abstractmethod
    def apply(self, adds: Sequence[Entry], removes: Sequence[tuple[int, int]]) -> None:
        """Removes (collection id, passage id) pairs, of which `ALL_PASSAGES` may be one, then adds entries.

        Doing so twice changes nothing.
        """

    @abstractmethod
    def count(self) -> int:
        """How many passages it holds."""


class FolderIndex(Index):
    """An index in files, with the number of the last change that they hold; they are removed as a whole."""

    damage: ClassVar[Mapping[str, tuple[str, ...]]]
    """Its library's words for damaged files, by the name of the exception."""

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

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turns its library's failures into errors that say what to do next."""
        try:
            yield
        except SteelmanError:
            raise
        except BaseException as exc:
            # A panic in Rust is no `Exception`.
            if isinstance(exc, Exception) or type(exc).__name__ == "PanicException":
                raise index_error(self.name, self.folder, exc, self.damage) from exc
            raise

    def clear(self) -> None:
        """An empty folder in the place of whatever was there."""
        self.reopen()
        with disk_errors(self.folder):
            if self.folder.is_dir():
                shutil.rmtree(self.folder)
            self.folder.unlink(missing_ok=True)
            self.folder.mkdir(parents=True)


def index_error(name: str, folder: Path, exc: BaseException, damage: Mapping[str, tuple[str, ...]]) -> StoreError:
    """Turns a library's failure into a StoreError: IndexDamagedError only for words that are known to mean damage. Any
    other failure, such as an import error or short memory, says nothing about the files."""
    if any(words in str(exc) for words in _FULL) or _is_short_of_room(folder):
        return full_error(folder)
    if any(words in str(exc) for words in damage.get(type(exc).__name__, ())):
        return damaged_error(name, f"in {folder}", exc)
    text = " ".join(str(exc).split())[:300] or type(exc).__name__
    return StoreError(
        f"the {name} index in {folder} cannot be used now ({text}); it was left as it is. Put it right and try again.",
        hint="If it goes on, make the index again: `python -m agent rebuild`.",
    )


def damaged_error(name: str, where: str, exc: BaseException) -> IndexDamagedError:
    """The error that has the index made again."""
    hint = "Make it again: `python -m agent rebuild`."
    error = IndexDamagedError(
        f"the {name} index {where} cannot be used ({exc}). {hint} Your documents are safe in the store.", hint=hint
    )
    error.index = name
    error.__cause__ = exc
    return error


def _is_short_of_room(folder: Path) -> bool:
    """Whether the largest of the files would not fit on the disk once more: Chroma, which writes whole files, does not
    say so when one did not fit."""
    with suppress(OSError):
        largest = max((f.stat().st_size for f in folder.rglob("*") if f.is_file()), default=0)
        return shutil.disk_usage(folder).free < largest + _ROOM
    return False


@dataclass(frozen=True, slots=True)
class Position:
    """How far an index has followed the store: the last passage that it was given, and the last removal. making: names
    this making of the index, and the last removal before it."""

    making: str
    passage: int
    removal: int

    def __str__(self) -> str:
        return f"{self.making} {self.passage} {self.removal}"

    @property
    def last(self) -> tuple[int, int]:
        """The last passage and the last removal that it holds."""
        return self.passage, self.removal

    @property
    def begun(self) -> int:
        """The last removal before this making."""
        return int(self.making.partition("-")[2] or self.removal)


class Changes:
    """The tables of what went, and of how far each index is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def size(self) -> tuple[int, int, int]:
        """The count of all passages, and the last passage and the last removal that there ever were, at one moment."""
        query = """
            SELECT (SELECT COUNT(*) FROM passages), (SELECT seq FROM sqlite_sequence WHERE name = 'passages'),
                (SELECT seq FROM sqlite_sequence WHERE name = 'removals')
        """
        [(passages, passage, removal)] = self._db.rows(query)
        return passages, passage or 0, removal or 0

    def last(self) -> tuple[int, int]:
        """The last passage and the last removal that there ever were; both stay where nothing changes."""
        last = dict(tuple(row) for row in self._db.rows("SELECT name, seq FROM sqlite_sequence"))
        return last.get("passages", 0), last.get("removals", 0)

    def removals(self, after: int, limit: int) -> list[tuple[int, int, int]]:
        """Up to `limit` (number, collection id, passage id) with numbers above `after`, as far as an index still needs
        them; the passage may be `ALL_PASSAGES` of the collection."""
        query = "SELECT number, collection_id, passage_id FROM removals WHERE number > ? ORDER BY number LIMIT ?"
        return [(*row,) for row in self._db.rows(query, (after, limit))]

    def unfinished(self) -> bool:
        """Whether an index may still hold what the store removed, as after a kill between the two."""
        return bool(self._db.rows("SELECT 1 FROM removals JOIN indexes ON number > removal LIMIT 1"))

    def position(self, index: str) -> Position | None:
        """How far the index of that name is; None before it was first made."""
        rows = self._db.rows("SELECT making, passage, removal FROM indexes WHERE name = ?", (index,))
        return next((Position(*row) for row in rows), None)

    def set_position(self, index: str, position: Position) -> None:
        """Records how far the index is; removals that every index has applied are dropped."""
        with self._db.write() as db:
            values = (index, position.making, position.passage, position.removal)
            db.execute("INSERT OR REPLACE INTO indexes VALUES (?, ?, ?, ?)", values)
            db.execute("DELETE FROM removals WHERE number <= (SELECT MIN(removal) FROM indexes)")


def log_removals(db: sqlite3.Connection, collection_id: int, ids: Sequence[int]) -> None:
    """Leaves the lines of passages that go, for the indexes."""
    rows = [(collection_id, i) for i in ids]
    db.executemany("INSERT INTO removals (collection_id, passage_id) VALUES (?, ?)", rows)
