"""Jobs as rows: who works on one, and whether that process is alive; how often one is taken up by itself."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from conftest import ROOT

from agent.runs.owners import new_owner
from api.jobs.table import JobTable
from api.pages import Page
from tools.store.database import Database

JOB = "j0123456789ab"
UPLOAD = {"files": [], "count": 1}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(tmp_path / "steelman.db")) as database:
        yield database


@pytest.fixture
def table(database: Database) -> JobTable:
    return JobTable(database)


@pytest.fixture(scope="module")
def dead() -> str:
    """The owner that a process of this machine was, which is gone."""
    code = "from agent.runs.owners import new_owner; print(new_owner())"
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def create(table: JobTable, owner: str) -> None:
    assert table.create(JOB, "", "mine", UPLOAD, owner, 1)


def statuses(table: JobTable, status: str | None = None) -> list[str]:
    return [row.status for row in table.listed("", Page(10), status, None)]


@pytest.mark.parametrize("ahead", [0, 3600])
def test_a_job_whose_process_is_gone_is_free_at_once_whatever_the_clock_says(
    table: JobTable, database: Database, dead: str, ahead: int
) -> None:
    create(table, dead)
    with database.write() as db:
        db.execute("UPDATE jobs SET heartbeat = ?", (time.time() + ahead,))
    assert statuses(table) == statuses(table, "interrupted") == ["interrupted"]
    assert table.claim(JOB, new_owner(), by_itself=True)
    assert statuses(table) == statuses(table, "queued") == ["queued"]
    assert not table.claim(JOB, new_owner(), by_itself=False)
    assert not table.delete(JOB)


def test_one_that_is_cancelled_is_its_owner_s_until_it_lets_go(table: JobTable) -> None:
    first, second = new_owner(), new_owner()
    create(table, first)
    assert table.begin(JOB, first)
    assert table.beat(JOB, first, {"read": 1, "furthest": 1})
    assert table.mark_cancelled(JOB)
    assert not table.beat(JOB, first, {"read": 2, "furthest": 2})
    assert not table.claim(JOB, second, by_itself=False)
    assert not table.delete(JOB)
    assert not table.finish(JOB, first, "interrupted", {"read": 2, "furthest": 2})
    assert not table.claim(JOB, second, by_itself=True)  # somebody stopped it
    assert table.claim(JOB, second, by_itself=False)
    assert not table.finish(JOB, first, "failed", {}, "late")
    row = table.get(JOB)
    assert row is not None
    assert (row.status, row.report["read"]) == ("queued", 2)


def test_orderly_ends_are_not_counted(table: JobTable) -> None:
    owner = new_owner()
    create(table, owner)
    for _ in range(8):
        assert table.finish(JOB, owner, "interrupted", {"read": 1, "furthest": 1})
        assert table.left() == [JOB]
        owner = new_owner()
        assert table.claim(JOB, owner, by_itself=True)


def test_deaths_are_counted_until_it_comes_further(table: JobTable, database: Database, dead: str) -> None:
    create(table, dead)
    for furthest in [0, 0, 0, 0, 3, 3, 3, 3, 3, 3]:  # as often as it may die before it comes further, and after
        assert table.left() == [JOB]
        assert table.claim(JOB, dead, by_itself=True)
        table.beat(JOB, dead, {"read": furthest, "furthest": furthest})
    assert table.left() == []
    assert not table.claim(JOB, dead, by_itself=True)
    assert table.claim(JOB, dead, by_itself=False)


def test_uploads_that_are_kept_are_counted_in_the_same_write(table: JobTable) -> None:
    made = {n: table.create(f"j{n:012d}", "a key", "mine", UPLOAD, new_owner(), 2) for n in range(3)}
    assert made == {0: True, 1: True, 2: False}
    assert table.create("j000000000009", "another", "mine", UPLOAD, new_owner(), 2)
    assert len(statuses(table)) == 3
