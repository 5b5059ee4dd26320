"""A server process under the load of many callers for minutes: errors, latencies, and whether its memory settles.

Askers send one question after another, some of them as a stream, and look at runs in between; those who ingest send
documents, files and deletions of a collection that the others search too. The server's resident memory is sampled
every five seconds.
"""

import asyncio
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from evals.benchmarks.api import server_process
from evals.benchmarks.timing import resident_memory, spread

ASKERS, INGESTERS, MINUTES = 30, 2, 30.0
GROWTH = 1.05
"""What memory may grow by between the fifth to seventh minute and the last two."""
_SAMPLED = 5.0  # seconds
_EARLY = 5 * 60.0, 7 * 60.0
_LATE = 2 * 60.0
_PATIENCE = 300.0
_DOCUMENTS = 8  # of one request
_NAMES = 60  # documents of the collection: what comes later replaces them
_REFUSED = (429, 503)  # the server's way of saying: later


@dataclass
class Load:
    """What happened so far: seconds of each kind of request, how requests ended, and (seconds, MB) of the server."""

    taken: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


def bench_load(minutes: float = 1.0, askers: int = ASKERS, ingesters: int = INGESTERS) -> dict[str, Any]:
    """Embedded providers over the samples and what is ingested meanwhile, in a server process of its own."""
    with (
        tempfile.TemporaryDirectory() as data,
        server_process(["-m", "api", "--port", "0"], data) as (address, process),
    ):
        load = asyncio.run(under_load(address, process.pid, 60 * minutes, askers, ingesters))
        ended = process.poll()
    return {
        "minutes": minutes,
        "askers": askers,
        "ingesters": ingesters,
        "requests": sum(load.statuses.values()),
        "statuses": dict(load.statuses),
        "errors": len(load.errors),
        "first_errors": load.errors[:5],
        "server_ended": ended,
        **{k: v for name, seconds in sorted(load.taken.items()) for k, v in spread(name, seconds, "seconds").items()},
        **memory_of(load.memory),
        "memory_mb": [[round(at), round(mb)] for at, mb in load.memory],
    }


def memory_of(samples: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """The medians of minutes 5 to 7 and of the last two, and whether the second is no more than 1.05 of the first;
    `settles` is None where the load was too short to have both."""
    if not samples:
        return {"settles": None}
    end = samples[-1][0]
    early = [mb for at, mb in samples if _EARLY[0] <= at <= _EARLY[1]]
    late = [mb for at, mb in samples if at >= max(end - _LATE, _EARLY[1])]
    found: dict[str, Any] = {
        "memory_first_mb": round(samples[0][1]),
        "memory_most_mb": round(max(m for _, m in samples)),
    }
    if not early or not late:
        return found | {"memory_last_mb": round(samples[-1][1]), "settles": None}
    ratio = statistics.median(late) / statistics.median(early)
    return found | {
        "memory_minutes_5_to_7_mb": round(statistics.median(early)),
        "memory_last_minutes_mb": round(statistics.median(late)),
        "memory_ratio": round(ratio, 3),
        "settles": ratio <= GROWTH,
    }


async def under_load(address: str, pid: int, seconds: float, askers: int, ingesters: int) -> Load:
    """The load itself, on a server that is up."""
    import httpx

    load = Load()
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=address, timeout=_PATIENCE, limits=limits) as client:
        await _ingest(client, load, random.Random(0), "r")  # so that askers can name the collection
        workers = [_asks(client, load, seconds, n) for n in range(askers)]
        workers += [_ingests(client, load, seconds, n) for n in range(ingesters)]
        async with asyncio.TaskGroup() as group:
            for work in (*workers, _samples(load, pid, seconds)):
                group.create_task(work)
    return load


async def _samples(load: Load, pid: int, seconds: float) -> None:
    while load.seconds < seconds and (held := resident_memory(pid)):
        load.memory.append((load.seconds, held))
        if sys.stderr.isatty():
            done = sum(load.statuses.values())
            print(
                f"\r{load.seconds / 60:5.1f} min  {held:5.0f} MB  {done} requests", end="", file=sys.stderr, flush=True
            )
        await asyncio.sleep(_SAMPLED)


async def _asks(client: Any, load: Load, seconds: float, number: int) -> None:
    from agent.samples import sample_questions

    rng, questions = random.Random(number), list(sample_questions().values())
    for asked in itertools.count():
        if load.seconds >= seconds:
            return
        question = rng.choice(questions)
        if asked % 3:  # the others ask what was asked before
            question = f"{question.rstrip('?')} in {rng.choice(_PLACES)} in {rng.randint(1950, 2050)}?"
        body = {"question": question, "depth": "quick", "collections": ["samples", "load"], "web": False}
        match asked % 4:
            case 0:
                await _request(client, load, "ask_stream", "POST", "/v1/ask", json=body | {"stream": True})
            case 1:
                await _request(client, load, "retrieve", "POST", "/v1/retrieve", json=body)
            case _:
                await _request(client, load, "ask", "POST", "/v1/ask", json=body)
        await _request(client, load, "runs", "GET", "/v1/runs?limit=20")


async def _ingests(client: Any, load: Load, seconds: float, number: int) -> None:
    rng = random.Random(1000 + number)
    while load.seconds < seconds:
        await _ingest(client, load, rng, "abc"[number % 3])
        await asyncio.sleep(0.5)


async def _ingest(client: Any, load: Load, rng: random.Random, author: str) -> None:
    """Documents as JSON, a file, and the deletion of one of them."""
    texts = [(f"{author}{rng.randrange(_NAMES)}", _text(rng)) for _ in range(_DOCUMENTS)]
    documents = [{"id": name, "text": text, "publisher": f"Press {name}"} for name, text in dict(texts).items()]
    await _request(client, load, "documents", "POST", "/v1/collections/load/documents", json={"documents": documents})
    files = [("files", (f"{author}-{rng.randrange(_NAMES)}.md", _text(rng).encode(), "text/markdown"))]
    await _request(client, load, "files", "POST", "/v1/collections/load/files", files=files)
    gone = documents[0]["id"]
    await _request(client, load, "delete", "DELETE", f"/v1/collections/load/documents/{gone}", expected=(404,))


async def _request(
    client: Any, load: Load, name: str, method: str, path: str, expected: Sequence[int] = (), **sent: Any
) -> Any:
    """One request: counted, timed, and an error where its status is none of success, of 'later' or of `expected`."""
    import httpx

    began = time.perf_counter()
    try:
        reply = await client.request(method, path, **sent)
    except httpx.HTTPError as exc:
        load.statuses["cut off"] += 1
        load.errors.append(f"{method} {path}: {exc!r}")
        return None
    load.statuses[str(reply.status_code)] += 1
    if reply.is_success:
        load.taken.setdefault(name, []).append(time.perf_counter() - began)
        if "event: failed" in reply.text or "event: problem" in reply.text:
            load.errors.append(f"{method} {path}: {reply.text[-300:]}")
    elif reply.status_code in _REFUSED:
        await asyncio.sleep(min(2.0, float(reply.headers.get("retry-after", 1))))
    elif reply.status_code not in expected:
        load.errors.append(f"{method} {path}: {reply.status_code} {json.dumps(reply.text[:300])}")
    return reply


_PLACES = ("Norway", "Kenya", "Peru", "Vietnam", "Ohio", "Wales", "Chile", "Japan", "Ghana", "Malta", "Cuba", "Nepal")
_PARTS = (
    ("Schools", "Towns", "Hospitals", "Farmers", "Banks", "Museums", "Ports", "Courts", "Zoos", "Employers"),
    ("should ban", "should pay for", "need", "suffer from", "have no use for", "profit from", "ought to limit"),
    (
        "smartphones",
        "remote work",
        "nuclear power",
        "basic income",
        "homework",
        "tips",
        "cash",
        "cars",
        "zoos",
        "rents",
    ),
    ("since costs fell", "because children learn more", "although few asked for it", "as surveys show", "it is said"),
)


def _text(rng: random.Random) -> str:
    """A text of about 300 words that no other call makes."""
    sentences = (" ".join(rng.choice(part) for part in _PARTS) for _ in range(35))
    return " ".join(f"{sentence} in {rng.choice(_PLACES)} since {rng.randint(1900, 2020)}." for sentence in sentences)
