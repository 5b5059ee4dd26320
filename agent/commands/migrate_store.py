"""The command `migrate-store`: copies the store and the checkpoints from SQLite into Postgres."""

import argparse
import asyncio
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from agent.__main__ import OK
from agent.runs.store import RUNS_WITHOUT_ANSWER, run_row
from agent.settings import Settings, load_settings
from tools.errors import InputError, RunBusyError, SettingsError, StoreError, as_installed
from tools.store.copying import begin_copy, copy_tables, copying_revision, end_copy
from tools.store.database import Database
from tools.store.store import Store

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple


def migrate_store(_: argparse.Namespace) -> int:
    """Copies the store. The source stays as it is, and nobody writes to it meanwhile."""
    from tqdm import tqdm

    settings = load_settings()
    if not settings.database_url:
        raise SettingsError("STEELMAN_DATABASE_URL is not set. Set it to an empty Postgres database for the copy.")
    if not settings.database_path.is_file():
        raise InputError(f"there is no {settings.database_path} to copy. Set STEELMAN_DATA_DIR to the store's folder.")
    with (
        closing(Database(settings.database_path)) as source,
        tqdm(unit=" rows", disable=not sys.stderr.isatty()) as bar,
    ):
        revision = copying_revision(Store(source).store_id())

        def progress(name: str, count: int) -> None:
            bar.set_description(name, refresh=False)
            bar.update(count)

        with closing(Database(settings.database_url, revision=revision)) as target, source.write() as db:
            _check_idle(db)
            begin_copy(target, revision)
            try:
                copy_tables(db, target, progress)
                if settings.checkpoint_path.is_file():
                    asyncio.run(_copy_checkpoints(settings, progress))
            except KeyboardInterrupt:
                bar.close()
                print(as_installed("\nGo on with `python -m agent migrate-store`."), file=sys.stderr)
                raise
            end_copy(db, target)
    print(f"The store is in Postgres now, and compared row by row. {settings.database_path} is no longer used.")
    return OK


def _check_idle(db: Connection) -> None:
    """Raises RunBusyError if a process works on a run."""
    if busy := [row.id for row in db.execute(RUNS_WITHOUT_ANSWER) if run_row(row).held]:
        raise RunBusyError(f"run {busy[0]} is at work. End all programs that use the store, then try again.")


async def _copy_checkpoints(settings: Settings, progress: Callable[[str, int], object]) -> None:
    from agent.runs.checkpoints import open_checkpointer, open_file

    async with open_file(settings.checkpoint_path) as source, open_checkpointer(settings) as target:
        async for found in source.alist(None):
            wanted = _comparable(source, found)
            kept = await target.aget_tuple(found.config)
            if kept is None or _comparable(target, kept) != wanted:
                await _put(target, found)
                kept = await target.aget_tuple(found.config)
                if kept is None or _comparable(target, kept) != wanted:
                    raise StoreError(f"a checkpoint of run {found.config['configurable']['thread_id']} was not copied.")
            progress("checkpoints", 1)


async def _put(saver: "BaseCheckpointSaver[Any]", found: "CheckpointTuple") -> None:
    first: Any = {"configurable": {**found.config["configurable"], "checkpoint_id": None}}
    # A number in place of the task's path keeps the order, which is all that a path is for.
    for n, (task, writes) in enumerate(groupby(found.pending_writes or (), lambda write: write[0])):
        await saver.aput_writes(found.config, [(channel, value) for _, channel, value in writes], task, f"{n:06}")
    await saver.aput(
        found.parent_config or first, found.checkpoint, found.metadata, found.checkpoint["channel_versions"]
    )


def _comparable(saver: "BaseCheckpointSaver[Any]", found: "CheckpointTuple") -> tuple[Any, ...]:
    dump, values = saver.serde.dumps_typed, found.checkpoint["channel_values"]
    writes = [(task, channel, dump(value)) for task, channel, value in found.pending_writes or ()]
    state = {**found.checkpoint, "channel_values": {name: dump(value) for name, value in values.items()}}
    return state, found.metadata, found.parent_config, writes
