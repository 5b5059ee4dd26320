"""Indexes built from the store: their interface, their files and errors, and the log of changes that they follow.

Passage ids only grow, and each removed passage leaves a log entry.
"""

import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Connection, ScalarSelect, cast, column, delete, func, insert, select, table

from tools.disk import disk_errors, full_error, keep_folder_private
from tools.errors import IndexDamagedError, SteelmanError, StoreError
from tools.passages import Passage
from tools.store.database import Database, upsert
from tools.store.schema import indexes, meta, passages, removals

IndexEntry = tuple[int, Passage, NDArray[np.float32]]
"""Collection id, passage, vector."""

_DISK_FULL_WORDS = ("No space left", "disk is full", "Disk quota")
_SPARE_BYTES = 5_000_000
PANICS = ("out of bounds", "out of range", "assertion failed", "mid > len", "too small", "a `None` value", "overflow")
"""Words of Rust panics over damaged data. Errors of the operating system do not contain them."""
_MOST_BEHIND = 100_000  # removals; a data folder that is gone keeps no more
ALL_PASSAGES = 0
"""Stands for all passages of a removed collection, because an entry for each passage would take minutes."""


class Index(ABC):
    """An index built from the store. Its methods are called under its lock. Changes need the exclusive lock. The
    methods raise IndexDamagedError if the index may be damaged."""

    name: str
    served = False
    """Whether a server keeps the index, for all data folders of a database. It stays usable if its writer dies."""

    @abstractmethod
    def number(self) -> str:
        """The value of the last `set_number`; empty if there is no index."""

    @abstractmethod
    def set_number(self, number: str) -> None: ...

    @abstractmethod
    def clear(self) -> None:
        """Empties the index. Deletes the number first."""

    def reopen(self) -> None:  # noqa: B027
        """Drops cached data after another process changed the index. A server caches none."""

    @abstractmethod
    def apply(self, adds: Sequence[IndexEntry], removes: Sequence[tuple[int, int]]) -> None:
        """Removes (collection id, passage id) pairs, then adds entries. Idempotent. The passage id may be
        `ALL_PASSAGES`."""

    @abstractmethod
    def count(self) -> int:
        """The number of passages in the index."""


class FolderIndex(Index):
    """An index in a folder, with the number of the last change that it contains."""

    damage: ClassVar[Mapping[str, tuple[str, ...]]]
    """The index library's words for damaged files, by exception name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number_file = folder / "NUMBER"

    def number(self) -> str:
        with disk_errors(self.folder):
            exists = self._number_file.is_file()
            return self._number_file.read_text(encoding="utf-8", errors="replace") if exists else ""

    def set_number(self, number: str) -> None:
        """Writes the number in place, so that a full disk does not prevent it. If the process dies meanwhile, the mark
        file remains."""
        with disk_errors(self.folder):
            self._number_file.touch()
            with self._number_file.open("r+") as file:
                file.write(number)
                file.truncate()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Converts the index library's errors to errors with advice."""
        try:
            yield
        except SteelmanError:
            raise
        except BaseException as exc:
            # A Rust panic is not an `Exception`.
            if isinstance(exc, Exception) or type(exc).__name__ == "PanicException":
                raise index_error(self.name, self.folder, exc, self.damage) from exc
            raise

    def clear(self) -> None:
        """Replaces the folder by an empty folder."""
        self.reopen()
        with disk_errors(self.folder):
            if self.folder.is_dir():
                shutil.rmtree(self.folder)
            self.folder.unlink(missing_ok=True)
            self.folder.mkdir(parents=True)


def index_error(name: str, folder: Path, exc: BaseException, damage: Mapping[str, tuple[str, ...]]) -> StoreError:
    """The error for a library's failure. It is IndexDamagedError only if the library's words are known to mean damage.
    Other failures, such as import errors or too little memory, do not concern the files."""
    if any(words in str(exc) for words in _DISK_FULL_WORDS) or _is_short_of_room(folder):
        return full_error(folder)
    if any(words in str(exc) for words in damage.get(type(exc).__name__, ())):
        return damaged_error(name, f"in {folder}", exc)
    text = " ".join(str(exc).split())[:300] or type(exc).__name__
    return StoreError(
        f"the {name} index in {folder} cannot be used now ({text}); it was left as it is. Put it right and try again.",
        hint="If it goes on, make the index again: `python -m agent rebuild`.",
    )


def damaged_error(name: str, where: str, exc: BaseException) -> IndexDamagedError:
    """The error that triggers a rebuild."""
    hint = "Make it again: `python -m agent rebuild`."
    error = IndexDamagedError(
        f"the {name} index {where} cannot be used ({exc}). {hint} Your documents are safe in the store.", hint=hint
    )
    error.__cause__ = exc
    return error


def _is_short_of_room(folder: Path) -> bool:
    """Whether the disk is too full for a copy of the largest file. Chroma writes whole files and does not report a
    failed write."""
    with suppress(OSError):
        largest = max((f.stat().st_size for f in folder.rglob("*") if f.is_file()), default=0)
        return shutil.disk_usage(folder).free < largest + _SPARE_BYTES
    return False


@dataclass(frozen=True, slots=True)
class IndexPosition:
    """The last passage and the last removal that an index contains. making: identifies this build, and names the last
    removal before the build."""

    making: str
    passage: int
    removal: int

    def __str__(self) -> str:
        return f"{self.making} {self.passage} {self.removal}"

    @property
    def last(self) -> tuple[int, int]:
        return self.passage, self.removal

    @property
    def begun(self) -> int:
        """The last removal before this build."""
        return int(self.making.partition("-")[2] or self.removal)

    def reached_by(self, number: str) -> bool:
        """Whether an index with this number is of the same build and at least as far, as after a writer's kill."""
        making, *last = number.split()
        return making == self.making and tuple(map(int, last)) >= self.last


LAST_IDS = table("sqlite_sequence", column("name"), column("seq"))
"""SQLite's last ids of tables. Postgres counts ids of unfinished transactions, so notes in `meta` replace it there."""


class ChangeLog:
    """The removals, and each index's position. In Postgres each data folder has positions of its embedded indexes."""

    def __init__(self, database: Database) -> None:
        self._db, self.shared, self.lock = database, database.shared, database.lock

    def row(self, index: str, folder: Path, *, served: bool = False) -> str:
        """The name of an index's position. folder: with the data folder's indexes."""
        return f"{index}-{'server' if served else _folder_id(folder)}" if self.shared else index

    def forget(self, index: str) -> None:
        """Deletes the positions of this index in all data folders, so that each rebuilds it."""
        with self._db.write() as db:
            db.execute(delete(indexes).where(indexes.c.name.startswith(index)))

    def size(self) -> tuple[int, int, int]:
        """The number of passages, the last passage id and the last removal, in one query."""
        with self._db.read() as db:
            count = select(func.count()).select_from(passages).scalar_subquery()
            found = db.execute(select(count, *_last_ids(db))).one()
        return found[0], found[1] or 0, found[2] or 0

    def last(self) -> tuple[int, int]:
        """The last passage id and the last removal ever."""
        with self._db.read() as db:
            found = db.execute(select(*_last_ids(db))).one()
        return found[0] or 0, found[1] or 0

    def removals(self, after: int, limit: int) -> list[tuple[int, int, int]]:
        """Up to `limit` removals with numbers above `after` that an index still needs, as (number, collection id,
        passage id). The passage id may be `ALL_PASSAGES`."""
        query = select(removals).where(removals.c.number > after).order_by(removals.c.number).limit(limit)
        return [(row.number, row.collection_id, row.passage_id) for row in self._db.rows(query)]

    def unfinished(self, folder: Path) -> bool:
        """Whether an index of this folder may still contain removed passages, as after a killed command."""
        names = self.row("dense", folder, served=True), self.row("dense", folder), self.row("lexical", folder)
        late = removals.join(indexes, removals.c.number > indexes.c.removal)
        return bool(self._db.rows(select(indexes).select_from(late).where(indexes.c.name.in_(names)).limit(1)))

    def position(self, index: str) -> IndexPosition | None:
        """The index's position; None before the index's first build."""
        rows = self._db.rows(select(indexes).where(indexes.c.name == index))
        return next((IndexPosition(row.making, row.passage, row.removal) for row in rows), None)

    def set_position(self, index: str, position: IndexPosition) -> None:
        """Stores the index's position. Deletes removals that all indexes have applied, and positions far behind."""
        behind = indexes.c.removal < position.removal - _MOST_BEHIND
        with self._db.write() as db:
            upsert(db, indexes, [{"name": index, **asdict(position)}], replace=True)
            db.execute(delete(indexes).where(indexes.c.name.startswith(index.partition("-")[0]), behind))
            applied = select(func.min(indexes.c.removal)).scalar_subquery()
            db.execute(delete(removals).where(removals.c.number <= applied))


def _folder_id(folder: Path) -> str:
    """Identifies this folder's indexes. A copied folder has another id, because its file has another inode."""
    with disk_errors(folder):
        keep_folder_private(folder)
        with (file := folder / "COPY").open("a", encoding="utf-8") as text:
            if not text.tell():
                text.write(f"{uuid.uuid4().hex}\n")  # of several processes' lines the first counts
        return f"{file.read_text(encoding='utf-8').split()[0]}-{file.stat().st_ino:x}"


def _last_ids(db: Connection) -> list[ScalarSelect[int]]:
    """Selects the last ids that were given to passages and removals."""
    if db.dialect.name == "sqlite":
        last = [select(LAST_IDS.c.seq).where(LAST_IDS.c.name == table.name) for table in (passages, removals)]
    else:
        number = cast(meta.c.value, BigInteger)
        last = [select(number).where(meta.c.key == f"last of {table.name}") for table in (passages, removals)]
    return [each.scalar_subquery() for each in last]


def log_last(db: Connection, name: str, ids: Sequence[int]) -> None:
    """Notes the last id of a table for the indexes, on Postgres. The transaction takes turns (`Database.write`)."""
    if ids and db.dialect.name != "sqlite":
        upsert(db, meta, [{"key": f"last of {name}", "value": str(max(ids))}], replace=True)


def log_removals(db: Connection, collection_id: int, ids: Sequence[int]) -> None:
    """Logs removed passages for the indexes. The transaction takes turns (`Database.write`)."""
    if ids:
        rows = [{"collection_id": collection_id, "passage_id": i} for i in ids]
        log_last(db, removals.name, db.scalars(insert(removals).returning(removals.c.number), rows).all())
