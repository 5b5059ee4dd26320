"""Where the graph's checkpoints lie: SQLite beside the store, or Postgres by address."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from agent.settings import Settings
from tools.errors import SettingsError, StoreError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver


@asynccontextmanager
async def open_checkpointer(settings: Settings) -> AsyncIterator["BaseCheckpointSaver[Any]"]:
    """The checkpointer that the settings name. Raises SettingsError or StoreError when it cannot be opened."""
    if settings.checkpoint_url:
        opened = _postgres(settings.checkpoint_url)
    else:
        from agent.runs.checkpoint_file import open_file

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
