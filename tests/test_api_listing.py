"""The list of runs over HTTP: its order, its pages, what is left out, and who sees which runs."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import api

from agent.options import RunOptions
from agent.runs.store import RunStore
from agent.settings import Settings
from api.callers import CallerRuns
from api.keys import Keys
from tools.store.database import Database


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


def test_status_and_thread_leave_out_the_others(settings: Settings, database: Database) -> None:
    first, second, _ = (stored(database, n, thread=n // 2, second=n) for n in range(3))
    RunStore(database).create("f" * 12, "f" * 12, QUESTION, RunOptions.of().to_dict(), "gone")
    with database.write() as db:
        db.execute("UPDATE runs SET heartbeat = 0 WHERE id = ?", ("f" * 12,))
    with api(settings) as address, httpx.Client(base_url=address) as client:
        assert page(client, thread=f"{0:012x}") == ([second, first], None)
        assert page(client, thread="a" * 12) == ([], None)
        assert page(client, status="running") == (["f" * 12], None)
        assert client.get("/v1/runs?status=running").json()["runs"][0]["abandoned"] is True
        assert page(client, status="done", thread=f"{0:012x}", limit=1)[0] == [second]
        assert page(client, status="failed") == ([], None)


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


WRONG = {
    "limit=0": "greater than or equal to 1",
    "limit=101": "less than or equal to 100",
    "after=yesterday": "This is no 'next' of a list of runs.",
    "status=over": "'running', 'waiting', 'done'",
    "thread=x": "A run's id has 12 characters",
}


def test_what_cannot_be_is_refused(settings: Settings) -> None:
    with api(settings) as address:
        for given, message in WRONG.items():
            reply = httpx.get(f"{address}/v1/runs?{given}")
            assert (reply.status_code, reply.headers["content-type"]) == (422, "application/problem+json")
            assert message in reply.json()["detail"]
