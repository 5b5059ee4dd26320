"""The store: what is put in is there, what is taken out leaves nothing, and ids are never used twice."""

from pathlib import Path

import pytest
from sqlalchemy import func, select
from toys import House, ToyEncoder

from tools.errors import UnknownCollectionError
from tools.passages import PassageText, SourceDocument
from tools.store.schema import documents, passages, vectors
from tools.store.store import PreparedDocument

pytestmark = pytest.mark.both_stores

TABLES = (documents, passages, vectors)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def counts(house: House) -> dict[str, int]:
    with house.database.read() as db:
        return {t.name: db.scalar(select(func.count()).select_from(t)) or 0 for t in TABLES}


def orphans(house: House) -> int:
    lost = (
        select(vectors).where(vectors.c.passage_id.not_in(select(passages.c.id))),
        select(passages).where(passages.c.id.not_in(select(vectors.c.passage_id))),
        select(passages).where(passages.c.document_id.not_in(select(documents.c.id))),
    )
    return sum(len(house.database.rows(query)) for query in lost)


LONG = " ".join(f"Sentence number {i} speaks about rivers and dams." for i in range(60))


def test_replacing_leaves_no_orphans_and_uses_no_id_again(house: House) -> None:
    house.put("c", a=LONG, b="Bees dance.")
    before = {p.id for _, p in house.store.scan(0, 100)}
    house.put("c", a="Now it is short.")
    after = {p.id: p.document_id for _, p in house.store.scan(0, 100)}
    assert sorted(after.values()) == ["a", "b"]
    assert counts(house) == {"documents": 2, "passages": 2, "vectors": 2}
    assert orphans(house) == 0
    assert {i for i, d in after.items() if d == "a"}.isdisjoint(before)
    removed = {passage for _, _, passage in house.store.changes.removals(0, 1000)}
    assert removed == before - set(after)


def test_deleting_a_collection_takes_everything_and_only_its_own(house: House) -> None:
    house.put("c", a=LONG)
    house.put("d", a="Bees dance.")
    house.store.delete_collection("c")
    assert [c.name for c in house.store.collections()] == ["d"]
    assert counts(house) == {"documents": 1, "passages": 1, "vectors": 1}
    with pytest.raises(UnknownCollectionError, match=r"no collection 'c'.*There are: d.*ingest"):
        house.store.delete_collection("c")


def test_a_failed_put_changes_nothing(house: House) -> None:
    house.put("c", a="Bees dance.")
    collection, _ = house.store.collection("c")
    good = house.prepared(SourceDocument("a", "Ants march."))
    bad = PreparedDocument(
        SourceDocument("b", "x"), (PassageText("one"), PassageText("two")), ToyEncoder().encode(["one"])
    )
    last = house.store.changes.last()
    with pytest.raises(ValueError, match="zip"):
        house.store.put(collection, [good, bad])
    assert [p.text for _, p in house.store.scan(0, 10)] == ["Bees dance."]
    assert house.store.changes.last() == last
