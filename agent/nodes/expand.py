"""Expand: a first search for the bare question, then the sides that it and the question's words suggest."""

import asyncio

from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, report, timed
from agent.options import RunOptions
from agent.providers import Providers
from agent.state import RunState


def node(providers: Providers) -> Stage[RunState]:
    async def expand(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        framing, options = state["framing"], runtime.context
        query = " ".join(filter(None, [framing["neutral"], framing["focus"]]))
        vector = (await providers.models.encode([query]))[0]
        hits = await asyncio.to_thread(providers.search.search, query, vector, options.collections, options.pool)
        ids = [h.passage_id for h in hits]
        passages = await asyncio.to_thread(providers.store.passages, ids)
        sides = await providers.expander.expand(framing, [passages[i] for i in ids if i in passages])
        report(runtime, "sides", sides=[{"id": p["id"], "name": p["name"], "statement": p["statement"]} for p in sides])
        return RunState(perspectives=sides, first_pass=ids)

    return timed("expand", expand)
