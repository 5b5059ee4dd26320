"""Questions to the whole stack while its services are killed, restarted and without a database, and its answers beside
those of one process. STEELMAN_WHOLE_STACK=1 asks as many questions, and kills for as long, as docs/scale.md says."""

import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import pytest
from api_on_loopback import sent_events
from conftest import ROOT
from server_process import server_process
from test_scripts_stack import Stack, stack

__all__ = ["stack"]  # the fixture; this module starts a stack of its own
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

QUESTIONS = list(json.loads((ROOT / "samples" / "questions.json").read_text()).values())
_WHOLE = bool(os.environ.get("STEELMAN_WHOLE_STACK"))
_COMPARED, _DURING_KILLS, _KILLING_SECONDS, _PAUSE = (50, 60, 180, 20) if _WHOLE else (12, 16, 21, 10)
_PATIENCE = 600  # seconds


class Asker:
    """A client that sends a request again until it is answered, and reconnects to its run's events."""

    def __init__(self, stack: Stack, key: str = "") -> None:
        self._stack, self.problems = stack, list[str]()
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}

    def ask(self, question: str, name: str) -> dict[str, Any]:
        """Asks, follows the events to their end, and returns the run. name: the idempotency key."""
        with self._stack.client() as client:
            client.headers.update(self.headers)
            body = {"question": question, "wait_seconds": 0, "web": False}
            sent = self._insist(lambda: client.post("/v1/ask", json=body, headers={"Idempotency-Key": name}), 202)
            run = sent.json()["id"]
            self._follow(client, run)
            return dict(self._insist(lambda: client.get(f"/v1/runs/{run}"), 200).json())

    def _insist(self, send: Callable[[], httpx.Response], status: int) -> httpx.Response:
        give_up = time.monotonic() + _PATIENCE
        while time.monotonic() < give_up:
            with suppress(httpx.TransportError):
                reply = send()
                if reply.status_code == status:
                    return reply
                assert reply.status_code in (429, 502, 503, 504), reply.text
                if reply.status_code == 503:
                    assert reply.headers["retry-after"], reply.text
                self.problems.append(f"{reply.status_code} {reply.text[:200]}")
            time.sleep(0.5)
        raise AssertionError("no reply")

    def _follow(self, client: httpx.Client, run: str) -> None:
        """Checks that each event comes once and in order, over as many connections as it takes."""
        seen, give_up = 0, time.monotonic() + _PATIENCE
        while time.monotonic() < give_up:
            with suppress(httpx.TransportError, AssertionError):  # a cut stream ends within an event
                headers = {"Last-Event-ID": str(seen)}
                with client.stream("GET", f"/v1/runs/{run}/events", headers=headers) as reply:
                    for event in sent_events(reply.iter_lines()):
                        if event.id is None:
                            break
                        if event.id != seen + 1:
                            self.problems.append(f"event {event.id} after {seen}")
                        seen = event.id
                        if event.event in ("done", "failed", "cancelled"):
                            return
            time.sleep(0.5)
        raise AssertionError("no end")


def ask_all(asker: Asker, questions: Sequence[str], prefix: str) -> list[dict[str, Any]]:
    with ThreadPoolExecutor(len(questions)) as pool:
        return list(pool.map(lambda n: asker.ask(questions[n], f"{prefix}-{n}"), range(len(questions))))


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=work)
    thread.start()
    yield thread
    thread.join()


def unanswered(runs: Sequence[dict[str, Any]]) -> list[Any]:
    return [(run["question"], run["status"], run["error"]) for run in runs if not run["answer"]]


def gist(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer's perspectives, quotations with their sources, counts, and documents with a side.

    Documents and sentences without a side are left out: the dense index is approximate, and two builds of it differ in
    the last passages that they find.
    """
    titles = {citation["number"]: (citation["title"], citation["quote"]) for citation in answer["citations"]}

    def told(claims: list[dict[str, Any]]) -> list[tuple[str, list[Any]]]:
        return [(claim["text"], [titles[number] for number in claim["citations"]]) for claim in claims]

    return {
        "sides": [(p["name"], p["statement"], p["status"], told(p["claims"])) for p in answer["perspectives"]],
        "coverage": [(c["perspective"], c["status"], c["passages"], c["sources"]) for c in answer["coverage"]],
        "documents": sorted((d["title"], len(d["quoted"])) for d in answer["documents"] if d["stances"]),
    }


def test_the_stack_answers_as_one_process_does(stack: Stack, tmp_path: Any) -> None:
    questions = (QUESTIONS + [f"Some people want this. {q}" for q in QUESTIONS[:20]])[:_COMPARED]
    several = [gist(run["answer"]) for run in ask_all(Asker(stack), questions, "same")]
    alone = server_process(["-m", "api", "--port", "0"], str(tmp_path), STEELMAN_DEADLINE="600")
    with alone as (address, _), httpx.Client(base_url=address, timeout=300) as client:
        bodies = ({"question": question, "web": False} for question in questions)
        one = [gist(client.post("/v1/ask", json=body).json()) for body in bodies]
    assert [pair for pair in zip(several, one, strict=True) if pair[0] != pair[1]] == []


def test_a_rolling_restart_shows_no_error(stack: Stack) -> None:
    def restart() -> None:
        for name in ("api-1", "worker-1", "api-2", "worker-2"):
            stack.run("restart", name)

    asker = Asker(stack)
    with meanwhile(restart) as restarting:
        while restarting.is_alive():
            assert unanswered(ask_all(asker, random.sample(QUESTIONS, 4), f"rolling-{time.monotonic()}")) == []
    assert asker.problems == []


def test_without_a_database_for_ten_seconds_nothing_is_lost(stack: Stack) -> None:
    def stop() -> None:
        time.sleep(3)
        give_up = time.monotonic() + 10
        while time.monotonic() < give_up:
            with suppress(Exception):
                stack.control("kill", "postgres")
            time.sleep(0.2)

    asker = Asker(stack)
    with meanwhile(stop):
        assert unanswered(ask_all(asker, QUESTIONS[:12], f"outage-{time.monotonic()}")) == []
    assert not [problem for problem in asker.problems if not problem.startswith("503")]


def test_questions_outlive_killed_servers_and_workers(stack: Stack) -> None:
    ann, bob = (Asker(stack, stack.key(f"{name}-{time.monotonic()}")) for name in ("ann", "bob"))
    over = threading.Event()

    def kill() -> None:
        began, number = time.monotonic(), 0
        try:
            while time.monotonic() - began < _KILLING_SECONDS:
                time.sleep(_PAUSE)
                for service in ("api", "worker"):
                    stack.control("kill", f"{service}-{number % 2 + 1}")
                number += 1
        finally:
            over.set()

    def keep_asking(asker: Asker, name: str) -> list[dict[str, Any]]:
        """Asks until the kills are over."""
        found = ask_all(asker, QUESTIONS[: _DURING_KILLS // 2], name)
        while not over.is_set():
            found += ask_all(asker, QUESTIONS[: _DURING_KILLS // 2], f"{name}-{len(found)}")
        return found

    with meanwhile(kill), ThreadPoolExecutor(2) as pool:
        halves = pool.submit(keep_asking, ann, "ann"), pool.submit(keep_asking, bob, "bob")
        of_ann, of_bob = (half.result() for half in halves)
    assert unanswered(of_ann) == []
    assert unanswered(of_bob) == []
    assert not [p for asker in (ann, bob) for p in asker.problems if p.startswith("event")]
    for asker, own, others in ((ann, of_ann, of_bob), (bob, of_bob, of_ann)):
        for base in stack.apis():
            again = httpx.HTTPTransport(retries=8)  # the last killed server may still be starting
            with httpx.Client(base_url=base, headers=asker.headers, timeout=60, transport=again) as client:
                listed = {run["id"] for run in client.get("/v1/runs?limit=100").json()["runs"]}
                assert listed <= {run["id"] for run in own}
                assert len(listed) == min(len(own), 100)
                for path in ("", "/events", "/passages"):
                    assert client.get(f"/v1/runs/{others[0]['id']}{path}").status_code == 404
