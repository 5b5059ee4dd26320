"""Retrieve: one branch a perspective, its queries in the store side by side, fused into one ranking."""

import asyncio
import time

from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, in_time, report, timed
from agent.options import RunOptions, options_of
from agent.providers import Providers
from agent.routing import searching_time_left
from agent.state import BranchState, Failure, RunState
from tools.errors import DeadlineError, SteelmanError
from tools.hybrid import Hit, fuse

TOO_FAR = 0.25
"""Cosine to the statement below which a passage is about something else and is not worth judging."""


def node(providers: Providers) -> Stage[BranchState]:
    async def retrieve(state: BranchState, runtime: Runtime[RunOptions]) -> RunState:
        side, queries = state["perspective"], state["queries"]
        report(runtime, "searching", side=side["id"], queries=queries)
        ids: list[int] = []
        problems: list[SteelmanError] = []
        try:
            ids, problems = await _search(providers, side["statement"], queries, options_of(runtime))
        except SteelmanError as exc:
            problems = [exc]
        report(runtime, "found", side=side["id"], passages=len(ids))
        failures = [
            Failure(stage="search", message=f"A search for '{side['name']}' failed: {problem}")
            for problem in dict.fromkeys(map(str, problems))
        ]
        return RunState(queries={side["id"]: queries}, found={side["id"]: ids}, failures=failures)

    return timed("search", retrieve)


async def _search(
    providers: Providers, statement: str, queries: list[str], options: RunOptions
) -> tuple[list[int], list[SteelmanError]]:
    """Passage ids, best first, from the queries that were answered in time, and what became of the others."""
    vectors = await in_time(options, "search", providers.models.encode([statement, *queries]))
    searches = [
        asyncio.create_task(asyncio.to_thread(providers.search.search, q, v, options.collections, options.pool))
        for q, v in zip(queries, vectors[1:], strict=True)
    ]
    results, problems = await _collect(searches, searching_time_left(options, time.time()))
    ids = [i for i, _ in fuse([[h.passage_id for h in hits] for hits in results])][: options.pool]
    stored = await asyncio.to_thread(providers.store.vectors, ids)
    return [i for i in ids if i in stored and float(stored[i] @ vectors[0]) >= TOO_FAR], problems


async def _collect(
    searches: list[asyncio.Task[list[Hit]]], seconds: float
) -> tuple[list[list[Hit]], list[SteelmanError]]:
    try:
        await asyncio.wait(searches, timeout=None if seconds == float("inf") else max(0.0, seconds))
    finally:
        late = [s for s in searches if s.cancel()]
    problems: list[SteelmanError] = [DeadlineError("the time for it was used up.") for _ in late]
    results = []
    for search in searches:
        if search in late:
            continue
        try:
            results.append(search.result())
        except SteelmanError as exc:
            problems.append(exc)
    return results, problems
