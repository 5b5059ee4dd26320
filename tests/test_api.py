"""The calls over HTTP: questions, runs and the judge."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
from agent_fixtures import QUESTION
from answering_model import QUESTION as VOTING
from api_on_loopback import Door, Held, api, followed
from model_server import ModelServer, Reply
from providers import build

from agent.answer.model import Answer
from agent.answer.retrieved import Retrieved
from agent.options import RunOptions
from agent.runs.build import build_providers
from agent.runs.store import RunStore
from agent.settings import Settings, load_settings
from api.callers import CallerRuns, Keys
from api.schemas import RunDetails
from tools.store.database import Database

pytest_plugins = ["api_on_loopback"]


@pytest.fixture(scope="module")
def client(standing: Door) -> httpx.Client:
    return standing.http


def ask(client: httpx.Client, question: str = QUESTION, headers: dict[str, str] | None = None, **more: Any) -> str:
    """The id of a run that was begun and is not waited for."""
    reply = client.post("/v1/ask", json={"question": question, "wait_seconds": 0, **more}, headers=headers)
    assert reply.status_code == 202, reply.text
    state = RunDetails.model_validate(reply.json())
    assert reply.headers["location"] == f"/v1/runs/{state.id}"
    return state.id


def ended(client: httpx.Client, run: str) -> RunDetails:
    followed(client, f"/v1/runs/{run}/events")
    return RunDetails.model_validate(client.get(f"/v1/runs/{run}").json())


def test_a_question_gets_the_whole_answer(client: httpx.Client) -> None:
    reply = client.post("/v1/ask", json={"question": QUESTION})
    assert reply.status_code == 200
    answer = Answer.model_validate(reply.json())
    assert answer.outcome == "answered"
    assert client.get(reply.headers["content-location"]).json()["answer"] == reply.json()


def test_retrieve_gives_the_passages_and_writes_nothing(client: httpx.Client) -> None:
    reply = client.post("/v1/retrieve", json={"question": QUESTION})
    found = Retrieved.model_validate(reply.json())
    assert [p.stance for p in found.perspectives] == ["supports", "opposes"]
    assert all(p.passages and p.strength == "strong" for p in found.perspectives)
    assert client.get(f"{reply.headers['content-location']}/passages").json() == reply.json()
    state = RunDetails.model_validate(client.get(reply.headers["content-location"]).json())
    assert state.answer
    assert state.answer.outcome == "retrieved"


def test_passages_and_citations_of_an_answer(client: httpx.Client) -> None:
    answer = Answer.model_validate(client.post("/v1/ask", json={"question": QUESTION}).json())
    path = f"/v1/runs/{answer.run_id}"
    assert Retrieved.model_validate(client.get(f"{path}/passages").json()).run_id == answer.run_id
    for citation in answer.citations:
        assert client.get(f"{path}/citations/{citation.number}").json() == citation.model_dump()
    missing = client.get(f"{path}/citations/{len(answer.citations) + 1}")
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:steelman:problem:unknown-citation")
    assert client.get(f"{path}/citations/0").status_code == 422


def test_a_follow_up_belongs_to_the_thread(client: httpx.Client) -> None:
    first = client.post("/v1/ask", json={"question": QUESTION}).json()
    second = client.post("/v1/ask", json={"question": "What about the cost?", "thread": first["run_id"]})
    answer = Answer.model_validate(second.json())
    assert answer.focus == "What about the cost?"
    assert client.get(f"/v1/runs/{answer.run_id}").json()["thread"] == first["run_id"]
    third = client.post("/v1/ask", json={"question": "What about the time?", "thread": answer.run_id}).json()
    assert client.get(f"/v1/runs/{third['run_id']}").json()["thread"] == first["run_id"]
    against = client.post("/v1/ask", json={"question": "strongest counter-argument to 1?", "thread": first["run_id"]})
    assert against.json()["against"]["number"] == 1


def test_the_same_idempotency_key_is_the_same_run(client: httpx.Client) -> None:
    key = {"Idempotency-Key": "order-1"}
    first = client.post("/v1/ask", json={"question": QUESTION}, headers=key)
    again = client.post("/v1/ask", json={"question": f"  {QUESTION} "}, headers=key)
    assert again.json() == first.json()
    late = client.post("/v1/ask", json={"question": QUESTION, "stream": True}, headers=key)
    assert late.headers["content-location"] == first.headers["content-location"]
    for path, other in (("/v1/ask", {"question": QUESTION, "depth": "deep"}), ("/v1/retrieve", {"question": QUESTION})):
        reply = client.post(path, json=other, headers=key)
        assert (reply.status_code, reply.json()["type"]) == (409, "urn:steelman:problem:idempotency-key-used")


def test_a_reviewed_run_waits_for_its_sides_and_goes_on_with_them(client: httpx.Client) -> None:
    reply = client.post("/v1/ask", json={"question": QUESTION, "review": True})
    assert reply.status_code == 202
    run = reply.json()["id"]
    assert reply.json()["status"] == "waiting"
    waiting = followed(client, f"/v1/runs/{run}/events")[-1]
    assert waiting.event == "waiting"
    assert [side["stance"] for side in waiting.data["sides"]] == ["supports", "opposes"]
    assert client.get(f"/v1/runs/{run}/passages").json()["type"] == "urn:steelman:problem:run-not-done"
    bare = client.post(f"/v1/runs/{run}/resume")
    assert (bare.status_code, bare.json()["type"]) == (409, "urn:steelman:problem:run-waits")
    twice = {"sides": [{"id": "a", "name": "A", "statement": "One."}, {"id": "a", "name": "B", "statement": "Two."}]}
    assert "two sides have the id 'a'" in client.post(f"/v1/runs/{run}/resume", json=twice).json()["detail"].lower()

    sides = {"sides": [{"name": "Mine", "statement": "Towns should build bridges of stone."}]}
    resumed = client.post(f"/v1/runs/{run}/resume", json=sides)
    assert (resumed.status_code, resumed.json()["status"]) == (202, "running")
    assert resumed.headers["location"] == f"/v1/runs/{run}"
    state = ended(client, run)
    assert state.answer
    assert [p.name for p in state.answer.perspectives] == ["Mine"]
    late = client.post(f"/v1/runs/{run}/resume", json=sides)
    assert (late.status_code, late.json()["type"]) == (409, "urn:steelman:problem:run-not-waiting")


def test_the_judge_by_itself(client: httpx.Client) -> None:
    pairs = [{"statement": "Bridges help.", "passage": "A bridge carries a town.", "contrary": "They do not."}] * 3
    reply = client.post("/v1/judge", json={"pairs": pairs})
    assert reply.json() == {"judge": "instant-judge", "threshold": 0.5, "probabilities": [0.9] * 3, "notes": []}
    many = client.post("/v1/judge", json={"pairs": pairs * 100})
    assert (many.status_code, many.json()["errors"][0]["field"]) == (422, "body.pairs")


def test_delete_removes_a_run(client: httpx.Client) -> None:
    run = client.post("/v1/ask", json={"question": QUESTION}).json()["run_id"]
    assert client.delete(f"/v1/runs/{run}").status_code == 204
    for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/resume"), ("DELETE", ""), ("GET", "/passages")):
        gone = client.request(method, f"/v1/runs/{run}{path}")
        assert (gone.status_code, gone.json()["type"]) == (404, "urn:steelman:problem:unknown-run")


# Over providers that wait or fail


def test_cancel_stops_a_run_and_resume_goes_on(standing: Door, client: httpx.Client) -> None:
    with standing.held() as held:
        run = ask(client)
        assert held.reached.wait(20)
        busy = client.delete(f"/v1/runs/{run}")
        assert (busy.status_code, busy.json()["type"]) == (409, "urn:steelman:problem:run-busy")
        assert busy.json()["detail"].endswith("POST /v1/runs/{id}/cancel stops it.")
        assert client.post(f"/v1/runs/{run}/cancel").json() == {"id": run, "stopped": True}
        held.open.set()
        assert client.post(f"/v1/runs/{run}/cancel").json() == {"id": run, "stopped": False}
        assert ended(client, run).status == "cancelled"
        assert client.get(f"/v1/runs/{run}/passages").json()["detail"].startswith(f"Run {run} is cancelled. POST")
        assert client.post(f"/v1/runs/{run}/resume").status_code == 202
        state = ended(client, run)
        assert (state.status, state.error) == ("done", None)
        assert client.post(f"/v1/runs/{run}/resume").json()["status"] == "done"


def test_runs_wait_their_turn_and_past_the_limit_callers_are_told_when_to_come_again(settings: Settings) -> None:
    held = Held()
    small = settings.model_copy(update={"api_runs": 1, "api_waiting": 1})
    with api(small, build(before_search=held)) as address, httpx.Client(base_url=address, timeout=30) as client:
        first = ask(client, headers={"Idempotency-Key": "first"})
        assert held.reached.wait(20)
        second = ask(client)
        for path in ("/v1/ask", "/v1/retrieve"):
            reply = client.post(path, json={"question": QUESTION})
            assert (reply.status_code, reply.json()["type"]) == (429, "urn:steelman:problem:too-many-runs")
            assert int(reply.headers["retry-after"]) > 0
        assert ask(client, headers={"Idempotency-Key": "first"}) == first  # begins none, and so finds room
        held.open.set()
        queued = [e for e in followed(client, f"/v1/runs/{second}/events") if e.event == "queued"]
        assert [e.data["ahead"] for e in queued] == [1]
        assert {ended(client, run).status for run in (first, second)} == {"done"}
        assert client.post("/v1/ask", json={"question": QUESTION}).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_goes_away_does_not_cost_the_run_its_result(
    standing: Door, client: httpx.Client, stream: bool
) -> None:
    asked, key = {"question": QUESTION, "stream": stream}, {"Idempotency-Key": f"mine {stream}".replace(" ", "-")}
    with standing.held() as held:
        with (
            pytest.raises(httpx.ReadTimeout),
            httpx.stream("POST", f"{standing.address}/v1/ask", json=asked, headers=key, timeout=0.3) as reply,
        ):
            reply.read()
        assert held.reached.wait(20)
    before = client.get("/v1/runs?limit=1").json()
    state = ended(client, ask(client, headers=key))
    assert (state.status, bool(state.answer)) == ("done", True)
    assert client.get("/v1/runs?limit=1").json()["runs"][0]["id"] == before["runs"][0]["id"] == state.id


class Broken:
    """An expander with a mistake in it."""

    async def expand(self, *_: Any) -> Any:
        raise ZeroDivisionError("a mistake")


def test_a_mistake_of_ours_is_a_500_and_the_run_can_be_gone_on_with(settings: Settings) -> None:
    with api(settings, build(expand=Broken().expand)) as address, httpx.Client(base_url=address, timeout=30) as client:
        reply = client.post("/v1/ask", json={"question": QUESTION})
        problem = reply.json()
        assert (reply.status_code, problem["type"]) == (500, "urn:steelman:problem:failure")
        run = problem["instance"].removeprefix("/v1/runs/")
        assert reply.headers["content-location"] == problem["instance"]
        assert problem["detail"].endswith(f"POST /v1/runs/{run}/resume goes on with the run.")
        state = client.get(problem["instance"]).json()
        assert state["status"] == "failed"
        assert "(ZeroDivisionError)" in state["error"]
        assert "a mistake" not in json.dumps([problem, state])
        assert "python -m" not in state["error"]
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        assert client.post(f"/v1/runs/{run}/resume").status_code == 202
        assert ended(client, run).status == "done"


@pytest.mark.usefixtures("library", "quick_retries")
def test_a_provider_that_was_insisted_on_and_fails_is_a_problem() -> None:
    with ModelServer(strict=False) as server:
        server.on("", Reply("no", status=500))
        given = load_settings(provider="chat", openai_base_url=server.url, model="test-model")
        with api(given, build_providers) as address, httpx.Client(base_url=address, timeout=30) as client:
            told = client.post("/v1/ask", json={"question": VOTING})
            problem = told.json()
            assert (told.status_code, problem["type"]) == (502, "urn:steelman:problem:provider-failed")
            assert "Mend it" in problem["detail"]
            failed = followed(client, f"{problem['instance']}/events")[-1]
            assert (failed.event, failed.data["problem"]) == ("failed", problem)
            assert failed.data["error"] == client.get(problem["instance"]).json()["error"]


@pytest.mark.usefixtures("library", "quick_retries")
def test_a_judge_that_was_insisted_on_and_fails_is_a_problem_of_the_judge() -> None:
    pairs = {"pairs": [{"statement": "Bridges help.", "passage": "A bridge carries a town."}]}
    with ModelServer(strict=False) as server:
        server.on("", Reply(status=503), path="/score")
        for judge, status in (("score", 502), ("auto", 200)):
            given = load_settings(judge=judge, judge_url=f"{server.root}/score", judge_model="test-model")
            with api(given, build_providers) as address:
                reply = httpx.post(f"{address}/v1/judge", json=pairs, timeout=30)
                assert reply.status_code == status, reply.text
        assert reply.json()["judge"] == "quick"
        assert "The built-in judge stood in for it." in reply.json()["notes"][0]


def test_a_key_judges_and_stores_few_requests_at_once(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.service._MOST_BESIDE", 0)
    pairs = [{"statement": "Bridges help.", "passage": "A bridge helps."}]
    for reply in (
        client.post("/v1/judge", json={"pairs": pairs}),
        client.post("/v1/collections/mine/documents", json={"documents": [{"id": "a", "text": "Bridges help."}]}),
        client.post("/v1/collections/mine/files", files={"files": ("a.txt", b"Bridges help.")}),
    ):
        assert reply.status_code == 429
        assert int(reply.headers["retry-after"]) > 0


# The list of runs


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    with closing(Database(settings.database_path)) as opened:
        yield opened


def stored(database: Database, run: int, key: str | None = None, thread: int | None = None, second: int = 0) -> str:
    """A run that is done, begun at that second; of a key, or from elsewhere."""
    run_id, of = f"{run:012x}", f"{run if thread is None else thread:012x}"
    runs = RunStore(database)
    runs.create(run_id, of, f"{QUESTION} {run}", RunOptions.of().to_dict(), "owner")
    runs.finish(run_id, "owner", "done", {}, answer="{}")
    with database.write() as db:
        db.execute("UPDATE runs SET created_at = ? WHERE id = ?", (f"2026-11-22T05:45:{second:02}.500+00:00", run_id))
    if key is not None:
        CallerRuns(database).record(run_id, key, None)
    return run_id


def page(client: httpx.Client, **params: Any) -> tuple[list[str], str | None]:
    reply = client.get("/v1/runs", params=params)
    assert reply.status_code == 200, reply.text
    return [run["id"] for run in reply.json()["runs"]], reply.json()["next"]


def pages(client: httpx.Client, **params: Any) -> list[list[str]]:
    found, after = page(client, **params)
    rest = pages(client, **{**params, "after": after}) if after else []
    return [found, *rest]


def test_pages_hold_every_run_once_newest_first(settings: Settings, database: Database) -> None:
    runs = [stored(database, n, second=n // 3) for n in range(7)]  # three of each second
    newest_first = runs[::-1]
    with api(settings) as address, httpx.Client(base_url=address) as client:
        assert page(client) == (newest_first, None)
        for size in (1, 2, 3, 6, 7):
            found = pages(client, limit=size)
            assert [run for runs in found for run in runs] == newest_first
            assert {len(runs) for runs in found[:-1]} <= {size}
        first, after = page(client, limit=3)
        assert client.delete(f"/v1/runs/{first[-1]}").status_code == 204  # what the cursor names is no more
        stored(database, 99, second=50)
        assert page(client, after=after) == (newest_first[3:], None)
        listed = client.get("/v1/runs").json()["runs"][-1]
    assert listed["question"] == f"{QUESTION} 0"
    assert set(listed) == {"id", "thread", "question", "status", "abandoned", "created_at", "finished_at", "error"}


def test_a_key_sees_its_own_runs_alone(settings: Settings, database: Database) -> None:
    keys = Keys(database)
    (mine, my_text), (other, other_text) = keys.make("mine"), keys.make("other")
    own = [stored(database, n, mine.id, second=n) for n in range(4)]
    theirs = stored(database, 10, other.id, second=20)
    stored(database, 11, second=30)  # asked on the page of this machine
    with api(settings) as address:
        assert httpx.get(f"{address}/v1/runs").status_code == 401
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {my_text}"}) as client:
            assert [run for runs in pages(client, limit=3) for run in runs] == own[::-1]
            assert page(client, thread=theirs) == ([], None)
            asked = client.post("/v1/ask", json={"question": QUESTION}).json()["run_id"]
            assert page(client, limit=1)[0] == [asked]
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {other_text}"}) as client:
            assert page(client) == ([theirs], None)


def test_a_quotation_on_the_wrong_side_is_moved_and_put_back(client: httpx.Client) -> None:
    before = client.post("/v1/ask", json={"question": QUESTION}).json()
    path = f"/v1/runs/{before['run_id']}"
    first, second = before["perspectives"]
    text, number = first["claims"][0]["text"], first["claims"][0]["citations"][0]
    reply = client.post(f"{path}/corrections", json={"citation": number, "to": second["id"], "text": text})
    assert reply.status_code == 200, reply.text
    moved = Answer.model_validate(reply.json())
    assert [text in [c.text for c in side.claims] for side in moved.perspectives] == [False, True]
    assert [n.text for n in moved.notes if n.kind == "corrected"] == ["A reader changed 1 quotation."]
    assert client.get(path).json()["answer"] == reply.json()
    for wrong in ({"citation": 999, "to": "also"}, {"citation": number, "to": "p77"}):
        refused = client.post(f"{path}/corrections", json=wrong)
        assert (refused.status_code, refused.json()["type"]) == (404, "urn:steelman:problem:unknown-quotation")
    follow_up = {"question": f"Strongest case against {number}?", "thread": before["run_id"]}
    assert client.post("/v1/ask", json=follow_up).json()["against"]["side"] == second["name"]
    assert client.delete(f"{path}/corrections").json() == before == client.delete(f"{path}/corrections").json()
