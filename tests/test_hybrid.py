"""Hybrid search over real Chroma and real tantivy: fusion, and indexes that keep up with the store."""

import sqlite3
import threading
import time
from pathlib import Path

import pytest
from toys import House, ToyEncoder

from tools.errors import EncoderMismatchError
from tools.passages import SourceDocument

pytestmark = pytest.mark.both_stores

BEES = "Bees dance to tell the others where the flowers are."
ANTS = "Ants march in long lines along the scent of food."
OWLS = "Owls wait without a sound until the mouse moves."


@pytest.fixture
def house(tmp_path: Path) -> House:
    made = House(tmp_path)
    made.put("c", bees=BEES, ants=ANTS, owls=OWLS)
    return made


def lexical_size(folder: Path) -> int:
    from tantivy import Index

    return int(Index.open(str(folder / "index" / "lexical" / "tantivy")).searcher().num_docs)


def chroma_rows(folder: Path, table: str) -> int:
    db = sqlite3.connect(folder / "index" / "dense" / "chroma" / "chroma.sqlite3")
    found = int(db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])
    db.close()
    return found


def indexed(folder: Path) -> tuple[int, int]:
    return chroma_rows(folder, "embeddings"), lexical_size(folder)


# Searching


def test_copies_do_not_take_the_place_of_other_passages(tmp_path: Path) -> None:
    house = House(tmp_path)
    copy = "Ferries run at night for nurses."
    house.put("c", **{f"copy{i}": copy for i in range(9)}, other="Ferries run at night in fog.", bees="Bees.")
    house.search.refresh()
    found = house.find("Ferries run at night for nurses", k=5)
    assert sum(name.startswith("copy") for name in found) == 3  # that there are copies is still seen
    assert "other" in found
    assert len(found) == len(set(found)) <= 5


def test_only_the_collections_asked_for_and_each_once(house: House) -> None:
    house.put("d", wasps="Wasps and bees dance apart.")
    assert house.find("bees dance", "d") == ["wasps"]
    assert set(house.find("bees dance", "c", "d")) == {"wasps", "bees", "ants", "owls"}
    vector = house.encoder.encode(["bees"])[0]
    once = house.search.search("bees", vector, ["c"], 5)
    assert house.search.search("bees", vector, ["c", "c"], 5) == once


# Keeping up


def test_deleting_leaves_nothing_in_either_index(house: House, tmp_path: Path) -> None:
    house.search.refresh()
    assert indexed(tmp_path) == (3, 3)
    house.store.delete_document("c", "bees")
    house.search.refresh()
    assert indexed(tmp_path) == (2, 2)
    house.store.delete_collection("c")
    house.search.refresh()
    assert indexed(tmp_path) == (0, 0)
    assert chroma_rows(tmp_path, "collections") == 0
    assert [p.name for p in (tmp_path / "index" / "dense" / "chroma").iterdir() if p.is_dir()] == []
    house.put("c", bees=BEES)
    assert house.find("bees") == ["bees"]


# Another encoder


def test_vectors_of_another_encoder(house: House, tmp_path: Path) -> None:
    house.find("bees")
    house.database.close()
    other = House(tmp_path, ToyEncoder("other", 48))
    with pytest.raises(EncoderMismatchError, match=r"toy.*other.*rebuild"):
        other.find("bees")
    other.search.rebuild()
    assert other.find("bees dance")[0] == "bees"
    [best, *_] = other.search.search("", other.encoder.encode([BEES])[0], ["c"], 5)
    assert best.cosine == pytest.approx(1.0, abs=1e-3)


def test_vectors_of_another_width(house: House) -> None:
    house.find("bees")
    with pytest.raises(EncoderMismatchError, match=r"48 dimensions.*Set the encoder back"):
        house.search.search("bees", ToyEncoder("toy", 48).encode([BEES])[0], ["c"], 5)


# Processes that end or work at the same time


def test_threads_search_while_one_ingests(house: House) -> None:
    house.search.refresh()
    problems: list[BaseException] = []
    until = time.monotonic() + 1.5

    def look() -> None:
        try:
            while time.monotonic() < until:
                assert house.find("bees dance")[0] == "bees"
        except BaseException as exc:  # noqa: BLE001  # shown by the test
            problems.append(exc)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    other = House(house.folder)
    for i in range(10):
        other.ingester.ingest([SourceDocument(f"n{i}", f"Moth number {i}.")], "c")
    for thread in threads:
        thread.join()
    assert problems == []
