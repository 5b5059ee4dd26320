"""Where the graph's checkpoints lie: SQLite beside the store, or Postgres by address.

The file is opened by many processes at once, written whole or not at all, and begun anew when damaged: only runs that
have not ended need their checkpoints; answers lie in the store.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agent.settings import Settings
from tools.disk import disk_errors, keep_private
from tools.errors import SettingsError, StoreDamagedError, StoreError
from tools.store.database import BUSY_SECONDS, to_wal, translated
from tools.store.locks import index_lock

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

T = TypeVar("T")
_LOG = logging.getLogger("steelman.checkpoints")
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class FileSaver(AsyncSqliteSaver):
    """LangGraph's saver, whose failures are errors that say what to do next.

    What it has begun to write is ended before a cancelled run ends: LangGraph's own leaves the transaction open, and so
    the file locked for every other process.
    """

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        super().__init__(connection)
        self._path = path

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As LangGraph's."""
        with checkpoint_errors(self._path):
            return await super().aget_tuple(config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As LangGraph's, to its end."""
        return await self._whole(super().aput(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As LangGraph's, to its end."""
        await self._whole(super().aput_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """As LangGraph's, to its end."""
        await self._whole(super().adelete_thread(thread_id))

    async def _whole(self, work: Awaitable[T]) -> T:
        writing = asyncio.ensure_future(self._or_nothing(work))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            while not writing.done():  # a run may be cancelled more than once, and by more than one
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([writing])
            if not writing.cancelled():
                writing.exception()  # the run is ending: nobody else asks for it
            raise

    async def _or_nothing(self, work: Awaitable[T]) -> T:
        with checkpoint_errors(self._path):
            try:
                return await work
            except sqlite3.Error:
                with suppress(sqlite3.Error):
                    await self.conn.rollback()  # as after a full disk: the transaction would stay open
                raise


@asynccontextmanager
async def open_file(path: Path) -> AsyncIterator[FileSaver]:
    """The saver over the file, which is begun anew where it is damaged. Raises StoreError when it cannot be opened."""
    # While this connection is open no other process is the last one to close the file, which locks it for a moment.
    with closing(await asyncio.to_thread(_prepared, path)) as first:
        with checkpoint_errors(path):
            connection = await aiosqlite.connect(path, timeout=BUSY_SECONDS)
        saver = FileSaver(connection, path)
        try:
            with checkpoint_errors(path):
                await saver.setup()
            first.close()
            yield saver
        finally:
            async with saver.lock:  # who has begun to write ends it: closing alone ends no transaction
                with suppress(sqlite3.Error, ValueError):
                    await connection.rollback()
                await connection.close()


@contextmanager
def checkpoint_errors(path: Path) -> Iterator[None]:
    """Turns failures of the file into errors that say what to do next; a damaged one is marked, for whoever opens it.

    Raises StoreError: StoreDamagedError where the file itself is at fault.
    """
    try:
        with translated(path):
            yield
    except StoreDamagedError as exc:
        harmless = "It only holds how far unfinished runs are: answers and documents are not touched."
        if not _is_damaged(exc):
            raise StoreError(
                f"{path} cannot be used ({exc.__cause__}). {harmless} Start Steelman again; if that does not help, "
                "move the file away before: a new one is then begun."
            ) from exc
        with suppress(OSError):
            _mark(path).touch()
        raise StoreDamagedError(
            f"{path} is damaged ({exc.__cause__}). {harmless} Start Steelman again: the file is then kept under "
            "another name, and a new one begun."
        ) from exc


def _prepared(path: Path) -> sqlite3.Connection:
    """A connection to the file, which logs ahead and can be read; a damaged one is moved aside first."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    keep_private(path)
    try:
        return _opened(path)
    except StoreDamagedError as exc:
        if not _is_damaged(exc):
            raise
    with index_lock(path.with_name(f"{path.name}.lock"), exclusive=True, timeout=BUSY_SECONDS):
        try:
            return _opened(path)  # another process was quicker
        except StoreDamagedError as exc:
            if not _is_damaged(exc):
                raise
            _move_aside(path)
        return _opened(path)


def _opened(path: Path) -> sqlite3.Connection:
    with translated(path):
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
        try:
            to_wal(connection)
            connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            if _mark(path).exists():  # reading all of it takes too long to be done each time
                found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                if found != "ok":
                    raise StoreDamagedError(f"{path} is damaged: {found}")
                _mark(path).unlink(missing_ok=True)
        except BaseException:
            connection.close()
            raise
    return connection


def _is_damaged(exc: StoreDamagedError) -> bool:
    """Whether the file is at fault, and not what was asked of it."""
    code = getattr(exc.__cause__, "sqlite_errorcode", None)
    return code is None or code & 0xFF in _DAMAGED


def _move_aside(path: Path) -> None:
    """Gives the file, and the log that belongs to it, a name with the time."""
    kept = path.with_name(f"{path.stem}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S%f}{path.suffix}")
    with disk_errors(path):
        for ending in ("-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                path.with_name(path.name + ending).rename(kept.with_name(kept.name + ending))
        _mark(path).unlink(missing_ok=True)
    _LOG.warning(
        "%s was damaged. It is kept as %s, and a new one is begun. Answers and documents are not touched; a run that "
        "had not ended begins again from its question when it is resumed.",
        path,
        kept.name,
    )


def _mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged")


@asynccontextmanager
async def open_checkpointer(settings: Settings) -> AsyncIterator["BaseCheckpointSaver[Any]"]:
    """The checkpointer that the settings name. Raises SettingsError or StoreError when it cannot be opened."""
    if settings.checkpoint_url:
        opened = _postgres(settings.checkpoint_url)
    else:
        from agent.runs.checkpoints import open_file

        opened = open_file(settings.checkpoint_path)
    async with opened as saver:
        yield saver


@asynccontextmanager
async def _postgres(address: str) -> AsyncIterator["BaseCheckpointSaver[Any]"]:
    try:
        import psycopg
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    except ImportError as exc:
        raise SettingsError(
            "STEELMAN_CHECKPOINT_URL is set, but the Postgres client is not installed: `pip install -e '.[postgres]'`."
        ) from exc
    if not address.startswith(("postgresql://", "postgres://")):
        raise SettingsError("STEELMAN_CHECKPOINT_URL has to begin with postgresql://. See .env.example.")
    try:
        psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError as exc:
        raise SettingsError("STEELMAN_CHECKPOINT_URL is no Postgres address. See .env.example.") from exc
    try:
        async with AsyncPostgresSaver.from_conn_string(address) as saver:
            await saver.setup()
            yield saver
    except psycopg.OperationalError as exc:
        raise StoreError(
            f"the Postgres server of STEELMAN_CHECKPOINT_URL does not answer ({exc}). Start it, or unset the variable."
        ) from exc
