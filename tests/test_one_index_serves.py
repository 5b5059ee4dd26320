"""While one index is made again the other serves alone; real Chroma, real tantivy, real processes."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from conftest import Spawn
from toys import House, text

from tools.budget import Budget, StageLog, using
from tools.errors import IndexDamagedError, StoreBusyError
from tools.store import upkeep
from tools.store.locks import beside, holders, index_lock, left_behind

MANY = 60
MAKES = """
import sys
from pathlib import Path
sys.path[:0] = ["tests"]
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
sys.stdin.readline()
"""


READS = """
import sys
from pathlib import Path
from tools.store.locks import beside
with beside(Path(sys.argv[1])) as made:
    print(made, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    house = House(folder)
    house.put("c", **{f"d{i}": text(i) for i in range(MANY)})
    house.search.refresh()
    close(house)
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(upkeep, "_WAITED", 0.1)
    return Path(shutil.copytree(filled, tmp_path / "copy"))


def close(house: House) -> None:
    house.search.close()
    house.database.close()


def say(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def hear(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def being_made(folder: Path, spawn: Spawn, name: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that is in the middle of making the lost index of that name again."""
    shutil.rmtree(folder / "index" / name)
    process = spawn(MAKES, folder, name)
    assert hear(process) == "making"
    yield process


def asked(house: House, number: int, seconds: float = 60) -> tuple[str, list[str]]:
    """The document found first, and what the search was noted as degraded for."""
    log = StageLog()
    with using(Budget(deadline_at=time.time() + seconds), log):
        found = house.find(text(number))
    return found[0], [told for kind, told in log.notes if kind == "degraded"]


@pytest.mark.parametrize("name", ["dense", "lexical"])
def test_the_other_serves_alone_and_it_is_told(folder: Path, spawn: Spawn, name: str) -> None:
    house = House(folder)
    with being_made(folder, spawn, name) as maker:
        found, told = asked(house, 7)
        assert found == "d7"
        assert told == [f"The {name} index was being made again: some searches went without it."]
        assert bool(house.search.word_scores("number7 harbour7", ["c"])) == (name == "dense")
        say(maker)
        assert hear(maker) == "made"
    assert asked(house, 8) == ("d8", [])
    assert house.search.dense.count() == house.search.lexical.count() == MANY  # type: ignore[attr-defined]
    assert left_behind(folder / "index" / "lock") == {}
    close(house)


@pytest.mark.parametrize("name", ["dense", "lexical"])
def test_what_is_stored_meanwhile_is_found_afterwards(folder: Path, spawn: Spawn, name: str) -> None:
    house = House(folder)
    with being_made(folder, spawn, name) as maker:
        house.put("c", late="The late hornet came.")
        house.store.delete_document("c", "d7")
        assert asked(house, 8)[0] == "d8"
        assert "d7" not in house.find(text(7))
        say(maker)
        while hear(maker) == "making":  # what was stored meanwhile
            say(maker)
    assert house.find("late hornet")[0] == "late"
    assert house.search.dense.count() == house.search.lexical.count() == MANY  # type: ignore[attr-defined]
    close(house)


@pytest.mark.parametrize("name", ["dense", "lexical"])
def test_a_death_in_the_middle_has_the_next_one_look(folder: Path, spawn: Spawn, name: str) -> None:
    house = House(folder)
    with being_made(folder, spawn, name) as maker:
        assert asked(house, 7)[0] == "d7"
        maker.kill()
        maker.wait()
    assert len(left_behind(folder / "index" / "lock")) == 1
    assert asked(house, 8) == ("d8", [])
    assert house.search.dense.count() == house.search.lexical.count() == MANY  # type: ignore[attr-defined]
    assert left_behind(folder / "index" / "lock") == {}
    close(house)


def test_where_both_are_made_again_searches_wait(folder: Path, spawn: Spawn) -> None:
    house = House(folder)
    shutil.rmtree(folder / "index" / "lexical")
    with being_made(folder, spawn, "dense"), pytest.raises(StoreBusyError, match="which is making the lexical index"):
        asked(house, 7, seconds=1.5)
    close(house)


def test_a_search_waits_before_it_does_without(folder: Path, spawn: Spawn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "_WAITED", 30.0)
    house = House(folder)
    with being_made(folder, spawn, "dense") as maker:
        say(maker)
        assert asked(house, 7) == ("d7", [])
    close(house)


def test_an_index_that_fails_while_it_serves_alone_is_made_again_too(
    folder: Path, spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(folder)
    failed: list[bool] = []
    search = house.search.lexical.search

    def fails(*given: object) -> object:
        if not failed:
            failed.append(True)
            say(maker)
            error = IndexDamagedError("The lexical index fails.")
            error.index = "lexical"
            raise error from ValueError("bad sector")
        return search(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(house.search.lexical, "search", fails)
    with being_made(folder, spawn, "dense") as maker:
        log = StageLog()
        with using(Budget(), log):
            assert house.find(text(7))[0] == "d7"
    assert [told for _, told in log.notes if "lexical" in told and "bad sector" in told]
    close(house)


@pytest.mark.parametrize("seconds", [1.5, 3.0])
def test_a_run_with_little_time_does_without_in_half_of_it(
    folder: Path, spawn: Spawn, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(upkeep, "_WAITED", 5.0)
    house = House(folder)
    house.find(text(7))
    with being_made(folder, spawn, "dense"):
        assert asked(house, 7, seconds)[0] == "d7"
    close(house)


def test_only_the_first_search_waits(folder: Path, spawn: Spawn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "_WAITED", 1.0)
    house = House(folder)
    with being_made(folder, spawn, "dense"):
        assert asked(house, 7)[0] == "d7"
        begun = time.monotonic()
        assert asked(house, 8)[0] == "d8"
        assert time.monotonic() - begun < 1.0
    close(house)


def test_what_does_not_ask_the_index_that_is_made_lacks_nothing(folder: Path, spawn: Spawn) -> None:
    house, log = House(folder), StageLog()
    with being_made(folder, spawn, "dense"), using(Budget(), log):
        assert house.search.word_scores("number7 harbour7", ["c"])
    assert log.notes == []
    close(house)


def test_a_server_that_dies_with_its_searches_twice_condemns_no_other_index(
    folder: Path, spawn: Spawn, caplog: pytest.LogCaptureFixture
) -> None:
    lock, stamp = folder / "index" / "lock", (folder / "index" / "lexical" / "STAMP").read_text()
    for _ in range(2):
        with being_made(folder, spawn, "dense") as maker:
            reader = spawn(READS, lock)
            assert hear(reader) == "dense"
            for process in (maker, reader):
                process.kill()
                process.wait()
        assert sorted(h.exclusive for h in left_behind(lock).values()) == [False, True]
        house = House(folder)
        assert asked(house, 7) == ("d7", [])
        close(house)
    assert (folder / "index" / "lexical" / "STAMP").read_text() == stamp
    assert "The lexical index is damaged" not in caplog.text


# The lock by itself


def test_who_still_reads_beside_a_writer_that_has_left_keeps_the_next_one_out(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with ExitStack() as reader:
        with index_lock(lock, exclusive=True, timeout=1) as hold:
            with beside(lock) as made:
                assert made == ""
            with hold.changing_only("dense"):
                assert reader.enter_context(beside(lock)) == "dense"
                assert sorted(h.exclusive for h in holders(lock)) == [False, True]
            with beside(lock) as made:
                assert made == ""
        with pytest.raises(StoreBusyError), index_lock(lock, exclusive=True, timeout=0.2):
            pass
    with index_lock(lock, exclusive=True, timeout=1):
        pass


WRITES = """
import sys
from pathlib import Path
from tools.store.locks import index_lock
lock = Path(sys.argv[1])
with index_lock(lock, exclusive=True, timeout=5) as hold, hold.changing_only("dense"):
    print("writing", flush=True)
    sys.stdin.readline()
"""


def writing_and_reading(lock: Path, spawn: Spawn) -> tuple["subprocess.Popen[str]", "subprocess.Popen[str]"]:
    """A process that changes one index, and one that reads beside it."""
    writer = spawn(WRITES, lock)
    assert hear(writer) == "writing"
    reader = spawn(READS, lock)
    assert hear(reader) == "dense"
    return writer, reader


def test_who_reads_beside_a_writer_that_died_keeps_the_next_one_out(tmp_path: Path, spawn: Spawn) -> None:
    lock = tmp_path / "lock"
    writer, reader = writing_and_reading(lock, spawn)
    writer.kill()
    writer.wait()
    with pytest.raises(StoreBusyError), index_lock(lock, exclusive=True, timeout=0.3):
        pass
    with beside(lock) as made:
        assert made == ""  # the word of one that died counts for nothing
    say(reader)
    reader.wait(10)
    with index_lock(lock, exclusive=True, timeout=5):
        pass


def test_a_death_while_reading_beside_a_writer_is_noticed(tmp_path: Path, spawn: Spawn) -> None:
    lock = tmp_path / "lock"
    writer, reader = writing_and_reading(lock, spawn)
    os.kill(reader.pid, signal.SIGKILL)
    reader.wait()
    [left] = left_behind(lock).values()
    assert (left.pid, left.exclusive) == (reader.pid, False)
    say(writer)
    writer.wait(10)
