"""Processes killed at random moments of their work (SIGKILL of the real commands): what was committed is kept, none of
it twice, and the same command given again ends well."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from conftest import ROOT
from server_process import server_process
from sqlalchemy import select
from toys import House

from agent.runs.store import STALE_SECONDS, RunStore
from tools.models.encoders import MiniLM
from tools.store import schema
from tools.store.database import Database

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.usefixtures("cached")]

KILLS = 3
FILES, SENT = 24, 60
WORDS = (
    "anchor barley candle desert engine falcon garden harbour island jacket kettle lantern marble needle orchard "
    "pepper quarry ribbon saddle timber umbrella violin walnut yoghurt bishop copper dragon elbow feather glacier"
).split()


def text_of(name: str, state: int) -> str:
    """One sentence, which no other document and no other state of this one is near to."""
    words = random.Random(f"{name} {state}").sample(WORDS, 6)
    return f"The {words[0]} and the {' '.join(words[1:])} belong to document {name} in its state {state}."


class Place:
    """A data folder, a folder of files beside it, and the commands that work on both."""

    def __init__(self, folder: Path, encoder: MiniLM, chance: random.Random) -> None:
        self.data, self.files, self.encoder, self.chance = folder / "data", folder / "files", encoder, chance
        self.states: dict[str, int] = {}
        self.seconds: dict[str, float] = {}  # that a command takes which nobody kills
        self.files.mkdir()
        self.write(*(f"d{n}" for n in range(FILES)))

    def write(self, *names: str) -> None:
        """Each file in its next state."""
        for name in names:
            self.states[name] = self.states.get(name, -1) + 1
            (self.files / f"{name}.txt").write_text(text_of(name, self.states[name]) + "\n")

    def start(self, *command: str) -> "subprocess.Popen[str]":
        out = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen([sys.executable, "-m", "agent", *command], cwd=ROOT, env=os.environ, text=True, **out)  # type: ignore[call-overload,no-any-return]

    def whole(self, *command: str) -> str:
        """The command to its end, and what it said."""
        began, process = time.monotonic(), self.start(*command)
        said, _ = process.communicate("yes\n")
        self.seconds[command[0]] = time.monotonic() - began
        assert process.returncode in (0, 3), said
        assert "Traceback" not in said
        return str(said)

    def killed(self, *command: str) -> bool:
        """The command, killed at a moment of its work; whether it was still at work then."""
        process = self.start(*command)
        with suppress(subprocess.TimeoutExpired):
            said, _ = process.communicate("yes\n", timeout=self.chance.uniform(0.3, 1.0) * self.seconds[command[0]])
            assert process.returncode == 0, said
        process.kill()
        assert "Traceback" not in process.communicate()[0]
        return process.returncode == -signal.SIGKILL

    @contextmanager
    def open(self) -> Iterator[House]:
        house = House(self.data, self.encoder)  # type: ignore[arg-type]  # any encoder does
        try:
            yield house
        finally:
            house.search.close()
            house.database.close()

    def stored(self, collection: str) -> dict[str, str]:
        """The text of each document by its name; none of them is there twice."""
        with self.open() as house:
            if collection not in {c.name for c in house.store.collections()}:
                return {}
            number, _ = house.store.collection(collection)
            found = [(Path(p.document_id).stem, p.text) for c, p in house.store.scan(0, 10_000) if c == number]
        assert max(Counter(name for name, _ in found).values(), default=1) == 1
        return dict(found)

    def found(self, collection: str, wanted: dict[str, str]) -> None:
        """Each of some of the texts is what a search for it finds first."""
        with self.open() as house:
            for name in self.chance.sample(sorted(wanted), min(4, len(wanted))):
                first = house.find(wanted[name], collection, k=1)
                assert [Path(n).stem for n in first] == [name]

    def now(self) -> dict[str, str]:
        return {name: text_of(name, state) for name, state in self.states.items()}


@pytest.fixture
def place(tmp_path: Path, encoder: MiniLM, request: pytest.FixtureRequest) -> Place:
    return Place(tmp_path, encoder, random.Random(request.node.name))


def kills(once: Callable[[], bool]) -> None:
    """As often as a process was killed at its work; twice as many tries at most."""
    done = 0
    for _ in range(2 * KILLS):
        done += once()
        if done == KILLS:
            return
    assert done, "none was met at its work"


def test_an_ingest(place: Place) -> None:
    command = ("ingest", str(place.files), "--collection", "folder")
    place.whole(*command)

    def once() -> bool:
        before = place.now()
        place.write(*place.chance.sample(sorted(place.states), 12), f"d{len(place.states)}")
        met, now = place.killed(*command), place.now()
        for name, text in place.stored("folder").items():
            assert text in (before.get(name), now[name])
        assert before.keys() <= place.stored("folder").keys()
        place.whole(*command)
        assert place.stored("folder") == now
        place.found("folder", now)
        return met

    kills(once)


def test_a_rebuild(place: Place) -> None:
    place.whole("ingest", str(place.files), "--collection", "folder")
    place.whole("rebuild")

    def once() -> bool:
        met = place.killed("rebuild")
        assert place.stored("folder") == place.now()
        place.found("folder", place.now())
        return met

    kills(once)
    place.whole("rebuild")
    place.found("folder", place.now())


def test_a_run(place: Place) -> None:
    for question in ("Should cities control rents?", "Is nuclear power safe?"):  # the first one builds the indexes
        place.whole("ask", question, "--no-web")
    questions = [f"Should schools ban smartphones in district {n}?" for n in range(2 * KILLS)]

    def rows() -> dict[str, tuple[str, str, bool]]:
        with closing(Database(place.data / "steelman.db")) as database:
            store = RunStore(database)  # its list has no answers
            return {r.question: (r.id, r.state, store.get(r.id).answer is not None) for r in store.latest(99)}

    def once() -> bool:
        question = questions.pop()
        met = place.killed("ask", question, "--no-web")
        number, state, answered = rows().get(question, ("", "", False))
        if not number:  # killed before the run was stored
            place.whole("ask", question, "--no-web")
        elif not answered:
            silent = time.monotonic() + STALE_SECONDS + 5
            while state == "running" and time.monotonic() < silent:
                time.sleep(0.5)
                state = rows()[question][1]
            assert state == "interrupted"
            assert re.search(rf"{number} .*  interrupted  ", place.whole("runs"))
            place.whole("ask", "--resume", number)
        assert rows()[question][1:] == ("done", True)
        with closing(Database(place.data / "steelman.db")) as database:
            numbered = select(schema.events.c.number).where(schema.events.c.run_id == rows()[question][0])
            events = database.rows(numbered.order_by(schema.events.c.number))
        assert [row.number for row in events] == list(range(1, len(events) + 1))
        return met

    kills(once)


def test_an_upload(place: Place) -> None:
    documents = {f"u{n}": text_of(f"u{n}", 0) for n in range(SENT)}
    body = {"documents": [{"id": name, "text": text} for name, text in documents.items()]}

    def send(address: str) -> httpx.Response:
        return httpx.post(f"{address}/v1/collections/uploads/documents", json=body, timeout=60)

    def once() -> bool:
        with server_process(["-m", "api", "--port", "0"], str(place.data)) as (address, process):
            killer = subprocess.Popen(
                ["sh", "-c", f"sleep {place.chance.uniform(0.0, 0.6):.2f}; kill -9 {process.pid}"]
            )
            with suppress(httpx.HTTPError):
                if send(address).status_code == 200:
                    assert place.stored("uploads") == documents
            killer.wait()
            process.wait()
        assert place.stored("uploads").items() <= documents.items()
        return process.returncode == -signal.SIGKILL

    kills(once)
    with server_process(["-m", "api", "--port", "0"], str(place.data)) as (address, _):
        assert send(address).status_code == 200
    assert place.stored("uploads") == documents
    place.found("uploads", documents)
