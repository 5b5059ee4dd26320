"""Retrieve: one branch a perspective, its queries in the store side by side, fused into one ranking."""

import asyncio

from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, report, timed
from agent.options import RunOptions
from agent.providers import Providers
from agent.state import BranchState, Failure, RunState
from tools.errors import SteelmanError
from tools.hybrid import Hit, fuse

TOO_FAR = 0.25
"""Cosine to the statement below which a passage is about something else and is not worth judging."""


def node(providers: Providers) -> Stage[BranchState]:
    async def retrieve(state: BranchState, runtime: Runtime[RunOptions]) -> RunState:
        side, queries = state["perspective"], state["queries"]
        report(runtime, "searching", side=side["id"], queries=queries)
        try:
            ids = await _search(providers, side["statement"], queries, runtime.context)
        except SteelmanError as exc:
            failure = Failure(stage="search", message=f"The search for '{side['name']}' failed: {exc}")
            return RunState(failures=[failure], queries={side["id"]: queries}, found={side["id"]: []})
        report(runtime, "found", side=side["id"], passages=len(ids))
        return RunState(queries={side["id"]: queries}, found={side["id"]: ids})

    return timed("search", retrieve)


async def _search(providers: Providers, statement: str, queries: list[str], options: RunOptions) -> list[int]:
    vectors = await providers.models.encode([statement, *queries])
    searches = (
        asyncio.to_thread(providers.search.search, q, v, options.collections, options.pool)
        for q, v in zip(queries, vectors[1:], strict=True)
    )
    results: list[list[Hit]] = await asyncio.gather(*searches)
    ids = [i for i, _ in fuse([[h.passage_id for h in hits] for hits in results])][: options.pool]
    stored = await asyncio.to_thread(providers.store.vectors, ids)
    return [i for i in ids if i in stored and float(stored[i] @ vectors[0]) >= TOO_FAR]
