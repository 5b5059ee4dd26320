"""The evidence of a run: each passage as it was judged for each side, of hand-made states and of whole runs."""

from agent_fixtures import QUESTION, door
from providers import ScriptedJudge, build, side

from agent.answer.retrieved import evidence_of, judged_passages
from agent.settings import Settings
from agent.state import Coverage, RunState
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
    )
    lines = evidence_of(state, {i: passage(i) for i in (1, 2, 3)})
    assert [(e.side, e.passage.id, e.support, e.counts) for e in lines] == [
        ("p2", 1, 0.9, True),
        ("p2", 3, 0.9, False),
        ("p2", 2, 0.1, False),
        ("p1", 2, 0.8, True),
        ("p1", 1, 0.2, False),
    ]
    assert judged_passages(state) == {1, 2, 3}


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
    for line in answer.coverage:
        mine = [e for e in lines if e.side == line.perspective]
        assert sum(e.counts for e in mine) == line.passages
        assert len({e.passage.source for e in mine if e.counts}) == line.sources
        assert all(e.support >= 0.5 for e in mine if e.counts)
    assert any(e.counts for e in lines)
    assert not all(e.counts for e in lines)
