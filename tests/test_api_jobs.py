"""Uploads that are jobs: large ones, and those whose caller prefers it; seen, cancelled, resumed, deleted."""

import contextlib
import json
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from api_on_loopback import api
from conftest import ROOT
from numpy.typing import NDArray
from providers import Build, build
from raw_http import problem_of, wait_until

from agent.seams import Providers
from agent.settings import Settings
from api.client import CallError, JobEndedError, NewDocument, Steelman
from api.jobs.work import _AtWork
from api.keys import Keys
from api.uploads import Folders
from evals.benchmarks.instant import InstantEncoder
from tools.ingest.apart import Readers
from tools.store.database import Database
from tools.store.store import Store

LATER = {"Prefer": "respond-async"}
MANY = 40
ROWS = b"id,text\n" + b"".join(b"%d,A bridge %d.\n" % (i, i) for i in range(6))
BATCH = 4


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.ingest.ingest._PASSAGES_A_BATCH", BATCH)


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than five documents, or 2,000 bytes, are a job."""
    monkeypatch.setattr("api.routes.documents.LARGE_COUNT", 5)
    monkeypatch.setattr("api.routes.documents.LARGE_BYTES", 2_000)


class Gate(InstantEncoder):
    """Encodes a batch for each that it is let through with; `texts` are all that it was asked for."""

    def __init__(self, batches: int) -> None:
        self._free = threading.Semaphore(batches)
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("bridge" in t for t in texts):
            assert self._free.acquire(timeout=20)
            self.texts += texts
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
def client(module_settings: Settings) -> Iterator[httpx.Client]:
    with api(module_settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        yield client


def texts(count: int = MANY, words: str = "") -> dict[str, Any]:
    return {"documents": [{"id": f"d{i}", "text": f"A bridge{words} carries town {i}."} for i in range(count)]}


def begun(client: httpx.Client, name: str = "mine", **sent: Any) -> str:
    """The address of a job that was just made."""
    reply = client.post(f"/v1/collections/{name}/documents", **{"json": texts(), "headers": LATER, **sent})
    assert reply.status_code == 202, reply.text
    return str(reply.headers["location"])


def ended(client: httpx.Client, path: str) -> dict[str, Any]:
    wait_until(lambda: client.get(path).json()["status"] not in ("queued", "running", "interrupted"), 40)
    job: dict[str, Any] = client.get(path).json()
    return job


def stored(client: httpx.Client, name: str) -> int:
    found = {c["name"]: c["documents"] for c in client.get("/v1/collections").json()["collections"]}
    return int(found.get(name, 0))


def kept(settings: Settings) -> list[str]:
    folder = settings.data_dir / "uploads"
    return [p.name for p in folder.iterdir()] if folder.is_dir() else []


# Which uploads are jobs


def test_a_small_upload_is_answered_at_once(client: httpx.Client, module_settings: Settings) -> None:
    reply = client.post("/v1/collections/small/documents", json=texts(3))
    assert (reply.status_code, reply.json()["stored"]) == (200, 3)
    files = [("files", ("a.txt", b"A bridge carries a town."))]
    assert client.post("/v1/collections/small/files", files=files).status_code == 200
    assert kept(module_settings) == []


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize(
    ("call", "sent"),
    [
        ("documents", {"json": texts(6)}),
        ("documents", {"json": texts(1, " " + "of stone and wood " * 150)}),
        ("files", {"files": [("files", ("rows.csv", ROWS))]}),
        ("files", {"files": [("files", ("long.txt", b"A bridge carries a town. " * 100))]}),
    ],
)
def test_a_large_one_is_a_job(
    client: httpx.Client, module_settings: Settings, call: str, sent: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    name = f"large {request.node.callspec.indices['call']}{request.node.callspec.indices['sent']}"
    reply = client.post(f"/v1/collections/{name}/{call}", **sent)
    assert reply.status_code == 202, reply.text
    assert reply.headers["location"] == f"/v1/jobs/{reply.json()['id']}"
    assert "preference-applied" not in reply.headers
    assert (reply.json()["collection"], reply.json()["read"], reply.json()["result"]) == (name, 0, None)
    job = ended(client, reply.headers["location"])
    assert (job["status"], job["error"], job["unchanged"]) == ("done", None, 0)
    assert job["documents"] == job["read"] == job["added"] == job["result"]["stored"] == stored(client, name)
    assert job["created_at"] <= job["started_at"] <= job["finished_at"]
    wait_until(lambda: kept(module_settings) == [])


def test_a_caller_may_prefer_a_job(client: httpx.Client) -> None:
    files = [("files", ("a.csv", b"pro,con\nA bridge.,No bridge.\n")), ("files", ("b.png", b"\x89PNG"))]
    asked: dict[str, Any] = {
        "files": files,
        "data": {"text_column": ["pro", "con"]},
        "headers": {"Prefer": "wait=5, Respond-Async"},
    }
    reply = client.post("/v1/collections/preferred/files", **asked)
    assert (reply.status_code, reply.headers["preference-applied"]) == (202, "respond-async")
    job = ended(client, reply.headers["location"])
    assert (job["status"], job["added"], job["more_problems"]) == ("done", 1, 0)
    assert job["problems"] == job["result"]["problems"]
    assert "b.png: files ending in '.png' cannot be read." in job["problems"][0]
    again = ended(client, client.post("/v1/collections/preferred/files", **asked).headers["location"])
    assert (again["added"], again["unchanged"]) == (0, 1)
    assert client.post("/v1/collections/samples/files", **asked).status_code == 409


def test_what_is_changed_is_counted_apart(client: httpx.Client) -> None:
    ended(client, begun(client, "changed"))
    job = ended(client, begun(client, "changed", json=texts(MANY + 2, words=" of stone")))
    assert (job["added"], job["changed"], job["result"]["stored"]) == (2, MANY, MANY + 2)


def test_a_job_of_which_nothing_can_be_read_has_failed(client: httpx.Client) -> None:
    files: dict[str, Any] = {"files": [("files", ("empty.txt", b""))], "headers": LATER}
    job = ended(client, client.post("/v1/collections/none/files", **files).headers["location"])
    assert (job["status"], job["result"], job["problems"]) == ("failed", None, ["empty.txt: holds no text."])
    assert job["error"] == "Nothing was stored. empty.txt: holds no text."
    for _ in range(3):
        assert client.post(f"/v1/jobs/{job['id']}/resume").status_code == 202
        assert ended(client, f"/v1/jobs/{job['id']}")["error"] == job["error"]
    assert stored(client, "none") == 0


# Seen, cancelled, resumed, deleted


def test_jobs_are_listed_page_by_page_newest_first(client: httpx.Client) -> None:
    made = [begun(client, "pages", json=texts(n)).rpartition("/")[2] for n in (1, 2, 3)]
    seen: list[str] = []
    given: dict[str, Any] = {"limit": 2, "collection": "pages"}
    while given.get("after", "") is not None:
        page = client.get("/v1/jobs", params=given).json()
        seen += [job["id"] for job in page["jobs"]]
        given["after"] = page["next"]
    assert seen == made[::-1]
    for job in made:
        ended(client, f"/v1/jobs/{job}")
    assert client.get("/v1/jobs", params={"status": "running"}).json()["jobs"] == []
    problem_of(client.get("/v1/jobs", params={"after": "x"}), 422, "invalid-request")


def test_a_cancelled_job_keeps_what_it_stored_and_resume_does_the_rest(settings: Settings) -> None:
    with gated(settings, 3) as (client, gate):
        path = begun(client)
        wait_until(lambda: stored(client, "mine") == 2 * BATCH)  # a batch is encoded while the one before is written
        problem_of(client.delete(path), 409, "job-busy")
        threading.Timer(0.2, gate._free.release).start()  # the batch that is being encoded when it is cancelled
        assert client.post(f"{path}/cancel").json() == {"id": path.rpartition("/")[2], "stopped": True}
        assert client.post(f"{path}/cancel").json()["stopped"] is False
        job = client.get(path).json()
        assert (job["status"], job["documents"], job["result"]) == ("cancelled", MANY, None)
        assert 0 < job["added"] == stored(client, "mine") < MANY
        first, kept_back = list(gate.texts), kept(settings)
        assert kept_back == [job["id"]]
        gate.open()
        resumed = client.post(f"{path}/resume")
        assert (resumed.status_code, resumed.headers["location"]) == (202, path)
        job = ended(client, path)
        assert (job["status"], job["added"], job["unchanged"], job["result"]["stored"]) == ("done", MANY, 0, MANY)
        assert not set(first) & set(gate.texts[len(first) :])  # nothing was done twice
        assert client.post(f"{path}/resume").json()["status"] == "done"
        assert client.delete(path).status_code == 204
        problem_of(client.get(path), 404, "unknown-job")
        assert (stored(client, "mine"), kept(settings)) == (MANY, [])


def test_a_job_is_cancelled_within_a_file_that_is_slow_to_read(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    readers = Readers("planted_readers", at_once=1)
    monkeypatch.setattr("tools.ingest.apart.FILES", readers)
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client, contextlib.closing(readers):
        sent: dict[str, Any] = {"files": [("files", ("slow.txt", b"sleep"))], "headers": LATER}
        path = client.post("/v1/collections/slow/files", **sent).headers["location"]
        wait_until(lambda: client.get(path).json()["read"] == 1)
        after = begun(client, "after")
        began = time.monotonic()
        assert client.post(f"{path}/cancel").json()["stopped"] is True
        assert time.monotonic() - began < 5
        job = client.get(path).json()
        assert (job["status"], job["problems"]) == ("cancelled", [])
        assert client.delete(path).status_code == 204
        assert kept(settings) in ([], [after.rpartition("/")[2]])
        assert ended(client, after)["status"] == "done"


def test_a_cancelled_job_is_at_work_until_its_batch_has_ended(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.jobs.jobs._CANCEL_SECONDS", 0.1)
    monkeypatch.setattr("api.jobs.table.STALE_SECONDS", 1.5)
    with gated(settings, 0) as (client, gate):
        path = begun(client)
        wait_until(lambda: client.get(path).json()["read"] > 0)
        client.post(f"{path}/cancel")
        time.sleep(2)
        problem_of(client.delete(path), 409, "job-busy")
        problem_of(client.post(f"{path}/resume"), 409, "job-busy")
        gate.open()
        wait_until(lambda: client.post(f"{path}/resume").status_code == 202)
        assert ended(client, path)["status"] == "done"
        assert stored(client, "mine") == MANY


def test_jobs_wait_their_turn_and_one_that_waits_is_cancelled_at_once(settings: Settings) -> None:
    with gated(settings, 0) as (client, gate):
        first, second, third = (begun(client, name) for name in ("one", "two", "three"))
        wait_until(lambda: client.get(first).json()["status"] == "running")
        assert client.get(second).json()["status"] == "queued"
        assert "steelman_jobs_open 3.0" in client.get("/metrics").text
        assert client.post(f"{second}/cancel").json()["stopped"] is True
        gate.open()
        assert [ended(client, path)["status"] for path in (first, second, third)] == ["done", "cancelled", "done"]
        assert 'steelman_jobs_ended_total{status="done"} 2.0' in client.get("/metrics").text
        assert stored(client, "two") == 0


def test_uploads_that_are_kept_are_counted(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.jobs.jobs._MOST_KEPT", 1)
    with gated(settings, 0) as (client, gate):
        path = begun(client)
        refused = client.post("/v1/collections/mine/documents", json=texts(), headers=LATER)
        problem_of(refused, 429, "too-many-jobs")
        assert len(kept(settings)) == 1
        gate.open()
        ended(client, path)
        ended(client, begun(client))


def test_uploads_are_their_owners_alone(settings: Settings) -> None:
    uploads = settings.data_dir / "uploads"
    uploads.mkdir(parents=True)
    for opened in (settings.data_dir, uploads):
        opened.chmod(0o755)
    folders = [uploads, Folders(uploads).new()]
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700, 0o700]
    assert stat.S_IMODE(settings.data_dir.stat().st_mode) == 0o755


def test_uploads_that_come_at_once_are_counted(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.jobs.jobs._MOST_KEPT", 1)
    with gated(settings, 0) as (client, gate), ThreadPoolExecutor(8) as pool:

        def sent(_: int) -> int:
            return client.post("/v1/collections/mine/documents", json=texts(), headers=LATER).status_code

        assert sorted(pool.map(sent, range(8))) == [202] + [429] * 7
        assert len(kept(settings)) == 1
        gate.open()
        wait_until(lambda: kept(settings) == [])


def test_a_job_belongs_to_its_key(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database_path)) as database:
        own, other = (Keys(database).make(name)[1] for name in ("laptop", "desk"))
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        path = begun(client, headers={**LATER, "Authorization": f"Bearer {own}"})
        client.headers["Authorization"] = f"Bearer {other}"
        for method, call in (("GET", path), ("POST", f"{path}/cancel"), ("POST", f"{path}/resume"), ("DELETE", path)):
            problem_of(client.request(method, call), 404, "unknown-job")
        assert client.get("/v1/jobs").json()["jobs"] == []
        client.headers["Authorization"] = f"Bearer {own}"
        assert ended(client, path)["status"] == "done"
        assert len(client.get("/v1/jobs").json()["jobs"]) == 1


def test_jobs_that_ended_long_ago_are_forgotten(settings: Settings) -> None:
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        old, fresh = begun(client), begun(client)
        ended(client, old), ended(client, fresh)
        at = (datetime.now(UTC) - timedelta(days=8)).isoformat(timespec="milliseconds")
        with contextlib.closing(Database(settings.database_path)) as database, database.write() as db:
            db.execute("UPDATE jobs SET finished_at = ? WHERE id = ?", (at, old.rpartition("/")[2]))
        ended(client, begun(client))
        assert (client.get(old).status_code, client.get(fresh).status_code) == (404, 200)


# Restarts, and clients that leave


def test_a_job_is_interrupted_by_the_end_of_its_server_and_the_next_one_goes_on(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, stop = Gate(3), _AtWork.stop

    def stopped(job: _AtWork) -> None:
        stop(job)
        gate.open()  # not before: the job would end by itself on a slow machine

    monkeypatch.setattr(_AtWork, "stop", stopped)
    with api(settings, gate.built()) as address, httpx.Client(base_url=address, timeout=30) as client:
        path = begun(client)
        wait_until(lambda: stored(client, "mine") == 2 * BATCH)
    with contextlib.closing(Database(settings.database_path)) as database:
        [row] = database.rows("SELECT status, owner, report FROM jobs")
    assert (row["status"], row["owner"]) == ("interrupted", None)
    assert 0 < json.loads(row["report"])["added"] < MANY
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        job = ended(client, path)
        assert (job["status"], job["added"], job["unchanged"]) == ("done", MANY, 0)
        assert stored(client, "mine") == MANY


def test_one_that_was_taken_up_again_and_again_waits_for_a_resume(settings: Settings) -> None:
    with gated(settings, 0) as (client, gate):
        path = begun(client)
        threading.Timer(0.5, gate.open).start()
    with contextlib.closing(Database(settings.database_path)) as database, database.write() as db:
        db.execute("UPDATE jobs SET taken_up = 5, status = 'running', owner = 'gone', heartbeat = 0")
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        assert client.get(path).json()["status"] == "interrupted"
        assert [j["id"] for j in client.get("/v1/jobs", params={"status": "interrupted"}).json()["jobs"]]
        client.post(f"{path}/resume")
        assert ended(client, path)["status"] == "done"


# From Python


def test_the_client_waits_for_a_job_and_knows_of_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("api.routes.documents.LARGE_COUNT", 5)
    given = [NewDocument(**document) for document in texts(6)["documents"]]
    (tmp_path / "rows.jsonl").write_text("".join(d.model_dump_json() + "\n" for d in given))
    (tmp_path / "empty.txt").write_text("")
    with api(settings) as address, Steelman(address) as steelman:
        assert steelman.store("mine", given).stored == 6
        assert steelman.ingest("rows", tmp_path / "rows.jsonl").stored == 6
        job = steelman.start_ingest("one", tmp_path / "empty.txt")
        with pytest.raises(JobEndedError) as failed:
            steelman.stored(job)
        assert (failed.value.job_id, failed.value.status) == (job, "failed")
        assert "empty.txt: holds no text." in str(failed.value)
        assert [j.collection for j in steelman.jobs()] == ["one", "rows", "mine"]
        assert [j.id for j in steelman.jobs(status="failed")] == [job]
        assert steelman.cancel_job(job) is False
        steelman.resume_job(job)
        done = steelman.start_store("two", given[:1])
        assert steelman.stored(done).stored == 1
        steelman.delete_job(done)
        with pytest.raises(CallError) as unknown:
            steelman.job(done)
        assert unknown.value.name == "unknown-job"
