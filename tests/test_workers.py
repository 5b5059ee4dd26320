"""Doors that leave questions and large uploads to workers: processes that are killed, stopped and restarted."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import sent_events
from conftest import ROOT
from postgres_places import PostgresServer
from providers import build
from raw_http import problem_of, wait_until
from sqlalchemy import update
from test_api_serving import COMMAND

from agent.options import RunOptions
from agent.runs.service import Runs
from agent.runs.store import WORKERS, RunStore
from agent.settings import Settings
from tools.errors import RunBusyError
from tools.store import schema
from tools.store.database import Database

pytestmark = [pytest.mark.both_stores, pytest.mark.slow]
LATER = {"Prefer": "respond-async"}
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"workers": True})


@pytest.fixture
def start(settings: Settings, store_kind: str, request: pytest.FixtureRequest) -> Iterator[Start]:
    """Starts `python -m api` over instant providers. pause: seconds of a search. Everything is killed at the end."""
    started, readers, place = list["subprocess.Popen[str]"](), list[threading.Thread](), dict[str, str]()
    if store_kind == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        place["STEELMAN_DATABASE_URL"] = server.place_of(settings.database_path)

    def starts(*arguments: object, pause: float = 0.0, **environment: str) -> "subprocess.Popen[str]":
        env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ} | environment
        env |= {"STEELMAN_WORKERS": "true", "STEELMAN_DATA_DIR": str(settings.data_dir), "PYTHONPATH": "tests"}
        env |= place
        command = [sys.executable, "-c", COMMAND, str(pause), "1.0", *map(str, arguments)]
        process = subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stderr
        said = ""
        for line in process.stderr:
            said += line
            if "listens on" in line or "is ready" in line:
                break
        assert process.poll() is None, said
        process.told = said  # type: ignore[attr-defined]
        # A full pipe would stop the process, which logs each request.
        readers.append(threading.Thread(target=process.stderr.read))
        readers[-1].start()
        return process

    yield starts
    for process in started:
        process.kill()
        process.wait()
    for reader, process in zip(readers, started, strict=False):
        reader.join()
        assert process.stderr
        process.stderr.close()


@contextlib.contextmanager
def door(start: Start, **more: str) -> Iterator[httpx.Client]:
    process = start("--port", 0, **more)
    address = "http://" + process.told.partition("http://")[2].split()[0].rstrip('",')  # type: ignore[attr-defined]
    with httpx.Client(base_url=address, timeout=30) as client:
        yield client


def asked(client: httpx.Client, question: str = QUESTION, **body: object) -> str:
    reply = client.post("/v1/ask", json={"question": question, "wait_seconds": 0, **body})
    assert reply.status_code == 202, reply.text
    return str(reply.json()["id"])


def followed(client: httpx.Client, run: str, after: int = 0, seconds: float = 60.0) -> list[tuple[int, str]]:
    """The numbers and kinds of a run's events, until the stream or the time ends."""
    give_up = time.monotonic() + seconds

    def lines(reply: httpx.Response) -> Iterator[str]:
        for line in reply.iter_lines():  # comments come while there are no events
            yield line
            if not line and time.monotonic() > give_up:
                return

    with client.stream("GET", f"/v1/runs/{run}/events", headers={"Last-Event-ID": str(after)}) as reply:
        return [(event.id or 0, event.event) for event in sent_events(lines(reply))]


def whole(events: list[tuple[int, str]]) -> bool:
    return [n for n, _ in events] == list(range(1, len(events) + 1)) and [k for _, k in events].count("done") == 1


def wait_for_stage(client: httpx.Client, run: str) -> None:
    wait_until(lambda: "stage" in [kind for _, kind in followed(client, run, seconds=0.5)], 20)


def test_a_worker_answers_what_a_door_accepted_and_another_door_shows_it(start: Start) -> None:
    with door(start) as client, door(start) as other:
        run = asked(client)
        assert client.get(f"/v1/runs/{run}").json()["status"] == "running"
        time.sleep(1.5)  # longer than a heartbeat may be silent: the run still waits
        assert followed(client, run, seconds=1.0) == [(1, "started")]
        assert asked(client) != run
        start("worker")
        events = followed(other, run)
        assert whole(events), events
        assert other.get(f"/v1/runs/{run}").json()["answer"]["outcome"] == "answered"


def test_runs_of_a_killed_worker_go_on_elsewhere(start: Start) -> None:
    with door(start) as client:
        first = start("worker", pause=0.5)
        runs = [asked(client, f"Should town {n} ban cars?") for n in range(4)]
        wait_for_stage(client, runs[0])
        first.kill()
        killed = time.monotonic()
        start("worker")
        for run in runs:
            assert whole(followed(client, run))
        assert time.monotonic() - killed < 30


def test_a_stopped_worker_hands_its_runs_over_without_an_event(start: Start) -> None:
    with door(start) as client:
        first = start("worker", pause=0.5)
        run = asked(client)
        wait_for_stage(client, run)
        first.send_signal(signal.SIGTERM)
        assert first.wait(20) == 0
        start("worker")
        assert whole(events := followed(client, run))
        assert "resumed" not in [kind for _, kind in events]


def test_a_run_is_cancelled_and_reviewed_through_any_door(start: Start) -> None:
    with door(start) as client, door(start) as other:
        waiting = asked(client)
        assert other.post(f"/v1/runs/{waiting}/cancel").json()["stopped"] is True
        start("worker", pause=0.3)
        run = asked(client)
        wait_for_stage(client, run)
        assert other.post(f"/v1/runs/{run}/cancel").json()["stopped"] is True
        assert followed(client, run)[-1][1] == "cancelled"
        reviewed = asked(client, review=True)
        events = followed(client, reviewed)
        assert events[-1][1] == "waiting"
        chosen = [{"name": "Mine", "statement": "Towns should build bridges of stone."}]
        assert other.post(f"/v1/runs/{reviewed}/resume", json={"sides": chosen}).status_code == 202
        assert followed(client, reviewed, after=events[-1][0])[-1][1] == "done"
        answer = client.get(f"/v1/runs/{reviewed}").json()["answer"]
        assert [side["name"] for side in answer["perspectives"]] == ["Mine"]
        assert followed(client, waiting)[-1][1] == "cancelled"


def test_a_large_upload_is_a_workers_and_survives_its_kill(start: Start) -> None:
    with door(start) as client, door(start) as other:
        texts = [{"id": f"d{i}", "text": f"The culvert {i} carries a brook."} for i in range(30)]
        reply = client.post("/v1/collections/mine/documents", json={"documents": texts}, headers=LATER)
        path = reply.headers["location"]
        first = start("worker", HANG="3")
        wait_until(lambda: other.get(path).json()["status"] == "running", 20)
        first.kill()
        start("worker")
        wait_until(lambda: other.get(path).json()["status"] == "done", 40)
        (mine,) = (c for c in other.get("/v1/collections").json()["collections"] if c["name"] == "mine")
        assert mine["documents"] == 30


def test_limits_count_the_runs_of_all_doors(start: Start) -> None:
    few = {"STEELMAN_API_KEY_RUNS": "3"}
    with door(start, **few) as client, door(start, **few) as other:
        for client_of in (client, other, client):
            asked(client_of)
        problem_of(other.post("/v1/ask", json={"question": QUESTION, "wait_seconds": 0}), 429, "too-many-runs")
        key = {"Idempotency-Key": "order"}
        start("worker")
        wait_until(lambda: all(r["status"] == "done" for r in client.get("/v1/runs").json()["runs"]), 30)
        body = {"question": QUESTION, "wait_seconds": 0}
        first, second = (c.post("/v1/ask", json=body, headers=key).json()["id"] for c in (client, other))
        assert first == second


def test_a_rate_counts_the_requests_to_all_doors_on_postgres(start: Start, store_kind: str) -> None:
    few = {"STEELMAN_API_RATE": "4/hour; 100/day"}
    with door(start, **few) as client, door(start, **few) as other:
        replies = [each.get("/v1/collections") for each in (client, other, client, other, client, other)]
        limited = [200] * 4 + [429] * 2
        assert [reply.status_code for reply in replies] == (limited if store_kind == "postgres" else [200] * 6)
        if store_kind == "postgres":
            problem_of(replies[-1], 429, "too-many-requests")
            assert 0 < int(replies[-1].headers["retry-after"]) <= 3600


async def test_a_run_that_ended_five_workers_fails(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database)) as database:
        runs = RunStore(database)
        runs.create("a" * 12, "a" * 12, QUESTION, RunOptions.of().to_dict(), WORKERS)
        for n in range(6):
            row = runs.claim_next(f"{WORKERS}{n}", [])
            assert row is not None
            runs.add_event(row.id, f"{WORKERS}{n}", "resumed", {"workers": n})
            with database.write() as db:
                db.execute(update(schema.runs).values(heartbeat=0))
    async with Runs(settings, build(), role="worker") as service:
        assert await service.take()
        assert [event.kind async for event in service.events("a" * 12)][-1] == "failed"
        assert "5 workers ended" in (await service.failures(["a" * 12]))["a" * 12].error


def test_a_worker_says_that_nobody_leaves_it_anything(settings: Settings, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "STEELMAN_DATA_DIR": str(tmp_path / "data")}
    command = [sys.executable, "-m", "api", "worker"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "STEELMAN_WORKERS is not set" in done.stderr
    assert done.stderr.count("\n") <= 2


def test_a_worker_serves_metrics(start: Start) -> None:
    with door(start) as client:
        worker = start("worker", "--port", 0)
        address = worker.told.partition("http://")[2].split()[0].rstrip('",')  # type: ignore[attr-defined]
        run = asked(client)
        assert whole(followed(client, run))
        text = httpx.get(f"http://{address}").text
        assert 'steelman_runs_ended_total{outcome="answered"} 1.0' in text
        assert "steelman_runs_waiting 0.0" in text


async def test_a_worker_does_not_take_its_own_run_again_after_a_pause(settings: Settings) -> None:
    async with Runs(settings, build(), role="door") as door_, Runs(settings, build(), role="worker") as worker:
        run = await door_.start(QUESTION)
        assert await worker.take()
        with door_.database.write() as db:
            db.execute(update(schema.runs).values(heartbeat=0))
        assert not await worker.take()
        assert (await door_.answer(run)).outcome == "answered"
        kinds = [event.kind for event in await door_.recent_events(run)]
        assert (kinds.count("resumed"), kinds.count("done")) == (0, 1)


async def test_one_review_is_answered_once_and_a_waiting_run_is_not_deleted(settings: Settings) -> None:
    sides = [{"name": "Mine", "statement": "Towns should build bridges of stone."}]
    async with Runs(settings, build(), role="door") as door_, Runs(settings, build(), role="worker") as worker:
        run = await door_.start(QUESTION, RunOptions.of(review=True))
        with pytest.raises(RunBusyError):
            await door_.delete(run)
        assert await worker.take()
        assert [event.kind async for event in door_.events(run)][-1] == "waiting"
        await door_.resume(run, sides)
        with pytest.raises(RunBusyError):
            door_.run_store.claim(run, WORKERS, {"sides": sides})
