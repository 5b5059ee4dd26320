"""Runs that wait their turn, that end with their passages, and that are given what a conversation asked before."""

import asyncio
import threading
import time

import pytest
from agent_fixtures import QUESTION
from providers import build

from agent.options import RunOptions
from agent.runs import store as run_store
from agent.runs.service import Runs
from agent.settings import Settings


async def kinds(runs: Runs, run_id: str) -> list[str]:
    return [e.kind async for e in runs.events(run_id)]


async def test_the_deadline_starts_with_the_turn(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, real = threading.Event(), time.time
    monkeypatch.setattr(run_store, "STALE_SECONDS", 7200.0)
    async with Runs(settings, build(before_search=lambda _: go_on.wait(20)), max_concurrent=1) as runs:
        await runs.start(QUESTION, RunOptions.of(deadline_seconds=60.0))
        second = await runs.start(QUESTION, RunOptions.of(deadline_seconds=60.0))
        monkeypatch.setattr(time, "time", lambda: real() + 3600)
        go_on.set()
        answer = await runs.answer(second)
        assert answer.outcome == "answered"
        # nothing was left out for want of time
        assert {note.kind for note in answer.notes} <= {"balance", "thin", "skipped"}


async def test_a_run_that_waits_its_turn_can_be_cancelled_and_resumed(settings: Settings) -> None:
    go_on = threading.Event()
    async with Runs(settings, build(before_search=lambda _: go_on.wait(20)), max_concurrent=1) as runs:
        await runs.start(QUESTION)
        second = await runs.start(QUESTION)
        await asyncio.sleep(0.1)
        assert await runs.cancel(second)
        assert runs.run_store.get(second).status == "cancelled"
        go_on.set()
        await runs.resume(second)
        assert (await runs.answer(second)).outcome == "answered"
