"""The database with all stored data, an SQLite file or Postgres: its connections and its errors."""

import asyncio
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import URL, ColumnElement, Connection, Engine, Row, Select, Table, create_engine, event, func, make_url
from sqlalchemy import exc as sql
from sqlalchemy import select as sql_select

from tools.budget import batches
from tools.disk import disk_errors, full_error, keep_private
from tools.errors import SettingsError, StoreBusyError, StoreDamagedError, StoreDownError, StoreError, StoreFullError
from tools.limits import BUSY_SECONDS, OUTAGE_SECONDS
from tools.store.schema import REVISION
from tools.store.upgrade import revision_of, upgrade

T = TypeVar("T")
AnyRow = Row[*tuple[Any, ...]]
_PAGES_KB = 256
"""Page cache of a connection. Each thread at work has a connection, so SQLite's default of 2 MB would add up. The
operating system caches the file's pages for all connections."""
_PART = 500  # parameters of a statement
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_TURN = 0x5EE1  # the Postgres lock of transactions that take turns
LIMITS_TURN = 0x5EE2  # the one of transactions that count before they insert
_INDEX = 0x5EE3  # the Postgres lock of the shared index
# After a minute Postgres ends the sessions of a machine that has vanished, with their locks.
_LOST = "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
CONNECTING = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
CONNECTING |= {"tcp_user_timeout": 30_000}  # milliseconds
"""How libpq notices in time that a server has vanished without a word."""
_LOOK_AGAIN = 0.5
_NOT_ALLOWED = "42501"  # as users of Postgres 15 may not make tables before they are granted the schema

PATIENCE: ContextVar[float] = ContextVar("patience", default=0.0)
"""Seconds that calls in this context, and in its tasks and threads, wait for a server that does not answer."""


class Database:
    """Connections to an SQLite file or a Postgres database. A new one gets the tables; an older one is upgraded.

    The file, and a newly created folder, are private to their owner. Raises StoreDamagedError for a file that is no
    SQLite database, SettingsError for an address that cannot be used, StoreError for a silent server or other tables.
    """

    def __init__(self, place: Path | str, *, revision: str = REVISION) -> None:
        """place: the file, or an address `postgresql+psycopg://…`. revision: one that is accepted besides REVISION."""
        self.place, self.shared = place, isinstance(place, str)  # shared by data folders
        self._revisions = REVISION, revision
        self._local = threading.local()
        self._closed, self.patient = False, True  # patient: calls wait for a server that is away, as PATIENCE says
        with database_errors(place):
            self._engine = self._locks = _file_engine(place) if isinstance(place, Path) else _server_engine(place)
            if isinstance(place, str):
                # Connections that hold or await locks must not use up the connections that a lock's holder needs.
                self._locks = _server_engine(place, isolation_level="AUTOCOMMIT", max_overflow=-1)
            weakref.finalize(self, self._engine.dispose)
            weakref.finalize(self, self._locks.dispose)
            try:
                self._check_schema()
            except BaseException:
                self.close()
                raise

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection. Inside this thread's `write` it is the one of that transaction."""
        with database_errors(self.place):
            if (mine := getattr(self._local, "open", None)) is not None:
                yield mine
                return
            with self._connection() as connection:
                yield connection

    def rows(self, query: Select[*tuple[Any, ...]]) -> Sequence[AnyRow]:
        """All rows of a query."""
        with self.read() as connection:
            return connection.execute(query).all()

    def rows_of(self, query: Select[*tuple[Any, ...]], column: ColumnElement[int], ids: Sequence[int]) -> list[AnyRow]:
        """All rows of a query whose column is one of the ids. Long lists are split, because databases limit a
        statement's parameters."""
        with self.read() as connection:
            return [
                row for part in batches(ids, _PART) for row in connection.execute(query.where(column.in_(list(part))))
            ]

    @contextmanager
    def write(self, *, in_turn: bool = False, seconds: int | None = None) -> Iterator[Connection]:
        """A transaction. SQLite takes the write lock at its start, so that no other writer makes it fail half-way.

        in_turn: on Postgres, too, such a transaction waits until no other one is open. seconds: the longest wait for
        other writers; default BUSY_SECONDS. Raises StoreBusyError.
        """
        with database_errors(self.place), self._connection() as db, self._transaction(db, in_turn, seconds):
            yield db

    @contextmanager
    def lock(self, *, exclusive: bool, seconds: float) -> Iterator[None]:
        """Holds Postgres's lock of the index that all users of the database share. Raises StoreBusyError. Postgres
        serves waiting processes in order, so readers cannot starve a writer. A dead process loses its lock."""
        wait = func.set_config("lock_timeout", f"{max(1, round(1000 * seconds))}ms", True)  # 0 would be no limit
        lock = func.pg_advisory_lock(_INDEX) if exclusive else func.pg_advisory_lock_shared(_INDEX)
        with database_errors(self.place), self._connection(self._locks) as connection:
            try:
                connection.execute(sql_select(wait, lock))
                yield
            finally:
                if not connection.invalidated:  # otherwise the lock is gone
                    connection.execute(sql_select(func.pg_advisory_unlock_all()))

    def close(self) -> None:
        """Closes all connections that no thread uses at the moment. The others are closed after their use."""
        self._closed = True
        self._engine.dispose()
        self._locks.dispose()

    @contextmanager
    def _connection(self, engine: Engine | None = None) -> Iterator[Connection]:
        before, engine = getattr(self._local, "open", None), engine or self._engine
        pool = engine.pool
        try:
            with self._connect(engine) as connection:
                self._local.open = connection
                try:
                    yield connection
                finally:
                    self._local.open = before
        finally:
            if self._closed:  # whenever `close` ran, it or this closes the connection that was given back
                pool.dispose()
                engine.pool.dispose()

    def _connect(self, engine: Engine) -> Connection:
        give_up = time.monotonic() + PATIENCE.get()
        while True:
            try:
                with database_errors(self.place):
                    return engine.connect()
            except StoreDownError:
                if time.monotonic() > give_up or not self.patient:
                    raise
            time.sleep(_LOOK_AGAIN)

    @contextmanager
    def _transaction(self, connection: Connection, in_turn: bool, seconds: int | None = None) -> Iterator[None]:
        with connection.begin():
            if connection.dialect.name == "sqlite":
                with _busy_timeout(connection, seconds):
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
            elif in_turn:
                if seconds:
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{seconds}s'")
                take_turn(connection, _TURN)
            yield

    def _check_schema(self) -> None:
        with self.read() as connection:
            if revision_of(connection) in self._revisions:
                return
            if isinstance(self.place, Path):  # a table that is made again would take its dependents along
                connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
            connection.rollback()
            with self._transaction(connection, in_turn=True):
                upgrade(connection, self.place)
        self._engine.dispose()


def take_turn(db: Connection, lock: int) -> None:
    """Waits until no other transaction has this lock, and holds it until this one ends. An SQLite file has one writer
    anyway."""
    if db.dialect.name == "postgresql":
        db.execute(sql_select(func.pg_advisory_xact_lock(lock)))


async def outlast(work: Callable[[], Awaitable[T]], seconds: float = OUTAGE_SECONDS) -> T:
    """Repeats the work until the database server answers. Raises StoreDownError the seconds after the first failure."""
    give_up = 0.0
    while True:
        try:
            return await work()
        except StoreDownError:
            give_up = give_up or time.monotonic() + seconds
            if time.monotonic() >= give_up:
                raise
        await asyncio.sleep(_LOOK_AGAIN)


def upsert(db: Connection, table: Table, rows: Sequence[Mapping[str, Any]], *, replace: bool = False) -> int:
    """Inserts rows of the same columns. A row whose key exists is left out, or replaces the stored columns. Returns the
    number of changed rows."""
    statement = import_module(f"sqlalchemy.dialects.{db.dialect.name}").insert(table)
    if replace:
        keys = table.primary_key.columns.keys()
        new = {name: statement.excluded[name] for name in rows[0] if name not in keys}
        statement = statement.on_conflict_do_update(index_elements=keys, set_=new)
    else:
        statement = statement.on_conflict_do_nothing()
    return db.execute(statement, rows, execution_options={"preserve_rowcount": True}).rowcount


def _file_engine(path: Path) -> Engine:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # an existing folder is not changed
    keep_private(path)
    # The driver begins no transactions: `write` does. A thread closes no connection that another thread uses.
    options = {"timeout": BUSY_SECONDS, "isolation_level": None}
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args=options,
        max_overflow=-1,
        pool_use_lifo=True,
        hide_parameters=True,
    )
    event.listen(engine, "connect", _prepare_file)
    return engine


def _prepare_file(connection: Any, _: object) -> None:
    to_wal(connection)
    for pragma in ("synchronous = NORMAL", "foreign_keys = ON", f"cache_size = -{_PAGES_KB}"):
        connection.execute(f"PRAGMA {pragma}")


@contextmanager
def _busy_timeout(connection: Connection, seconds: int | None) -> Iterator[None]:
    """Sets how long SQLite waits for another writer."""
    if seconds is None:
        yield
        return
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {1000 * seconds}")
    try:
        yield
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {1000 * BUSY_SECONDS}")


def _server_engine(address: str, **more: Any) -> Engine:
    try:
        url = make_url(address)
        options = {**CONNECTING, "client_encoding": "utf8", **url.query}
        options["options"] = f"{url.query.get('options', '')} -c lock_timeout={BUSY_SECONDS}s {_LOST}"
        more |= {"pool_pre_ping": True, "pool_use_lifo": True, "hide_parameters": True}
        return create_engine(url, connect_args=options, **more)
    except (sql.ArgumentError, ValueError) as exc:  # its text may hold the password
        raise address_error() from exc
    except ModuleNotFoundError as exc:
        raise no_client_error() from exc


@contextmanager
def database_errors(place: Path | str) -> Iterator[None]:
    """Converts errors of the database and the disk to errors with advice."""
    path = place if isinstance(place, Path) else Path("the database")  # the address may hold a password
    try:
        with disk_errors(path):
            yield
    except (sql.DBAPIError, sqlite3.DatabaseError) as exc:
        cause = exc.orig if isinstance(exc, sql.DBAPIError) else exc
        if isinstance(cause, sqlite3.ProgrammingError):
            raise  # a bug in the calling code
        if isinstance(cause, sqlite3.DatabaseError):
            raise _store_error(cause, path) from exc
        if isinstance(exc, sql.ProgrammingError) and exc.statement is None:
            raise address_error() from exc
        state = getattr(cause, "sqlstate", None) or ""
        if isinstance(exc, sql.ProgrammingError | sql.DataError) and state != _NOT_ALLOWED:
            raise
        raise server_error(cause) from exc
    except sql.TimeoutError as exc:
        raise StoreBusyError("all connections to the database are in use. Try again.") from exc


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


def address_error() -> SettingsError:
    return SettingsError("STEELMAN_DATABASE_URL is no Postgres address. See .env.example.")


def no_client_error() -> SettingsError:
    return SettingsError(
        "STEELMAN_DATABASE_URL is set, but the Postgres client is not installed: `pip install -e '.[postgres]'`."
    )


def server_error(exc: BaseException | None) -> StoreError:
    """The error for a failure of Postgres, by psycopg."""
    state, text = getattr(exc, "sqlstate", None) or "", " ".join(str(exc).split())
    if state == "53100":
        return StoreFullError("the disk of the Postgres server is full. Free some room and run the same command again.")
    if state.startswith(("23", "40", "55P03")):  # constraint, serialization or deadlock, lock not available
        return StoreBusyError(f"the database refused a change ({text}): another process works on the same. Try again.")
    lost = not state or state.startswith(("08", "57P"))  # no connection, or the server shuts down or starts
    return (StoreDownError if lost else StoreError)(
        f"the Postgres server of STEELMAN_DATABASE_URL does not answer as it should ({text}). Start it or correct the "
        "address, or unset the variable."
    )


def to_float16(vectors: NDArray[np.float32]) -> bytes:
    """The bytes that the store keeps of vectors."""
    return vectors.astype(np.float16).tobytes()


def from_float16(blob: bytes) -> NDArray[np.float32]:
    """A stored vector, shape (n,)."""
    return np.frombuffer(blob, np.float16).astype(np.float32)
