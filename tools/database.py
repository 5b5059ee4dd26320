"""The SQLite file that is the truth about everything stored: its schema, its migrations and its connections."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.errors import StoreBusyError, StoreDamagedError, StoreError, StoreFullError

# One script a version; a script, once released, is never edited. `PRAGMA user_version` counts the scripts applied.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE collections (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, encoder TEXT NOT NULL, created_at TEXT NOT NULL
    );
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY,
        collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
        external_id TEXT NOT NULL, content_hash TEXT NOT NULL,
        title TEXT NOT NULL, url TEXT NOT NULL, publisher TEXT NOT NULL, kind TEXT NOT NULL, date TEXT NOT NULL,
        ingested_at TEXT NOT NULL,
        UNIQUE (collection_id, external_id)
    );
    -- AUTOINCREMENT never hands out an id twice, so a stale index entry finds nothing instead of another passage.
    CREATE TABLE passages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
        position INTEGER NOT NULL, text TEXT NOT NULL
    );
    CREATE INDEX passages_by_document ON passages (document_id);
    CREATE TABLE vectors (passage_id INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE, vector BLOB NOT NULL);
    CREATE TABLE journal (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, collection_id INTEGER NOT NULL, passage_id INTEGER NOT NULL,
        op TEXT NOT NULL CHECK (op IN ('add', 'remove'))
    );
    CREATE TABLE projections (
        name TEXT PRIMARY KEY, stamp TEXT NOT NULL, applied_seq INTEGER NOT NULL, rebuilt_to INTEGER
    );
    CREATE TABLE runs (
        id TEXT PRIMARY KEY, thread TEXT NOT NULL, question TEXT NOT NULL, options TEXT NOT NULL,
        status TEXT NOT NULL, created_at TEXT NOT NULL, finished_at TEXT,
        owner TEXT, heartbeat REAL, error TEXT, answer TEXT
    );
    CREATE INDEX runs_by_thread ON runs (thread, created_at);
    CREATE TABLE events (
        run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
        number INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL,
        PRIMARY KEY (run_id, number)
    ) WITHOUT ROWID;
    """,
)


class Database:
    """Connections to one SQLite file, one a thread; opening brings its schema up to date.

    Raises StoreDamagedError when the file is no SQLite database, StoreError when a newer version wrote it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._all: list[sqlite3.Connection] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        with translated(path):
            self._migrate()

    def connection(self) -> sqlite3.Connection:
        existing: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if existing is not None:
            return existing
        fresh = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
        fresh.row_factory = sqlite3.Row
        fresh.execute("PRAGMA journal_mode = WAL")
        fresh.execute("PRAGMA synchronous = NORMAL")
        fresh.execute("PRAGMA foreign_keys = ON")
        self._local.connection = fresh
        self._all.append(fresh)
        return fresh

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        with translated(self.path):
            yield self.connection()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction that takes the write lock at once, so that it never fails half-way for want of it."""
        with translated(self.path):
            connection = self.connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        for connection in self._all:
            connection.close()
        self._all.clear()
        self._local = threading.local()

    def _migrate(self) -> None:
        connection = self.connection()
        if connection.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > len(MIGRATIONS):
                raise StoreError(
                    f"{self.path} was written by a newer version of Steelman (schema {version}, this one knows "
                    f"{len(MIGRATIONS)}). Update Steelman, or set STEELMAN_DATA_DIR to another folder."
                )
            for script in MIGRATIONS[version:]:
                for statement in script.split(";"):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns SQLite's and the disk's failures into errors that say what to do next."""
    try:
        yield
    except sqlite3.DatabaseError as exc:
        raise _store_error(exc, path) from exc
    except OSError as exc:
        raise _disk_error(exc, path) from exc


def _store_error(exc: sqlite3.DatabaseError, path: Path) -> StoreError:
    text = str(exc)
    if "full" in text:
        return StoreFullError(
            f"the disk with {path} is full. Free some room and run the same command again; it goes on."
        )
    if "locked" in text or "busy" in text:
        return StoreBusyError(f"another process has held {path} for 30 seconds. Wait for it or end it, then try again.")
    if "readonly" in text or "unable to open" in text:
        return StoreError(
            f"{path} cannot be written ({text}). Check its owner, or set STEELMAN_DATA_DIR to another folder."
        )
    return StoreDamagedError(
        f"{path} cannot be read as a database ({text}). Move the file away and ingest again, or restore a copy of it."
    )


def _disk_error(exc: OSError, path: Path) -> StoreError:
    import errno

    if exc.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFullError(
            f"the disk with {path} is full. Free some room and run the same command again; it goes on."
        )
    return StoreError(f"{path} cannot be used ({exc.strerror}). Set STEELMAN_DATA_DIR to a folder that you can write.")
