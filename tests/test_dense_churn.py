"""The dense index under replacement: what was removed leaves it, on disk and in memory; real Chroma."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from conftest import Spawn
from toys import House

from tools.store.dense import _DEAD, DenseIndex
from tools.store.manifest import places_in

DOCUMENTS, ROUNDS = 300, 14
SYNCED = 1000
"""Changes after which Chroma writes its graph."""


def text(number: int, written: int) -> str:
    return f"Text number{number} on tide{number} in harbour{number % 13}, written in{written}."


def graphs(folder: Path) -> list[Path]:
    return [header.parent for header in (folder / "index" / "dense" / "chroma").glob("*/header.bin")]


@pytest.fixture(scope="module")
def churned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose documents were all replaced again and again."""
    folder = tmp_path_factory.mktemp("churned")
    house = House(folder)
    for rounds in range(ROUNDS):
        for half in (0, 1):  # of a collection that is replaced in one go nothing is left in between
            house.put("c", **{f"d{i}": text(i, rounds) for i in range(half, DOCUMENTS, 2)})
            house.search.refresh()
    house.search.close()
    house.database.close()
    return folder


def assert_whole(folder: Path) -> None:
    house = House(folder)
    collection, _ = house.store.collection("c")
    for number in (0, 150, DOCUMENTS - 1):
        assert house.find(text(number, ROUNDS - 1))[0] == f"d{number}"
    assert house.search.dense.count() == house.search.lexical.count() == DOCUMENTS  # type: ignore[attr-defined]
    vectors = house.encoder.encode([text(n, ROUNDS - 1) for n in range(DOCUMENTS)])
    found = [house.search.dense.search(vector, [collection], 1)[0][1] for vector in vectors]
    assert sum(cosine > 0.99 for cosine in found) > 0.98 * DOCUMENTS  # the graph is approximate
    assert house.search.condition() == []
    house.search.close()
    house.database.close()


def test_the_index_holds_what_is_stored_and_not_all_that_ever_was(churned: Path) -> None:
    [graph] = graphs(churned)
    places = places_in(graph)
    assert places is not None
    assert places <= 2 * DOCUMENTS + _DEAD + SYNCED < ROUNDS * DOCUMENTS
    assert_whole(churned)


DIES = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = ["tests"]
from toys import House
from tools.store.dense import DenseIndex
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
house, drop, at = House(Path(sys.argv[1])), DenseIndex._drop, sys.argv[2]
house.find("number")
DenseIndex._places = lambda *_: 10**6
if at == "copied":
    DenseIndex._drop = die
elif at == "dropped":
    DenseIndex._drop = lambda *given: (drop(*given), die())
else:
    DenseIndex.reopen = die
house.put("c", late="The late hornet came.")
house.store.delete_document("c", "late")
house.search.refresh()
"""


@pytest.mark.parametrize("at", ["copied", "dropped", "renamed"])
def test_a_death_while_the_dead_are_left_behind_loses_nothing(
    churned: Path, tmp_path: Path, spawn: Spawn, at: str
) -> None:
    folder = Path(shutil.copytree(churned, tmp_path / "copy"))
    assert spawn(DIES, folder, at).wait(60) == -signal.SIGKILL
    assert_whole(folder)


def test_what_an_attempt_before_left_is_not_taken_over(
    churned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(churned, tmp_path / "copy"))
    house = House(folder)
    dense = house.search.dense
    assert isinstance(dense, DenseIndex)
    collection, _ = house.store.collection("c")
    left = dense._open().create_collection(f"collection-{collection}-anew", embedding_function=None)
    left.add(ids=["999999"], embeddings=house.encoder.encode(["An old one."]))
    monkeypatch.setattr(DenseIndex, "_places", lambda *_: 10**6)
    dense.apply([], [(collection, 999_998)])
    assert dense.is_worn()
    dense.renew()
    assert dense.count() == DOCUMENTS
    house.search.close()
    house.database.close()


def test_a_graph_that_cannot_be_read_has_no_places(tmp_path: Path) -> None:
    assert places_in(tmp_path) is None
    (tmp_path / "header.bin").write_bytes(os.urandom(3))
    assert places_in(tmp_path) is None
