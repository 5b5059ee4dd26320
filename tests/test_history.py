"""The history: threads and their runs, and the deletion of either with all that it left."""

import contextlib
import sqlite3
import sys
import threading
from collections.abc import Iterator

import pytest
from agent_fixtures import QUESTION, door
from providers import build
from sqlalchemy import select

from agent.__main__ import main
from agent.runs.service import Runs
from agent.runs.store import RunStore
from agent.settings import Settings
from tools.errors import RunBusyError, StoreError, UnknownRunError
from tools.store.database import Database
from tools.store.schema import events, runs

pytestmark = pytest.mark.both_stores


@pytest.fixture
def store(settings: Settings) -> Iterator[RunStore]:
    with contextlib.closing(Database(settings.database)) as database:
        yield RunStore(database)


def add(store: RunStore, run_id: str, thread: str, question: str = "Why?", *, done: bool = True) -> None:
    store.create(run_id, thread, question, {}, "somebody")
    if done:
        store.finish(run_id, "somebody", "done", {}, answer='{"long": "text"}')


def kept(settings: Settings, run_id: str) -> dict[str, int]:
    """How many rows each table still holds of the run."""
    found = {}
    with contextlib.closing(sqlite3.connect(settings.checkpoint_path)) as db:
        for table in ("checkpoints", "writes"):
            found[table] = db.execute(f"SELECT COUNT(*) FROM {table} WHERE thread_id = ?", (run_id,)).fetchone()[0]
    with contextlib.closing(Database(settings.database)) as database:
        for column in (runs.c.id, events.c.run_id):
            found[column.table.name] = len(database.rows(select(column).where(column == run_id)))
    return found


# Deletion at the door


async def asked(runs: Runs, question: str = QUESTION, thread: str | None = None) -> str:
    run_id = await runs.start(question, thread=thread)
    await runs.answer(run_id)
    return run_id


async def test_a_deleted_run_leaves_nothing_and_the_others_stay(settings: Settings) -> None:
    async with door(settings) as runs:
        first, second = await asked(runs), await asked(runs)
        before = kept(settings, second)
        assert min(kept(settings, first).values()) > 0
        await runs.delete(first[:6])
        assert set(kept(settings, first).values()) == {0}
        assert kept(settings, second) == before
        assert (await runs.answer(second)).outcome == "answered"
        for gone in (runs.delete(first), runs.evidence(first)):
            with pytest.raises(UnknownRunError):
                await gone


async def test_a_run_at_work_is_not_deleted_until_it_is_stopped(settings: Settings) -> None:
    gate = threading.Event()
    async with door(settings, build(before_search=lambda _: gate.wait(20))) as runs:
        run_id = await runs.start(QUESTION)
        try:
            with pytest.raises(RunBusyError, match=f"{run_id} is still at work. Stop it first"):
                await runs.delete(run_id)
            assert runs.run_store.get(run_id).status == "running"
            await runs.cancel(run_id)
            await runs.delete(run_id)
        finally:
            gate.set()
        assert set(kept(settings, run_id).values()) == {0}


async def test_a_thread_goes_with_all_its_runs(settings: Settings) -> None:
    async with door(settings) as runs:
        first, other = await asked(runs), await asked(runs)
        second = await asked(runs, "What about the cost?", first)
        await runs.delete_thread(first)
        assert [r.id for r in runs.run_store.latest(9)] == [other]
        with pytest.raises(UnknownRunError, match="no thread"):
            await runs.delete_thread(first)
    assert set(kept(settings, first).values()) == set(kept(settings, second).values()) == {0}


async def test_a_failed_deletion_can_be_repeated(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: str) -> None:
        raise StoreError("the disk is full.")

    async with door(settings) as runs:
        run_id = await asked(runs)
        with monkeypatch.context() as broken:
            broken.setattr(runs.run_store, "delete", full)
            with pytest.raises(StoreError, match="full"):
                await runs.delete(run_id)
        assert runs.run_store.get(run_id).owner is None
        await runs.delete(run_id)
    assert set(kept(settings, run_id).values()) == {0}


# Deletion at the command line


def test_the_command_deletes_without_loading_models(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.closing(Database(settings.database)) as database:
        add(RunStore(database), "abc", "abc")
        add(RunStore(database), "busy", "busy", done=False)
    heavy = [m for m in sys.modules if m.startswith(("onnxruntime", "chromadb", "tantivy"))]
    for module in heavy:
        monkeypatch.delitem(sys.modules, module)
    assert main(["runs", "--delete", "abc"]) == 0
    assert "Run abc is deleted" in capsys.readouterr().out
    assert main(["runs", "--delete", "busy"]) != 0
    assert "busy is still at work" in capsys.readouterr().err
    assert not [m for m in sys.modules if m.startswith(("onnxruntime", "chromadb", "tantivy"))]
    assert main(["runs"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["busy"]
