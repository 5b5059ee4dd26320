"""The calls over HTTP: questions, runs and the judge."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
from agent_fixtures import QUESTION
from answering_model import QUESTION as VOTING
from api_on_loopback import Door, Held, Sent, api, followed, sent_events
from conftest import ROOT
from model_server import ModelServer, Reply
from providers import build
from raw_http import problem_of
from sqlalchemy import update

from agent.answer.model import Answer
from agent.answer.retrieved import Retrieved
from agent.answer.wording import shortened
from agent.options import RunOptions
from agent.runs.build import build_providers
from agent.runs.store import RunStore
from agent.settings import Settings, load_settings
from api.callers import CallerRuns
from api.events import KINDS
from api.schemas import RunDetails
from tools.store import schema
from tools.store.database import Database

pytest_plugins = ["api_on_loopback"]

ASK = {"question": QUESTION}
PAIRS = {"pairs": [{"statement": "Bridges help.", "passage": "A bridge carries a town.", "contrary": "They do not."}]}


@pytest.fixture(scope="module")
def client(standing: Door) -> httpx.Client:
    return standing.http


def ask(client: httpx.Client, headers: dict[str, str] | None = None, **more: Any) -> str:
    """The id of a new run that nobody waits for."""
    reply = client.post("/v1/ask", json={**ASK, "wait_seconds": 0, **more}, headers=headers)
    assert reply.status_code == 202, reply.text
    state = RunDetails.model_validate(reply.json())
    assert reply.headers["location"] == f"/v1/runs/{state.id}"
    return state.id


def ended(client: httpx.Client, run: str) -> RunDetails:
    followed(client, f"/v1/runs/{run}/events")
    return RunDetails.model_validate(client.get(f"/v1/runs/{run}").json())


def test_an_answer_its_passages_and_its_citations(client: httpx.Client) -> None:
    reply = client.post("/v1/ask", json=ASK)
    answer, path = Answer.model_validate(reply.json()), reply.headers["content-location"]
    assert answer.outcome == "answered"
    assert client.get(path).json()["answer"] == reply.json()
    assert Retrieved.model_validate(client.get(f"{path}/passages").json()).run_id == answer.run_id
    for citation in answer.citations:
        assert client.get(f"{path}/citations/{citation.number}").json() == citation.model_dump()
    problem_of(client.get(f"{path}/citations/{len(answer.citations) + 1}"), 404, "unknown-citation")


def test_retrieve_returns_the_passages_and_writes_nothing(client: httpx.Client) -> None:
    reply = client.post("/v1/retrieve", json=ASK)
    found, path = Retrieved.model_validate(reply.json()), reply.headers["content-location"]
    assert [p.stance for p in found.perspectives] == ["supports", "opposes"]
    assert all(p.passages and p.strength == "strong" for p in found.perspectives)
    assert client.get(f"{path}/passages").json() == reply.json()
    assert client.get(path).json()["answer"]["outcome"] == "retrieved"


def test_the_same_idempotency_key_is_the_same_run(client: httpx.Client) -> None:
    key = {"Idempotency-Key": "order-1"}
    first = client.post("/v1/ask", json=ASK, headers=key)
    assert client.post("/v1/ask", json={"question": f"  {QUESTION} "}, headers=key).json() == first.json()
    streamed = client.post("/v1/ask", json={**ASK, "stream": True}, headers=key)
    assert streamed.headers["content-location"] == first.headers["content-location"]
    for path, other in (("/v1/ask", {**ASK, "depth": "deep"}), ("/v1/retrieve", ASK)):
        problem_of(client.post(path, json=other, headers=key), 409, "idempotency-key-used")


def test_two_servers_start_one_run_with_an_idempotency_key(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = {"Idempotency-Key": "order-2"}
    first, look, looked = ask(client, key), CallerRuns.started_with, list[str]()

    def too_early(self: CallerRuns, *args: str) -> str | None:
        """Another server uses the key after the first look."""
        looked.append(args[1])
        return look(self, *args) if len(looked) > 1 else None

    monkeypatch.setattr(CallerRuns, "started_with", too_early)
    before = len(client.get("/v1/runs?limit=100").json()["runs"])
    assert ask(client, key) == first
    assert len(client.get("/v1/runs?limit=100").json()["runs"]) == before


def test_a_reviewed_run_waits_for_its_sides_and_continues_with_them(client: httpx.Client) -> None:
    run = ask(client, review=True)
    path = f"/v1/runs/{run}"
    waiting = followed(client, f"{path}/events")[-1]
    assert waiting.event == "waiting"
    assert [side["stance"] for side in waiting.data["sides"]] == ["supports", "opposes"]
    problem_of(client.get(f"{path}/passages"), 409, "run-not-done")
    problem_of(client.post(f"{path}/resume"), 409, "run-stopped")
    twice = {"sides": [{"id": "a", "name": "A", "statement": "One."}, {"id": "a", "name": "B", "statement": "Two."}]}
    problem_of(client.post(f"{path}/resume", json=twice), 422, "invalid-request")
    sides = {"sides": [{"name": "Mine", "statement": "Towns should build bridges of stone."}]}
    resumed = client.post(f"{path}/resume", json=sides)
    assert (resumed.status_code, resumed.headers["location"]) == (202, path)
    state = ended(client, run)
    assert state.answer
    assert [p.name for p in state.answer.perspectives] == ["Mine"]
    problem_of(client.post(f"{path}/resume", json=sides), 409, "run-not-waiting")


def test_delete_removes_a_run(client: httpx.Client) -> None:
    run = client.post("/v1/ask", json=ASK).json()["run_id"]
    assert client.delete(f"/v1/runs/{run}").status_code == 204
    for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/resume"), ("DELETE", ""), ("GET", "/passages")):
        problem_of(client.request(method, f"/v1/runs/{run}{path}"), 404, "unknown-run")


def test_a_quotation_on_the_wrong_side_is_moved_and_put_back(client: httpx.Client) -> None:
    before = client.post("/v1/ask", json=ASK).json()
    path = f"/v1/runs/{before['run_id']}"
    first, second = before["perspectives"]
    text, number = first["claims"][0]["text"], first["claims"][0]["citations"][0]
    reply = client.post(f"{path}/corrections", json={"citation": number, "to": second["id"], "text": text})
    moved = Answer.model_validate(reply.json())
    assert [text in [c.text for c in side.claims] for side in moved.perspectives] == [False, True]
    note = f"A reader moved 1 quotation: “{shortened(text, 60)}” from Yes to No."
    assert [n.text for n in moved.notes if n.kind == "corrected"] == [note]
    assert client.get(path).json()["answer"] == reply.json()
    for wrong in ({"citation": 999, "to": "also"}, {"citation": number, "to": "p77"}):
        problem_of(client.post(f"{path}/corrections", json=wrong), 404, "unknown-quotation")
    follow_up = {"question": f"Strongest case against {number}?", "thread": before["run_id"]}
    assert client.post("/v1/ask", json=follow_up).json()["against"]["side"] == second["name"]
    assert client.delete(f"{path}/corrections").json() == before == client.delete(f"{path}/corrections").json()


def test_the_judge_alone(client: httpx.Client) -> None:
    judged = {"judge": "instant-judge", "threshold": 0.5, "probabilities": [0.9]}
    assert client.post("/v1/judge", json=PAIRS).json() == judged
    problem_of(client.post("/v1/judge", json={"pairs": PAIRS["pairs"] * 257}), 422, "invalid-request")


# Over providers that wait or fail


def test_cancel_stops_a_run_and_resume_continues_it(standing: Door, client: httpx.Client) -> None:
    with standing.held() as held:
        path = f"/v1/runs/{(run := ask(client))}"
        assert held.reached.wait(20)
        problem_of(client.delete(path), 409, "run-busy")
        assert client.post(f"{path}/cancel").json() == {"id": run, "stopped": True}
        held.open.set()
        assert client.post(f"{path}/cancel").json() == {"id": run, "stopped": False}
        assert ended(client, run).status == "cancelled"
        assert "/resume" in problem_of(client.get(f"{path}/passages"), 409, "run-not-done")["detail"]
        assert client.post(f"{path}/resume").status_code == 202
        state = ended(client, run)
        assert (state.status, state.error) == ("done", None)
        assert client.post(f"{path}/resume").json()["status"] == "done"


def test_runs_queue_and_past_the_limit_callers_learn_when_to_try_again(settings: Settings) -> None:
    held, first = Held(), {"Idempotency-Key": "first"}
    small = settings.model_copy(update={"api_runs": 1, "api_waiting": 1})
    with api(small, build(before_search=held)) as address, httpx.Client(base_url=address, timeout=30) as client:
        runs = [ask(client, first)]
        assert held.reached.wait(20)
        runs.append(ask(client))
        for path in ("/v1/ask", "/v1/retrieve"):
            reply = client.post(path, json=ASK)
            problem_of(reply, 429, "too-many-runs")
            assert int(reply.headers["retry-after"]) > 0
        assert ask(client, first) == runs[0]  # which begins no run, and so needs no room
        held.open.set()
        queued = [e for e in followed(client, f"/v1/runs/{runs[1]}/events") if e.event == "queued"]
        assert [e.data["ahead"] for e in queued] == [1]
        assert {ended(client, run).status for run in runs} == {"done"}


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_disconnects_does_not_lose_the_run(standing: Door, client: httpx.Client, stream: bool) -> None:
    key = {"Idempotency-Key": f"mine-{stream}"}
    with standing.held() as held:
        asked: dict[str, Any] = {"json": {**ASK, "stream": stream}, "headers": key, "timeout": 0.3}
        with pytest.raises(httpx.ReadTimeout), httpx.stream("POST", f"{standing.address}/v1/ask", **asked) as reply:
            reply.read()
        assert held.reached.wait(20)
    state = ended(client, ask(client, key))
    assert (state.status, bool(state.answer)) == ("done", True)


class Broken:
    async def expand(self, *_: Any) -> Any:
        raise ZeroDivisionError("a mistake")


def test_a_mistake_of_ours_is_a_500_and_the_run_can_be_resumed(settings: Settings) -> None:
    with api(settings, build(expand=Broken().expand)) as address, httpx.Client(base_url=address, timeout=30) as client:
        reply = client.post("/v1/ask", json=ASK)
        problem = problem_of(reply, 500, "failure")
        assert reply.headers["content-location"] == problem["instance"]
        assert f"POST {problem['instance']}/resume" in problem["detail"]
        state = client.get(problem["instance"]).json()
        assert (state["status"], "(ZeroDivisionError)" in state["error"]) == ("failed", True)
        assert "a mistake" not in json.dumps([problem, state])
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        assert client.post(f"{problem['instance']}/resume").status_code == 202
        assert ended(client, state["id"]).status == "done"


@pytest.mark.usefixtures("library", "quick_retries")
def test_a_configured_provider_that_fails_is_a_problem() -> None:
    with ModelServer(strict=False) as server:
        server.on("", Reply("no", status=500))
        given = load_settings(provider="chat", openai_base_url=server.url, model="test-model")
        with api(given, build_providers) as address, httpx.Client(base_url=address, timeout=30) as client:
            problem = problem_of(client.post("/v1/ask", json={"question": VOTING}), 502, "provider-failed")
            failed = followed(client, f"{problem['instance']}/events")[-1]
            assert (failed.event, failed.data["problem"]) == ("failed", problem)
            assert failed.data["error"] == client.get(problem["instance"]).json()["error"]


# The list of runs


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    with closing(Database(settings.database)) as opened:
        yield opened


def stored(database: Database, run: int, second: int) -> str:
    """A finished run that began at that second."""
    run_id, runs = f"{run:012x}", RunStore(database)
    runs.create(run_id, run_id, f"{QUESTION} {run}", RunOptions.of().to_dict(), "owner")
    runs.finish(run_id, "owner", "done", {}, answer="{}")
    with database.write() as db:
        at = f"2026-11-22T05:45:{second:02}.500+00:00"
        db.execute(update(schema.runs).where(schema.runs.c.id == run_id).values(created_at=at))
    return run_id


def page(client: httpx.Client, **params: Any) -> tuple[list[str], str | None]:
    reply = client.get("/v1/runs", params=params).json()
    return [run["id"] for run in reply["runs"]], reply["next"]


def test_pages_hold_every_run_once_newest_first(settings: Settings, database: Database) -> None:
    newest_first = [stored(database, n, second=n // 3) for n in range(7)][::-1]  # three of each second
    with api(settings) as address, httpx.Client(base_url=address) as client:
        assert page(client) == (newest_first, None)
        first, after = page(client, limit=4)
        assert first == newest_first[:4]
        client.delete(f"/v1/runs/{first[-1]}")  # the cursor names it
        stored(database, 99, second=50)
        assert page(client, after=after, limit=3) == (newest_first[4:], None)


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
    for module in ("agent.runs.store", "api.service"):
        monkeypatch.setattr(f"{module}.STALE_SECONDS", 1.0)
    with closing(Database(settings.database)) as database:
        runs = RunStore(database)
        runs.create("a" * 12, "a" * 12, QUESTION, RunOptions.of().to_dict(), "a killed server")
        with database.write() as db:
            CallerRuns(database).record("", None, db, "a" * 12)
        runs.add_event("a" * 12, "a killed server", "resumed", {})  # and the server was killed again
    with api(settings) as address, httpx.Client(base_url=address, timeout=10) as client:
        events = followed(client, f"/v1/runs/{'a' * 12}/events")
    assert [e.event for e in events] == ["started", "resumed", "problem"]
    assert events[-1].data["type"].endswith(":run-stopped")
    assert "/resume continues it." in events[-1].data["detail"]


RUN = "/v1/runs/aaaaaaaaaaaa"
DOCUMENT = {"documents": [{"id": "d", "text": "Bridges help."}]}


def body(content: bytes, kind: str = "application/json") -> dict[str, Any]:
    return {"content": content, "headers": {"Content-Type": kind} if kind else {}}


def asking(**more: Any) -> tuple[str, str, dict[str, Any]]:
    return "POST", "/v1/ask", {"json": {**ASK, **more}}


def sent(content: bytes, kind: str = "application/json") -> tuple[str, str, dict[str, Any]]:
    return "POST", "/v1/ask", body(content, kind)


GET: dict[str, Any] = {}
LIST = "GET /openapi.json lists the calls."
_JSON = "Send 'Content-Type: application/json'"
PROBLEMS: list[tuple[tuple[str, str, dict[str, Any]], int, str, str]] = [
    (sent(b'{"question": "x"'), 400, "unreadable-body", "Expecting ',' delimiter at character 16"),
    (("GET", "/v1/runs", {"headers": {"Host": "evil.example"}}), 403, "unknown-host", "STEELMAN_API_HOSTS"),
    (("GET", "/v1/runs", {"headers": {"Origin": "http://a.example"}}), 403, "unknown-origin", "STEELMAN_API_ORIGINS"),
    (asking(collections=["samples", "nowhere"]), 404, "unknown-collection", "There are: samples. GET /v1/collections"),
    (asking(thread="a" * 12), 404, "unknown-run", "GET /v1/runs lists your runs."),
    (("GET", RUN, GET), 404, "unknown-run", "There is no run 'aaaaaaaaaaaa'. The reply that started a run has its id"),
    (("GET", "/v1/jobs/jaaaaaaaaaaaa", GET), 404, "unknown-job", "send the upload again"),
    (("GET", "/v1/models/gpt-6", GET), 404, "unknown-model", "GET /v1/models lists them."),
    *((("GET", path, GET), 404, "not-found", f"nothing at {path}. {LIST}") for path in ("/", "/v1/ask/", f"{RUN}/x")),
    (("PUT", RUN, GET), 405, "method-not-allowed", f"It supports GET, DELETE. {LIST}"),
    (("POST", "/v1/collections/samples/documents", {"json": DOCUMENT}), 409, "collection-is-fixed", "another name"),
    (sent(b" " * 8_000_001), 413, "body-too-large", "Send at most 8 MB at once."),
    *((sent(b"{}", kind), 415, "unsupported-media-type", _JSON) for kind in ("", "text/plain")),
    (("POST", "/v1/collections/a/files", body(b"{}")), 415, "unsupported-media-type", "multipart/form-data"),
    (asking(dept="deep"), 422, "invalid-request", "body.dept: Extra inputs are not permitted."),
    (("GET", "/v1/runs/nonsense", GET), 422, "invalid-request", "{12}$"),
    (asking(since="2025-13-45"), 422, "invalid-request", "body.since: "),
    (asking(question="Hello!"), 422, "unanswerable-question", "Ask something"),
    (asking(question="Ist Atomkraft gut?"), 422, "unanswerable-question", "Ask it in English"),
]


@pytest.mark.parametrize(("call", "status", "name", "says"), PROBLEMS, ids=[f"{p[1]} {p[3]}"[:60] for p in PROBLEMS])
def test_a_problem_says_what_and_what_next(
    standing: Door, call: tuple[str, str, dict[str, Any]], status: int, name: str, says: str
) -> None:
    method, path, more = call
    reply = standing.http.request(method, path, **more)
    problem = problem_of(reply, status, name)
    assert says in problem["detail"]
    if status == 415:
        assert reply.headers["accept"] in problem["detail"]
    if name == "invalid-request":
        assert f"{problem['errors'][0]['field']}: {problem['errors'][0]['message']}" in problem["detail"]


def test_the_guide_lists_every_kind_event_and_setting() -> None:
    guide = (ROOT / "docs" / "api.md").read_text()
    code = "".join(file.read_text() for file in (ROOT / "api").rglob("*.py"))
    made = set(re.findall(r'\(\s*\d{3},\s*"([a-z-]+)"', code)) | {"key-missing", "key-wrong"}
    assert made <= set(re.findall(r"`([a-z-]+)`", guide[guide.index("| status | `urn:") :]))
    assert set(KINDS) <= set(re.findall(r"^\| `(\w+)`", guide[guide.index("| event | data") :], re.MULTILINE))
    settings = {f"STEELMAN_{name.upper()}" for name in Settings.model_fields if name.startswith("api_")}
    assert set(re.findall(r"`(STEELMAN_API_\w+)`", guide)) == settings


def test_the_page_of_the_calls_needs_no_key_and_loads_nothing_from_elsewhere(standing: Door) -> None:
    page = standing.http.get("/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'self'; ")
    assert "://" not in page.text
    loaded = re.findall(r"""(?:src|href|url: ?)=?["'](/[^"']+)""", page.text)
    assert [standing.http.get(path).status_code for path in loaded] == [200] * 3
