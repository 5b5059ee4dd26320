"""A run's events over HTTP: what comes, what a client that reconnects gets, and what is left after a restart."""

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


@pytest.fixture(scope="module")
def client(standing: Door) -> httpx.Client:
    return standing.http


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


def test_reconnecting_at_every_point_misses_and_repeats_nothing(client: httpx.Client) -> None:
    path, events = streamed(client)
    for seen in range(len(events)):
        assert followed(client, f"{path}/events", after=seen) == events[seen:]
        assert followed(client, f"{path}/events?after={seen}") == events[seen:]
    assert followed(client, f"{path}/events?after=1", after=len(events) - 1) == events[-1:]  # the header wins
    for over in (len(events), len(events) + 5):
        reply = client.get(f"{path}/events", headers={"Last-Event-ID": str(over)})
        assert (reply.status_code, reply.content) == (204, b"")


def test_nobody_between_takes_a_quiet_stream_for_dead(standing: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.events.QUIET_SECONDS", 0.05)
    asked = {"question": QUESTION, "stream": True}
    with standing.held(), standing.http.stream("POST", "/v1/ask", json=asked) as reply:
        assert ": waiting" in reply.iter_lines()


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


def test_a_run_that_nobody_takes_up_is_not_waited_for_without_end(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    problem = events[-1].data
    assert problem["type"].endswith(":run-stopped")
    assert "/resume goes on with it." in problem["detail"]
