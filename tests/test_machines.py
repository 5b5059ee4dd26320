"""Machines with data folders of their own on one Postgres database and one Chroma server: real servers, and processes
that are really killed."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from chroma_server import ChromaServer, chroma_server
from conftest import Spawn, hear, say
from postgres_places import PostgresServer
from sqlalchemy import select
from toys import House, ToyEncoder, text

from tools.budget import Budget, StageLog, budget_scope
from tools.errors import StoreBusyError
from tools.store import index, schema
from tools.store.database import Database
from tools.store.dense_server import DenseServer
from tools.store.index_sync import IndexSync

pytest.importorskip("psycopg")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Machine(House):
    """A house whose database is on a server, and its dense index too if `chroma` is given."""

    def __init__(self, folder: Path, address: str, chroma: str = "", encoder: ToyEncoder | None = None) -> None:
        self.address = address
        super().__init__(
            folder,
            encoder or ToyEncoder("toy", 384),
            (lambda store: DenseServer(chroma, store.store_id())) if chroma else None,
        )

    def opened_database(self, _: Path) -> Database:
        return Database(self.address)

    def found(self, number: int) -> tuple[str, str]:
        """The first document by words and by meaning, after a search without any note."""
        with budget_scope(Budget(), log := StageLog()):
            self.find(text(number))
        assert log.notes == []
        collection = [self.store.collection("c")[0]]
        words = self.search.lexical.search(text(number), collection, 1)
        meaning = self.search.dense.search(self.encoder.encode([text(number)])[0], collection, 1)
        names = self.store.passages([words[0][0], meaning[0][0]])
        return names[words[0][0]].document_id, names[meaning[0][0]].document_id

    def ingest(self, *numbers: int) -> None:
        self.put("c", **{f"d{n}": text(n) for n in numbers})
        self.search.refresh()

    def counts(self) -> tuple[int, int]:
        return self.search.dense.count(), self.search.lexical.count()

    def builds(self) -> dict[str, str]:
        """Names each build of each index, by its row."""
        return {row.name: row.making for row in self.database.rows(select(schema.indexes))}


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    with chroma_server(tmp_path_factory.mktemp("chroma")) as server:
        yield server


@pytest.fixture
def address(postgres: PostgresServer, tmp_path: Path) -> Iterator[str]:
    """An empty database."""
    count = len(postgres.made)
    yield postgres.place_of(tmp_path / "name")
    postgres.drop_since(count)


WORKS = """
import sys
from pathlib import Path
from test_machines import Machine
machine = Machine(Path(sys.argv[1]), *sys.argv[2:])
print("ready", flush=True)
for line in sys.stdin:
    command, *numbers = line.split()
    print(getattr(machine, command)(*map(int, numbers)), flush=True)
"""


def test_what_one_machine_changes_the_others_find(
    tmp_path: Path, address: str, chroma: ChromaServer, spawn: Spawn
) -> None:
    here = Machine(tmp_path / "here", address, chroma.url)
    here.ingest(1, 2)
    there = spawn(WORKS, tmp_path / "there", address, chroma.url)
    assert hear(there) == "ready"

    def asked(line: str) -> str:
        say(there, line)
        return hear(there)

    assert asked("found 2") == "('d2', 'd2')"
    first = here.builds()
    assert sorted(name.partition("-")[0] for name in first) == ["dense", "lexical", "lexical"]
    assert asked("ingest 3") == "None"
    assert here.found(3) == ("d3", "d3")
    say(there, f"ingest {' '.join(map(str, range(100, 140)))}")  # both at once
    for number in range(200, 240, 5):
        here.ingest(*range(number, number + 5))
    assert hear(there) == "None"
    assert asked("found 235") == "('d235', 'd235')"
    assert here.found(139) == ("d139", "d139")
    here.store.delete_document("c", "d139")
    here.search.refresh()
    assert asked("found 139") != "('d139', 'd139')"
    assert asked("counts") == str(here.counts()) == "(82, 82)"
    assert here.builds() == first
    third = Machine(tmp_path / "third", address, chroma.url)
    assert third.found(3) == ("d3", "d3")
    assert third.counts() == (82, 82)
    builds = third.builds()
    assert len(builds) == 4
    assert builds | first == builds
    third.store.delete_collection("c")
    third.search.refresh()
    assert not third.store.changes.unfinished(tmp_path / "third" / "index")
    assert here.store.changes.unfinished(tmp_path / "here" / "index")  # its own word index is behind
    here.search.refresh()
    assert here.counts() == (0, 0)


DIES = """
import os, signal, sys
from pathlib import Path
from test_machines import Machine
from tools.store.index import ChangeLog
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
machine, at = Machine(Path(sys.argv[1]), *sys.argv[2:4]), sys.argv[4]
dense, apply = machine.search.dense, machine.search.dense.apply
if at == "half":
    dense.apply = lambda adds, removes: (apply(adds[: len(adds) // 2], removes), die())
else:
    real = ChangeLog.set_position
    ChangeLog.set_position = lambda self, name, position: die() if "dense" in name else real(self, name, position)
machine.ingest(*range(100, 160))
"""


@pytest.mark.parametrize("at", ["half", "after"])
def test_a_writer_that_is_killed_is_continued_by_the_others(
    tmp_path: Path, address: str, chroma: ChromaServer, spawn: Spawn, at: str
) -> None:
    here = Machine(tmp_path / "here", address, chroma.url)
    here.ingest(1)
    first = here.builds()
    assert spawn(DIES, tmp_path / "there", address, chroma.url, at).wait(60) == -signal.SIGKILL
    assert here.search.dense.count() == (31 if at == "half" else 61)
    assert here.found(159) == ("d159", "d159")
    assert here.counts() == (61, 61)
    assert here.builds() == first
    assert here.search.condition() == []


def test_a_server_that_lost_its_data_is_filled_once(tmp_path: Path, address: str, chroma: ChromaServer) -> None:
    here, there = (Machine(tmp_path / name, address, chroma.url) for name in ("here", "there"))
    here.ingest(1, 2)
    assert there.found(1) == ("d1", "d1")
    here.search.dense.clear()
    with budget_scope(Budget(), log := StageLog()):
        there.find(text(1))
    assert ["was made again from the store" in told for _, told in log.notes] == [True]
    assert here.found(2) == ("d2", "d2")


# Embedded indexes: each folder's own


def test_each_folder_has_its_own_embedded_indexes(tmp_path: Path, address: str) -> None:
    here, there = (Machine(tmp_path / name, address) for name in ("here", "there"))
    for number, machine in enumerate((here, there, here, there)):
        machine.ingest(number)
    for number in range(4):
        assert here.found(number) == there.found(number) == (f"d{number}", f"d{number}")
    before = here.builds()
    assert len(before) == 4
    here.search.close()
    copied = Path(shutil.copytree(tmp_path / "here", tmp_path / "copied"))
    copy = Machine(copied, address)
    copy.search.refresh()
    assert copy.found(3) == ("d3", "d3")
    assert len(copy.builds()) == 6
    here.ingest(4)
    assert copy.found(4) == there.found(4) == ("d4", "d4")
    assert {name: here.builds()[name] for name in before} == before


def test_another_encoders_vectors_reach_every_folder(tmp_path: Path, address: str) -> None:
    here, there = (Machine(tmp_path / name, address) for name in ("here", "there"))
    here.ingest(*range(5))
    there.search.refresh()
    there.search.close()
    Machine(tmp_path / "here", address, encoder=ToyEncoder("other", 384)).search.rebuild()
    other = Machine(tmp_path / "there", address, encoder=ToyEncoder("other", 384))
    assert other.found(4) == ("d4", "d4")
    hit = other.search.dense.search(other.encoder.encode([text(4)])[0], [other.store.collection("c")[0]], 1)
    assert hit[0][1] > 0.99


def test_a_folder_that_is_gone_keeps_no_removals(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_MOST_BEHIND", 5)
    here, gone = (Machine(tmp_path / name, address) for name in ("here", "gone"))
    here.ingest(*range(10))
    gone.search.refresh()
    for number in range(4):
        here.store.delete_document("c", f"d{number}")
    here.search.refresh()
    assert len(here.database.rows(select(schema.removals))) == 4
    for number in range(4, 8):
        here.store.delete_document("c", f"d{number}")
    here.search.refresh()
    assert here.database.rows(select(schema.removals)) == []
    assert gone.found(9) == ("d9", "d9")
    assert gone.counts() == (2, 2)


# The lock

HOLDS = """
import sys
from tools.store.database import Database
with Database(sys.argv[1]).lock(exclusive=sys.argv[2] == "write", seconds=5):
    print("held", flush=True)
    sys.stdin.readline()
print("let go", flush=True)
"""


@pytest.mark.parametrize(("held", "wanted"), [("write", False), ("write", True), ("read", True)])
def test_a_lock_excludes_until_its_process_dies(address: str, spawn: Spawn, held: str, wanted: bool) -> None:
    with closing(Database(address)) as database:
        holder = spawn(HOLDS, address, held)
        assert hear(holder) == "held"
        begun = time.monotonic()
        with pytest.raises(StoreBusyError, match="another process"), database.lock(exclusive=wanted, seconds=0.2):
            pass
        assert 0.2 <= time.monotonic() - begun < 4
        os.kill(holder.pid, signal.SIGKILL)
        with database.lock(exclusive=wanted, seconds=5):
            pass


READS_ON = """
import sys, threading
from pathlib import Path
from tools.store.database import Database
database = Database(sys.argv[1])
def read():
    while not Path(sys.argv[2], "stop").exists():
        with database.lock(exclusive=False, seconds=20):
            Path(sys.argv[2], "read").touch()
threads = [threading.Thread(target=read) for _ in range(20)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_readers_that_never_pause_starve_no_writer(address: str, tmp_path: Path, spawn: Spawn) -> None:
    readers = spawn(READS_ON, address, tmp_path)
    while not (tmp_path / "read").exists():
        time.sleep(0.01)
    with closing(Database(address)) as database:
        for _ in range(5):
            with database.lock(exclusive=True, seconds=10):
                pass
    (tmp_path / "stop").touch()
    assert readers.wait(30) == 0


def test_many_waiting_searches_leave_connections_to_the_writer(
    tmp_path: Path, address: str, chroma: ChromaServer
) -> None:
    here = Machine(tmp_path / "here", address, chroma.url)
    here.ingest(1)
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(here.find(text(1)))) for _ in range(30)]
    with IndexSync(here.store, tmp_path / "here" / "index", here.search.dense).locked(time.monotonic() + 5):
        for thread in threads:
            thread.start()
        time.sleep(1)
        here.put("c", d2=text(2))
    for thread in threads:
        thread.join()
    assert [names[0] for names in found] == ["d1"] * 30
