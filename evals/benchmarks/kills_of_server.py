"""The HTTP server under load, killed and started again: what callers were told stays so.

Callers store documents, which the embedded encoder encodes, and begin runs, whose other providers answer at once, each
under a name of its own. At a random moment the process is killed (SIGKILL) and another one is started over the same
data. At the end every document whose storing was confirmed is there once, with the text confirmed last or one that was
sent beside or after it, and found; every run that was begun has ended with an answer, one that was set aside once it is
resumed; a request that is sent again under its name finds the run that it began; and the server was ready again each
time.
"""

import asyncio
import contextlib
import math
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from evals.benchmarks.api import ENCODING_SERVER, server_process
from evals.benchmarks.stored import kill, problems_of, text_of

_CALLERS, _NAMES = 4, 40
_BEFORE_A_KILL = 12  # requests that were answered, at most
_LONGEST = 20.0  # seconds until a kill where they are not
_READY_WITHIN, _ENDED_WITHIN = 30.0, 120.0
_COLLECTION, _ASKED = "killed", 8


@dataclass
class Write:
    """A version of a document that was sent: when, and when it was over, by a reply or with its server."""

    began: float
    over: float = math.inf
    confirmed: bool = False


class Report(Protocol):
    """What `served` tells of its servers."""

    violations: list[str]
    kills: int
    slowest_ready: float


@dataclass
class Killed:
    """What callers were told, and what does not hold of it."""

    violations: list[str] = field(default_factory=list)
    sent: dict[str, list[Write]] = field(default_factory=dict)
    """By document its versions, counted from 0."""
    begun: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By the caller's name for a run its id and question."""
    answered: int = 0
    """Runs that met a kill in one stage three times."""
    kills: int = 0
    slowest_ready: float = 0.0

    @property
    def figures(self) -> dict[str, Any]:
        return {
            "kills": self.kills,
            "confirmed documents": sum(any(w.confirmed for w in writes) for writes in self.sent.values()),
            "runs begun": len(self.begun),
            "slowest ready in s": round(self.slowest_ready, 1),
        }

    def allowed(self, name: str) -> list[int]:
        """The versions of which the document may be: none that was over when one began that was confirmed then."""
        writes = self.sent[name]
        latest = max((w.began for w in writes if w.confirmed), default=-math.inf)
        return [version for version, write in enumerate(writes) if write.over >= latest]


def kill_server(kills: int, folder: Path, seed: int) -> Killed:
    """So many kills of one server's processes over the data in `folder`."""
    killed, rng = Killed(), random.Random(seed)
    server = ["-c", ENCODING_SERVER]
    for _ in range(kills):
        with served(server, folder, killed) as (address, process):
            asyncio.run(_load(address, partial(kill_served, process, folder, killed), killed, rng))
    with served(server, folder, killed) as (address, _):
        asyncio.run(_checked(address, killed))
    texts = {name: [text_of(name, version) for version in killed.allowed(name)] for name in killed.sent}
    unsure = {name for name, writes in killed.sent.items() if not any(w.confirmed for w in writes)}
    if texts:
        asked = rng.sample(sorted(texts), min(_ASKED, len(texts)))
        killed.violations += problems_of(folder, _COLLECTION, texts, asked, unsure)
    return killed


@contextlib.contextmanager
def served(
    arguments: Sequence[str], folder: Path, report: Report, within: float = _READY_WITHIN
) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A server over the data that is ready; not being so in time is a violation, and so is a logged traceback."""
    import httpx

    with server_process(arguments, str(folder)) as (address, process):
        began, ready = time.monotonic(), False
        while not ready and time.monotonic() < began + within:
            with contextlib.suppress(httpx.HTTPError):
                ready = httpx.get(f"{address}/readyz", timeout=5).status_code == 200
            time.sleep(0.02)
        if not ready:
            report.violations.append(f"not ready within {within:.0f} s after {report.kills} kills")
        report.slowest_ready = max(report.slowest_ready, time.monotonic() - began)
        yield address, process
    if "Traceback" in (said := _log(folder)):
        report.violations.append(
            f"a server logged after {report.kills} kills: {said[said.index('Traceback') :][-800:]}"
        )


def kill_served(process: "subprocess.Popen[bytes]", folder: Path, report: Report) -> None:
    """Kills the server and counts it; one that has ended by itself is a violation."""
    if kill(process):
        report.kills += 1
    else:
        said = _log(folder)[-500:]
        report.violations.append(
            f"the server ended by itself ({process.returncode}) after {report.kills} kills: {said}"
        )


def _log(folder: Path) -> str:
    return (folder / "server.log").read_text(encoding="utf-8", errors="replace")


async def _load(address: str, end: Callable[[], None], killed: Killed, rng: random.Random) -> None:
    """Callers at work until the process is killed under them."""
    import httpx

    async with httpx.AsyncClient(base_url=address, timeout=30) as client:
        callers = [asyncio.create_task(_calls(client, killed, random.Random(rng.random()))) for _ in range(_CALLERS)]
        wanted = killed.answered + rng.randint(0, _BEFORE_A_KILL)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST):
                while killed.answered < wanted:
                    await asyncio.sleep(0.01)
        await asyncio.sleep(rng.uniform(0.0, 0.3))
        end()
        await asyncio.gather(*callers)
    now = time.monotonic()
    for write in (w for writes in killed.sent.values() for w in writes):
        write.over = min(write.over, now)


async def _calls(client: Any, killed: Killed, rng: random.Random) -> None:
    import httpx

    with contextlib.suppress(httpx.HTTPError):  # the server is gone
        while True:
            await (_stores if rng.random() < 0.5 else _asks)(client, killed, rng)
            killed.answered += 1


async def _stores(client: Any, killed: Killed, rng: random.Random) -> None:
    """Documents under names that others replace at the same time."""
    names = [f"d{n}" for n in rng.sample(range(_NAMES), 3)]
    documents = [{"id": name, "text": text_of(name, len(killed.sent.get(name, ())))} for name in names]
    writes = [Write(time.monotonic()) for _ in names]
    for name, write in zip(names, writes, strict=True):
        killed.sent.setdefault(name, []).append(write)
    reply = await client.post(f"/v1/collections/{_COLLECTION}/documents", json={"documents": documents})
    if reply.status_code == 200:
        for write in writes:
            write.over, write.confirmed = time.monotonic(), True
    elif reply.status_code not in (409, 429, 503):
        killed.violations.append(f"documents: {reply.status_code} {reply.text[:200]}")


async def _asks(client: Any, killed: Killed, rng: random.Random) -> None:
    name = f"run-{rng.randrange(2**40):x}"
    question = f"Should towns build bridge number {rng.randrange(1000)}?"
    reply = await _ask(client, name, question)
    if reply.status_code in (200, 202):
        body = reply.json()
        killed.begun[name] = body.get("id") or body["run_id"], question
    elif reply.status_code not in (429, 503):
        killed.violations.append(f"ask: {reply.status_code} {reply.text[:200]}")


async def _ask(client: Any, name: str, question: str) -> Any:
    body = {"question": question, "depth": "quick", "web": False, "wait_seconds": 0, "deadline_seconds": 300}
    return await client.post("/v1/ask", json=body, headers={"Idempotency-Key": name})


async def _checked(address: str, killed: Killed) -> None:
    import httpx

    async with httpx.AsyncClient(base_url=address, timeout=60) as client:
        await _check_runs(client, killed)


async def _check_runs(client: Any, killed: Killed) -> None:
    give_up = time.monotonic() + _ENDED_WITHIN
    for name, (run_id, question) in killed.begun.items():
        run = await _ended(client, run_id, give_up)
        if run.get("abandoned"):  # killed more than once, and so left to a person
            await client.post(f"/v1/runs/{run_id}/resume", json={})
            run = await _ended(client, run_id, give_up)
        if run.get("status") != "done":
            killed.violations.append(f"run {run_id} is {run.get('status')} ({run.get('error')})")
        again = await _ask(client, name, question)
        body = again.json()
        if (found := body.get("id") or body.get("run_id")) != run_id:
            killed.violations.append(
                f"{name} began run {run_id}, and the same request again is {found or again.text[:200]}"
            )


async def _ended(client: Any, run_id: str, give_up: float) -> Any:
    """The run once nobody works on it any more, or as it is when the time is up."""
    run = (await client.get(f"/v1/runs/{run_id}")).json()
    while run.get("status") == "running" and time.monotonic() < give_up:
        await asyncio.sleep(0.2)
        run = (await client.get(f"/v1/runs/{run_id}")).json()
    return run
