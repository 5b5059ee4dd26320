"""scripts/stack with its real servers: Postgres, Chroma, Caddy, Prometheus, two APIs and the page."""

import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import ROOT
from loopback import free_ports

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

BOARD = ROOT / "docker" / "grafana" / "dashboards" / "steelman.json"
ABSENT = "steelman_model_requests_"  # no model server is set up here
QUESTION = {"question": "Should schools ban smartphones?", "web": False}


class Stack:
    """The stack in a folder that the user postgres can enter, which pytest's own cannot be."""

    def __init__(self, folder: Path, first: int) -> None:
        self.folder, self.first = folder, first

    def run(self, action: str, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, str(ROOT / "scripts" / "stack"), action, "--data", str(self.folder), *words]
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TZ", "HOME") if name in os.environ}
        env = kept | {
            "STEELMAN_ENV_FILE": "/dev/null",
            "STEELMAN_API_RATE": "100000/minute",
            "STEELMAN_API_KEY_RUNS": "64",
            "STEELMAN_DEADLINE": "600",  # so that a slow machine gives the same answer
        }
        return subprocess.run(command, env=env, cwd=self.folder, capture_output=True, text=True)

    def control(self, action: str, name: str) -> None:
        """The same without waiting until the service is healthy again."""
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(self.folder / "control"))
            caller.sendall(f"{json.dumps([action, name])}\n".encode())
            caller.recv(1)

    def key(self, name: str) -> str:
        """A new key of a caller."""
        made = self.run("exec", "api-1", "python", "-m", "api", "keys", "make", name)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    def apis(self) -> list[str]:
        return [
            f"http://127.0.0.1:{state['port'].rpartition(':')[2]}" for n, state in self.states().items() if "api" in n
        ]

    def states(self) -> dict[str, dict[str, str]]:
        """Each service: its state, process, starts and port."""
        rows = (line.split() for line in self.run("status").stdout.splitlines())
        return {row[0]: {"state": row[1], "process": row[3], "starts": row[5], "port": row[6]} for row in rows}

    def client(self) -> httpx.Client:
        authority = self.folder / "caddy" / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        trusted = ssl.create_default_context(cafile=str(authority))
        return httpx.Client(verify=trusted, base_url=f"https://localhost:{self.first + 1}", timeout=120)


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    folder = Path(tempfile.mkdtemp(prefix="steelman-stack-", dir="/tmp"))
    folder.chmod(0o755)
    running = Stack(folder, free_ports(20))
    try:
        started = running.run(
            "up",
            "--port",
            str(running.first),
            "--profile",
            "observe",
        )
        assert started.returncode == 0, started.stderr
        yield running
    finally:
        running.run("down")
        shutil.rmtree(folder)


def test_a_question_is_asked_over_tls_and_its_events_come_one_by_one(stack: Stack) -> None:
    request = {"json": QUESTION, "headers": {"Accept": "text/event-stream"}}
    events = list[str]()
    with stack.client() as client, client.stream("POST", "/v1/ask", **request) as reply:  # type: ignore[arg-type]
        assert reply.status_code == 200
        assert "Caddy" in reply.headers.get("via", "") + reply.headers.get("server", "")
        for line in reply.iter_lines():
            if line.startswith("event: "):
                events.append(line.removeprefix("event: "))
                if len(events) == 1:  # a proxy that collects the reply would pass it on at the end
                    place = reply.headers["content-location"]
                    assert place.startswith(f"https://localhost:{stack.first + 1}/v1/runs/")
                    assert client.get(place).json()["status"] == "running"
        answer = client.get(place).json()["answer"]
    assert (events[0], events[-1]) == ("started", "done")
    assert {"stage", "sides"} <= set(events)
    assert answer["outcome"] == "answered"


def test_the_page_has_an_address_of_its_own(stack: Stack) -> None:
    with stack.client() as client:
        page = client.get(f"https://localhost:{stack.first}/")
        assert (page.status_code, page.headers["x-frame-options"]) == (200, "DENY")
        assert client.get(f"https://localhost:{stack.first}/v1/runs").headers["content-type"] != "application/json"


def test_a_body_above_the_limit_is_refused(stack: Stack) -> None:
    with stack.client() as client:
        sent = client.post("/v1/collections/big/files", content=b"\0" * 26_000_000)
        assert sent.status_code == 413


def test_restarts_one_after_the_other_show_no_error(stack: Stack) -> None:
    statuses, stopped = list[int](), threading.Event()

    def ask() -> None:
        with stack.client() as client:
            while not stopped.is_set():
                statuses.append(client.post("/v1/judge", json={"pairs": []}).status_code)
                statuses.append(client.get("/v1/collections").status_code)

    asking = threading.Thread(target=ask)
    asking.start()
    before = stack.states()
    for name in ("api-1", "api-2"):
        done = stack.run("restart", name)
        assert done.returncode == 0, done.stderr
    stopped.set()
    asking.join()
    after = stack.states()
    assert all(after[name]["process"] != before[name]["process"] for name in ("api-1", "api-2"))
    assert {name for name in after if after[name]["process"] != before[name]["process"]} == {"api-1", "api-2"}
    assert set(statuses) == {200, 422}, statuses


def test_what_is_killed_is_started_again(stack: Stack) -> None:
    before = stack.states()["chroma"]
    done = stack.run("kill", "chroma")
    assert done.returncode == 0, done.stderr
    after = stack.states()["chroma"]
    assert (after["state"], int(after["starts"])) == ("healthy", int(before["starts"]) + 1)
    assert "chroma ended with status -9" in (stack.folder / "log" / "supervisor.log").read_text()


def test_a_command_uses_the_settings_of_a_service(stack: Stack) -> None:
    (stack.folder / "minutes").mkdir()
    (stack.folder / "minutes" / "a.md").write_text("# Minutes\n\nThe council should keep the library open.\n")
    added = stack.run("exec", "api-1", "python", "-m", "agent", "ingest", "minutes", "--collection", "minutes")
    assert added.returncode == 0, added.stderr
    with stack.client() as client:
        assert "minutes" in [each["name"] for each in client.get("/v1/collections").json()["collections"]]


def test_each_query_of_the_board_runs_and_finds_samples(stack: Stack) -> None:
    queries = [target["expr"] for panel in json.loads(BOARD.read_text())["panels"] for target in panel["targets"]]
    assert len(queries) == len(set(queries)) > 8
    address = f"http://{stack.states()['prometheus']['port']}/api/v1/query"
    give_up = time.monotonic() + 180  # a rate needs two scrapes, 15 seconds apart
    while time.monotonic() < give_up:
        with stack.client() as client:
            client.get("/v1/runs")
        found: dict[str, Any] = {query: httpx.get(address, params={"query": query}).json() for query in queries}
        assert [query for query, reply in found.items() if reply["status"] != "success"] == []
        empty = [query for query, reply in found.items() if not reply["data"]["result"]]
        if empty == [query for query in queries if ABSENT in query]:
            return
        time.sleep(3)
    raise AssertionError(f"no samples: {empty}")


def test_mistakes_are_told(stack: Stack) -> None:
    assert "There is no service api-9. There are: postgres" in stack.run("kill", "api-9").stderr
    assert "are running" in stack.run("up").stderr
    with tempfile.TemporaryDirectory() as other:
        wrong = Stack(Path(other), 0)
        assert "Nothing runs in" in wrong.run("status").stderr
        assert "is in use" in wrong.run("up", "--port", str(stack.first), "chroma").stderr


def test_down_ends_what_up_started_and_nothing_else(stack: Stack) -> None:
    """The last test: nothing runs after it."""
    with subprocess.Popen(["sleep", "600"]) as other:
        processes = [Path("/proc") / state["process"] for state in stack.states().values()]
        assert all(process.exists() for process in processes)
        done = stack.run("down")
        assert done.returncode == 0, done.stderr
        assert [process for process in processes if process.exists()] == []
        assert other.poll() is None
        other.terminate()
