"""Vectors of sentences: computed and stored when a passage is read for the first time, and loaded afterwards."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from instant_providers import InstantJudge
from numpy.typing import NDArray
from sqlalchemy import event
from toys import House, ToyEncoder

from agent.providers.inference import Models
from tools.language.sentences import passage_sentences
from tools.models.cache import VectorCache
from tools.passages import Passage, Sentence, SourceDocument
from tools.store.database import Database
from tools.store.store import Store

pytestmark = pytest.mark.both_stores

BEES = "Bees dance for the others. Flowers are far away! Bees sleep in winter"
ANTS = "Ants march in lines. Bees dance for the others."


class Watched(ToyEncoder):
    """Remembers what it was asked to encode, call by call. meanwhile: called during each call."""

    def __init__(self, name: str = "toy", dimensions: int = 32, meanwhile: Callable[[], object] = bool) -> None:
        super().__init__(name, dimensions)
        self.calls: list[list[str]] = []
        self.meanwhile = meanwhile

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        self.meanwhile()
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


def test_ingest_encodes_passages_only_and_each_text_once(house: House) -> None:
    assert isinstance(house.encoder, Watched)
    sources = [SourceDocument("bees", BEES, title="On bees"), SourceDocument("ants", ANTS), SourceDocument("too", ANTS)]
    house.ingester.ingest(sources, "c")
    assert house.encoder.calls == [[f"On bees. {BEES}", ANTS]]
    assert stored(house) == {}
    vectors = house.store.vectors(ids := [p.id for _, p in house.store.scan(0, 9)])
    assert_of(np.stack([vectors[i] for i in ids]), house.encoder, f"On bees. {BEES}", ANTS, ANTS)


# What compares sentences


def models(
    folder: Path, encoder: ToyEncoder, store: Store | None, retrieval_encoder: ToyEncoder | None = None
) -> Models:
    cache = VectorCache(folder / "cache.db")
    return Models(encoder, InstantJudge(), cache, other_encoder=retrieval_encoder, store=store)


def sentences_of(house: House) -> list[Sentence]:
    return [s for _, p in house.store.scan(0, 10) for s in passage_sentences(p)]


async def test_the_first_reading_encodes_whole_passages_and_later_ones_load_them(house: House, tmp_path: Path) -> None:
    house.put("c", bees=BEES, ants=ANTS)
    sentences = [*sentences_of(house)[1:], *passage_sentences(Passage(-1, "w", "web", "Wasps sting. Wasps sleep."))]
    first, second = Watched(), Watched()
    found = await models(tmp_path / "1", first, house.store).encode_sentences(sentences[::-1])
    [call] = first.calls
    own = [s.text for s in sentences_of(house)]
    assert sorted(call) == sorted({"Wasps sting.", "Wasps sleep.", *own}), "repeated ones once"
    assert_of(found, first, *(s.text for s in sentences[::-1]))
    assert_of(np.vstack([stored(house)["bees"], stored(house)["ants"]]), first, *own)
    again = await models(tmp_path / "2", second, house.store).encode_sentences(sentences[::-1])
    assert second.calls == [["Wasps sleep.", "Wasps sting."]]
    np.testing.assert_array_equal(again, found)


async def test_a_part_of_two_sentences_has_the_vectors_of_its_sentences_at_once(house: House, tmp_path: Path) -> None:
    house.put("c", bees=BEES)
    [(_, passage)] = house.store.scan(0, 10)
    part = [Sentence(f"{BEES[:47]}", passage, at) for at in (0, 1)]
    found = await models(tmp_path, house.encoder, house.store).encode_sentences(part)
    assert_of(found, house.encoder, *(s.text for s in passage_sentences(passage)[:2]))


async def test_two_runs_at_once_store_one_row_a_passage(house: House, tmp_path: Path) -> None:
    house.put("c", bees=BEES, ants=ANTS)
    sentences = sentences_of(house)
    stores = [Store(Database(house.folder / "steelman.db")) for _ in range(4)]
    runs = [models(tmp_path / str(i), Watched(), store) for i, store in enumerate(stores)]
    found = await asyncio.gather(*(run.encode_sentences(sentences) for run in runs))
    for vectors in found:
        np.testing.assert_array_equal(vectors, found[0])
    assert sorted(stored(house)) == ["ants", "bees"]


async def test_another_run_stores_them_first(house: House, tmp_path: Path) -> None:
    house.put("c", bees=BEES, ants=ANTS)
    sentences, id_ = sentences_of(house), house.store.scan(0, 10)[0][1].id
    theirs = house.encoder.encode([s.text for s in sentences if s.passage.id == id_])
    encoder = Watched(meanwhile=lambda: house.store.add_sentence_vectors({id_: theirs}, "toy"))
    found = await models(tmp_path, encoder, house.store).encode_sentences(sentences)
    np.testing.assert_array_equal(found, np.vstack([stored(house)["bees"], stored(house)["ants"]]))


async def test_passages_deleted_or_encoded_by_another_encoder_meanwhile(house: House, tmp_path: Path) -> None:
    house.put("c", bees=BEES, ants=ANTS)
    sentences = sentences_of(house)
    changes: list[tuple[Callable[[], object], list[str]]] = [
        (lambda: house.store.set_encoder("other"), []),
        (lambda: house.store.delete_document("c", "bees"), ["ants"]),
    ]
    for number, (change, left) in enumerate(changes):
        encoder = Watched(meanwhile=change)
        found = await models(tmp_path / str(number), encoder, house.store).encode_sentences(sentences)
        assert_of(found, encoder, *(s.text for s in sentences))
        assert sorted(stored(house)) == left
        house.store.set_encoder("toy")


async def test_a_busy_store_costs_a_moment_and_no_answer(house: House, tmp_path: Path) -> None:
    house.put("c", bees=BEES)
    sentences, encoder = sentences_of(house), Watched()
    with house.database.write(in_turn=True):
        async with asyncio.timeout(10):
            encoding = models(tmp_path, encoder, Store(Database(house.folder / "steelman.db"))).encode_sentences(
                sentences
            )
            found = await asyncio.to_thread(asyncio.run, encoding)  # `run` also waits for the loop's threads
        assert stored(house) == {}
    assert_of(found, encoder, *(s.text for s in sentences))
    await models(tmp_path, encoder, house.store).encode_sentences(sentences)
    assert list(stored(house)) == ["bees"]
    assert len(encoder.calls) == 1, "the cache has them"


@pytest.mark.file_only
async def test_a_store_that_cannot_be_written(house: House, tmp_path: Path) -> None:
    house.put("c", bees=BEES)
    sentences, database = sentences_of(house), Database(house.folder / "steelman.db")
    database.close()
    event.listen(database._engine, "connect", lambda each, _: each.execute("PRAGMA query_only = ON"))
    found = await models(tmp_path, house.encoder, Store(database)).encode_sentences(sentences)
    assert_of(found, house.encoder, *(s.text for s in sentences))
    assert stored(house) == {}


def test_rebuild_with_another_encoder_leaves_none(house: House, tmp_path: Path) -> None:
    house.put("c", bees=BEES)
    [(_, passage)] = house.store.scan(0, 10)
    house.store.add_sentence_vectors({passage.id: house.encoder.encode(["a", "b", "c"])}, house.encoder.name)
    assert list(stored(house)) == ["bees"]
    house.database.close()
    other = House(tmp_path, encoder := Watched("other", 48))
    other.search.rebuild()
    assert encoder.calls == [[BEES]]
    assert stored(other) == {}
