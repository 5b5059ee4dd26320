"""The HTTP server under load, killed and started again: what callers were told stays so.

Callers store documents and begin runs, each under a name of its own. At a random moment the process is killed (SIGKILL)
and another one is started over the same data. At the end every document whose storing was confirmed is there once, with
the text confirmed last or one that was sent after it; every run that was begun has ended with an answer; a request that
is sent again under its name finds the run that it began; and the server was ready again each time.
"""

import asyncio
import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.benchmarks.api import INSTANT_SERVER, server_process

_CALLERS, _NAMES = 4, 40
_BEFORE_A_KILL = 12  # requests that were answered, at most
_LONGEST = 20.0  # seconds until a kill where they are not
_READY_WITHIN, _ENDED_WITHIN = 30.0, 120.0
_GONE = "gone"


@dataclass
class Killed:
    """What callers were told, and what does not hold of it."""

    violations: list[str] = field(default_factory=list)
    sent: dict[str, list[int]] = field(default_factory=dict)
    """By document the versions that were sent, oldest first."""
    confirmed: dict[str, int] = field(default_factory=dict)
    """By document the version that was confirmed last."""
    begun: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By the caller's name for a run its id and question."""
    answered: int = 0
    kills: int = 0
    slowest_ready: float = 0.0

    @property
    def figures(self) -> dict[str, Any]:
        return {
            "kills": self.kills,
            "confirmed documents": len(self.confirmed),
            "runs begun": len(self.begun),
            "slowest ready in s": round(self.slowest_ready, 1),
        }


def kill_server(kills: int, folder: Path, seed: int) -> Killed:
    """So many kills of one server's processes over the data in `folder`."""
    killed, rng = Killed(), random.Random(seed)
    for _ in range(kills):
        with _served(folder, killed) as (address, pid):
            asyncio.run(_load(address, pid, killed, rng))
        killed.kills += 1
    with _served(folder, killed) as (address, _):
        asyncio.run(_checked(address, killed))
    return killed


@contextlib.contextmanager
def _served(folder: Path, killed: Killed) -> Iterator[tuple[str, int]]:
    """A server over the data that is ready; not being so in time is a violation."""
    import httpx

    with server_process(["-c", INSTANT_SERVER], str(folder)) as (address, process):
        began, ready = time.monotonic(), False
        while not ready and time.monotonic() < began + _READY_WITHIN:
            with contextlib.suppress(httpx.HTTPError):
                ready = httpx.get(f"{address}/readyz", timeout=5).status_code == 200
        if not ready:
            killed.violations.append(f"not ready within {_READY_WITHIN:.0f} s after {killed.kills} kills")
        killed.slowest_ready = max(killed.slowest_ready, time.monotonic() - began)
        yield address, process.pid


async def _load(address: str, pid: int, killed: Killed, rng: random.Random) -> None:
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
        os.kill(pid, signal.SIGKILL)
        await asyncio.gather(*callers)


async def _calls(client: Any, killed: Killed, rng: random.Random) -> None:
    import httpx

    with contextlib.suppress(httpx.HTTPError):  # the server is gone
        while True:
            await (_stores if rng.random() < 0.5 else _asks)(client, killed, rng)
            killed.answered += 1


async def _stores(client: Any, killed: Killed, rng: random.Random) -> None:
    """Documents under names that others replace at the same time; a version is how often its sentence stands there."""
    names = rng.sample(range(_NAMES), 3)
    versions = {f"d{n}": 1 + sum(map(len, killed.sent.values())) + i for i, n in enumerate(names)}
    for name, version in versions.items():
        killed.sent.setdefault(name, []).append(version)
    documents = [{"id": n, "title": f"version {v}", "text": f"A bridge of {v} arches."} for n, v in versions.items()]
    reply = await client.post("/v1/collections/killed/documents", json={"documents": documents})
    if reply.status_code == 200:
        for name, version in versions.items():
            killed.confirmed[name] = max(version, killed.confirmed.get(name, 0))
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
        await _check_documents(client, killed)
        await _check_runs(client, killed)


async def _check_documents(client: Any, killed: Killed) -> None:
    reply = await client.get("/v1/collections/killed/documents", params={"limit": 1000})
    stored = reply.json()["documents"] if reply.status_code == 200 else []
    counted = Counter(d["id"] for d in stored)
    killed.violations += [f"{name} is stored {n} times" for name, n in counted.items() if n > 1]
    titles = {d["id"]: d["title"] for d in stored}
    for name, version in killed.confirmed.items():
        # What was sent beside it may have been stored before or after it.
        allowed = {f"version {v}" for v in killed.sent[name] if v >= version - _CALLERS * 3}
        if titles.get(name, _GONE) not in allowed:
            killed.violations.append(f"{name} was confirmed as version {version} and is '{titles.get(name, _GONE)}'")


async def _check_runs(client: Any, killed: Killed) -> None:
    give_up = time.monotonic() + _ENDED_WITHIN
    for name, (run_id, question) in killed.begun.items():
        run = (await client.get(f"/v1/runs/{run_id}")).json()
        while run.get("status") == "running" and time.monotonic() < give_up:
            await asyncio.sleep(0.2)
            run = (await client.get(f"/v1/runs/{run_id}")).json()
        if run.get("status") != "done":
            killed.violations.append(f"run {run_id} is {run.get('status')} ({run.get('error')})")
        again = await _ask(client, name, question)
        body = again.json()
        if (found := body.get("id") or body.get("run_id")) != run_id:
            killed.violations.append(
                f"{name} began run {run_id}, and the same request again is {found or again.text[:200]}"
            )
