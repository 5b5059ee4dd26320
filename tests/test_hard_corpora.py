"""Corpora as people have them: a word, a hundred thousand words, copies and nothing that supports any side."""

import pytest
from agent_fixtures import QUESTION, door
from providers import ScriptedJudge, build

from agent.options import RunOptions
from agent.settings import Settings
from tools.inference.judges.judge import Pair
from tools.ingest.ingest import Ingester
from tools.passages import SourceDocument

COPY = "Towns should build bridges, since a ferry waits for nobody and sinks in storms."
CORPORA = {
    "one word": ["Bridges."],
    "one word each": ["Bridges", "towns", "Ferry"],
    "a hundred thousand words": ["Towns should build bridges because rivers divide them. " * 12_500],
    "copies of one text": [COPY] * 30,
    "copies and one other": [*[COPY] * 30, "Towns should not build bridges while a boat will do."],
}


def plainly_for(pair: Pair) -> float:
    """What is no mere word speaks for towns with bridges."""
    return 0.9 if len(pair.text.split()) > 3 and " not " not in pair.statement else 0.0


@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("selection", ["coverage", "greedyplus"])
async def test_the_agent_answers_or_says_that_nothing_was_found(name: str, selection: str, settings: Settings) -> None:
    made = build(judge=ScriptedJudge(plainly_for))
    async with door(settings, made) as runs:
        ingester = Ingester(runs.store, runs.providers.search, runs.providers.search.encoder)
        ingester.ingest([SourceDocument(f"d{i}", text) for i, text in enumerate(CORPORA[name])], "hard")
        options = RunOptions.of(collections=("hard",), max_rounds=0, selection=selection)
        answer = await runs.answer(await runs.start(QUESTION, options))
    assert answer.outcome == ("nothing_found" if "word each" in name or name == "one word" else "answered")
    assert not [n for n in answer.notes if n.kind in ("failed", "degraded")]
    assert len({c.passage_id for c in answer.chosen}) == len(answer.chosen)
    if "copies" in name:
        assert max(line.copies for line in answer.coverage) >= 2
        assert all(line.passages <= len(set(CORPORA[name])) for line in answer.coverage)


async def test_no_passage_above_the_threshold(settings: Settings) -> None:
    async with door(settings, build(judge=ScriptedJudge(lambda _: 0.0))) as runs:
        answer = await runs.answer(await runs.start(QUESTION, RunOptions.of(max_rounds=0)))
    assert answer.outcome == "nothing_found"
    assert [line.passages for line in answer.coverage] == [0, 0]
