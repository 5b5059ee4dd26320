"""Creates a database's tables, or brings an older database to this code's revision by Alembic."""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, insert, inspect, select

from tools.disk import disk_errors, keep_private
from tools.errors import StoreError
from tools.store.schema import REVISION, SCHEMA_VERSION, alembic_version, metadata

_LOG = logging.getLogger("steelman.store")
_MIGRATIONS = Path(__file__).parent / "migrations"
COPYING = f"copy {REVISION} "
"""Begins the revision of a database while `migrate-store` copies a store into it. The store's id follows."""
_BEFORE_REVISIONS = (4, SCHEMA_VERSION)


def revision_of(db: Connection) -> str | None:
    """The database's revision; None without one."""
    if not inspect(db).has_table(alembic_version.name):
        return None
    return db.scalar(select(alembic_version.c.version_num))


def upgrade(db: Connection, place: Path | str) -> None:
    """Brings the database to `REVISION` inside the caller's transaction, which holds the write lock. An SQLite file is
    copied first. Raises StoreError for tables of another version."""
    is_file = isinstance(place, Path)
    found, tables = revision_of(db), set(inspect(db).get_table_names())
    version = db.exec_driver_sql("PRAGMA user_version").scalar_one() if is_file else 0
    if found == REVISION:  # another process was first
        return
    if (found or "").startswith("copy "):
        raise StoreError(
            "the database of STEELMAN_DATABASE_URL has an unfinished copy of a store. Run `python -m agent "
            "migrate-store` again with the store's data folder, or name another database."
        )
    if found is None and not version and not (tables if is_file else tables & metadata.tables.keys()):
        metadata.create_all(db)
        alembic_version.create(db)
        db.execute(insert(alembic_version).values(version_num=REVISION))
        if is_file:  # versions of Steelman without revisions can open it
            db.exec_driver_sql(f"PRAGMA user_version = {SCHEMA_VERSION}")
    elif found is None and version not in _BEFORE_REVISIONS:
        raise _unknown_tables(version, place)
    else:
        _migrate(db, place, found)


def _migrate(db: Connection, place: Path | str, found: str | None) -> None:
    # Alembic's import takes a while, and nearly no start needs it.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = db
    if found and found not in {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}:
        another = "set STEELMAN_DATA_DIR to a new folder" if isinstance(place, Path) else "name another database"
        raise StoreError(
            f"a newer version of Steelman, or another program, wrote the database (revision {found}, this one knows "
            f"{REVISION}). Update Steelman, or {another}."
        )
    copy = _copy(place) if isinstance(place, Path) else None
    command.upgrade(config, REVISION)
    if copy:
        _LOG.warning("%s was upgraded to revision %s. It is kept as it was in %s.", place, REVISION, copy)


def _unknown_tables(version: int, place: Path | str) -> StoreError:
    if isinstance(place, str):
        return StoreError(
            "the database of STEELMAN_DATABASE_URL has tables of another program. Name an empty database instead."
        )
    return StoreError(
        f"{place} was written by another version of Steelman (schema {version}, this one reads {SCHEMA_VERSION}).",
        hint=f"Keep it by moving {place.parent} away, or set STEELMAN_DATA_DIR to a new folder; then ingest your "
        "documents again.",
    )


def _copy(path: Path) -> Path:
    """Copies the file beside itself, privately. A killed copy leaves only a file that the next one replaces."""
    copy = path.with_name(f"{path.name}.before-{REVISION}")
    part = copy.with_name(f"{copy.name}.part")
    with disk_errors(part):
        part.unlink(missing_ok=True)
        keep_private(part)
        try:
            # A connection of its own, because SQLite copies from no connection that writes.
            with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(part)) as target:
                source.backup(target)
            part.replace(copy)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    return copy
