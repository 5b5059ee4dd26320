"""The HTTP service under load: fifty questions at once, and what the HTTP layer adds."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.benchmarks.timing import peak_memory, spread
from tools.errors import ModelError

_ROOT = Path(__file__).parents[2]
_AT_ONCE, _INSTANT = 50, 60
_SECONDS, _STARTING_SECONDS = 900.0, 300.0
INSTANT_SERVER = """
import sys
from agent.runs.service import Runs
from agent.settings import load_settings
from api.serving import serve
from evals.benchmarks.instant import instant_providers

settings = load_settings(api_port=0, api_rate="100000/minute")
serve(settings, lambda: Runs(settings, instant_providers, max_concurrent=settings.api_runs))
"""


@dataclass(frozen=True)
class _Reply:
    """status; seconds to the first event and to the end; the answer."""

    status: int
    first: float
    whole: float
    answer: dict[str, Any] | None


def bench_api() -> dict[str, Any]:
    """Embedded providers over the samples, a server process of its own.

    alone: one question after another. at once: fifty, at another server that has not met them, whose claims and sources
    are compared with those of the questions asked alone. instant: over providers that answer at once, the milliseconds
    of an ask over HTTP, and those that the agent did not take of them.
    """
    questions = _questions()
    with (
        tempfile.TemporaryDirectory() as data,
        server_process(["-m", "api", "--port", "0"], data) as (address, process),
    ):
        alone = asyncio.run(_one_by_one(address, questions))
        peak_alone = round(peak_memory(process.pid))
    with (
        tempfile.TemporaryDirectory() as data,
        server_process(["-m", "api", "--port", "0"], data) as (address, process),
    ):
        together = asyncio.run(_all_at_once(address, [questions[i % len(questions)] for i in range(_AT_ONCE)]))
        peak = round(peak_memory(process.pid))
    return {
        **spread("alone_first_event_ms", [1000 * r.first for r in alone]),
        **spread("alone_seconds", [r.whole for r in alone]),
        "alone_peak_memory_mb": peak_alone,
        "at_once": _AT_ONCE,
        "answered": sum(r.answer is not None for r in together),
        "other_than_alone": _different(together, alone),
        **spread("at_once_first_event_ms", [1000 * r.first for r in together if r.status == 200]),
        **spread("at_once_seconds", [r.whole for r in together if r.status == 200]),
        "peak_memory_mb": peak,
        **bench_instant(),
    }


def bench_instant() -> dict[str, float]:
    """Milliseconds of an ask over HTTP to a server whose providers answer at once; what HTTP adds to the agent's own
    time, which the reply tells (Server-Timing), each ask by itself."""
    with tempfile.TemporaryDirectory() as data, server_process(["-c", INSTANT_SERVER], data) as (address, _):
        taken = asyncio.run(_whole_answers(address))
    return {
        **spread("instant_http_ms", [whole for whole, _ in taken]),
        **spread("instant_added_ms", [whole - agent for whole, agent in taken]),
    }


def _questions() -> list[str]:
    from agent.samples import sample_questions

    return list(sample_questions().values())


@contextmanager
def server_process(arguments: Sequence[str], data: str) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A server process on a free port: its address, once it listens. What it logs goes into a file beside the data."""
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "TZ", "HOME") if name in os.environ}
    environment |= {"STEELMAN_DATA_DIR": data, "STEELMAN_API_RATE": "100000/minute"}
    log = Path(data) / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, *arguments], cwd=_ROOT, env=environment, stderr=out)
    try:
        yield _address(process, log), process
    finally:
        process.terminate()
        process.wait()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    give_up = time.monotonic() + _STARTING_SECONDS
    while process.poll() is None and time.monotonic() < give_up:
        if found := re.search(r"listens on (http://[\d.]+:\d+)", log.read_text()):
            return found[1]
        time.sleep(0.1)
    raise ModelError(f"the server did not start: {log.read_text()[-500:]}")


async def _one_by_one(address: str, questions: Sequence[str]) -> list[_Reply]:
    import httpx

    async with httpx.AsyncClient(base_url=address, timeout=_SECONDS) as client:
        return [await _ask(client, question) for question in questions]


async def _all_at_once(address: str, questions: Sequence[str]) -> list[_Reply]:
    import httpx

    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=address, timeout=_SECONDS, limits=limits) as client:
        return list(await asyncio.gather(*(_ask(client, question) for question in questions)))


async def _ask(client: Any, question: str) -> _Reply:
    began, first, answer = time.perf_counter(), 0.0, None
    async with client.stream("POST", "/v1/ask", json={"question": question, "stream": True}) as reply:
        async for line in reply.aiter_lines():
            if line.startswith("event:") and not first:
                first = time.perf_counter() - began
            if line.startswith("data:") and '"answer"' in line:
                answer = json.loads(line[5:])["answer"]
        return _Reply(reply.status_code, first, time.perf_counter() - began, answer)


def _different(replies: Sequence[_Reply], alone: Sequence[_Reply]) -> int:
    """How many answers say or cite something else than the same question does when it is asked alone."""
    expected = {r.answer["question"]: _content(r.answer) for r in alone if r.answer}
    return sum(r.answer is None or _content(r.answer) != expected[r.answer["question"]] for r in replies)


def _content(answer: dict[str, Any]) -> list[Any]:
    sides = [(s["statement"], [(c["text"], c["citations"]) for c in s["claims"]]) for s in answer["perspectives"]]
    return [sides, [c["document_id"] for c in answer["citations"]]]


async def _whole_answers(address: str) -> list[tuple[float, float]]:
    """Milliseconds of each ask and of the agent's part in it, after the first few."""
    import httpx

    taken = []
    async with httpx.AsyncClient(base_url=address, timeout=_SECONDS) as client:
        for _ in range(_INSTANT):
            began = time.perf_counter()
            reply = await client.post("/v1/ask", json={"question": "Should towns build bridges?"})
            reply.json()
            whole = 1000 * (time.perf_counter() - began)
            taken.append((whole, float(reply.headers["server-timing"].partition("dur=")[2])))
    return taken[_INSTANT // 6 :]
