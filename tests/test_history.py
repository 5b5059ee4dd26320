"""The history: threads and their runs, and the deletion of either with all that it left."""

import contextlib
import itertools
import sqlite3
import sys
import threading
from collections.abc import Iterator

import pytest
from agent_fixtures import QUESTION, door
from providers import build

from agent.__main__ import main
from agent.runs import store as run_store
from agent.runs.service import Runs
from agent.runs.store import RunStore
from agent.runs.threads import ThreadStore
from agent.settings import Settings
from tools.errors import RunBusyError, StoreError, UnknownRunError
from tools.store.database import Database


@pytest.fixture
def store(settings: Settings) -> Iterator[RunStore]:
    with contextlib.closing(Database(settings.database_path)) as database:
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
    with contextlib.closing(sqlite3.connect(settings.database_path)) as db:
        for table, column in (("runs", "id"), ("events", "run_id")):
            found[table] = db.execute(f"SELECT COUNT(*) FROM {table} WHERE {column} = ?", (run_id,)).fetchone()[0]
    return found


# Threads


def test_threads_come_by_their_newest_activity_with_how_they_began_and_their_newest_run(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = itertools.count(10)
    monkeypatch.setattr(run_store, "now", lambda: f"2026-01-01T00:00:{next(seconds)}.000+00:00")
    add(store, "a", "a", "Should towns build bridges?")
    add(store, "b", "b", "Should schools ban phones?", done=False)
    add(store, "c", "a", "What about the cost?", done=False)
    store.finish("c", "somebody", "failed", {})
    first, second = ThreadStore(store._db).latest(9)
    assert (first.id, first.name, first.runs) == ("a", "Should towns build bridges?", 2)
    assert (first.latest, second.id, second.runs, second.latest) == ("c", "b", 1, "b")
    assert ThreadStore(store._db).latest(1) == [first]
    store.finish("b", "somebody", "done", {})
    assert [t.id for t in ThreadStore(store._db).latest(9)] == ["b", "a"]


def test_a_threads_runs_are_oldest_first_and_without_their_answers(store: RunStore) -> None:
    for run_id in ("z", "m", "a"):
        add(store, run_id, "z", f"Question {run_id}?")
    add(store, "other", "other")
    runs = store.thread("z")
    assert [(r.id, r.question, r.status) for r in runs] == [(i, f"Question {i}?", "done") for i in ("z", "m", "a")]
    assert all(r.answer is None for r in runs)
    assert store.get("z").answer
    assert store.thread("nothing") == []


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


async def test_a_deletion_that_fails_on_the_way_can_be_made_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_the_command_deletes_without_opening_the_encoder_or_the_indexes(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.closing(Database(settings.database_path)) as database:
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
