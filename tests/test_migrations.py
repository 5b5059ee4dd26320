"""Files of earlier versions are upgraded: copied first, whole or not at all, and only if their version is known."""

import contextlib
import os
import random
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, Spawn, hear, say
from sqlalchemy import func, select

from tools.errors import StoreError
from tools.store.database import Database
from tools.store.schema import REVISION, corrections, runs

_KILLS = 20
_OPENING = """
import sys
from pathlib import Path
from tools.store.database import Database
import alembic.command
print("ready", flush=True)
sys.stdin.readline()
Database(Path(sys.argv[1])).close()
print("upgraded", flush=True)
"""


def older(path: Path, version: int, many: int = 3) -> Path:
    """A file of that schema with runs."""
    script = (ROOT / "tests" / "schema_5.sql").read_text()
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.executescript(script if version == 5 else script.partition("CREATE TABLE corrections")[0])
        row = "INSERT INTO runs VALUES (?, ?, 'Why?', '{}', 'done', '2026', NULL, NULL, NULL, NULL, ?, '')"
        db.executemany(row, [(f"run{n}", f"run{n}", "x" * 2000) for n in range(many)])
        db.execute(f"PRAGMA user_version = {version}")
    return path


def shape(path: Path) -> dict[str, object]:
    """The tables with columns, references, indexes and kinds of ids."""
    found: dict[str, object] = {}
    with contextlib.closing(sqlite3.connect(path)) as db:
        tables = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for name, written in tables.fetchall():
            columns = [
                (c[1], c[2].replace("DOUBLE", "REAL"), c[4], c[5]) for c in db.execute(f"PRAGMA table_info({name})")
            ]
            references = [(f[2], f[3], f[6]) for f in db.execute(f"PRAGMA foreign_key_list({name})")]
            indexes = {
                (i[2], i[3], *(c[2] for c in db.execute(f"PRAGMA index_info({i[1]})")))
                for i in db.execute(f"PRAGMA index_list({name})").fetchall()
            }
            found[name] = columns, references, indexes, re.findall("AUTOINCREMENT|WITHOUT ROWID", written)
    return found


def runs_in(path: Path) -> int:
    with contextlib.closing(Database(path)) as database:
        [row] = database.rows(select(func.count()).select_from(runs))
    return int(row[0])


@pytest.mark.parametrize("version", [4, 5])
def test_an_older_file_gets_the_tables_of_a_new_one_after_a_copy(
    tmp_path: Path, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    path, copy = older(tmp_path / "steelman.db", version), tmp_path / f"steelman.db.before-{REVISION}"
    assert runs_in(path) == 3
    assert f"It is kept as it was in {copy}" in caplog.text
    Database(tmp_path / "new.db").close()
    assert shape(path) == shape(tmp_path / "new.db")
    assert (stat.S_IMODE(copy.stat().st_mode), not list(tmp_path.glob("*.part"))) == (0o600, True)
    with contextlib.closing(sqlite3.connect(copy)) as db:
        assert db.execute("SELECT COUNT(*) FROM runs").fetchone() == (3,)
        assert db.execute("PRAGMA user_version").fetchone() == (version,)
    copy.unlink()
    assert runs_in(path) == 3
    assert not copy.exists(), "an upgraded file is copied again"


def test_a_newer_revision_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "steelman.db"
    Database(path).close()
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match=f"revision 9999, this one knows {REVISION}.*Update"):
        Database(path)
    assert not list(tmp_path.glob("*before*"))


def test_a_file_of_the_first_revision_gets_what_later_ones_added(tmp_path: Path) -> None:
    Database(tmp_path / "steelman.db").close()
    with contextlib.closing(sqlite3.connect(tmp_path / "steelman.db")) as db, db:
        db.execute("DROP TABLE job_files")
        db.execute("DROP TABLE jobs")
        for name in ("venue", "extent"):
            db.execute(f"ALTER TABLE web_documents DROP COLUMN {name}")
        db.execute("UPDATE alembic_version SET version_num = '0001'")
    Database(tmp_path / "steelman.db").close()
    Database(tmp_path / "new.db").close()
    assert shape(tmp_path / "steelman.db") == shape(tmp_path / "new.db")


def test_a_start_with_current_tables_does_not_load_alembic(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tools.store.database import Database\n"
        "for _ in range(2): Database(Path(sys.argv[1])).close()\n"
        "assert not {'alembic', 'mako', 'sqlalchemy.orm', 'psycopg'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "x.db")], cwd=ROOT, check=True)


def test_a_disk_without_room_for_the_copy_loses_nothing(tmp_path: Path) -> None:
    path = older(tmp_path / "steelman.db", 4, many=500)
    code = (
        "import resource, signal, sys; from pathlib import Path; from tools.store.database import Database\n"
        "from tools.errors import StoreError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        "try:\n    Database(Path(sys.argv[1]))\nexcept StoreError as exc:\n    print(exc)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], cwd=ROOT, check=True, capture_output=True, text=True)
    assert "Check the disk's room" in done.stdout, done.stdout + done.stderr
    assert not list(tmp_path.glob("*before*"))
    assert runs_in(path) == 500


@pytest.mark.slow
def test_a_killed_upgrade_is_done_or_undone(tmp_path: Path, spawn: Spawn) -> None:
    began: list[bool] = []
    took, chance = 0.0, random.Random(7)
    for number in range(_KILLS + 1):
        path = older(tmp_path / f"{number}.db", 4, many=5000)
        process = spawn(_OPENING, path)
        assert hear(process) == "ready"
        start = time.monotonic()
        say(process)
        if not number:
            assert hear(process) == "upgraded"
            took = time.monotonic() - start
            continue
        time.sleep(chance.random() * took)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with contextlib.closing(sqlite3.connect(path)) as db:
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        assert ("corrections" in tables) == ("alembic_version" in tables)
        began.append("corrections" not in tables and bool(list(tmp_path.glob(f"{number}.db.before*"))))
        assert runs_in(path) == 5000
        with contextlib.closing(Database(path)) as database:
            assert database.rows(select(corrections)) == []
        assert not list(tmp_path.glob("*.part"))
        for file in tmp_path.glob("*.db*"):
            file.unlink()
    assert any(began), "no kill met an upgrade"
