"""The door: runs, their numbered events, cancelling, resuming, taking over; within one process and across several."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_fixtures import QUESTION, door
from conftest import Spawn, hear
from providers import build
from sqlalchemy import update

from agent.options import RunOptions
from agent.runs import store as run_store
from agent.runs.service import Runs
from agent.runs.store import RunEvent, RunStore
from agent.settings import Settings
from tools.errors import (
    EncoderMismatchError,
    QuestionError,
    RunBusyError,
    RunCancelledError,
    RunError,
    StoreFullError,
    UnknownCollectionError,
    UnknownRunError,
)
from tools.store import schema
from tools.store.database import Database

pytestmark = pytest.mark.both_stores


async def followed(runs: Runs, run_id: str, after: int = 0) -> list[RunEvent]:
    return [e async for e in runs.events(run_id, after)]


async def until(runs: Runs, run_id: str, kind: str) -> int:
    """Follows until an event of the kind has come; returns its number."""
    async for event in runs.events(run_id):
        if event.kind == kind:
            return event.number
    raise AssertionError(f"no event '{kind}'")


class Gate:
    """Searches wait at it until it is opened; the end of a test opens it."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.asked: list[str] = []

    def __call__(self, query: str) -> None:
        self.asked.append(query)
        self.opened.wait(20)


# What is refused before anything is begun


async def test_what_cannot_be_answered_is_refused_and_leaves_no_run(settings: Settings) -> None:
    async with door(settings) as runs:
        for question in ("", "Hello!", "???", "Sollen Schulen Handys verbieten?"):
            with pytest.raises(QuestionError):
                await runs.start(question)
        with pytest.raises(UnknownCollectionError, match="'shelf'"):
            await runs.start(QUESTION, RunOptions.of(collections=("samples", "shelf")))
        with pytest.raises(UnknownRunError):
            await runs.start(QUESTION, thread="nothing")
        runs.store.ensure_collection("old", "another encoder")
        with pytest.raises(EncoderMismatchError, match="another encoder"):
            await runs.start(QUESTION, RunOptions.of(collections=("old",)))
        assert runs.run_store.latest(9) == []


# Cancelling


async def test_a_cancelled_run_ends_says_so_and_can_be_resumed(settings: Settings) -> None:
    gate = Gate()
    ended: list[str] = []
    async with door(settings, build(before_search=gate)) as runs:
        runs.executor.on_end = ended.append
        run_id = await runs.start(QUESTION)
        await eventually(lambda: gate.asked)  # frame is finished and kept
        assert sorted(await asyncio.gather(runs.cancel(run_id), runs.cancel(run_id))) == [False, True]
        events = await asyncio.wait_for(followed(runs, run_id), 20)
        assert [e.kind for e in events if e.kind in ("cancelled", "done", "failed")] == ["cancelled"]
        assert events[-1].kind == "cancelled"
        with pytest.raises(RunCancelledError, match=f"--resume {run_id}"):
            await runs.answer(run_id)
        assert not await runs.cancel(run_id)
        gate.opened.set()
        await runs.resume(run_id)
        assert (await runs.answer(run_id)).outcome == "answered"
        assert not await runs.cancel(run_id)
        assert ended == ["cancelled", "answered"]
        stages = [e.data["stage"] for e in await followed(runs, run_id) if e.kind == "stage"]
        assert stages.count("frame") == 1


async def test_a_follower_hears_of_an_unrecorded_end(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> bool:
        raise StoreFullError("the disk is full.")

    async with door(settings) as runs:
        monkeypatch.setattr(runs.run_store, "finish", full)
        run_id = await runs.start(QUESTION)
        with pytest.raises(StoreFullError, match="full"):
            await asyncio.wait_for(runs.answer(run_id), 20)


# Ownership


async def test_a_run_belongs_to_one_worker(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RunStore(Database(settings.database))
    store.create("r", "r", QUESTION, {}, "first")
    with pytest.raises(RunBusyError):
        store.claim("r", "second")
    with pytest.raises(RunBusyError):
        store.claim("r", "first")  # nor twice in one process
    monkeypatch.setattr(run_store, "STALE_SECONDS", 0.05)
    time.sleep(0.1)
    assert store.get("r").abandoned
    assert store.claim("r", "second")
    assert not store.record_heartbeat("r", "first")
    with pytest.raises(RunBusyError, match="taken"):
        store.add_event("r", "first", "late", {})
    assert not store.finish("r", "first", "done", {}, answer="{}")
    assert store.finish("r", "second", "done", {}, answer="{}")
    assert not store.claim("r", "third")
    assert [e.kind for e in store.events("r", 0)] == ["started", "resumed", "done"]


@pytest.mark.parametrize("ahead", [-11.0, 3600.0])
async def test_a_killed_run_is_interrupted_and_can_be_resumed_and_deleted(settings: Settings, ahead: float) -> None:
    async with door(settings) as runs:
        for run_id in ("a" * 12, "b" * 12):
            runs.run_store.create(run_id, run_id, QUESTION, RunOptions.of().to_dict(), "killed")
        with runs.database.write() as db:
            db.execute(update(schema.runs).values(heartbeat=schema.runs.c.heartbeat + ahead))
        assert (await runs.run("a" * 12)).state == "interrupted"
        await runs.resume("a" * 12)
        assert (await runs.answer("a" * 12)).outcome == "answered"
        await runs.delete("b" * 12)


async def test_a_run_whose_checkpoints_are_gone_begins_again(settings: Settings) -> None:
    gate = Gate()
    async with door(settings, build(before_search=gate)) as runs:
        run_id = await runs.start(QUESTION)
        await until(runs, run_id, "framed")
        await runs.executor.suspend()
        gate.opened.set()
    for ending in ("", "-wal", "-shm"):
        settings.checkpoint_path.with_name(f"checkpoints.db{ending}").unlink(missing_ok=True)
    async with door(settings) as runs:
        await runs.resume(run_id)
        assert (await runs.answer(run_id)).outcome == "answered"
        events = await followed(runs, run_id)
    assert [e.data["stage"] for e in events if e.kind == "stage"].count("frame") == 2


async def test_who_follows_an_abandoned_run_is_told(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    async with door(settings) as runs:
        runs.run_store.create("r", "r", QUESTION, RunOptions.of().to_dict(), "a process that was killed")
        monkeypatch.setattr(run_store, "STALE_SECONDS", 0.3)
        with pytest.raises(RunError, match=r"is gone.*--resume r"):
            await asyncio.wait_for(followed(runs, "r"), 20)


# Across processes

WORKER = """
import asyncio, os, sys, time
from pathlib import Path
from agent.runs import executor, store
from agent.runs.service import Runs
from agent.settings import load_settings
from providers import ScriptedJudge, build

executor.HEARTBEAT_SECONDS = 0.2
log = Path(sys.argv[1])

def hold(query):
    with log.open("a") as file:
        file.write(query + "\\\\n")
    if {slow!r} in query:
        time.sleep(20)

async def main():
    async with Runs(load_settings(), build(before_search=hold)) as door:
        run_id = await door.start({question!r})
        print(run_id, flush=True)
        try:
            print((await door.answer(run_id)).outcome, flush=True)
        except Exception as exc:
            print(type(exc).__name__, flush=True)
    os._exit(0)  # does not wait for a search that sleeps

asyncio.run(main())
"""


def worker(spawn: Spawn, log: Path, slow: str) -> tuple[Any, str]:
    process = spawn(WORKER.replace("\\\\n", "\\n").format(slow=slow, question=QUESTION), log)
    return process, hear(process)


async def eventually(condition: Callable[[], object]) -> None:
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it did not come about")


@pytest.mark.file_only
@pytest.mark.slow
async def test_a_killed_run_goes_on_without_repeating(
    settings: Settings, spawn: Spawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "queries"
    process, run_id = worker(spawn, log, "should not")
    async with door(settings) as runs:
        await eventually(lambda: any(e.kind == "found" for e in runs.run_store.events(run_id, 0)))
        with pytest.raises(RunBusyError):
            await runs.resume(run_id)
        process.send_signal(signal.SIGKILL)
        process.wait()
        monkeypatch.setattr(run_store, "STALE_SECONDS", 1.0)
        with pytest.raises(RunError, match="is gone"):
            await asyncio.wait_for(followed(runs, run_id), 20)
    asked: list[str] = []
    made = build(before_search=asked.append)
    async with door(settings, made) as runs:
        await runs.resume(run_id)
        answer = await runs.answer(run_id)
        events = await followed(runs, run_id)
        judged = await runs.evidence(run_id)
    # The first search and the finished branch are not run again; the branch that was cut off is.
    assert log.read_text().splitlines().count("Towns should build bridges.") == 1
    assert asked == ["Towns should not build bridges."]
    assert {e.side for e in judged} == {"p1", "p2"}  # what either branch found
    assert answer.outcome == "answered"
    assert [e.number for e in events] == list(range(1, len(events) + 1))


@pytest.mark.file_only
@pytest.mark.slow
async def test_a_run_is_cancelled_from_another_process(settings: Settings, spawn: Spawn, tmp_path: Path) -> None:
    process, run_id = worker(spawn, tmp_path / "queries", "should not")
    async with door(settings) as runs:
        await eventually(lambda: any(e.kind == "searching" for e in runs.run_store.events(run_id, 0)))
        assert await runs.cancel(run_id)
        assert hear(process) == "RunCancelledError"
        await eventually(lambda: runs.run_store.get(run_id).owner is None)
        assert runs.run_store.get(run_id).status == "cancelled"
        await runs.resume(run_id)
        assert (await runs.answer(run_id)).outcome == "answered"


async def test_a_stage_that_was_cut_off_is_done_again(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    from agent import graph

    calls = []

    def cut_off(state: Any) -> Any:
        calls.append(state["framing"]["question"])
        if len(calls) == 1:
            raise asyncio.CancelledError
        return "expand"

    cut_off.__annotations__ = graph.after_frame.__annotations__
    monkeypatch.setattr(graph, "after_frame", cut_off)
    async with door(settings) as runs:
        run_id = await runs.start(QUESTION)
        with pytest.raises((RunCancelledError, RunError)):
            await runs.answer(run_id)
        await runs.cancel(run_id)
        assert (await runs.answer(await runs.resume(run_id))).outcome == "answered"
    assert len(calls) == 2
