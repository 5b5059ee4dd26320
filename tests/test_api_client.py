"""The Python client: what its methods give over the real server, and what it makes of connections that break."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import Door, api
from conftest import ROOT
from written_files import pdf

from agent.settings import Settings
from api.callers import Keys
from api.client import CallError, JudgePair, NewDocument, RunEndedError, Steelman, UnreachableError
from tools.store.database import Database

pytest_plugins = ["api_on_loopback"]


@pytest.fixture(scope="module")
def steelman(standing: Door) -> Iterator[Steelman]:
    with Steelman(standing.address) as client:
        yield client


# What the methods give


def test_a_question_its_events_and_its_run(steelman: Steelman) -> None:
    answer = steelman.ask(QUESTION, depth="quick", collections=["samples"], web=False)
    assert answer.outcome == "answered"
    assert [side.name for side in answer.perspectives] == ["For", "Against"]
    events = list(steelman.events(answer.run_id))
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert (events[0].kind, events[-1].kind) == ("started", "done")
    assert list(steelman.events(answer.run_id, after=len(events))) == []
    assert list(steelman.events(answer.run_id, after=3)) == events[3:]
    state = steelman.run(answer.run_id)
    assert (state.status, state.answer) == ("done", answer)
    assert steelman.passages(answer.run_id).run_id == answer.run_id
    follow_up = steelman.ask("What about the cost?", thread=answer.run_id)
    assert [run.id for run in steelman.runs(thread=answer.run_id)] == [follow_up.run_id, answer.run_id]
    assert not steelman.cancel(answer.run_id)
    assert all(side.passages for side in steelman.retrieve(QUESTION, deadline_seconds=20).perspectives)
    judged = steelman.judge([JudgePair(statement="Bridges help.", passage="A bridge helps both banks.")])
    assert [0 <= (p or 0) <= 1 for p in judged.probabilities] == [True]
    steelman.delete(follow_up.run_id)
    assert [run.id for run in steelman.runs(thread=answer.run_id, status="done")] == [answer.run_id]


def test_collections_are_filled_read_and_removed(steelman: Steelman, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Towns build bridges because bridges join.")
    (tmp_path / "paper.pdf").write_bytes(pdf("Towns should not build bridges."))
    (tmp_path / "what.xyz").write_text("?")
    stored = steelman.ingest("my papers 2026", *sorted(tmp_path.glob("*.*")))
    assert (stored.stored, len(stored.problems)) == (2, 1)
    (tmp_path / "survey.csv").write_text("who,pro,con\nAnn,Bridges join towns.,Bridges cost towns money.\n")
    assert steelman.ingest("surveys", tmp_path / "survey.csv", text=["pro", "con"], id="who").stored == 1
    assert [d.id for d in steelman.documents("surveys")] == ["Ann"]
    text = NewDocument(id="bells-7", text="Bridges carry bells.", publisher="The Bell")
    assert steelman.store("my papers 2026", [text]).stored == 1
    assert {c.name: c.documents for c in steelman.collections()}["my papers 2026"] == 3
    assert {d.id for d in steelman.documents("my papers 2026")} == {"notes.txt", "paper.pdf", "bells-7"}
    assert steelman.delete_document("my papers 2026", "bells-7") == 1
    for odd in ("..", "../a/b?c#d", "/e//f%2F"):
        assert steelman.store("my papers 2026", [NewDocument(id=odd, text="Bridges carry bells.")]).stored == 1
        assert steelman.delete_document("my papers 2026", odd) == 1
    assert steelman.delete_collection("my papers 2026") == 2


def test_a_problem_says_what_is_wrong(steelman: Steelman) -> None:
    with pytest.raises(CallError, match=r"no collection 'books'\. There are: .*samples") as wrong:
        steelman.ask(QUESTION, collections=["books"])
    assert (wrong.value.status, wrong.value.name) == (404, "unknown-collection")
    with pytest.raises(CallError) as wrong:
        steelman.start("")
    assert wrong.value.fields.keys() == {"body.question"}
    for call in (steelman.run, steelman.answer, steelman.delete, steelman.passages):
        with pytest.raises(CallError, match="no run '0123456789ab'"):
            call("0123456789ab")


def test_a_run_that_is_cancelled_has_no_answer(standing: Door, steelman: Steelman) -> None:
    with standing.held():
        run_id = steelman.start(QUESTION)
        assert steelman.cancel(run_id)
    with pytest.raises(RunEndedError, match="is cancelled") as ended:
        steelman.answer(run_id)
    assert (ended.value.run_id, ended.value.sides) == (run_id, [])
    steelman.resume(run_id)
    assert steelman.answer(run_id).outcome == "answered"


def test_a_key_goes_with_every_call(settings: Settings) -> None:
    with closing(Database(settings.database_path)) as database:
        _, text = Keys(database).make("laptop")
    with api(settings) as address:
        with Steelman(address) as nobody, pytest.raises(CallError, match="This call needs a key") as missing:
            nobody.collections()
        assert (missing.value.status, missing.value.name) == (401, "key-missing")
        with Steelman(address, key=text) as steelman:
            assert steelman.ask(QUESTION).run_id == next(steelman.runs()).id


# Connections that break


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.client.connection._FIRST_PAUSE", 0.01)


RUN = "0123456789ab"


class Breaking(BaseHTTPRequestHandler):
    """Plays one scripted reply a request, and closes the connection after it."""

    script: ClassVar[list[bytes]] = []
    seen: ClassVar[list[dict[str, str]]] = []

    def do_GET(self) -> None:
        self.seen.append({name.lower(): value for name, value in self.headers.items()})
        self.wfile.write(self.script.pop(0))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def breaking(*script: bytes) -> Iterator[str]:
    Breaking.script[:], Breaking.seen[:] = script, []
    with ThreadingHTTPServer(("127.0.0.1", 0), Breaking) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(5)
    assert not Breaking.script, "replies went unused"


def stream(*events: int, rest: str = "", last: str = "stage", length: bool = False) -> bytes:
    """A stream of these events, the last of that kind; with a length that it does not reach, or none."""
    kinds = dict.fromkeys(events, "stage") | {events[-1]: last}
    body = ": following\n\n" + "".join(f'id: {n}\nevent: {k}\ndata: {{"at": 1.5}}\n\n' for n, k in kinds.items()) + rest
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + "Content-Length: 9999\r\n" * length
    return f"{head}\r\n{body}".encode()


def problem(status: int, name: str, headers: str = "") -> bytes:
    body = f'{{"type": "urn:steelman:problem:{name}", "status": {status}, "detail": "It is {name}."}}'
    head = (
        f"HTTP/1.1 {status} X\r\nContent-Type: application/problem+json\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    )
    return (head + body).encode()


def test_events_come_once_over_broken_connections() -> None:
    script = [
        stream(1, 2, rest='id: 3\nevent: stage\ndata: {"at"', length=True),  # cut off within an event
        b"",
        problem(503, "server-stopping", "Retry-After: 0\r\n"),
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\n<p>",  # of a proxy before it
        stream(3, 4),  # ends before the run does
        stream(5, last="done"),
    ]
    with breaking(*script) as address, Steelman(address) as steelman:
        events = list(steelman.events(RUN))
    assert [event.number for event in events] == [1, 2, 3, 4, 5]
    assert events[-1].at == 1.5
    assert [seen["last-event-id"] for seen in Breaking.seen] == ["0", "2", "2", "2", "2", "4"]


def test_a_question_whose_reply_is_lost_is_asked_again_under_one_name() -> None:
    begun = f"HTTP/1.1 202 Accepted\r\nLocation: /v1/runs/{RUN}\r\nContent-Length: 2\r\n\r\n{{}}".encode()
    with breaking(b"", problem(429, "too-many-runs"), begun) as address, Steelman(address) as steelman:
        assert steelman.start(QUESTION) == RUN
    assert len({seen["idempotency-key"] for seen in Breaking.seen}) == 1
    assert len(Breaking.seen) == 3


def test_patience_ends() -> None:
    with ExitStack() as opened:
        address = opened.enter_context(breaking(stream(1, length=True)))
        steelman = Steelman(address, patience=0.5)
        events = steelman.events(RUN)
        next(events)
        opened.close()
        with pytest.raises(UnreachableError, match="does not answer"):
            next(events)
        steelman.close()


def test_where_no_server_is_that_is_said_at_once() -> None:
    began = time.monotonic()
    with Steelman("http://127.0.0.1:9") as steelman:
        for call in (steelman.collections, lambda: steelman.ask(QUESTION)):
            with pytest.raises(UnreachableError, match=r"Does `python -m api` run there\?") as silent:
                call()
            assert isinstance(silent.value.__cause__, httpx.ConnectError)
    assert time.monotonic() - began < 5


# The module


def test_it_loads_none_of_the_machinery() -> None:
    code = "import sys, api.client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert (
        loaded & {"fastapi", "starlette", "uvicorn", "langgraph", "langchain_core", "chromadb", "onnxruntime"} == set()
    )
