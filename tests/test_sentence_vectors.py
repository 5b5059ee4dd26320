"""Vectors of sentences: stored with their passages, read where sentences are compared, made where they are missing."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from instant_providers import InstantJudge
from numpy.typing import NDArray
from toys import House, ToyEncoder

from agent.providers.inference import Models
from tools.language.sentences import passage_sentences
from tools.models.cache import VectorCache
from tools.passages import Passage, SourceDocument
from tools.store.store import Store

BEES = "Bees dance for the others. Flowers are far away! Bees sleep in winter"
ANTS = "Ants march in lines. Bees dance for the others."


class Watched(ToyEncoder):
    """Remembers what it was asked to encode, call by call."""

    def __init__(self, name: str = "toy", dimensions: int = 32) -> None:
        super().__init__(name, dimensions)
        self.calls: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        return super().encode(texts)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path, Watched())


def stored(house: House) -> dict[str, NDArray[np.float32]]:
    """By document; each has one passage."""
    names = {p.id: p.document_id for _, p in house.store.scan(0, 100)}
    return {names[i]: v for i, v in house.store.sentence_vectors(names).items()}


def assert_of(vectors: NDArray[np.float32], encoder: ToyEncoder, *sentences: str) -> None:
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, ToyEncoder(encoder.name, encoder.dimensions).encode(sentences), atol=1e-3)


def test_ingest_stores_them_without_titles(house: House) -> None:
    sources = [SourceDocument("bees", BEES, title="On bees"), SourceDocument("ants", ANTS)]
    house.ingester.ingest(sources, "c")
    found = stored(house)
    assert_of(
        found["bees"], house.encoder, "Bees dance for the others.", "Flowers are far away!", "Bees sleep in winter"
    )
    assert_of(found["ants"], house.encoder, "Ants march in lines.", "Bees dance for the others.")


# What compares sentences


def models(
    folder: Path, encoder: ToyEncoder, store: Store | None, retrieval_encoder: ToyEncoder | None = None
) -> Models:
    cache = VectorCache(folder / "cache.db")
    return Models(encoder, InstantJudge(), cache, other_encoder=retrieval_encoder, store=store)


async def test_stored_ones_are_read_and_only_the_others_encoded(house: House, tmp_path: Path) -> None:
    house.put("c", bees=BEES)
    [(_, passage)] = house.store.scan(0, 10)
    sentences = [*passage_sentences(passage)[1:], *passage_sentences(Passage(-1, "w", "web", ANTS))]
    encoder = Watched()
    found = await models(tmp_path, encoder, house.store).encode_sentences(sentences[::-1])
    assert encoder.calls == [["Bees dance for the others.", "Ants march in lines."]]
    assert_of(found, encoder, *(s.text for s in sentences[::-1]))
