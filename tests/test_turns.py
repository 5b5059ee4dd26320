"""Runs that wait their turn, that end with their passages, and that are given what a conversation asked before."""

import asyncio
import os
import sys
import threading

import numpy as np
import pytest
from agent_fixtures import QUESTION, door
from conftest import Spawn
from providers import build

from agent.options import RunOptions
from agent.runs.open import warm_up
from agent.runs.service import Runs
from agent.settings import Settings
from tools.errors import RunError
from tools.inference.worker import Worker, lower_priority


async def kinds(runs: Runs, run_id: str) -> list[str]:
    return [e.kind async for e in runs.events(run_id)]


async def test_runs_past_the_number_at_once_wait_in_their_order_and_say_so(settings: Settings) -> None:
    searching, go_on = threading.Event(), threading.Event()

    def wait(_: str) -> None:
        searching.set()
        go_on.wait(20)

    async with Runs(settings, build(before_search=wait), max_concurrent=1) as runs:
        first = await runs.start(QUESTION, RunOptions.of(deadline_seconds=30.0))
        await asyncio.to_thread(searching.wait, 10)
        second, third = [await runs.start(QUESTION) for _ in range(2)]
        assert runs.at_work == {first, second, third}
        await asyncio.sleep(0.3)
        waiting = [[(e.kind, e.data) for e in runs.run_store.events(run, 0)] for run in (second, third)]
        assert [events[-1] for events in waiting] == [("queued", {"ahead": 1}), ("queued", {"ahead": 2})]
        go_on.set()
        ends = [(await runs.answer(run)).outcome for run in (third, second, first)]
        assert ends == ["answered"] * 3
        finished = [runs.run_store.get(run).finished_at or "" for run in (first, second, third)]
        assert finished == sorted(finished)
        assert "queued" not in await kinds(runs, first)


async def test_the_deadline_runs_from_the_turn_and_not_while_a_run_waits(settings: Settings) -> None:
    go_on = threading.Event()
    async with Runs(settings, build(before_search=lambda _: go_on.wait(20)), max_concurrent=1) as runs:
        await runs.start(QUESTION, RunOptions.of(deadline_seconds=60.0))
        second = await runs.start(QUESTION, RunOptions.of(deadline_seconds=3.0))
        await asyncio.sleep(3.2)
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


async def test_without_a_number_nobody_waits(settings: Settings) -> None:
    async with door(settings) as runs:
        found = await asyncio.gather(*[runs.start(QUESTION) for _ in range(6)])
        assert [k for run in found for k in await kinds(runs, run) if k == "queued"] == []


async def test_a_run_may_end_with_its_passages(settings: Settings) -> None:
    async with door(settings) as runs:
        run_id = await runs.start(QUESTION, RunOptions.of(writing=False))
        told = await kinds(runs, run_id)
        assert "written" not in told
        assert "claim" not in told
        answer = await runs.answer(run_id)
        assert answer.outcome == "retrieved"
        assert answer.summary == "Passages that support 2 of 2 sides; nothing was written."
        assert [s.claims for s in answer.perspectives] == [[], []]
        found = await runs.retrieved(run_id)
        assert [p.statement for p in found.perspectives] == [
            "Towns should build bridges.",
            "Towns should not build bridges.",
        ]
        for side in found.perspectives:
            assert side.status == "supported"
            assert side.queries[0] == side.statement
            assert len(side.passages) > 2
            assert all(p.counts and p.support == 0.9 and "arches" in p.text for p in side.passages[:3])
        assert found.threshold == 0.5


async def test_what_a_whole_answer_found_can_be_read_too(settings: Settings) -> None:
    async with door(settings) as runs:
        run_id = await runs.start(QUESTION)
        found = await runs.retrieved(run_id)
        answer = await runs.answer(run_id)
        cited = {c.passage_id for c in answer.citations}
        assert cited <= {p.passage_id for side in found.perspectives for p in side.passages}
        assert found.neutral_question == answer.neutral_question


async def test_nothing_is_retrieved_of_a_run_that_waits_for_a_person(settings: Settings) -> None:
    async with door(settings) as runs:
        run_id = await runs.start(QUESTION, RunOptions.of(review=True))
        with pytest.raises(RunError, match="waits for its sides"):
            await runs.retrieved(run_id)


async def test_a_follow_up_may_bring_what_was_asked_before(settings: Settings) -> None:
    async with door(settings) as runs:
        options = RunOptions.of(earlier=("Is it hot?", QUESTION))
        assert RunOptions.from_dict(options.to_dict()) == options
        answer = await runs.answer(await runs.start("What about the cost?", options))
        assert answer.neutral_question == QUESTION
        assert answer.focus == "the cost"


async def test_a_follow_up_that_is_resumed_still_knows_what_was_asked_before(settings: Settings) -> None:
    async with Runs(settings, build(), max_concurrent=1) as runs:
        async with runs.executor.turns:  # it waits, and has no state yet
            run_id = await runs.start("What about the cost?", RunOptions.of(earlier=(QUESTION,)))
            await asyncio.sleep(0.05)
            await runs.cancel(run_id)
        await runs.resume(run_id)
        assert (await runs.answer(run_id)).focus == "the cost"


async def test_warming_up_asks_the_judge_and_the_search_once(settings: Settings) -> None:
    asked: list[str] = []
    async with door(settings, build(before_search=asked.append)) as runs:
        await warm_up(runs.providers)
        assert len(asked) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a niceness of their own on Linux only")
async def test_the_runs_and_models_threads_have_a_low_priority_and_the_tables_has_not(settings: Settings) -> None:
    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = niceness()
    async with door(settings) as runs:
        assert await asyncio.to_thread(niceness) == max(10, before)
        assert await runs._in_thread(niceness) == before
        known = await Worker().arun(lambda _: np.array([[niceness()]], np.float32), ["a"])
        assert int(known[0, 0]) == max(10, before)
    thread = threading.Thread(target=lower_priority)
    thread.start()
    thread.join()
    assert niceness() == before


NICER = """
import os, threading
from tools.inference.worker import lower_priority
def work():
    lower_priority()
    print(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

os.nice(15)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a niceness of their own on Linux only")
def test_the_threads_of_a_nicer_process_stay_as_nice(spawn: Spawn) -> None:
    said, trouble = spawn(NICER).communicate(timeout=20)
    assert (said, trouble) == (f"{min(19, os.getpriority(os.PRIO_PROCESS, 0) + 15)}\n", "")
