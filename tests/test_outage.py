"""A real Postgres server that stops under the work of runs and comes back."""

import contextlib
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest
from instant_providers import instant_providers
from postgres_places import PostgresServer, postgres_server
from server_process import server_process

from agent.runs import executor
from agent.runs.service import Runs
from agent.runs.store import RunStore
from agent.settings import Settings
from tools.errors import StoreDownError
from tools.store import database as database_module
from tools.store.database import Database, outlast

pytest.importorskip("psycopg")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

OUTAGE, AT_ONCE = 10.0, 6
QUESTIONS = [
    "Should schools ban smartphones?",
    "Is nuclear power safe?",
    "Should cities ban cars?",
    "Should voting be compulsory?",
    "Should homework be abolished?",
    "Should zoos be closed?",
]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """One that the other tests do not use."""
    with postgres_server("outage") as server:
        yield server


@contextmanager
def stopped(server: PostgresServer) -> Iterator[None]:
    server.stop(signal.SIGQUIT)
    try:
        yield
    finally:
        server.start()


def followed(address: str, run: str, into: list[dict[str, Any]]) -> None:
    """The events of the run's stream, read on one connection to its end."""
    with httpx.stream("GET", f"{address}/v1/runs/{run}/events", timeout=60) as reply:
        event: dict[str, Any] = {}
        for line in reply.iter_lines():
            name, _, value = line.partition(": ")
            if line:
                event[name] = value
            elif "event" in event:
                into.append(event)
                event = {}


def test_six_questions_outlast_an_outage(server: PostgresServer, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    address = server.place_of(tmp_path / "name")
    (data / ".env").write_text(f"STEELMAN_DATABASE_URL={address}\nSTEELMAN_API_RUNS={AT_ONCE}\n")
    (data / ".env").chmod(0o600)
    with server_process(["-m", "api", "--port", "0"], str(data)) as (api, _):
        runs = []
        for question in QUESTIONS:
            body = {"question": question, "web": False, "depth": "quick", "deadline_seconds": 300, "wait_seconds": 0}
            reply = httpx.post(f"{api}/v1/ask", json=body, timeout=60)
            assert reply.status_code == 202, reply.text
            runs.append(reply.headers["Location"].rpartition("/")[2])
        streams: list[list[dict[str, Any]]] = [[] for _ in runs]
        threads = [
            threading.Thread(target=followed, args=(api, *pair), daemon=True)
            for pair in zip(runs, streams, strict=True)
        ]
        for thread in threads:
            thread.start()
        while not any(event["event"] == "found" for stream in streams for event in stream):
            time.sleep(0.02)
        with stopped(server):
            until = time.monotonic() + OUTAGE
            refused = [
                httpx.get(f"{api}/v1/runs", timeout=30),
                httpx.get(f"{api}/v1/runs/{runs[0]}", timeout=30),
                httpx.get(f"{api}/v1/runs/{runs[0]}/passages", timeout=30),
                httpx.get(f"{api}/v1/collections", timeout=30),
                httpx.get(f"{api}/readyz", timeout=30),
                httpx.post(f"{api}/v1/ask", json={"question": QUESTIONS[0], "web": False}, timeout=30),
                httpx.post(f"{api}/v1/runs/{runs[0]}/cancel", timeout=30),
            ]
            time.sleep(max(0.0, until - time.monotonic()))
        for thread in threads:
            thread.join(400)
        for reply in refused:
            assert (reply.status_code, reply.headers["content-type"]) == (503, "application/problem+json"), reply.text
            assert int(reply.headers["Retry-After"]) >= 1
        ended = [httpx.get(f"{api}/v1/runs/{run}", timeout=60).json() for run in runs]
    assert [run["status"] for run in ended] == ["done"] * AT_ONCE, ended
    log = (data / "server.log").read_text()
    assert "Traceback" not in log
    with closing(Database(address)) as database:
        for run, stream in zip(runs, streams, strict=True):
            stored = RunStore(database).events(run, 0)
            assert [int(event["id"]) for event in stream] == [e.number for e in stored] == [*range(1, len(stored) + 1)]
            assert [e.kind for e in stored].count("done") == 1
            assert stored[-1].kind == "done"
            said = [(e.at, e.kind, json.dumps(e.data)) for e in stored]
            assert len(set(said)) == len(said)


async def test_a_run_fails_clearly_after_its_patience(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "OUTAGE_SECONDS", 1.0)
    monkeypatch.setattr(database_module.outlast, "__defaults__", (1.0,))
    settings = Settings(data_dir=tmp_path, database_url=server.place_of(tmp_path / "name"))
    async with Runs(settings, instant_providers) as runs:
        run = await runs.start("Should the town build a bridge?")
        with stopped(server):
            began = time.monotonic()
            with pytest.raises(StoreDownError, match="does not answer"):
                await runs.answer(run)
            assert time.monotonic() - began < 30
        assert await runs.answer(await runs.start("Should the town build a bridge?"))


@contextmanager
def losing_replies(server: PostgresServer, folder: Path) -> Iterator[tuple[str, list[int]]]:
    """A server in between that passes everything on, except for the replies to some commits: it hangs up instead.
    Its address, and the commits whose replies are still to be lost."""
    name = ".s.PGSQL.5432"
    listening, left = socket.socket(socket.AF_UNIX), [0]
    listening.bind(str(folder / name))
    listening.listen()

    def passed_on(client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as real:
            real.connect(str(server.folder / name))
            threading.Thread(target=back, args=(real, client), daemon=True).start()
            while sent := client.recv(65536):
                if b"COMMIT" in sent and left[0]:
                    left[0] -= 1
                    client.shutdown(socket.SHUT_RDWR)
                    real.sendall(sent)
                    time.sleep(0.3)  # the server commits
                    return
                real.sendall(sent)

    def back(real: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while sent := real.recv(65536):
                client.sendall(sent)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=passed_on, args=(listening.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server.address().replace(str(server.folder), str(folder)), left
    finally:
        listening.close()


async def test_an_event_whose_reply_is_lost_is_there_once(server: PostgresServer, tmp_path: Path) -> None:
    server.place_of(tmp_path / "name")
    name = (tmp_path / "name").read_text()
    # A socket's path has 107 characters at most.
    with TemporaryDirectory(dir="/tmp") as folder, losing_replies(server, Path(folder)) as (address, left):
        settings = Settings(data_dir=tmp_path, database_url=address.replace("/postgres?", f"/{name}?"))
        async with Runs(settings, instant_providers) as runs:
            runs.run_store.create("r", "r", "Why?", {}, runs.executor.owner)
            for number in range(4):
                left[0] = 1
                await runs.executor.record("r", "step", {"of": number})
                assert left == [0]
            steps = [(e.number, e.data["of"]) for e in await runs.recent_events("r") if e.kind == "step"]
            assert steps == [(2, 0), (3, 1), (4, 2), (5, 3)]


async def test_only_a_server_that_is_down_is_waited_for(server: PostgresServer, tmp_path: Path) -> None:
    with closing(Database(server.place_of(tmp_path / "name"))) as database:
        calls = []

        async def work() -> int:
            calls.append(RunStore(database).latest(1))
            return len(calls)

        assert await outlast(work) == 1
        with stopped(server), pytest.raises(StoreDownError):
            await outlast(work, 0)
        assert await outlast(work) == 2
