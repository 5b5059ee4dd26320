"""A run's events over HTTP: what comes, what a client that reconnects gets, and what a restart does to them."""

import time
from contextlib import closing

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import Door, Sent, api, followed, sent_events
from providers import build

from agent.answer.model import Answer
from agent.options import RunOptions
from agent.runs.store import RunStore
from agent.settings import Settings
from api.callers import CallerRuns
from api.events import KINDS
from tools.store.database import Database

pytest_plugins = ["api_on_loopback"]

STREAM = {"question": QUESTION, "stream": True}


def test_an_answer_is_followed_and_reconnecting_misses_and_repeats_nothing(standing: Door) -> None:
    client = standing.http
    with client.stream("POST", "/v1/ask", json=STREAM) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        path, events = reply.headers["content-location"], list(sent_events(reply.iter_lines()))
    kinds = [e.event for e in events]
    assert [e.id for e in events] == list(range(1, len(events) + 1))
    assert (kinds[0], kinds[-1]) == ("started", "done")
    assert {"stage", "framed", "sides", "searching", "found", "judged", "written", "claim", "verified"} <= set(kinds)
    assert set(kinds) <= set(KINDS)
    answer = Answer.model_validate(events[-1].data["answer"])
    assert client.get(path).json()["answer"] == events[-1].data["answer"]
    verified = {(e.data["side"], e.data["text"]) for e in events if e.event == "claim"}
    assert verified >= {(p.id, c.text) for p in answer.perspectives for c in p.claims}
    for seen in range(len(events)):
        assert followed(client, f"{path}/events", after=seen) == events[seen:]
        assert followed(client, f"{path}/events?after={seen}") == events[seen:]
    assert followed(client, f"{path}/events?after=1", after=len(events) - 1) == events[-1:]  # the header wins
    reply = client.get(f"{path}/events", headers={"Last-Event-ID": str(len(events))})
    assert (reply.status_code, reply.content) == (204, b"")


def test_a_quiet_stream_sends_comments(standing: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.events.QUIET_SECONDS", 0.05)
    with standing.held(), standing.http.stream("POST", "/v1/ask", json=STREAM) as reply:
        assert ": waiting" in reply.iter_lines()


def test_a_restarted_server_continues_and_a_client_misses_and_repeats_nothing(settings: Settings) -> None:
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
        got += followed(client, f"{path}/events", after=len(got))
    kinds = [e.event for e in got]
    assert [e.id for e in got] == list(range(1, len(got) + 1))
    assert "resumed" in kinds
    assert kinds[-1] == "done"


def test_a_run_that_was_killed_twice_is_left_to_its_caller(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("agent.runs.store", "api.recovery"):
        monkeypatch.setattr(f"{module}.STALE_SECONDS", 1.0)
    with closing(Database(settings.database_path)) as database:
        runs = RunStore(database)
        runs.create("a" * 12, "a" * 12, QUESTION, RunOptions.of().to_dict(), "a killed server")
        CallerRuns(database).record("a" * 12, "", None)
        runs.add_event("a" * 12, "a killed server", "resumed", {})  # and the server was killed again
    with api(settings) as address, httpx.Client(base_url=address, timeout=10) as client:
        events = followed(client, f"/v1/runs/{'a' * 12}/events")
    assert [e.event for e in events] == ["resumed", "problem"]
    assert events[-1].data["type"].endswith(":run-stopped")
    assert "/resume continues it." in events[-1].data["detail"]
