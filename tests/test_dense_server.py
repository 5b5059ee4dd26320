"""The dense index on a real Chroma server: the embedded one's hits, and it heals when the server does not stay."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chroma_server import ChromaServer, chroma_server
from model_server import ModelServer, Reply
from toys import House, ToyEncoder, text

from tools.budget import Budget, StageLog, budget_scope
from tools.errors import ProviderDownError
from tools.store.dense_server import DenseServer

BEES = "Bees dance to tell the others where the flowers are."
ANTS = "Ants march in long lines along the scent of food."
OWLS = "Owls wait without a sound until the mouse moves."
WORDS = "bees dance ants march owls wait honey flower mouse night field rain wind stone river".split()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    """A server for the tests that leave it running."""
    with chroma_server(tmp_path_factory.mktemp("chroma")) as server:
        yield server


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ChromaServer]:
    """A server for a test that stops it."""
    with chroma_server(tmp_path / "server") as server:
        yield server


class Served(House):
    """A house with its dense index on a server."""

    def __init__(self, folder: Path, url: str, encoder: ToyEncoder | None = None, seconds: float = 20.0) -> None:
        self.server: DenseServer

        super().__init__(folder, encoder, lambda store: DenseServer(url, store.store_id(), seconds=seconds))
        assert isinstance(self.search.dense, DenseServer)
        self.server = self.search.dense

    def nearest(self, text: str, k: int = 5) -> list[str]:
        """By the dense index alone."""
        collection, _ = self.store.collection("c")
        hits = self.server.search(self.encoder.encode([text])[0], [collection], k)
        names = self.store.passages(i for i, _ in hits)
        return [names[i].document_id for i, _ in hits]

    def entries(self) -> dict[str, int]:
        """How many entries each collection of the server holds, this store's and others'."""
        return {c.name: c.count() for c in self.server._open().list_collections()}

    def mine(self) -> list[int]:
        wanted = self.store.store_id()
        return [n for name, n in self.entries().items() if wanted in name and not name.endswith("number")]


@pytest.fixture
def houses() -> Iterator[list[Served]]:
    made: list[Served] = []
    yield made
    for house in made:
        house.server.close()
        house.database.close()


def served(houses: list[Served], folder: Path, server: ChromaServer, **more: Any) -> Served:
    houses.append(Served(folder, server.url, **more))
    return houses[-1]


# What a server gives


def test_the_same_hits_as_embedded(shared: ChromaServer, houses: list[Served], tmp_path: Path) -> None:
    chance = np.random.default_rng(7)
    texts = {f"d{i}": " ".join(chance.choice(WORDS, 8)) + f" number {i}." for i in range(60)}
    remote, embedded = served(houses, tmp_path / "remote", shared), House(tmp_path / "embedded")
    for house in (remote, embedded):
        house.put("c", **texts)
        house.search.refresh()
    collection, _ = embedded.store.collection("c")
    for query in ("bees dance", "owls in the night", "river stone", texts["d5"]):
        vector = embedded.encoder.encode([query])[0]
        theirs = embedded.search.dense.search(vector, [collection], 10)
        ours = remote.search.dense.search(vector, [collection], 10)
        assert [s for _, s in ours] == pytest.approx([s for _, s in theirs], abs=1e-5)
        assert remote.find(query, k=10) == embedded.find(query, k=10)
    embedded.database.close()


def test_stores_on_one_server_do_not_mix(shared: ChromaServer, houses: list[Served], tmp_path: Path) -> None:
    first, second = (served(houses, tmp_path / name, shared) for name in ("first", "second"))
    first.put("c", bees=BEES, ants=ANTS)
    second.put("c", owls=OWLS)
    first.search.refresh()
    assert second.find("bees dance") == ["owls"]
    assert sorted(first.find("owls wait")) == ["ants", "bees"]
    second.search.rebuild()
    second.store.delete_collection("c")
    second.search.refresh()
    assert second.mine() == []
    assert first.mine() == [2]
    assert first.nearest("bees dance")[0] == "bees"


# A server that does not stay


@pytest.mark.slow
def test_damaged_vector_files_are_filled_again(own: ChromaServer, houses: list[Served], tmp_path: Path) -> None:
    house = served(houses, tmp_path, own)
    house.put("c", **{f"d{i}": text(i) for i in range(1100)})  # enough for Chroma to write its vector files
    house.search.refresh()
    own.stop()
    [vectors] = [file.parent for file in own.folder.glob("*/header.bin")]
    (vectors / "header.bin").write_bytes(b"\xff" * 100)
    own.start()
    log = StageLog()
    with budget_scope(Budget(), log):
        assert served(houses, tmp_path, own).find(text(5))[0] == "d5"
    [(kind, told)] = log.notes
    assert (kind, "was made again from the store" in told) == ("scope", True)
    assert house.nearest(text(5))[0] == "d5"
    assert house.mine() == [1100]


@pytest.mark.slow
def test_a_server_that_goes_away_and_comes_back(own: ChromaServer, houses: list[Served], tmp_path: Path) -> None:
    house = served(houses, tmp_path, own)
    house.put("c", bees=BEES)
    assert house.find("bees") == ["bees"]
    own.stop()
    fresh = served(houses, tmp_path, own)
    for searching in (house, fresh):
        with pytest.raises(ProviderDownError, match=rf"{own.url} cannot be reached.*chroma run.*CHROMA_URL.*safe"):
            searching.find("bees")
    house.put("c", wasps="Wasps build with paper.")
    with pytest.raises(ProviderDownError):
        house.search.refresh()
    own.start()
    assert house.find("wasps paper")[0] == fresh.find("wasps paper")[0] == "wasps"
    assert house.mine() == [2]


# Servers that are none


def test_the_token_is_sent() -> None:
    with ModelServer(strict=False) as server:
        server.on(lambda _: True, Reply(status=401), path="")
        for token in ("", "abc"):
            with pytest.raises(ProviderDownError):
                DenseServer(server.root, "x", token).number()
        without, sent = server.requests[0].headers, server.requests[-1].headers
    assert not {"authorization", "x-chroma-token"} & without.keys()
    assert (sent["authorization"], sent["x-chroma-token"]) == ("Bearer abc", "abc")


def test_an_offline_run_asks_only_this_machine() -> None:
    with budget_scope(Budget(offline=True)), pytest.raises(ProviderDownError, match="stays offline"):
        DenseServer("http://chroma.example:8000", "x").number()
