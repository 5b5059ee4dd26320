"""The evidence of a run: each passage as it was judged for each side, of hand-made states and of whole runs."""

import pytest
from agent_fixtures import QUESTION, door
from providers import ScriptedJudge, build, side

from agent.answer.retrieved import evidence_of, judged_passages
from agent.runs.checkpoints import open_checkpointer
from agent.settings import Settings
from agent.state import Coverage, RunState
from tools.errors import UnknownRunError
from tools.inference.judges.judge import Pair
from tools.passages import Passage


def coverage(*ids: int) -> Coverage:
    return Coverage(status="thin", passages=len(ids), sources=len(ids), strongest=0.0, ids=list(ids), copies=0)


def passage(number: int, **known: str) -> Passage:
    return Passage(number, f"d{number}", "c", "Some text.", **known)  # type: ignore[arg-type]


# Hand-made states


def test_each_judged_pair_is_a_line_in_the_order_of_the_sides_with_the_best_first() -> None:
    state = RunState(
        perspectives=[side(2), side(1)],
        support={"p1": {1: 0.2, 2: 0.8}, "p2": {2: 0.1, 3: 0.9, 1: 0.9}},
        coverage={"p1": coverage(2), "p2": coverage(1)},
        threshold=0.6,
    )
    lines = evidence_of(state, {i: passage(i) for i in (1, 2, 3)})
    assert [(e.side, e.passage_id, e.support, e.counts) for e in lines] == [
        ("p2", 1, 0.9, True),
        ("p2", 3, 0.9, False),
        ("p2", 2, 0.1, False),
        ("p1", 2, 0.8, True),
        ("p1", 1, 0.2, False),
    ]
    assert {e.threshold for e in lines} == {0.6}
    assert judged_passages(state) == {1, 2, 3}


def test_a_line_says_where_its_passage_is_from() -> None:
    state = RunState(perspectives=[side(1)], support={"p1": {7: 0.5, -3: 0.4}})
    known = passage(7, title="Tolls", publisher="The Bridge", kind="news")
    page = Passage(-3, "https://a.example", "web", "Some text.", original="first press")
    line, copy = evidence_of(state, {7: known, -3: page})
    assert (line.document_id, line.title, line.publisher, line.kind) == ("d7", "Tolls", "The Bridge", "news")
    assert (line.source, copy.source) == ("the bridge", "first press")


def test_what_was_deleted_and_sides_that_are_gone_are_left_out() -> None:
    state = RunState(perspectives=[side(1)], support={"p1": {1: 0.9, 2: 0.8}, "p9": {1: 0.7}})
    assert [(e.side, e.passage_id) for e in evidence_of(state, {1: passage(1)})] == [("p1", 1)]


@pytest.mark.parametrize("state", [RunState(), RunState(question="?", perspectives=[side(1)])])
def test_a_run_in_which_nothing_was_judged_yet_has_none(state: RunState) -> None:
    assert judged_passages(state) == set()
    assert evidence_of(state, {1: passage(1)}) == []


def test_a_run_of_before_thresholds_were_recorded_has_its_evidence_all_the_same() -> None:
    [line] = evidence_of(RunState(perspectives=[side(1)], support={"p1": {1: 0.9}}), {1: passage(1)})
    assert (line.threshold, line.counts) == (None, False)


# Whole runs


def _against_odd(pair: Pair) -> float:
    """Texts of bridges with an even number of arches speak for them, the others neither for nor against."""
    return 0.8 if int(pair.text.split("with ")[1].split()[0]) % 2 == 0 and "not" not in pair.statement else 0.1


async def test_a_finished_run_has_a_line_for_each_pair_that_was_judged(settings: Settings) -> None:
    judge = ScriptedJudge(_against_odd)
    async with door(settings, build(judge)) as runs:
        answer = await runs.answer(await runs.start(QUESTION))
        lines = await runs.evidence(answer.run_id[:6])
    assert len(lines) == answer.usage.pairs_judged > 10
    assert [e.side for e in lines] == sorted(e.side for e in lines)
    assert {e.threshold for e in lines} == {judge.threshold}
    for line in answer.coverage:
        mine = [e for e in lines if e.side == line.perspective]
        assert sum(e.counts for e in mine) == line.passages
        assert len({e.source for e in mine if e.counts}) == line.sources
        assert all(e.support >= 0.5 for e in mine if e.counts)
    assert any(e.counts for e in lines)
    assert not all(e.counts for e in lines)
    assert all(e.publisher.startswith("Press ") and e.source == e.publisher.casefold() for e in lines)


async def test_it_is_there_after_the_door_was_closed_and_without_what_was_deleted(settings: Settings) -> None:
    async with door(settings) as runs:
        run_id = await runs.start(QUESTION)
        await runs.answer(run_id)
    async with door(settings) as runs:
        before = await runs.evidence(run_id)
        gone = before[0].document_id
        assert runs.store.delete_document("samples", gone)
        after = await runs.evidence(run_id)
        assert after == [e for e in before if e.document_id != gone]
        assert len(after) < len(before)


async def test_a_run_without_checkpoints_has_none_and_one_that_is_not_there_is_an_error(
    settings: Settings,
) -> None:
    async with door(settings) as runs:
        run_id = await runs.start(QUESTION)
        await runs.answer(run_id)
        async with open_checkpointer(settings) as saver:
            await saver.adelete_thread(run_id)
        assert await runs.evidence(run_id) == []
        with pytest.raises(UnknownRunError):
            await runs.evidence("nothing")
