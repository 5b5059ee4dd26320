"""The evidence of a run: each passage as it was judged for each side."""

from agent_fixtures import QUESTION, door
from providers import ScriptedJudge, build

from agent.settings import Settings
from tools.models.judges.judge import Pair


def _against_odd(pair: Pair) -> float:
    """Texts of bridges with an even number of arches speak for them, the others neither for nor against."""
    return 0.8 if int(pair.text.split("with ")[1].split()[0]) % 2 == 0 and "not" not in pair.statement else 0.1


async def test_a_finished_run_has_a_line_for_each_pair_that_was_judged(settings: Settings) -> None:
    judge = ScriptedJudge(_against_odd)
    async with door(settings, build(judge)) as runs:
        answer = await runs.answer(await runs.start(QUESTION))
        lines = await runs.evidence(answer.run_id[:6])
    assert len({e.passage.id for e in lines}) == answer.usage.passages_judged > 10
    assert [e.side for e in lines] == sorted(e.side for e in lines)
    for line in answer.coverage:
        mine = [e for e in lines if e.side == line.perspective]
        assert [e.support for e in mine] == sorted((e.support for e in mine), reverse=True)
        side = next(side for side in answer.perspectives if side.id == line.perspective)
        assert bool(line.passages) == bool(side.claims)  # the line counts what is cited
        assert sum(e.counts for e in mine) >= line.passages
        assert len({e.passage.source for e in mine if e.counts}) >= line.sources
        assert all(e.support >= 0.5 for e in mine if e.counts)
    assert any(e.counts for e in lines)
    assert not all(e.counts for e in lines)
