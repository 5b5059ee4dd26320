"""`python -m api` as a process: where it may listen, how it stops, and what the next server continues."""

import contextlib
import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from agent_fixtures import QUESTION
from conftest import Spawn
from raw_http import connected, head, wait_until
from sqlalchemy import select

from agent.runs.store import RunStore
from agent.settings import Settings
from api.__main__ import main
from api.callers import Keys
from tools.store import schema
from tools.store.database import Database

# The command line over instant providers. Arguments: seconds a search takes, seconds after which a run without a
# heartbeat is abandoned. HANG: seconds that the encoder takes for a text on culverts.
COMMAND = """
import functools, os, sys, time
import agent.runs.executor, agent.runs.service, agent.runs.bootstrap, agent.runs.store, api.events, api.service
from agent.runs.service import Runs
from instant_providers import InstantEncoder
from providers import build
pause, stale = float(sys.argv.pop(1)), float(sys.argv.pop(1))
made = build(before_search=lambda _: time.sleep(pause))
agent.runs.service.Runs = functools.partial(Runs, build=made)
agent.runs.bootstrap.index_samples = lambda *_: None
agent.runs.store.STALE_SECONDS = api.service.STALE_SECONDS = stale
agent.runs.executor.HEARTBEAT_SECONDS = 0.2
api.events.QUIET_SECONDS = 0.5
encode, hang = InstantEncoder.encode, float(os.environ.get("HANG", 0))
def hanging(encoder, texts):
    time.sleep(hang if any("culvert" in text for text in texts) else 0)
    return encode(encoder, texts)
InstantEncoder.encode = hanging
from api.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


@contextlib.contextmanager
def served(
    spawn: Spawn, *arguments: object, pause: float = 0.0, stale: float = 1.0
) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A server's address and its process."""
    process = spawn(COMMAND, pause, stale, *(arguments or ("--port", 0)))
    assert process.stderr
    line = process.stderr.readline()
    found = re.search(r"http://\S+", line)
    assert found, line + process.communicate()[1]
    yield found[0], process
    if process.poll() is None:
        process.kill()
    process.wait()


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """The exit status of a process that is about to end, and the rest of its output."""
    _, said = process.communicate(timeout=20)
    return process.returncode, said


# Where it may listen


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_it_listens_for_other_machines_with_a_key_only(
    settings: Settings, capsys: pytest.CaptureFixture[str], host: str
) -> None:
    assert main(["--host", host]) == 2
    refused = capsys.readouterr().err
    assert refused.count("\n") == 1
    assert "`python -m api keys make NAME`" in refused
    with contextlib.closing(Database(settings.database)) as database:
        keys = Keys(database)
        keys.revoke(keys.make("laptop")[0].id)
    assert main(["--host", host]) == 2  # a revoked key lets nobody in


# How it stops, and what the next server continues


@pytest.mark.slow
@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGKILL])
def test_runs_go_on_when_it_is_started_again(settings: Settings, spawn: Spawn, sig: signal.Signals) -> None:
    with served(spawn, pause=1.0) as (address, process):
        asked = httpx.post(f"{address}/v1/ask", json={"question": QUESTION, "wait_seconds": 0.5}, timeout=20)
        assert asked.status_code == 202
        run = asked.headers["location"]
        process.send_signal(sig)
        status, said = ended(process)
        assert status == (0 if sig == signal.SIGTERM else -sig)
        assert "Traceback" not in said
    with contextlib.closing(Database(settings.database)) as database:
        assert RunStore(database).get(run.rpartition("/")[2]).answer is None
    with served(spawn) as (address, _):
        wait_until(lambda: httpx.get(f"{address}{run}").json()["status"] == "done", 120)
        kinds = [line[7:] for line in httpx.get(f"{address}{run}/events").text.splitlines() if line[:6] == "event:"]
        assert kinds.count("done") == 1
        assert "resumed" in kinds
        figures = httpx.get(f"{address}/metrics").text
        assert 'steelman_runs_ended_total{outcome="answered"} 1.0' in figures


UPLOAD = {"documents": [{"id": f"d{i}", "text": f"A culvert carries brook {i}."} for i in range(300)]}
BOTH = "Accept: application/json, text/event-stream"
LATER: dict[str, Any] = {"json": UPLOAD, "headers": {"Prefer": "respond-async"}, "timeout": 20}


def posted(path: str, given: object, *headers: str) -> bytes:
    body = json.dumps(given).encode()
    return head("POST", path, "Content-Type: application/json", f"Content-Length: {len(body)}", *headers) + body


def statuses(address: str, paths: list[str]) -> list[str]:
    return [httpx.get(f"{address}{path}", timeout=20).json()["status"] for path in paths]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_stops_in_seconds_whatever_it_is_doing_and_nothing_is_lost(
    settings: Settings, spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANG", "40")
    tool = {"name": "ask", "arguments": {"question": QUESTION}}
    with served(spawn, pause=40.0) as (address, process), contextlib.ExitStack() as opened:
        started = {"question": QUESTION, "wait_seconds": 0}
        runs = [httpx.post(f"{address}/v1/ask", json=started, timeout=20).headers["location"] for _ in range(8)]
        jobs = [httpx.post(f"{address}/v1/collections/{n}/documents", **LATER).headers["location"] for n in "ab"]
        for sent in (
            head("GET", f"{runs[0]}/events"),
            head("GET", "/docs/assets/swagger-ui-bundle.js"),  # whose reply nobody reads
            posted("/v1/collections/c/documents", UPLOAD),
            posted("/v1/ask", {"question": QUESTION}),
            posted("/v1/ask", {"question": QUESTION}, "Accept: text/event-stream"),
            posted("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}, BOTH),
        ):
            opened.enter_context(connected(address, receive_buffer=4096)).sendall(sent)
        wait_until(lambda: statuses(address, jobs) == ["running", "queued"])
        time.sleep(1)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        status, said = ended(process)
        took = time.monotonic() - began
    assert (status, took < 10) == (0, True), took
    assert "Traceback" not in said
    with contextlib.closing(Database(settings.database)) as database:
        running = select(schema.runs.c.owner).where(schema.runs.c.status == "running")
        assert [row.owner for row in database.rows(running)] == [None] * 11
    monkeypatch.setenv("HANG", "0")
    with served(spawn) as (address, _):
        wait_until(lambda: set(statuses(address, runs)) == {"done"}, 60)
        assert httpx.post(f"{address}/v1/ask", json={"question": QUESTION}, timeout=30).json()["outcome"] == "answered"
