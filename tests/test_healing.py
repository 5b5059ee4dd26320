"""Indexes that are lost, torn or damaged are made again by themselves; real Chroma and real tantivy, really damaged.

What may end a process by a signal is done in processes of their own.
"""

import json
import os
import random
import shutil
import signal
import sqlite3
import stat
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from conftest import Spawn
from toys import House, text

from tools.budget import Budget, StageLog, using
from tools.errors import IndexDamagedError, StoreBusyError, StoreDamagedError, StoreError
from tools.store import probe as probing
from tools.store import upkeep
from tools.store.database import Database
from tools.store.lexical import LexicalIndex
from tools.store.locks import Hold, holders, index_lock, left_behind
from tools.store.manifest import Manifest
from tools.store.store import Store

MANY = 1100  # passages: enough for Chroma to write its vector files
CHROMA = "data_level0.bin header.bin length.bin link_lists.bin index_metadata.pickle chroma.sqlite3".split()
TANTIVY = ["*.store", "*.term", "*.idx", "*.fast", "*.fieldnorm", "meta.json"]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with both indexes in files."""
    folder = tmp_path_factory.mktemp("filled")
    house = House(folder)
    house.put("c", **{f"d{i}": text(i) for i in range(MANY)})
    house.search.refresh()
    house.search.close()
    house.database.close()
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    """A copy of it, with the times of its files."""
    return Path(shutil.copytree(filled, tmp_path / "copy"))


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip(file: Path) -> None:
    data, chance = bytearray(file.read_bytes()), random.Random(7)
    for _ in range(max(3, len(data) // 50)):
        data[chance.randrange(len(data))] ^= 0xFF
    file.write_bytes(data)


DAMAGE: dict[str, Callable[[Path], None]] = {"deleted": Path.unlink, "cut off": cut_off, "flipped": flip}


def assert_whole(folder: Path) -> None:
    """Each index finds what is stored, and holds nothing else."""
    house = House(folder)
    collection, _ = house.store.collection("c")
    for number in (0, 500, MANY - 1):
        assert house.find(text(number))[0] == f"d{number}"
        vector = house.encoder.encode([text(number)])[0]
        assert house.search.dense.search(vector, [collection], 1)[0][1] > 0.99
    assert house.search.dense.count() == house.search.lexical.count() == MANY  # type: ignore[attr-defined]
    assert house.search.condition() == []
    house.search.close()
    house.database.close()


SEARCH = """
import sys
from pathlib import Path
sys.path[:0] = ["tests"]
from test_healing import assert_whole
assert_whole(Path(sys.argv[1]))
print("whole")
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("name", [*CHROMA, *TANTIVY])
def test_a_damaged_file_is_noticed_and_nobody_types_anything(folder: Path, spawn: Spawn, name: str, how: str) -> None:
    file = next((folder / "index").rglob(name))
    DAMAGE[how](file)
    process = spawn(SEARCH, folder)
    said, trouble = process.communicate(timeout=120)
    assert (process.returncode, said) == (0, "whole\n"), trouble


@pytest.mark.parametrize("lost", ["the vectors' folder", "Chroma's folder", "the index", "all"])
def test_a_lost_folder_is_noticed(folder: Path, lost: str, caplog: pytest.LogCaptureFixture) -> None:
    dense = folder / "index" / "dense"
    if lost == "the vectors' folder":
        shutil.rmtree(next(f for f in (dense / "chroma").iterdir() if f.is_dir()))
    else:
        shutil.rmtree({"Chroma's folder": dense / "chroma", "the index": dense, "all": folder / "index"}[lost])
    assert_whole(folder)
    assert "The dense index is damaged" in caplog.text


def test_a_folder_that_is_lost_while_it_is_searched_is_noticed(folder: Path) -> None:
    house = House(folder)
    assert house.find(text(5))[0] == "d5"
    shutil.rmtree(next(f for f in (folder / "index" / "dense" / "chroma").iterdir() if f.is_dir()))
    [said] = house.search.condition()
    assert "dense index is suspect" in said
    log = StageLog()
    with using(Budget(), log):
        assert house.find(text(5))[0] == "d5"
    [(kind, told)] = log.notes
    assert kind == "scope"
    assert "was made again from the store" in told
    house.search.close()
    assert_whole(folder)


def test_a_clean_index_is_not_looked_into(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> str:
        raise AssertionError

    monkeypatch.setattr(upkeep, "probe", never)
    monkeypatch.setattr(Manifest, "write", never)
    for _ in range(3):
        assert_whole(folder)


def test_a_copy_with_other_times_is_the_same_index(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in (folder / "index").rglob("*"):
        os.utime(file)
    test_a_clean_index_is_not_looked_into(folder, monkeypatch)


def test_an_index_without_a_manifest_is_looked_into_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an earlier version left it."""
    for manifest in (folder / "index").glob("*/MANIFEST"):
        manifest.unlink()
    asked: list[str] = []

    def whole(_: Store, __: Path, name: str, ___: Hold) -> str:
        asked.append(name)
        return ""

    monkeypatch.setattr(upkeep, "probe", whole)
    assert_whole(folder)
    assert_whole(folder)
    assert asked == ["dense", "lexical"]


def test_an_index_of_another_time_is_looked_into_and_goes_on(folder: Path, tmp_path: Path) -> None:
    """The index of a backup beside a newer store: it lacks what came since."""
    shutil.copytree(folder / "index", tmp_path / "backup")
    house = House(folder)
    house.put("c", late="The late hornet came.")
    assert "late" in house.find("late hornet")
    house.search.close()
    house.store.delete_document("c", "late")
    house.search.refresh()
    house.search.close()
    house.database.close()
    shutil.rmtree(folder / "index")
    shutil.move(tmp_path / "backup", folder / "index")
    assert_whole(folder)


DIES = """
import os, signal, sys
from pathlib import Path
from toys import House
house = House(Path(sys.argv[1]))
if sys.argv[2] == "reading":
    house.search.lexical.search = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    house.find("number")
else:
    house.put("c", late="The late hornet came.")
    house.store.delete_document("c", "late")
    house.search.lexical.apply = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    house.search.refresh()
"""


@pytest.mark.parametrize("at", ["reading", "writing"])
def test_whoever_comes_after_a_death_looks_into_the_indexes(
    folder: Path, spawn: Spawn, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spawn(DIES, folder, at).wait(60) == -signal.SIGKILL
    assert [h.exclusive for h in left_behind(folder / "index" / "lock").values()] == [at == "writing"]
    asked: list[str] = []

    def asking(store: Store, index: Path, name: str, hold: Hold) -> str:
        asked.append(name)
        return probing.probe(store, index, name, hold)

    monkeypatch.setattr(upkeep, "probe", asking)
    assert_whole(folder)
    assert asked == ["dense", "lexical"]
    assert left_behind(folder / "index" / "lock") == {}


PROBES = """
import sys
from pathlib import Path
from toys import House
from tools.store.locks import index_lock
from tools.store.probe import probe
house, index = House(Path(sys.argv[1])), Path(sys.argv[1]) / "index"
house.put("c", late="The late hornet came.")
with index_lock(index / "lock", exclusive=True, timeout=5) as hold:
    probe(house.store, index, "lexical", hold)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="children are looked up in /proc")
def test_a_probe_holds_the_lock_and_ends_with_the_process_that_asked(folder: Path, spawn: Spawn) -> None:
    asking, lock = spawn(PROBES, folder), folder / "index" / "lock"
    children = Path(f"/proc/{asking.pid}/task/{asking.pid}/children")
    while not (found := children.read_text().split()):
        assert asking.poll() is None
        time.sleep(0.002)
    os.kill(probing_one := int(found[0]), signal.SIGSTOP)
    asking.kill()
    asking.wait()
    try:
        with pytest.raises(StoreBusyError), index_lock(lock, exclusive=True, timeout=0.3):
            pass
    finally:
        os.kill(probing_one, signal.SIGCONT)
    with index_lock(lock, exclusive=True, timeout=20):
        assert LexicalIndex(folder / "index" / "lexical").count() == MANY  # the journal's is not put in any more


def test_a_store_that_fails_condemns_no_index(folder: Path) -> None:
    house = House(folder)
    stamps = {name: (folder / "index" / name / "STAMP").read_text() for name in ("dense", "lexical")}
    for manifest in (folder / "index").glob("*/MANIFEST"):
        manifest.unlink()
    with house.database.connection() as db:
        [version] = db.execute("PRAGMA user_version").fetchone()
        db.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreError, match="written by a newer version of Steelman"):
        house.find(text(5))
    with house.database.connection() as db:
        db.execute(f"PRAGMA user_version = {version}")
    house.search.close()
    house.database.close()
    assert_whole(folder)
    assert stamps == {name: (folder / "index" / name / "STAMP").read_text() for name in stamps}


def test_a_probe_that_finds_the_store_busy_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.store.database.BUSY_SECONDS", 0.1)
    monkeypatch.setattr(probing, "_end_with_the_caller", lambda: None)  # this process's own input may be at its end
    with closing(sqlite3.connect(folder / "steelman.db", isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        status = probing._main(str(folder / "steelman.db"), str(folder / "index"), "lexical")
    assert (status, json.loads(capsys.readouterr().out)[0]) == (3, "StoreBusyError")


def test_a_second_death_in_what_was_found_whole_has_it_made_again(
    folder: Path, spawn: Spawn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(upkeep, "probe", lambda *_: "")
    for _ in range(2):
        assert "is damaged" not in caplog.text
        assert spawn(DIES, folder, "reading").wait(60) == -signal.SIGKILL
        assert_whole(folder)
    assert "for the second time" in caplog.text


def test_an_index_that_cannot_be_made_again_says_what_to_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = House(folder)

    def fails(*_: object) -> None:
        from tools.store.dense import index_error

        cause = ValueError("bad sector")
        raise index_error("lexical", folder, cause) from cause

    (folder / "index" / "lexical" / "tantivy" / "meta.json").unlink()
    monkeypatch.setattr(house.search.lexical, "apply", fails)
    with pytest.raises(IndexDamagedError, match=r"made again it failed too \(bad sector\).*Check the disk.*rebuild"):
        house.find("number")


# A lock that is held


def test_who_holds_the_lock_is_named(folder: Path) -> None:
    house = House(folder)
    with index_lock(folder / "index" / "lock", exclusive=True, timeout=1) as hold:
        hold.doing("making the dense index again")
        [holder] = holders(folder / "index" / "lock")
        assert (holder.pid, holder.exclusive) == (os.getpid(), True)
        assert "which is making the dense index again" in house.search.condition()[0]
        begun = time.monotonic()
        with (
            using(Budget(deadline_at=time.time() + 1.0)),
            pytest.raises(StoreBusyError, match=rf"locked by process {os.getpid()} \(.*\) for \d+ s, which is making"),
        ):
            house.find("number")
        assert time.monotonic() - begun < 5
    assert holders(folder / "index" / "lock") == []


# A store that is lost, and who may read it


@pytest.mark.parametrize("state", ["missing", "empty"])
@pytest.mark.parametrize("beside", ["index", "checkpoints.db"])
def test_a_lost_store_is_never_begun_anew(folder: Path, state: str, beside: str) -> None:
    path = folder / "steelman.db"
    for file in folder.glob("steelman.db*"):
        file.unlink()
    if state == "empty":
        path.touch()
    if beside == "checkpoints.db":
        shutil.rmtree(folder / "index")
        (folder / beside).write_text("runs")
    with pytest.raises(StoreDamagedError, match=rf"is {state}, but .*{beside}.*Restore the file from a backup; or, to"):
        Database(path)
    assert path.exists() == (state == "empty")
    shutil.rmtree(folder / "index", ignore_errors=True)
    (folder / "checkpoints.db").unlink(missing_ok=True)
    Database(path).close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(sys.platform == "win32", reason="its files have no such modes")
def test_the_store_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "steelman.db"
    database = Database(path)
    assert mode(path.parent) == 0o700
    assert {mode(file) for file in path.parent.glob("steelman.db*")} == {0o600}
    database.close()
    path.chmod(0o644)
    path.parent.chmod(0o755)
    Database(path).close()
    assert (mode(path), mode(path.parent)) == (0o600, 0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="its files have no such modes")
def test_so_are_the_indexes_also_of_an_earlier_version(folder: Path) -> None:
    for opened in (folder, folder / "index"):
        opened.chmod(0o755)
    House(folder).search.refresh()
    assert (mode(folder), mode(folder / "index")) == (0o755, 0o700)
