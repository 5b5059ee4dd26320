"""`python -m api` as a process: where it may listen, how it stops, what it goes on with when it is started again."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import Sent, sent_events
from conftest import Spawn
from raw_http import connected, head, problem_in, read_to_end, wait_until

from agent.runs.store import RunStore, new_owner
from agent.settings import Settings
from api.__main__ import main
from api.keys import Keys
from tools.store.database import Database

# The command line over instant providers whose searches take as long as is said, with quick heartbeats and little
# patience with whoever shows none. To encode a text on culverts takes as many seconds as HANG says.
COMMAND = """
import functools, os, sys, time
import agent.runs.executor, agent.runs.open, agent.runs.parts, agent.runs.store, api.events, api.service
from agent.runs.service import Runs
from evals.benchmarks.instant import InstantEncoder
from providers import build
pause, stale = float(sys.argv.pop(1)), float(sys.argv.pop(1))
made = build(before_search=lambda _: time.sleep(pause))
agent.runs.open.Runs = functools.partial(Runs, build=made)
agent.runs.parts.index_samples = lambda *_: None
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
    """A server's address, and its process, of which nobody has read more than where it listens."""
    process = spawn(COMMAND, pause, stale, *(arguments or ("--port", 0)))
    assert process.stderr
    line = process.stderr.readline()
    found = re.search(r"http://\S+", line)
    assert found, line + process.communicate()[1]
    yield found[0], process
    if process.poll() is None:
        process.kill()
    process.wait()


def beats(settings: Settings, at: float) -> None:
    """Gives every run to this process, heard of last at that time."""
    with contextlib.closing(Database(settings.database_path)) as database, database.write() as db:
        db.execute("UPDATE runs SET owner = ?, heartbeat = ? WHERE status = 'running'", (new_owner(), at))


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """The exit status of a process that is about to end, and what it still said."""
    _, said = process.communicate(timeout=20)
    return process.returncode, said


# Where it may listen


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_it_listens_for_other_machines_with_a_key_only(
    settings: Settings, capsys: pytest.CaptureFixture[str], host: str
) -> None:
    assert main(["--host", host]) == 2
    refused = capsys.readouterr().err
    assert refused.count("\n") == 1
    assert "`python -m api keys make NAME`" in refused
    with contextlib.closing(Database(settings.database_path)) as database:
        keys = Keys(database)
        keys.revoke(keys.make("laptop")[0].id)
    assert main(["--host", host]) == 2  # a revoked key lets nobody in


def test_a_port_that_is_taken(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["--port", str(port)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"steelman: cannot listen on port {port} of 127.0.0.1 (Address already in use). ")
    assert said.count("\n") == 1


def test_an_address_that_is_not_this_machines(settings: Settings, spawn: Spawn) -> None:
    with contextlib.closing(Database(settings.database_path)) as database:
        Keys(database).make("laptop")
    status, said = ended(spawn(COMMAND, 0, 1, "--host", "192.0.2.1"))
    assert status == 1
    assert said.startswith("steelman: cannot listen on port 8000 of 192.0.2.1 (Cannot assign requested address). ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("STEELMAN_API_RATE", "often"),
        ("STEELMAN_API_RATE", "0/minute"),
        ("STEELMAN_API_RATE", "10/fortnight"),
        ("STEELMAN_API_ORIGINS", "*"),
        ("STEELMAN_API_ORIGINS", "app.example.org"),
        ("STEELMAN_API_ORIGINS", "https://app.example.org/"),
        ("STEELMAN_API_HOSTS", "https://api.example.org"),
        ("STEELMAN_API_HOSTS", "*"),
        ("STEELMAN_API_UPLOAD", "many"),
        ("STEELMAN_API_PORT", "70000"),
    ],
)
def test_settings_that_are_impossible(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    value: str,
) -> None:
    monkeypatch.setenv(variable, value)
    assert main([]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"steelman: {variable} cannot be '{value}': ")
    assert said.count("\n") == 1


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    for command, words in (([], "keys make laptop"), (["keys"], "no"), (["keys", "make"], "NAME")):
        with pytest.raises(SystemExit) as stopped:
            main([*command, "--help"])
        assert stopped.value.code == 0
        assert words in capsys.readouterr().out


def test_a_store_that_cannot_be_opened_is_one_line(
    settings: Settings, spawn: Spawn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "steelman.db").write_text("no database, this" * 100)
    monkeypatch.setenv("STEELMAN_DATA_DIR", str(tmp_path / "other"))
    status, said = ended(spawn(COMMAND, 0, 1, "--port", 0))
    assert status == 1
    assert said.startswith("steelman: ")
    assert said.count("\n") == 1


# How it stops, and what it goes on with


@pytest.mark.slow
@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_when_it_is_told_to(settings: Settings, spawn: Spawn, sig: signal.Signals) -> None:
    with served(spawn) as (address, process), connected(address) as idle:
        assert httpx.get(f"{address}/healthz").status_code == 200
        idle.sendall(head("GET", "/healthz"))
        began = time.monotonic()
        process.send_signal(sig)
        status, said = ended(process)
        assert (status, time.monotonic() - began < 10) == (0, True)
        told = [json.loads(line) for line in said.splitlines()]
        assert ("GET", "/healthz", 200) in [(t["method"], t["route"], t["status"]) for t in told]
        assert {t["level"] for t in told} == {"INFO"}


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
    with contextlib.closing(Database(settings.database_path)) as database:
        assert RunStore(database).get(run.rpartition("/")[2]).answer is None
    with served(spawn) as (address, _):
        wait_until(lambda: httpx.get(f"{address}{run}").json()["status"] == "done", 40)
        kinds = [line[7:] for line in httpx.get(f"{address}{run}/events").text.splitlines() if line[:6] == "event:"]
        assert kinds.count("done") == 1
        assert "resumed" in kinds
        figures = httpx.get(f"{address}/metrics").text
        assert 'steelman_runs_ended_total{outcome="answered"} 1.0' in figures


@pytest.mark.slow
def test_who_reconnects_after_a_kill_waits_until_the_run_is_taken_up(settings: Settings, spawn: Spawn) -> None:
    got: list[Sent] = []
    with served(spawn, pause=0.5) as (address, process), httpx.Client(base_url=address, timeout=20) as client:
        run = client.post("/v1/ask", json={"question": QUESTION, "wait_seconds": 0}).headers["location"]
        with client.stream("GET", f"{run}/events") as reply:
            for event in sent_events(reply.iter_lines()):
                got.append(event)
                if event.event == "searching":
                    break
        process.kill()
        process.wait()
    beats(settings, time.time() + 50)  # it counts as alive until the other server listens, however long that takes
    lines: list[str] = []
    with (
        served(spawn, stale=60.0) as (address, _),
        httpx.stream("GET", f"{address}{run}/events", headers={"Last-Event-ID": str(len(got))}, timeout=20) as reply,
    ):
        for line in reply.iter_lines():
            if line == ": waiting" and line not in lines:
                beats(settings, 0)
            lines.append(line)
    got += sent_events(lines)
    kinds = [e.event for e in got]
    assert [e.id for e in got] == list(range(1, len(got) + 1)), kinds
    assert (kinds[-1], kinds.count("resumed")) == ("done", 1)
    assert ": waiting" in lines


@pytest.mark.slow
def test_whoever_waits_while_it_stops_is_told_so(settings: Settings, spawn: Spawn) -> None:
    with served(spawn, pause=5.0) as (address, process), connected(address) as asking, connected(address) as following:
        body = b'{"question": "%s"}' % QUESTION.encode()
        kind = ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        asking.sendall(head("POST", "/v1/ask", *kind) + body)
        following.sendall(head("POST", "/v1/ask", "Accept: text/event-stream", *kind) + body)
        wait_until(lambda: b"event: stage" in following.recv(65536))
        process.send_signal(signal.SIGTERM)
        told = read_to_end(asking)
        assert problem_in(told)["type"].endswith(":server-stopping")
        assert b"retry-after: 5" in told.lower()
        assert read_to_end(following).endswith(b"0\r\n\r\n")  # a whole reply: the client comes again
        status, said = ended(process)
        assert status == 0
        assert "Traceback" not in said


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
    monkeypatch.setenv("HANG", "90")
    tool = {"name": "ask", "arguments": {"question": QUESTION}}
    with served(spawn, pause=90.0) as (address, process), contextlib.ExitStack() as opened:
        started = {"question": QUESTION, "wait_seconds": 0}
        runs = [httpx.post(f"{address}/v1/ask", json=started, timeout=20).headers["location"] for _ in range(8)]
        jobs = [httpx.post(f"{address}/v1/collections/{n}/documents", **LATER).headers["location"] for n in "ab"]
        for sent in (
            head("GET", f"{runs[0]}/events"),
            head("GET", "/openapi.json") * 60,  # whose replies nobody reads
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
    with contextlib.closing(Database(settings.database_path)) as database:
        assert [r["owner"] for r in database.rows("SELECT owner FROM runs WHERE status = 'running'")] == [None] * 11
    monkeypatch.setenv("HANG", "0")
    with served(spawn) as (address, _):
        wait_until(lambda: set(statuses(address, runs)) == {"done"}, 60)
        assert statuses(address, jobs) == ["interrupted", "interrupted"]
        assert httpx.post(f"{address}/v1/ask", json={"question": QUESTION}, timeout=30).json()["outcome"] == "answered"


@pytest.mark.slow
@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(
    settings: Settings, spawn: Spawn, monkeypatch: pytest.MonkeyPatch, sig: signal.Signals
) -> None:
    monkeypatch.setenv("HANG", "90")
    with served(spawn) as (address, process), connected(address) as uploading:
        uploading.sendall(posted("/v1/collections/c/documents", UPLOAD))
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        began = time.monotonic()
        process.send_signal(sig)
        status, _ = ended(process)
        assert (status, time.monotonic() - began < 2) == (128 + sig, True)
