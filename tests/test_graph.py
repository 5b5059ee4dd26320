"""The graph, run through the door over a real store: what it searches, when it stops, what survives a failure."""

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from agent_fixtures import QUESTION, door
from instant_providers import InstantWriter
from providers import ScriptedJudge, build

from agent.answer.model import Answer
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.runs.store import RunEvent
from agent.settings import Settings
from agent.stage_interfaces import Brief
from agent.state import Claim
from tools.errors import RunError, StoreBusyError, StoreError
from tools.models.judges.judge import Pair


def against(pair: Pair) -> float:
    """Nothing supports the negation."""
    return 0.1 if " not " in pair.statement else 0.9


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Set at the end of a test, so that no provider waits any longer."""
    event = threading.Event()
    yield event
    event.set()


async def run(runs: Runs, question: str = QUESTION, **options: Any) -> tuple[Answer, list[RunEvent]]:
    run_id = await runs.start(question, RunOptions.of(**options))
    events = [e async for e in runs.events(run_id)]
    return await runs.answer(run_id), events


def of_kind(events: list[RunEvent], kind: str) -> list[dict[str, Any]]:
    return [e.data for e in events if e.kind == kind]


@pytest.mark.parametrize("rounds", [0, 1, 2])
async def test_only_uncovered_sides_are_searched_again_and_only_so_often(settings: Settings, rounds: int) -> None:
    async with door(settings, build(judge=ScriptedJudge(against))) as runs:
        answer, events = await run(runs, max_rounds=rounds, max_passages=39)  # of the collection's 40
    # A third search happens only as long as there are queries that were not tried.
    assert 0 < len(of_kind(events, "again")) <= rounds if rounds else not of_kind(events, "again")
    again = of_kind(events, "searching")[2:]
    assert {s["side"] for s in again} == ({"p2"} if rounds else set())
    assert [(c.perspective, c.status) for c in answer.coverage] == [("p1", "supported"), ("p2", "not_found")]
    queries = answer.coverage[1].queries
    assert len(queries) == len(set(queries)) > (1 if rounds else 0)
    assert [bool(s.claims) for s in answer.perspectives] == [True, False]


async def test_the_budget_counts_passages_and_what_stayed_unjudged_is_counted(settings: Settings) -> None:
    judge = ScriptedJudge(against)
    async with door(settings, build(judge=judge)) as runs:
        answer, _ = await run(runs, max_passages=10, pool=24, max_rounds=0)
    judged = [p for p in judge.pairs if "stands" in p.text and p.question]
    assert len({p.text for p in judged}) == answer.usage.passages_judged == 10
    assert {p.statement for p in judged} == {p.statement for p in answer.perspectives}
    found = int(next(n.text for n in answer.notes if n.kind == "unjudged").split()[0])
    assert 24 - 10 <= found <= 40 - 10


async def test_a_failing_branch_gives_a_note_and_the_rest_goes_on(settings: Settings) -> None:
    def fails(query: str) -> None:
        if " not " in query:
            raise StoreError("the drawer is stuck.")

    async with door(settings, build(before_search=fails)) as runs:
        answer, _ = await run(runs, max_rounds=0)
    assert answer.outcome == "answered"
    assert any(n.kind == "failed" and "Against" in n.text and "the drawer is stuck." in n.text for n in answer.notes)
    assert answer.coverage[0].status == "supported"


async def test_a_lock_that_is_held_is_no_search_that_found_nothing(settings: Settings) -> None:
    def locked(query: str) -> None:
        raise StoreBusyError("the index was locked by process 7 (python -m agent ingest) for 61 s.")

    async with door(settings, build(before_search=locked)) as runs:
        with pytest.raises(RunError, match="locked by process 7"):
            await run(runs, max_rounds=0)


# The deadline


async def timed_out(runs: Runs, seconds: float = 2.0) -> tuple[Answer, float]:
    began = time.monotonic()
    answer, _ = await run(runs, deadline_seconds=seconds, max_rounds=1)
    return answer, time.monotonic() - began


@pytest.mark.parametrize("hangs", ["build bridges?", "should not build"])
async def test_a_hanging_search_ends_in_an_answer(settings: Settings, release: threading.Event, hangs: str) -> None:
    async with door(settings, build(before_search=lambda q: hangs in q and release.wait(20))) as runs:
        answer, seconds = await timed_out(runs, 4.0)  # enough for the other sides on a busy machine
        release.set()
    assert seconds < 15  # the providers would take 20
    assert any(n.kind == "late" and "time" in n.text for n in answer.notes)
    # The first search is everyone's; a side's own search is only its own.
    assert answer.outcome == ("nothing_found" if "?" in hangs else "answered")


async def hangs(*_: Any) -> list[Any]:
    """A provider of any stage that never comes back."""
    return await asyncio.Future()


@pytest.mark.parametrize("stage", ["expand", "write", "requery"])
async def test_a_stage_that_hangs_still_ends_in_an_answer(settings: Settings, stage: str) -> None:
    hanging: dict[str, Any] = {stage: hangs}
    async with door(settings, build(judge=ScriptedJudge(against), **hanging)) as runs:
        answer, seconds = await timed_out(runs)
    assert seconds < 15  # the providers would take 20
    assert answer.outcome == {"requery": "answered", "write": "nothing_found", "expand": "no_sides"}[stage]


# Verification


async def misplaced(brief: Brief) -> list[Claim]:
    """The first sentence of each passage, under the side against."""
    return await InstantWriter().write(brief) if brief.perspective["stance"] == "opposes" else []


async def test_a_quotation_that_speaks_for_the_other_side_is_dropped(settings: Settings) -> None:
    async with door(settings, build(judge=ScriptedJudge(against), write=misplaced)) as runs:
        answer, events = await run(runs, max_rounds=0)
    [told] = of_kind(events, "verified")
    assert (told["held"], told["dropped"] > 2) == (0, True)
    assert not any(s.claims for s in answer.perspectives)
    # Where nothing tells the sides apart, quoting them is no wrong.
    async with door(settings, build(judge=ScriptedJudge(lambda _: 0.9), write=misplaced)) as runs:
        _, events = await run(runs, max_rounds=0)
    assert (of_kind(events, "verified")[0]["held"] > 2, of_kind(events, "verified")[0]["dropped"]) == (True, 0)


async def test_a_run_that_waits_for_its_sides_wants_them(settings: Settings) -> None:
    async with door(settings) as runs:
        run_id = await runs.start(QUESTION, RunOptions.of(review=True))
        assert [e async for e in runs.events(run_id)][-1].kind == "waiting"
        with pytest.raises(RunError, match="send them"):
            await runs.resume(run_id)
