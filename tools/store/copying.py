"""Copies a store from SQLite into an empty Postgres database.

A killed copy goes on where it stopped. Meanwhile the target has a revision of its own, so no other command opens it.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Table, delete, func, select, tuple_, update

from tools.errors import StoreError
from tools.store.database import AnyRow, Database, upsert
from tools.store.index import LAST_IDS, log_last
from tools.store.schema import REVISION, alembic_version, meta, metadata, passages, removals
from tools.store.upgrade import COPYING, revision_of

_LENGTH = 32  # of a revision
_BATCH = 200  # rows of a transaction; an answer has some 100 kB


def copying_revision(store_id: str) -> str:
    """The target's revision while the store with this id is copied into it."""
    return f"{COPYING}{store_id}"[:_LENGTH]


def begin_copy(target: Database, revision: str) -> None:
    """Marks an empty target, or finds the mark of a copy that was begun. Raises StoreError for a target with data."""
    with target.write(in_turn=True) as db:
        if revision_of(db) == revision:
            return
        if any(db.scalar(select(func.count()).select_from(t)) for t in metadata.sorted_tables if t is not meta):
            raise StoreError(
                "the database of STEELMAN_DATABASE_URL has documents or runs already. Name an empty database for the "
                "copy. If the store has been copied before, unset nothing: the copy is in use."
            )
        db.execute(update(alembic_version).values(version_num=revision))


def copy_tables(source: Connection, target: Database, progress: Callable[[str, int], object]) -> None:
    """Copies and compares all rows. The source does not change meanwhile. progress: gets a table's name and the number
    of its new rows. Raises StoreError for a table that differs."""
    for table in metadata.sorted_tables:
        if not (_copy(source, target, table, progress) or _copy(source, target, table, progress)):
            raise StoreError(f"the copy of the table {table.name} differs. Nothing is lost: name another database.")


def end_copy(source: Connection, target: Database) -> None:
    """Lets new ids follow those of the source, and opens the target for other commands."""
    with target.write(in_turn=True) as db:
        for table in metadata.sorted_tables:
            if (column := table.autoincrement_column) is not None:
                known = select(LAST_IDS.c.seq).where(LAST_IDS.c.name == table.name)
                last = max(source.scalar(known) or 0, source.scalar(select(func.max(column))) or 0)
                sequence = func.pg_get_serial_sequence(table.name, column.name)
                db.execute(select(func.setval(sequence, max(last, 1), last > 0)))
                if table in (passages, removals):
                    log_last(db, table.name, [last])
        db.execute(update(alembic_version).values(version_num=REVISION))


def _copy(source: Connection, target: Database, table: Table, progress: Callable[[str, int], object]) -> bool:
    """Adds the rows that follow the target's last key. Empties the target's table if it differs then: the source has
    changed since the last copy stopped. Returns whether the tables are equal."""
    keys = table.primary_key.columns
    last = target.rows(select(*keys).order_by(*(key.desc() for key in keys)).limit(1))
    for rows in _rows(source, table, last[0] if last else ()):
        with target.write(in_turn=True) as db:
            upsert(db, table, [row._asdict() for row in rows])
        progress(table.name, len(rows))
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
    if after:
        query = query.where(tuple_(*keys) > tuple(after))
    return db.execute(query, execution_options={"yield_per": _BATCH}).partitions()


def _digest(db: Connection, table: Table) -> tuple[int, str]:
    """The number of rows, and a hash of them in the order of their keys. Text is as Postgres has it (`schema.py`)."""
    count, digest = 0, sha256()
    for row in (row for rows in _rows(db, table) for row in rows):
        count += 1
        digest.update(repr([v.replace("\0", "\ufffd") if isinstance(v, str) else v for v in row]).encode())
    return count, digest.hexdigest()
