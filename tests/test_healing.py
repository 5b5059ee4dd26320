"""Indexes that are lost, torn, damaged or worn are made again by themselves, and nothing else removes them; real Chroma
and real tantivy, really damaged, and processes that are really killed.

What may end a process by a signal is done in processes of their own.
"""

import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Spawn, hear, say
from contract_store import INDEXES, MANY, indexed, makings
from toys import House, text

from tools.budget import Budget, StageLog, budget_scope
from tools.errors import StoreBusyError, StoreDamagedError, StoreError, StoreFullError
from tools.store import index_sync
from tools.store.database import Database
from tools.store.dense import DenseIndex
from tools.store.index import index_error
from tools.store.index_sync import index_lock


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data directory with both indexes in files."""
    return Path(shutil.copytree(indexed(), tmp_path / "copy"))


def close(house: House) -> None:
    house.search.close()
    house.database.close()


def assert_whole(folder: Path) -> None:
    """Each index finds what is stored, and holds nothing else."""
    house = House(folder)
    collection, _ = house.store.collection("c")
    for number in (0, 500, MANY - 1):
        assert house.find(text(number))[0] == f"d{number}"
        vector = house.encoder.encode([text(number)])[0]
        assert house.search.dense.search(vector, [collection], 1)[0][1] > 0.99
    assert house.search.dense.count() == house.search.lexical.count() == MANY
    assert house.search.condition() == []
    assert not list((folder / "index").glob("*.opening"))
    close(house)


def asked(house: House, number: int, seconds: float = 60) -> tuple[str, list[str]]:
    """The document found first, and what was noted of the search."""
    log = StageLog()
    with budget_scope(Budget(deadline_at=time.time() + seconds), log):
        found = house.find(text(number))
    return found[0], [told for _, told in log.notes]


# Damage that no file shows; `contract_store.py` has the rest


def test_an_index_that_holds_fewer_passages_is_made_again(folder: Path) -> None:
    house = House(folder)
    assert isinstance(house.search.dense, DenseIndex)
    [collection] = house.search.dense._own_collections()
    collection.delete(ids=collection.get(limit=1)["ids"])
    close(house)
    house = House(folder)
    told = f"The dense index was damaged (it holds {MANY - 1} passages instead of {MANY}) and was made again"
    assert asked(house, 5) == ("d5", [f"{told} from the store."])
    close(house)
    assert_whole(folder)


def test_an_index_of_another_time_is_made_again(folder: Path, tmp_path: Path) -> None:
    backup = Path(shutil.copytree(folder, tmp_path / "backup"))
    house = House(folder)
    house.put("c", late="The late hornet came.")
    assert "late" in house.find("late hornet")
    house.store.delete_document("c", "late")
    house.search.refresh()
    close(house)
    for data, index in ((folder, backup), (backup, folder)):
        copied = Path(shutil.copytree(data, tmp_path / f"{data.name} of {index.name}"))
        shutil.rmtree(copied / "index")
        shutil.copytree(index / "index", copied / "index")
        assert_whole(copied)
        assert all(new != old for new, old in zip(makings(copied), makings(folder), strict=True))


# What removes nothing


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("No space left on device (os error 28)", StoreFullError),
        ("Nobody has ever seen this one", StoreError),
    ],
)
@pytest.mark.parametrize("at", ["apply", "search"])
def test_other_errors_remove_no_index(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: str, error: type[StoreError], at: str
) -> None:
    house, before = House(folder), makings(folder)
    house.find(text(5))

    def fails(*_: object) -> None:
        raise index_error("dense", folder, RuntimeError(words), {})

    house.put("c", late="The late hornet came.")
    monkeypatch.setattr(house.search.dense, at, fails)
    with pytest.raises(error) as caught:
        house.find(text(5))
    assert not isinstance(caught.value, StoreDamagedError)
    monkeypatch.undo()
    assert "late" in house.find("The late hornet came.")  # first by its words; a graph of neighbours may miss it
    house.store.delete_document("c", "late")
    house.search.refresh()
    close(house)
    assert makings(folder) == before
    assert_whole(folder)


def test_a_lock_that_is_not_had_removes_nothing(folder: Path) -> None:
    house, before = House(folder), makings(folder)
    with (
        index_lock(folder / "index" / "dense.lock", exclusive=True, timeout=1),
        index_lock(folder / "index" / "lexical.lock", exclusive=True, timeout=1),
    ):
        begun = time.monotonic()
        with pytest.raises(StoreBusyError, match=r"locked by another process for \d+ s. Wait for it"):
            asked(house, 5, seconds=1.0)
        assert time.monotonic() - begun < 30  # the usual wait is a minute
    assert asked(house, 5) == ("d5", [])
    assert makings(folder) == before
    close(house)


# Kills

DIES = """
import os, signal, sys
from pathlib import Path
from toys import House
from tools.store.index_sync import IndexSync
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
house, at = House(Path(sys.argv[1])), sys.argv[2]
if at == "opening":
    house.search.dense.reopen = die
elif at == "emptying":
    house.search.dense.set_number = die
elif at == "counting":
    IndexSync._record = die
else:
    getattr(house.search, at).apply = die
if at == "emptying":
    house.search.rebuild()
house.put("c", late="The late hornet came.")
house.store.delete_document("c", "late")
house.search.refresh()
"""


@pytest.mark.parametrize("at", ["opening", "dense", "lexical", "counting", "emptying"])
def test_a_killed_writer_has_the_index_made_again(
    folder: Path, spawn: Spawn, at: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert spawn(DIES, folder, at).wait(60) == -signal.SIGKILL
    name = "lexical" if at == "lexical" else "dense"
    assert (folder / "index" / f"{name}.opening").exists()
    assert_whole(folder)
    assert [r.getMessage() for r in caplog.records if r.levelname == "WARNING"] == [
        f"The {name} index is damaged (a process ended while it opened it or wrote to it). "
        "It is made again from the store."
    ]


# Worn


@pytest.mark.slow
def test_what_was_removed_leaves_the_index_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_sync, "_MOST_DEAD", 20)
    house, made = House(tmp_path), set[str]()
    for written in range(6):
        house.put("c", keep="The owl stays.", **{f"d{i}": f"{text(i)} Written in{written}." for i in range(20)})
        house.search.refresh()
        made.add(makings(tmp_path)[0])
    assert len(made) == 3
    assert house.find(f"{text(7)} Written in5.")[0] == "d7"
    close(house)


# While one index is made again

MAKES = """
import sys
from pathlib import Path
from toys import House
house, name = House(Path(sys.argv[1])), sys.argv[2]
index = getattr(house.search, name)
apply = index.apply
def slowly(adds, removes):
    print("making", flush=True)
    sys.stdin.readline()
    apply(adds, removes)
index.apply = slowly
house.search.refresh()
print("made", flush=True)
"""


@contextmanager
def being_made(folder: Path, spawn: Spawn, name: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that is in the middle of making the lost index of that name again."""
    shutil.rmtree(folder / "index" / name)
    process = spawn(MAKES, folder, name)
    assert hear(process) == "making"
    yield process
    while (said := hear(process)) == "making":
        say(process)
    assert said == "made"


@pytest.mark.slow
@pytest.mark.parametrize("name", INDEXES)
def test_the_other_index_serves_alone(folder: Path, spawn: Spawn, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_sync, "_LONG_WAIT", 0.5)
    house = House(folder)
    with being_made(folder, spawn, name) as maker:
        told = [f"The {name} index was being written: some searches went without it."]
        assert asked(house, 7) == ("d7", told)
        begun = time.monotonic()
        assert asked(house, 8) == ("d8", told)
        assert time.monotonic() - begun < 0.5 + 2  # the next one waits for a moment only
        assert bool(house.search.word_scores("number7 harbour7", ["c"])) == (name == "dense")
        house.put("c", late="The late hornet came.")
        house.store.delete_document("c", "d8")
        assert "d8" not in house.find(text(8))
        say(maker)
    assert asked(house, 7) == ("d7", [])
    assert "late" in house.find("The late hornet came.")  # first by its words; a graph of neighbours may miss it
    assert house.search.dense.count() == house.search.lexical.count() == MANY
    close(house)


# A store that is lost, and who may read it


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(sys.platform == "win32", reason="its files have no such modes")
def test_the_store_and_its_indexes_are_their_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "steelman.db"
    database = Database(path)
    assert mode(path.parent) == 0o700
    assert {mode(file) for file in path.parent.glob("steelman.db*")} == {0o600}
    database.close()
    path.chmod(0o644)
    path.parent.chmod(0o755)
    house = House(path.parent)
    house.search.refresh()
    assert (mode(path), mode(path.parent), mode(path.parent / "index")) == (0o600, 0o755, 0o700)
    close(house)
