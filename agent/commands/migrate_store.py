"""The command `migrate-store`: copies the store and the checkpoints from SQLite into an empty Postgres database.

A second call goes on with a stopped copy. Until its end the target has a revision that no other command accepts.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Table, delete, func, select, tuple_, update

from agent.__main__ import OK
from agent.runs.store import RUNS_WITHOUT_ANSWER, run_row
from agent.settings import Settings, load_settings
from tools.errors import InputError, RunBusyError, SettingsError, StoreError
from tools.store.database import AnyRow, Database, upsert
from tools.store.index import LAST_IDS, log_last
from tools.store.schema import REVISION, alembic_version, meta, metadata, passages, removals
from tools.store.store import Store
from tools.store.upgrade import COPYING, revision_of
from tools.translation import tr

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

_BATCH = 200  # rows of a transaction; an answer has some 100 kB


def migrate_store(_: argparse.Namespace) -> int:
    """Copies and compares all rows. The source stays as it is, and nobody writes to it meanwhile."""
    settings = load_settings()
    if not settings.database_url:
        raise SettingsError("STEELMAN_DATABASE_URL is not set. Set it to an empty Postgres database for the copy.")
    if not settings.database_path.is_file():
        raise InputError(f"there is no {settings.database_path} to copy. Set STEELMAN_DATA_DIR to the store's folder.")
    with closing(Database(settings.database_path)) as source:
        revision = f"{COPYING}{Store(source).store_id()}"[:32]  # the length of alembic_version's column
        with closing(Database(settings.database_url, revision=revision)) as target, source.write() as db:
            _begin(db, target, revision)
            print(tr("Copying. If it is stopped, the same command goes on."), file=sys.stderr, flush=True)
            for table in metadata.sorted_tables:
                if not (_copy(db, target, table) or _copy(db, target, table)):
                    raise StoreError(f"the copy of table {table.name} differs. Copy into another, empty database.")
            if settings.checkpoint_path.is_file():
                asyncio.run(_copy_checkpoints(settings))
            _end(db, target)
    text = tr("The store is in Postgres now, and all rows were compared. {file} is not used any more.")
    print(text.format(file=settings.database_path))
    return OK


def _begin(source: Connection, target: Database, revision: str) -> None:
    """Marks an empty target. Raises RunBusyError for a run at work, StoreError for a target with data."""
    if busy := [row.id for row in source.execute(RUNS_WITHOUT_ANSWER) if run_row(row).held]:
        raise RunBusyError(f"run {busy[0]} is at work. End all programs that use the store, then try again.")
    with target.write(in_turn=True) as db:
        tables = [table for table in metadata.sorted_tables if table is not meta]
        if revision_of(db) != revision and any(db.scalar(select(func.count()).select_from(t)) for t in tables):
            raise StoreError("the database of STEELMAN_DATABASE_URL has documents or runs already. Name an empty one.")
        db.execute(update(alembic_version).values(version_num=revision))


def _copy(source: Connection, target: Database, table: Table) -> bool:
    """Adds the rows after the target's last key. Returns whether the tables are equal then. If not, the source has
    changed since an earlier copy: empties the target's table."""
    from tqdm import tqdm

    keys = table.primary_key.columns
    last = target.rows(select(*keys).order_by(*(key.desc() for key in keys)).limit(1))
    with tqdm(desc=table.name, unit=" rows", disable=not sys.stderr.isatty()) as bar:
        for rows in _rows(source, table, last[0] if last else ()):
            with target.write(in_turn=True) as db:
                upsert(db, table, [row._asdict() for row in rows])
            bar.update(len(rows))
    with target.read() as db:
        equal = _digest(db, table) == _digest(source, table)
    if not equal:
        with target.write(in_turn=True) as db:
            db.execute(delete(table))
    return equal


def _rows(db: Connection, table: Table, after: Sequence[Any] = ()) -> Iterator[Sequence[AnyRow]]:
    """Batches of rows in the order of their keys."""
    keys = table.primary_key.columns
    query = select(table).order_by(*keys)
    query = query.where(tuple_(*keys) > tuple(after)) if after else query
    return db.execute(query, execution_options={"yield_per": _BATCH}).partitions()


def _digest(db: Connection, table: Table) -> tuple[int, str]:
    """The number of rows, and a hash of them in the order of their keys, with text as Postgres has it."""
    count, digest = 0, sha256()
    for row in (row for rows in _rows(db, table) for row in rows):
        count += 1
        digest.update(repr([v.replace("\0", "\ufffd") if isinstance(v, str) else v for v in row]).encode())
    return count, digest.hexdigest()


async def _copy_checkpoints(settings: Settings) -> None:
    from agent.runs.checkpoints import open_checkpointer, open_file

    async with open_file(settings.checkpoint_path) as source, open_checkpointer(settings) as target:
        async for found in source.alist(None):
            if (wanted := _comparable(source, found)) == _comparable(target, await target.aget_tuple(found.config)):
                continue
            for n, (task, writes) in enumerate(groupby(found.pending_writes or (), lambda write: write[0])):
                # A number in place of the task's path keeps the order, which is all that a path is for.
                await target.aput_writes(
                    found.config, [(channel, value) for _, channel, value in writes], task, f"{n:06}"
                )
            before: Any = found.parent_config or {
                "configurable": found.config["configurable"] | {"checkpoint_id": None}
            }
            await target.aput(before, found.checkpoint, found.metadata, found.checkpoint["channel_versions"])
            if wanted != _comparable(target, await target.aget_tuple(found.config)):
                raise StoreError(f"the copy of a checkpoint differs: {found.config['configurable']}.")


def _comparable(saver: "BaseCheckpointSaver[Any]", found: "CheckpointTuple | None") -> tuple[Any, ...]:
    if found is None:
        return ()
    dump, values = saver.serde.dumps_typed, found.checkpoint["channel_values"]
    writes = [(task, channel, dump(value)) for task, channel, value in found.pending_writes or ()]
    state = {**found.checkpoint, "channel_values": {name: dump(value) for name, value in values.items()}}
    return state, found.metadata, found.parent_config, writes


def _end(source: Connection, target: Database) -> None:
    """Lets new ids follow those of the source, and opens the target for other commands."""
    with target.write(in_turn=True) as db:
        for table in metadata.sorted_tables:
            if (column := table.autoincrement_column) is not None:
                known = source.scalar(select(LAST_IDS.c.seq).where(LAST_IDS.c.name == table.name)) or 0
                last = max(known, source.scalar(select(func.max(column))) or 0)
                sequence = func.pg_get_serial_sequence(table.name, column.name)
                db.execute(select(func.setval(sequence, max(last, 1), last > 0)))
                if table in (passages, removals):
                    log_last(db, table.name, [last])
        db.execute(update(alembic_version).values(version_num=REVISION))
