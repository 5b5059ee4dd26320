"""The SQLite file: its schema, and what happens when it cannot be used."""

import gc
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from tools.errors import StoreBusyError, StoreDamagedError, StoreError
from tools.limits import BUSY_SECONDS
from tools.store.database import Database
from tools.store.schema import SCHEMA_VERSION, meta


def version(path: Path) -> int:
    with sqlite3.connect(path) as db:
        found = db.execute("PRAGMA user_version").fetchone()[0]
    db.close()
    return int(found)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "steelman.db"
    path.write_bytes(b"Dear diary, " * 1000)
    with pytest.raises(StoreDamagedError, match="Move the file away"):
        Database(path)
    assert path.read_bytes() == b"Dear diary, " * 1000


@pytest.mark.parametrize("other", [0, 9, 99])
def test_another_schema(tmp_path: Path, other: int) -> None:
    path = tmp_path / "steelman.db"
    Database(path).close()
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE alembic_version")
        db.execute(f"PRAGMA user_version = {other}")
    db.close()
    with pytest.raises(StoreError, match=f"schema {other}, this one reads {SCHEMA_VERSION}") as caught:
        Database(path)
    assert f"moving {tmp_path} away, or set STEELMAN_DATA_DIR" in str(caught.value.hint)
    assert version(path) == other


def test_a_writer_that_does_not_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert BUSY_SECONDS == 30, "as docs/reliability.md says"
    monkeypatch.setattr("tools.store.database.BUSY_SECONDS", 0.2)
    first, second = Database(tmp_path / "x.db"), Database(tmp_path / "x.db")
    with first.write(), pytest.raises(StoreBusyError, match="another process"), second.write():
        pass
    with second.write() as db:
        db.execute(insert(meta).values(key="a", value="b"))


def test_connections_of_ended_threads_are_closed(tmp_path: Path) -> None:
    database = Database(tmp_path / "x.db")

    def use() -> None:
        with database.read() as db:
            db.execute(select(1))

    def open_files() -> int:
        gc.collect()
        links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink() and link.exists()]
        return sum(link.resolve().name == "x.db" for link in links)

    counts = []
    for _ in range(2):
        for _ in range(100):
            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
        counts.append(open_files())
    assert counts[1] < counts[0] + 10  # SQLite itself keeps some for later
    database.close()
    assert open_files() == 0
