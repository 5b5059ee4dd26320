"""The graph's checkpoints: SQLite beside the store, or Postgres.

Many processes share the file; writes are atomic. Only unfinished runs need checkpoints, because answers are in the
store.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agent.settings import Settings
from tools.disk import disk_errors, keep_private
from tools.errors import StoreDamagedError
from tools.limits import BUSY_SECONDS
from tools.store.database import (
    CONNECTING,
    PATIENCE,
    address_error,
    database_errors,
    no_client_error,
    outlast,
    server_error,
    to_wal,
)

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

T = TypeVar("T")
_SETUP, _LOOK_AGAIN = 0x5EE4, 0.2  # the Postgres lock of the process that makes the tables; seconds


def _wrap(saver: "BaseCheckpointSaver[Any]", around: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]) -> None:
    """Lets a run's calls go through `around`, which gets each call without its arguments."""
    for name in ("aget_tuple", "aput", "aput_writes", "adelete_thread"):
        call = getattr(saver, name)
        setattr(saver, name, lambda *given, call=call, **named: around(partial(call, *given, **named)))


async def _whole(saver: AsyncSqliteSaver, path: Path, call: Callable[[], Awaitable[T]]) -> T:
    """Makes a call with Steelman's errors.

    A cancelled run first finishes its write. LangGraph's own saver leaves the transaction open and the file locked.
    """
    writing = asyncio.ensure_future(_or_nothing(saver, path, call))
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        while not writing.done():  # a run may be cancelled repeatedly
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([writing])
        if not writing.cancelled():
            writing.exception()  # retrieves the exception: the run is ending
        raise


async def _or_nothing(saver: AsyncSqliteSaver, path: Path, call: Callable[[], Awaitable[T]]) -> T:
    with checkpoint_errors(path):
        try:
            return await call()
        except sqlite3.Error:
            with contextlib.suppress(sqlite3.Error):
                await saver.conn.rollback()  # a full disk leaves the transaction open
            raise


@contextlib.asynccontextmanager
async def open_file(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    """Opens the file. Raises StoreError."""
    # This connection keeps other processes from being the last to close the file, which locks it for a moment.
    with contextlib.closing(await asyncio.to_thread(_prepared, path)) as first:
        with checkpoint_errors(path):
            connection = await aiosqlite.connect(path, timeout=BUSY_SECONDS)
        saver = AsyncSqliteSaver(connection)
        _wrap(saver, partial(_whole, saver, path))
        try:
            with checkpoint_errors(path):
                await saver.setup()
            first.close()
            yield saver
        finally:
            async with saver.lock:  # waits for a write; closing does not end a transaction
                with contextlib.suppress(sqlite3.Error, ValueError):
                    await connection.rollback()
                await connection.close()


@contextlib.contextmanager
def checkpoint_errors(path: Path) -> Iterator[None]:
    """Turns the file's failures into errors with a remedy. Raises StoreError."""
    try:
        with database_errors(path):
            yield
    except StoreDamagedError as exc:
        raise StoreDamagedError(
            f"{path} cannot be used ({exc.__cause__}). It only holds how far unfinished runs are: answers and "
            "documents are not touched. Move the file away: a new one is then begun."
        ) from exc


def _prepared(path: Path) -> sqlite3.Connection:
    """Returns a connection with write-ahead logging, after a test read."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    keep_private(path)
    with checkpoint_errors(path):
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
        try:
            to_wal(connection)
            connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        except BaseException:
            connection.close()
            raise
    return connection


def open_checkpointer(settings: Settings) -> "contextlib.AbstractAsyncContextManager[BaseCheckpointSaver[Any]]":
    """Opens the configured checkpointer. Raises SettingsError, StoreError."""
    url = settings.database_url
    return _postgres(url) if url else open_file(settings.checkpoint_path)


@contextlib.asynccontextmanager
async def _postgres(address: str) -> AsyncIterator["BaseCheckpointSaver[Any]"]:
    try:
        import psycopg
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    except ImportError as exc:
        raise no_client_error() from exc
    try:
        url = psycopg.conninfo.make_conninfo(address.replace("+psycopg", "", 1), **CONNECTING)
    except psycopg.ProgrammingError as exc:
        raise address_error() from exc
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # it warns of a lost connection, too
    try:
        async with contextlib.AsyncExitStack() as stack:
            saver = await stack.enter_async_context(AsyncPostgresSaver.from_conn_string(url))
            # Processes that start together on an empty database would make the same tables. They wait without an open
            # statement, for which the making of indexes would wait.
            connection: Any = saver.conn
            lock = f"SELECT 1 FROM pg_try_advisory_lock({_SETUP}) AS mine WHERE mine"
            while not await (await connection.execute(lock)).fetchone():
                await asyncio.sleep(_LOOK_AGAIN)
            await saver.setup()
            await connection.execute(f"SELECT pg_advisory_unlock({_SETUP})")

            async def once(call: Callable[[], Awaitable[T]]) -> T:
                try:
                    async with saver.lock:
                        if saver.conn.closed:
                            again = AsyncPostgresSaver.from_conn_string(url)
                            saver.conn = (await stack.enter_async_context(again)).conn
                    return await call()
                except psycopg.OperationalError as exc:
                    raise server_error(exc) from exc

            # A run repeats a call until the server answers: the calls write nothing twice.
            _wrap(saver, lambda call: outlast(partial(once, call), PATIENCE.get()))
            yield saver
    except psycopg.ProgrammingError as exc:  # its text may hold the password
        raise address_error() from exc
    except psycopg.OperationalError as exc:
        raise server_error(exc) from exc
