"""The SQLite file with all stored data: its schema, upgrades and connections."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tools.budget import batches
from tools.disk import disk_errors, full_error, keep_private, make_private_folder
from tools.errors import StoreBusyError, StoreDamagedError, StoreError
from tools.limits import BUSY_SECONDS

_PAGES_KB = 256
"""Page cache of a connection. Each server thread has a connection, so SQLite's default of 2 MB would add up. The
operating system caches the file's pages for all connections."""
_PART = 500  # parameters of a statement
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

SCHEMA_VERSION = 5
"""`PRAGMA user_version` of this schema. Raise it with every change. Files of schema 4 are upgraded, and other schemas
are refused."""
CORRECTIONS = """
    CREATE TABLE IF NOT EXISTS corrections (
        id INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
        claim TEXT NOT NULL, target TEXT NOT NULL, person TEXT NOT NULL, at TEXT NOT NULL)
"""
"""The table of users' corrections of answers (`agent/answer/corrections.py`). Files of schema 4 lack this table."""
SCHEMA = """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    -- person, here and below: the logged-in person who made it. Empty: everybody may see it.
    CREATE TABLE collections (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, encoder TEXT NOT NULL,
        created_at TEXT NOT NULL, person TEXT NOT NULL
    );
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY,
        collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
        -- external_id: a document's identity. shown_id: its name if different. origin: its file.
        external_id TEXT NOT NULL, shown_id TEXT NOT NULL, origin TEXT NOT NULL, content_hash TEXT NOT NULL,
        title TEXT NOT NULL, url TEXT NOT NULL, publisher TEXT NOT NULL, kind TEXT NOT NULL, date TEXT NOT NULL,
        language TEXT NOT NULL, ingested_at TEXT NOT NULL,
        -- provenance: the places of date and author. readers: READERS_VERSION at ingest.
        author TEXT NOT NULL, provenance TEXT NOT NULL, readers INTEGER NOT NULL,
        UNIQUE (collection_id, external_id)
    );
    CREATE INDEX documents_by_origin ON documents (collection_id, origin);
    -- AUTOINCREMENT never hands out an id twice, so a stale index entry finds nothing instead of another passage.
    CREATE TABLE passages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
        position INTEGER NOT NULL, text TEXT NOT NULL, speaker TEXT NOT NULL,
        section TEXT NOT NULL, form TEXT NOT NULL, page INTEGER NOT NULL, last_page INTEGER NOT NULL
    );
    CREATE INDEX passages_by_document ON passages (document_id);
    CREATE TABLE vectors (passage_id INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE, vector BLOB NOT NULL);
    -- A row per sentence of split_sentences. Empty this table after changing split_sentences.
    CREATE TABLE sentence_vectors (
        passage_id INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE,
        sentences INTEGER NOT NULL, vectors BLOB NOT NULL
    );
    -- The indexes' change log and positions: `ChangeLog`, `IndexPosition`.
    CREATE TABLE removals (
        number INTEGER PRIMARY KEY AUTOINCREMENT, collection_id INTEGER NOT NULL, passage_id INTEGER NOT NULL
    );
    CREATE TABLE indexes (
        name TEXT PRIMARY KEY, making TEXT NOT NULL, passage INTEGER NOT NULL, removal INTEGER NOT NULL
    );
    CREATE TABLE runs (
        id TEXT PRIMARY KEY, thread TEXT NOT NULL, question TEXT NOT NULL, options TEXT NOT NULL,
        status TEXT NOT NULL, created_at TEXT NOT NULL, finished_at TEXT,
        owner TEXT, heartbeat REAL, error TEXT, answer TEXT, person TEXT NOT NULL
    );
    CREATE INDEX runs_by_thread ON runs (thread, created_at);
    -- A person's name for a thread, and the time of its deletion, which can be undone for a while.
    CREATE TABLE threads (
        thread TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL DEFAULT '', removed_at REAL,
        PRIMARY KEY (thread, person)
    );
    CREATE TABLE events (
        run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
        number INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL,
        PRIMARY KEY (run_id, number)
    ) WITHOUT ROWID;
    -- Web pages, stored with the run that read them, in no collection. owner: responsible for the page, by its address
    -- and not by its site name.
    CREATE TABLE web_documents (
        id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, url TEXT NOT NULL, original TEXT NOT NULL,
        title TEXT NOT NULL, publisher TEXT NOT NULL, kind TEXT NOT NULL, date TEXT NOT NULL, text TEXT NOT NULL,
        language TEXT NOT NULL, owner TEXT NOT NULL, author TEXT NOT NULL,
        UNIQUE (run_id, url)
    );
    CREATE TABLE web_passages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        document_id INTEGER NOT NULL REFERENCES web_documents ON DELETE CASCADE,
        position INTEGER NOT NULL, text TEXT NOT NULL, vector BLOB NOT NULL, speaker TEXT NOT NULL,
        section TEXT NOT NULL, form TEXT NOT NULL, page INTEGER NOT NULL, last_page INTEGER NOT NULL
    );
    CREATE INDEX web_passages_by_document ON web_passages (document_id);
    -- API keys. A digest does not grant access.
    CREATE TABLE api_keys (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, digest BLOB NOT NULL UNIQUE, created_at TEXT NOT NULL, revoked_at TEXT
    );
    -- The key that began a run (empty if none was needed), and its idempotency key.
    CREATE TABLE api_runs (
        run_id TEXT PRIMARY KEY REFERENCES runs ON DELETE CASCADE, key_id TEXT NOT NULL, idempotency_key TEXT,
        UNIQUE (key_id, idempotency_key)
    );
    -- Copies of retrieved passages. passage: its fields in order, as JSON.
    CREATE TABLE run_passages (
        passage_id INTEGER NOT NULL, run_id TEXT NOT NULL, passage TEXT NOT NULL, vector BLOB NOT NULL,
        PRIMARY KEY (passage_id, run_id)
    ) WITHOUT ROWID;
    CREATE INDEX run_passages_by_run ON run_passages (run_id);
    -- A preference study (`agent/answer/ballots.py`): two pages per question as JSON, and the voters' choices.
    CREATE TABLE ballots (
        id INTEGER PRIMARY KEY, question TEXT NOT NULL UNIQUE, answer TEXT NOT NULL, ranked TEXT NOT NULL,
        providers TEXT NOT NULL, seed INTEGER NOT NULL
    );
    CREATE TABLE votes (
        ballot_id INTEGER NOT NULL REFERENCES ballots ON DELETE CASCADE, voter TEXT NOT NULL, kind TEXT NOT NULL,
        answer_left INTEGER NOT NULL, choices TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (ballot_id, voter)
    ) WITHOUT ROWID;
"""


class Database:
    """Connections to one SQLite file, with one connection per thread. A new file gets the schema.

    The file, and a newly created folder, are private to their owner. Raises StoreDamagedError for a file that is no
    SQLite database, StoreError for another schema.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        with database_errors(path):
            make_private_folder(path.parent)
            keep_private(path)
            try:
                self._check_schema()
            except BaseException:
                self.close()
                raise

    def connection(self) -> sqlite3.Connection:
        """This thread's connection, opened if needed. The connection closes at the thread's end at the latest."""
        if (mine := getattr(self._local, "opened", None)) is None:
            mine = self._local.opened = self._opened()
        return cast(sqlite3.Connection, mine)

    def _opened(self) -> sqlite3.Connection:
        fresh = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            fresh.row_factory = sqlite3.Row
            to_wal(fresh)
            fresh.execute("PRAGMA synchronous = NORMAL")
            fresh.execute("PRAGMA foreign_keys = ON")
            fresh.execute(f"PRAGMA cache_size = -{_PAGES_KB}")
        except BaseException:
            fresh.close()
            raise
        return fresh

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        with database_errors(self.path):
            yield self.connection()

    def rows(self, query: str, values: Sequence[object] | dict[str, Any] = ()) -> list[sqlite3.Row]:
        """All rows of a query."""
        with self.read() as connection:
            return connection.execute(query, values).fetchall()

    def rows_of(self, query: str, ids: Sequence[int]) -> list[sqlite3.Row]:
        """All rows of a query that ends with `IN`, for these ids. Long lists are split, because SQLite limits a
        statement's parameters."""
        with self.read() as connection:
            return [
                row
                for part in batches(ids, _PART)
                for row in connection.execute(f"{query} ({','.join('?' * len(part))})", part)
            ]

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction that takes the write lock at its start, so that no other writer makes it fail half-way."""
        with database_errors(self.path):
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
        """Closes this thread's connection only: SQLite crashes if one thread closes a connection that another thread
        reads."""
        if (mine := getattr(self._local, "opened", None)) is not None:
            with suppress(sqlite3.Error):  # the checkpoint is optional
                mine.execute("PRAGMA busy_timeout = 0")
                mine.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            mine.close()
            self._local.opened = None

    def _check_schema(self) -> None:
        if _version(self.connection()) == SCHEMA_VERSION:
            return
        with self.write() as connection:
            version = _version(connection)  # another process may have created it
            fresh = version == 0 and not connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
            if not fresh and version not in (4, SCHEMA_VERSION):
                raise StoreError(
                    f"{self.path} was written by another version of Steelman (schema {version}, this one reads "
                    f"{SCHEMA_VERSION}).",
                    hint=f"Keep it by moving {self.path.parent} away, or set STEELMAN_DATA_DIR to a new folder; then "
                    "ingest your documents again.",
                )
            for statement in (*SCHEMA.split(";"), CORRECTIONS) if fresh else (CORRECTIONS,):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def database_errors(path: Path) -> Iterator[None]:
    """Converts errors of SQLite and the disk to errors with advice."""
    try:
        with disk_errors(path):
            yield
    except sqlite3.ProgrammingError:
        raise  # a bug in the calling code
    except sqlite3.DatabaseError as exc:
        raise _store_error(exc, path) from exc


def to_wal(connection: sqlite3.Connection) -> None:
    """Enables write-ahead logging. If two processes enable it on a new file at once, SQLite raises SQLITE_BUSY without
    a wait."""
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as exc:
            if _code(exc) not in _BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.02)


def _code(exc: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for an error of Python's `sqlite3` module itself."""
    return getattr(exc, "sqlite_errorcode", 0) & 0xFF


def _store_error(exc: sqlite3.DatabaseError, path: Path) -> StoreError:
    code = _code(exc)
    if code == sqlite3.SQLITE_FULL:
        return full_error(path)
    if code in _BUSY:
        return StoreBusyError(
            f"another process has held {path} for {BUSY_SECONDS} seconds. Wait for it or end it, then try again."
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        with disk_errors(path):  # the system's error is more precise
            os.close(os.open(path, os.O_RDWR))
        return StoreError(
            f"{path} cannot be written ({exc}). Check its owner, or set STEELMAN_DATA_DIR to another folder."
        )
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(
            f"{path} could not be read or written ({exc}). What was finished before is kept. Check the disk's room, "
            "your quota and the disk itself, then run the same command again."
        )
    if code == sqlite3.SQLITE_CONSTRAINT:
        return StoreBusyError(f"{path} refused a change ({exc}): another process changed the same thing. Try again.")
    return StoreDamagedError(
        f"{path} cannot be read as a database ({exc}). Move the file away and ingest again, or restore a copy of it."
    )


def to_float16(vectors: NDArray[np.float32]) -> bytes:
    """The bytes that the store keeps of vectors."""
    return vectors.astype(np.float16).tobytes()


def from_float16(blob: bytes) -> NDArray[np.float32]:
    """A stored vector, shape (n,)."""
    return np.frombuffer(blob, np.float16).astype(np.float32)
