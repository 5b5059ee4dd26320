"""Corpora as people have them: a word, a hundred thousand words, copies and nothing that supports any side."""

import json
from pathlib import Path
from typing import Any

import pytest
from agent_fixtures import QUESTION, door
from providers import ScriptedJudge, build
from toys import ToyEncoder

from agent.options import RunOptions
from agent.settings import Settings
from evals.datasets.retrieval import load_sets
from evals.retrievers.corpus_index import CorpusIndex
from evals.retrievers.methods import STANDARD, method, named
from tools.diversity.names import DIALS
from tools.errors import InputError
from tools.inference.cache import VectorCache
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
@pytest.mark.parametrize("selection", ["coverage", "mmr", "dkmips", "greedyplus"])
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


def written(folder: Path, texts: list[str], **changes: Any) -> Path:
    corpus = [{"id": f"d{i}", "text": text} for i, text in enumerate(texts)]
    query = {"qid": "q", "question": QUESTION, "perspectives": [{"statement": "Yes.", "gold": ["d0"]}], **changes}
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    (folder / "queries.jsonl").write_text(json.dumps(query) + "\n")
    return folder


@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize(
    "retriever", [*named(STANDARD), *(f"hybrid+{s}" for s in DIALS), "dense+pap+", "hybrid+expansion+mmr"]
)
def test_every_retriever_ranks_them(name: str, retriever: str, tmp_path: Path) -> None:
    [one] = load_sets(written(tmp_path, CORPORA[name]))
    with CorpusIndex(one.corpus, ToyEncoder(), VectorCache(tmp_path / "vectors.db")) as index:
        index.questions = one.questions
        [found] = method(retriever).rank(index, one.questions, 100)
    assert len(found) == len(set(found)) <= len(one.corpus)
    assert found or "bm25" in retriever  # a corpus may hold none of the words


@pytest.mark.parametrize(
    ("texts", "message"), [(["Bridges.", "  "], r"corpus\.jsonl line 2.*text"), ([], r"corpus\.jsonl")]
)
def test_an_empty_passage_and_an_empty_corpus_are_told(texts: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_sets(written(tmp_path, texts))
