"""How long a run takes over servers that take a second a call, against its longest chain of dependent calls."""

import asyncio
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from evals.benchmarks.slow_servers import QUESTION, SlowServers, slow_servers

_SECONDS = 1.0
_ROUNDS = 3


def bench_chain() -> dict[str, Any]:
    """Every stage at a server: chat model, /score judge, search engine and pages; two rounds of search."""
    rounds = [_run() for _ in range(_ROUNDS)]
    _, chain, calls = sorted(rounds, key=lambda r: r[0])[len(rounds) // 2]
    return {
        "seconds": round(statistics.median(r[0] for r in rounds), 2),
        "chain_seconds": len(chain) * _SECONDS,
        "ratio": round(statistics.median(r[0] / (len(r[1]) * _SECONDS) for r in rounds), 3),
        "calls": calls,
        "chain": [f"{what} at {began:.1f} s" for what, began in chain],
    }


def _run() -> tuple[float, list[tuple[str, float]], int]:
    with tempfile.TemporaryDirectory() as data, slow_servers(_SECONDS) as slow:
        seconds = asyncio.run(_ask(Path(data), slow))
        return seconds, slow.chain(), len(slow.calls)


async def _ask(data: Path, slow: SlowServers) -> float:
    from agent.options import RunOptions
    from agent.providers.build import build_providers
    from agent.providers.websearch import WebSearch
    from agent.runs.service import Runs
    from agent.seams import Providers
    from agent.settings import load_settings
    from tools.store.store import Store
    from tools.web.fetch import PageFetcher
    from tools.web.tavily import Tavily

    settings = load_settings(
        data_dir=data,
        openai_base_url=f"{slow.root}/v1",
        model="slow",
        judge="score",
        judge_url=slow.root,
        judge_model="slow",
        web="tavily",
        tavily_api_key="tvly-slow",
    )

    def build(_: object, store: Store) -> Providers:
        made = build_providers(settings, store)
        assert isinstance(made.web, WebSearch)  # the settings turn it on
        fetcher = PageFetcher(permit=lambda ip: ip == "127.0.0.1", ports=range(1, 65536), concurrency=32)
        return replace(made, web=replace(made.web, engine=Tavily("tvly-slow", slow.root), fetcher=fetcher))

    nothing_stored = RunOptions.of(collections=("empty",), deadline_seconds=120.0)
    async with Runs(settings, build) as runs:
        await asyncio.to_thread(runs.store.ensure_collection, "empty", runs.providers.search.encoder.name)
        await runs.providers.models.encode(["warm"])
        slow.began = began = time.monotonic()
        answer = await runs.answer(await runs.start(QUESTION, nothing_stored))
        seconds = time.monotonic() - began
        assert answer.outcome == "answered", answer.notes
        assert not any(n.kind in ("failed", "degraded") for n in answer.notes), answer.notes
        await runs.providers.web.fetcher.aclose()  # type: ignore[union-attr]  # built above
    return seconds
