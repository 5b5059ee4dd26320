"""The starter corpus is complete and marked as what it is, and is indexed when it or the encoder changes."""

import os
import re
import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import ROOT
from numpy.typing import NDArray
from toys import House, ToyEncoder

from agent import samples
from agent.options import RunOptions
from agent.runs.service import Runs, open_runs
from agent.samples import VECTORS, index_samples, sample_documents, sample_questions, text_key
from agent.settings import Settings
from tools.language.sentences import split_sentences
from tools.models.encoders import MiniLM
from tools.passages import SOURCE_KINDS
from tools.store.store import SAMPLES

FOLDER = ROOT / "samples"
GOLD = ROOT / "evals" / "gold" / "samples"
TOPICS = sorted(f.name for f in FOLDER.iterdir() if f.is_dir())


def test_the_topics_and_their_questions_match() -> None:
    assert len(TOPICS) >= 24
    assert sorted(sample_questions()) == TOPICS
    assert sorted(f.stem for f in GOLD.glob("*.jsonl")) == TOPICS


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topics_passages_are_whole(topic: str) -> None:
    files = sorted((FOLDER / topic).glob("*.md"))
    assert len(files) >= 12
    for file in files:
        _, front, text = file.read_text().split("---\n", 2)
        about = yaml.safe_load(front)
        assert sorted(about) == ["date", "kind", "publisher", "title"], file
        assert all(about.values()), file
        assert about["publisher"].startswith("Sample "), file
        assert about["kind"] in SOURCE_KINDS, file
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", str(about["date"])), file
        assert not re.search(r"\d", text + about["title"]), file
        assert 40 <= len(text.split()) <= 250, file


def test_samples_follow_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "samples"
    shutil.copytree(FOLDER / "zoos", folder / "zoos")
    vectors = Path(shutil.copy(VECTORS, tmp_path))
    monkeypatch.setattr(samples, "FOLDER", folder)
    monkeypatch.setattr(samples, "VECTORS", vectors)
    house = House(tmp_path / "data")

    def indexed() -> list[str]:
        index_samples(house.store, house.search)
        return [row.external_id for row in house.store.documents(SAMPLES)]

    first = indexed()
    assert len(first) == len(list((folder / "zoos").glob("*.md")))
    assert house.store.sentence_vectors(range(100)) == {}, "those that ship are another encoder's"
    changes = house.store.changes.last()
    assert (indexed(), house.store.changes.last()) == (first, changes)  # nothing changed, nothing done
    (folder / "zoos" / "01.md").unlink()
    os.utime(vectors, (1, 1))  # as made again
    assert indexed() == first[1:]
    assert "samples/zoos/01.md" not in house.find("zoos", SAMPLES, k=50)


def test_the_samples_own_vectors_ship_and_are_those_of_the_encoder(tmp_path: Path, encoder: MiniLM) -> None:

    class Counted(ToyEncoder):
        """The encoder's name, and what it is still asked."""

        def __init__(self) -> None:
            super().__init__(encoder.name, dimensions=encoder.dimensions)

        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            raise AssertionError(f"encoded: {texts[:3]}")

    house = House(tmp_path, Counted())
    index_samples(house.store, house.search)
    assert len(house.store.documents(SAMPLES)) == len(sample_documents())
    passages = {p.id: split_sentences(p.text) for _, p in house.store.scan(0, 10_000)}
    vectors = house.store.sentence_vectors(passages)
    assert {i: len(rows) for i, rows in vectors.items()} == {i: len(own) for i, own in passages.items()}
    with np.load(VECTORS) as stored:
        known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))
    texts = [s for d in sample_documents()[::40] for s in split_sentences(d.text)]
    for text, vector in zip(texts, encoder.encode(texts), strict=True):
        assert vector @ known[text_key(text)].astype(np.float32) > 0.999
    shipped = known[text_key(next(iter(passages.values()))[-1])]
    np.testing.assert_array_equal(next(iter(vectors.values()))[-1], shipped.astype(np.float32))


@pytest.fixture
async def runs(cached: None, tmp_path: Path) -> AsyncIterator[Runs]:
    async with open_runs(Settings(data_dir=tmp_path / "data", web="off")) as opened:
        yield opened


async def neutral_question(runs: Runs, typed: str, *collections: str) -> str:
    answer = await runs.answer(await runs.start(typed, RunOptions.of("quick", collections=collections, max_passages=4)))
    assert answer.question == typed
    return answer.neutral_question


@pytest.mark.slow
async def test_over_the_samples_alone_a_question_is_read_as_theirs_on_the_same_topic(runs: Runs) -> None:
    for typed, read in {
        "tipping is out of hand": "Should tipping in restaurants be abolished?",
        "Should testing medicines on animals be allowed?": "Should testing medicines on animals be allowed?",
        "When was the first zoo opened?": "When was the first zoo opened?",
    }.items():
        assert await neutral_question(runs, typed, SAMPLES) == read
