"""Uploads that are jobs: large ones, and those whose caller prefers it; seen, cancelled, continued after a restart."""

import asyncio
import contextlib
import io
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import numpy as np
import pytest
from api_on_loopback import Door, api
from instant_providers import InstantEncoder
from numpy.typing import NDArray
from providers import Build, build
from raw_http import problem_of, wait_until
from sqlalchemy import select, update

from agent.runs.job_table import MOST_TRIES, JobState, JobTable, Sent
from agent.runs.jobs import DOCUMENTS, Job, Jobs
from agent.runs.service import Runs
from agent.settings import Settings
from agent.stage_interfaces import Providers
from api.callers import Keys
from tools.errors import StoreDownError
from tools.passages import SourceDocument
from tools.store.database import Database
from tools.store.schema import job_files, jobs
from tools.store.store import Store

pytest_plugins = ["api_on_loopback"]

LATER = {"Prefer": "respond-async"}
MANY = 40
ROWS = b"id,text\n" + b"".join(b"%d,A bridge %d.\n" % (i, i) for i in range(6))
BATCH = 4


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.documents.ingest._PASSAGES_PER_BATCH", BATCH)


class Gate(InstantEncoder):
    """Encodes a batch for each that it is let through with."""

    def __init__(self, batches: int) -> None:
        self._free = threading.Semaphore(batches)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("bridge" in t for t in texts):
            assert self._free.acquire(timeout=20)
        return super().encode(texts)

    def open(self) -> None:
        self._free.release(10_000)

    def built(self) -> Build:
        def made(settings: Settings, store: Store) -> Providers:
            providers = build()(settings, store)
            providers.search.encoder = self  # named as the one that it takes the place of
            return providers

        return made


@contextlib.contextmanager
def gated(settings: Settings, batches: int) -> Iterator[tuple[httpx.Client, Gate]]:
    gate = Gate(batches)
    with api(settings, gate.built()) as address, httpx.Client(base_url=address, timeout=30) as client:
        try:
            yield client, gate
        finally:
            gate.open()


@pytest.fixture(scope="module")
def client(standing: Door) -> httpx.Client:
    return standing.http


def texts(count: int = MANY, words: str = "") -> dict[str, Any]:
    return {"documents": [{"id": f"d{i}", "text": f"A bridge{words} carries town {i}."} for i in range(count)]}


def begun(client: httpx.Client, name: str = "mine", **sent: Any) -> str:
    reply = client.post(f"/v1/collections/{name}/documents", **{"json": texts(), "headers": LATER, **sent})
    assert reply.status_code == 202, reply.text
    return str(reply.headers["location"])


def ended(client: httpx.Client, path: str) -> dict[str, Any]:
    wait_until(lambda: client.get(path).json()["status"] not in ("queued", "running"), 40)
    job: dict[str, Any] = client.get(path).json()
    return job


def body() -> io.BytesIO:
    return io.BytesIO(DOCUMENTS.dump_json([SourceDocument("a", "A bridge.")]))


def stored(client: httpx.Client, name: str) -> int:
    found = {c["name"]: c["documents"] for c in client.get("/v1/collections").json()["collections"]}
    return int(found.get(name, 0))


def kept(settings: Settings) -> list[str]:
    folder = settings.data_dir / "uploads"
    return [p.name for p in folder.iterdir() if p.is_dir()] if folder.is_dir() else []


# Which uploads are jobs


LARGE: dict[str, dict[str, Any]] = {
    "documents": {"json": texts(1, " " + "of stone and wood " * 150)},
    "files": {"files": [("files", ("rows.csv", ROWS))]},
}


def test_what_a_job_stores_is_unchanged_for_the_next_one_in_the_queue(settings: Settings) -> None:
    with gated(settings, 1) as (client, gate):
        paths = [begun(client), begun(client)]
        gate.open()
        first, second = (ended(client, path) for path in paths)
    assert second["created_at"] < first["finished_at"]
    assert [(job["result"]["stored"], job["result"]["unchanged"]) for job in (first, second)] == [(MANY, 0), (0, MANY)]


@pytest.mark.parametrize("call", LARGE)
def test_a_large_one_is_a_job(
    client: httpx.Client, module_settings: Settings, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setattr("api.routes.documents.LARGE_BYTES", 500)
    reply = client.post(f"/v1/collections/large-{call}/{call}", **LARGE[call])
    assert (reply.status_code, reply.headers["location"]) == (202, f"/v1/jobs/{reply.json()['id']}")
    job = ended(client, reply.headers["location"])
    assert (job["status"], job["error"], job["result"]["unchanged"]) == ("done", None, 0)
    assert job["documents"] == job["read"] == job["result"]["stored"] == stored(client, f"large-{call}")
    assert job["created_at"] <= job["started_at"] <= job["finished_at"]
    wait_until(lambda: kept(module_settings) == [])


# Cancelled, counted, whose they are


def test_jobs_wait_their_turn_and_a_cancelled_one_keeps_what_it_stored(settings: Settings) -> None:
    with gated(settings, 3) as (client, gate):
        first, second, third = (begun(client, name) for name in ("one", "two", "three"))
        wait_until(lambda: stored(client, "one") == 3 * BATCH)  # what is let through is stored, and no more
        assert client.get(second).json()["status"] == "queued"
        assert "steelman_jobs_open 3.0" in client.get("/metrics").text
        assert client.post(f"{second}/cancel").json()["stopped"] is True
        threading.Timer(0.2, gate._free.release).start()  # the batch that is being encoded when it is cancelled
        assert client.post(f"{first}/cancel").json() == {"id": first.rpartition("/")[2], "stopped": True}
        assert client.post(f"{first}/cancel").json()["stopped"] is False
        job = client.get(first).json()
        assert (job["status"], job["documents"]) == ("cancelled", MANY)
        assert 0 < job["result"]["stored"] == stored(client, "one") < MANY
        gate.open()
        assert [ended(client, path)["status"] for path in (first, second, third)] == ["cancelled", "cancelled", "done"]
        assert (stored(client, "two"), kept(settings)) == (0, [])


def test_a_job_belongs_to_its_key(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database)) as database:
        own, other = (Keys(database).make(name)[1] for name in ("laptop", "desk"))
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        path = begun(client, headers={**LATER, "Authorization": f"Bearer {own}"})
        client.headers["Authorization"] = f"Bearer {other}"
        for method, call in (("GET", path), ("POST", f"{path}/cancel")):
            problem_of(client.request(method, call), 404, "unknown-job")
        client.headers["Authorization"] = f"Bearer {own}"
        assert ended(client, path)["status"] == "done"


def test_what_an_earlier_server_left_is_removed_after_a_day(settings: Settings) -> None:
    uploads = settings.data_dir / "uploads"
    old, fresh = uploads / "j0123456789ab", uploads / "jfresh"
    for folder in (old, fresh):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    with api(settings):
        assert list(uploads.glob("j*")) == [fresh]


def test_a_restart_goes_on_with_a_job(settings: Settings) -> None:
    with gated(settings, 3) as (client, gate):
        path = begun(client)
        wait_until(lambda: stored(client, "mine") == 3 * BATCH)
        threading.Timer(0.5, gate.open).start()  # while the server stops
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        job = ended(client, path)
        assert (job["status"], job["read"]) == ("done", MANY)
        assert (job["result"]["stored"], job["result"]["unchanged"]) == (MANY, 0)
        assert stored(client, "mine") == MANY
        wait_until(lambda: kept(settings) == [])


def test_a_job_that_ends_its_process_again_and_again_fails(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database)) as database:
        table, state = JobTable(database), JobState(id="j0123456789ab", collection="mine")
        assert table.add("", state, Sent(), [body()], 9)
        for n in range(MOST_TRIES):
            assert (row := table.take(f"killed {n}")) is not None
            assert row.tries == n + 1
            with database.write() as db:
                db.execute(update(jobs).values(heartbeat=0))
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        job = ended(client, "/v1/jobs/j0123456789ab")
        assert (job["status"], stored(client, "mine")) == ("failed", 0)
        assert "processes ended while they worked" in job["error"]


def test_a_cancelled_job_whose_process_died_keeps_no_files(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database)) as database:
        table = JobTable(database)
        for number in range(2):
            assert table.add(f"{number}", JobState(id=f"j{number}", collection="mine"), Sent(), [body()], 9)
            assert table.take("killed" if number == 0 else "alive")
        assert table.stop("j0")
        with database.write() as db:
            db.execute(update(jobs).where(jobs.c.id == "j0").values(heartbeat=0))
        table.end("j1", "alive", JobState(id="j1", collection="mine", status="done"), left=False, counts=True)
        assert database.rows(select(job_files.c.job_id)) == []


def test_a_key_at_its_limit_writes_no_file(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database)) as database:
        table = JobTable(database)
        assert table.add("key", JobState(collection="mine"), Sent(), [body()], 1)
        assert not table.add("key", JobState(collection="mine"), Sent(), [unread := body()], 1)
        assert unread.tell() == 0
        assert table.open() == 1


async def test_a_server_stops_without_its_database(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Runs(settings, build()) as runs:
        jobs = Jobs(runs)

        def away(*_: object) -> None:
            raise StoreDownError("the database is away.")

        monkeypatch.setattr(JobTable, "end", away)
        assert await jobs.begin("", JobState(collection="mine"), Sent(), [body()], 9)
        hold = threading.Event()
        monkeypatch.setattr(Job, "work", lambda *_: hold.wait(5))
        working = asyncio.create_task(jobs.work())
        while not jobs._at_work:
            await asyncio.sleep(0.01)
        working.cancel()
        hold.set()
        await asyncio.wait([working], timeout=10)
        assert working.cancelled()
