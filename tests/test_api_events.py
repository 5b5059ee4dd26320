"""A run's events over HTTP: what comes, what a client that reconnects gets, and what is left after a restart."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import Sent, api, followed, sent_events
from conftest import ROOT, Spawn
from providers import build

from agent.answer.model import Answer
from agent.options import RunOptions
from agent.runs.store import RunStore
from agent.settings import Settings
from api.caller_runs import CallerRuns
from api.events import KINDS, wants_events
from tools.store.database import Database


@pytest.fixture(scope="module")
def client(module_settings: Settings) -> Iterator[httpx.Client]:
    with api(module_settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        yield client


def streamed(client: httpx.Client, **more: object) -> tuple[str, list[Sent]]:
    with client.stream("POST", "/v1/ask", json={"question": QUESTION, "stream": True, **more}) as reply:
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.headers["cache-control"] == "no-store"
        return reply.headers["content-location"], list(sent_events(reply.iter_lines()))


def test_an_answer_is_told_as_it_grows(client: httpx.Client) -> None:
    path, events = streamed(client)
    assert [e.id for e in events] == list(range(1, len(events) + 1))
    kinds = [e.event for e in events]
    assert kinds[0] == "started"
    assert set(kinds) >= {"stage", "framed", "sides", "searching", "found", "judged", "written", "claim", "verified"}
    assert set(kinds) <= set(KINDS)
    assert kinds[-1] == "done"
    answer = Answer.model_validate(events[-1].data["answer"])
    assert client.get(path).json()["answer"] == events[-1].data["answer"]
    said = {(e.data["side"], e.data["text"]) for e in events if e.event == "claim"}
    assert said >= {(p.id, c.text) for p in answer.perspectives for c in p.claims}
    assert all(isinstance(e.data["at"], float) for e in events)


def test_every_kind_of_event_that_is_told_in_the_code_is_named() -> None:
    import re

    told = set()
    for file in (ROOT / "agent").rglob("*.py"):
        text = file.read_text()
        told |= set(re.findall(r'report\(\s*runtime,\s*"(\w+)"', text))
        told |= set(re.findall(r'record\(\s*run(?:_id|\.id),\s*"(\w+)"', text))
        told |= set(re.findall(r'_end\(\s*run(?:_id|\.id),\s*"(\w+)"', text))
        told |= set(re.findall(r'_append\(\s*db,\s*run(?:_id|\.id),\s*"(\w+)"', text))
    assert told == set(KINDS)


def test_reconnecting_at_every_point_misses_and_repeats_nothing(client: httpx.Client) -> None:
    path, events = streamed(client)
    for seen in range(len(events)):
        assert followed(client, f"{path}/events", after=seen) == events[seen:]
        assert followed(client, f"{path}/events?after={seen}") == events[seen:]
    assert followed(client, f"{path}/events?after=1", after=len(events) - 1) == events[-1:]  # the header wins
    for over in (len(events), len(events) + 5):
        reply = client.get(f"{path}/events", headers={"Last-Event-ID": str(over)})
        assert (reply.status_code, reply.content) == (204, b"")


def test_a_connection_that_is_cut_again_and_again_misses_nothing(settings: Settings) -> None:
    with (
        api(settings, build(before_search=lambda _: time.sleep(0.05))) as address,
        httpx.Client(base_url=address, timeout=30) as client,
    ):
        path = client.post("/v1/ask", json={"question": QUESTION, "wait_seconds": 0}).headers["location"]
        got: list[Sent] = []
        while not got or got[-1].event != "done":
            with client.stream("GET", f"{path}/events", headers={"Last-Event-ID": str(len(got))}) as reply:
                for number, event in enumerate(sent_events(reply.iter_lines())):
                    got.append(event)
                    if number == 1:
                        break  # the client goes away in the middle
        assert [e.id for e in got] == list(range(1, len(got) + 1))
        assert followed(client, f"{path}/events", after=0) == got


def test_a_run_that_waits_ends_the_stream_and_goes_on_in_another(client: httpx.Client) -> None:
    path, events = streamed(client, review=True)
    assert events[-1].event == "waiting"
    assert client.get(f"{path}/events", headers={"Last-Event-ID": str(len(events))}).status_code == 204
    planned = events[-1].data["sides"]
    assert client.post(f"{path}/resume", json={"sides": planned}).status_code == 202
    rest = followed(client, f"{path}/events", after=len(events))
    assert [e.event for e in rest][:1] == ["resumed"]
    assert rest[-1].event == "done"


def test_nobody_between_takes_a_quiet_stream_for_dead(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.events.QUIET_SECONDS", 0.05)
    quiet = threading.Event()
    with api(settings, build(before_search=lambda _: quiet.wait(5))) as address, httpx.Client(timeout=30) as client:
        asked = {"question": QUESTION, "stream": True}
        with client.stream("POST", f"{address}/v1/ask", json=asked) as reply:
            for line in reply.iter_lines():
                if line == ": waiting":
                    quiet.set()
                    break
    assert quiet.is_set()


ACCEPTS = {
    "": False,
    "*/*": False,
    "application/json": False,
    "text/event-stream": True,
    "text/event-stream, */*;q=0.1": True,
    "application/json, text/event-stream": False,
    "text/event-stream;q=0.5, application/json;q=0.9": False,
    "text/event-stream;q=x": False,
}


@pytest.mark.parametrize("accept", ACCEPTS)
def test_what_the_caller_would_rather_have(accept: str) -> None:
    assert wants_events(accept) is ACCEPTS[accept]


def test_accept_alone_asks_for_events(client: httpx.Client) -> None:
    asked = {"question": QUESTION}
    with client.stream("POST", "/v1/ask", json=asked, headers={"Accept": "text/event-stream"}) as reply:
        assert list(sent_events(reply.iter_lines()))[-1].event == "done"


# A server that is stopped, or killed


def test_a_restarted_server_goes_on_and_a_client_misses_and_repeats_nothing(settings: Settings) -> None:
    slow = build(before_search=lambda _: time.sleep(0.3))
    got: list[Sent] = []
    with api(settings, slow) as address, httpx.Client(base_url=address, timeout=30) as client:
        path = client.post("/v1/ask", json={"question": QUESTION, "wait_seconds": 0}).headers["location"]
        with client.stream("GET", f"{path}/events") as reply:
            for event in sent_events(reply.iter_lines()):
                got.append(event)
                if event.event == "searching":
                    break
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        state = client.get(path).json()
        assert not state["abandoned"]
        got += followed(client, f"{path}/events", after=len(got))
    kinds = [e.event for e in got]
    assert [e.id for e in got] == list(range(1, len(got) + 1))
    assert "resumed" in kinds
    assert "cancelled" not in kinds
    assert kinds[-1] == "done"


SERVER = """
import sys, time
from agent_fixtures import QUESTION
from agent.settings import Settings
from api_on_loopback import api
from providers import build
with api(Settings(data_dir=sys.argv[1]), build(before_search=lambda _: time.sleep(0.5))) as address:
    print(address, flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
def test_a_killed_servers_runs_are_gone_on_with(settings: Settings, spawn: Spawn) -> None:
    process = spawn(SERVER, settings.data_dir)
    assert process.stdout
    address = process.stdout.readline().strip()
    path = httpx.post(f"{address}/v1/ask", json={"question": QUESTION, "wait_seconds": 0}, timeout=30).headers[
        "location"
    ]
    process.kill()
    process.wait()
    with closing(sqlite3.connect(settings.database_path)) as db, db:  # as if it had been a while ago
        db.execute("UPDATE runs SET heartbeat = heartbeat - 8 WHERE status = 'running'")
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        deadline = time.monotonic() + 20
        while (state := client.get(path).json())["status"] != "done" and time.monotonic() < deadline:
            time.sleep(0.1)
        assert state["status"] == "done"
        events = followed(client, f"{path}/events")
        assert [e.id for e in events] == list(range(1, len(events) + 1))


@pytest.mark.parametrize("taken_up", [False, True])
def test_a_run_that_nobody_takes_up_is_not_waited_for_without_end(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, taken_up: bool
) -> None:
    for module in ("agent.runs.store", "api.service"):
        monkeypatch.setattr(f"{module}.STALE_SECONDS", 1.0)
    with closing(Database(settings.database_path)) as database:
        runs = RunStore(database)
        runs.create("a" * 12, "a" * 12, QUESTION, RunOptions.of().to_dict(), "a killed server")
        if taken_up:  # and the server was killed again
            CallerRuns(database).record("a" * 12, "", None)
            runs.add_event("a" * 12, "a killed server", "resumed", {})
    began = time.monotonic()
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        events = followed(client, f"/v1/runs/{'a' * 12}/events")
    assert [e.event for e in events] == [*(["resumed"] if taken_up else []), "problem"]
    problem = events[-1].data
    assert problem["type"].endswith(":run-stopped")
    assert "/resume goes on with it." in problem["detail"]
    assert time.monotonic() - began < 10
