"""Expand: a first search for the bare question, then the perspectives that it and the question's words suggest."""

import asyncio
from collections.abc import Sequence

from langgraph.runtime import Runtime

from agent.deadlines import in_time
from agent.evidence.eligible import eligible
from agent.nodes.stage import Stage, report, timed
from agent.options import RunOptions, options_of
from agent.seams import Providers
from agent.state import Failure, Perspective, RunState, asked_query
from tools.errors import DeadlineError, ProviderDownError
from tools.passages import Passage


def node(providers: Providers) -> Stage[RunState]:
    async def expand(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        framing, options = state["framing"], options_of(runtime)
        ids: list[int] = []
        perspectives: list[Perspective] = []
        failures: list[Failure] = []
        try:
            ids = await in_time(options, "expand", _first_pass(providers, asked_query(framing), options))
            passages = await asyncio.to_thread(providers.store.passages, ids)
            ranked = [passages[i] for i in ids if i in passages]
            perspectives = await in_time(options, "expand", _perspectives(providers, state, ranked))
        except DeadlineError as exc:
            if not ids and (elsewhere := providers.searched_elsewhere()):
                raise ProviderDownError(f"{elsewhere} did not answer in time. Try again when it does.") from exc
            failures = [Failure(stage="expand", message=f"The sides could not be planned: {exc}", kind="late")]
        planned = [{"id": p["id"], "name": p["name"], "statement": p["statement"]} for p in perspectives]
        report(runtime, "sides", sides=planned)
        return RunState(perspectives=perspectives, first_pass=ids, failures=failures)

    return timed("expand", expand)


async def _perspectives(providers: Providers, state: RunState, passages: Sequence[Passage]) -> list[Perspective]:
    """The perspectives of the question; of one that wants a claim argued against only the perspective that contradicts
    it."""
    contrary = state["against"]["contrary"] if "against" in state else None
    return [contrary] if contrary else await providers.expander.expand(state["framing"], passages)


async def _first_pass(providers: Providers, query: str, options: RunOptions) -> list[int]:
    vector = (await providers.models.encode_queries([query]))[0]
    hits = await asyncio.to_thread(providers.search.search, query, vector, options.collections, options.pool)
    passages = await asyncio.to_thread(providers.store.passages, [h.passage_id for h in hits])
    found = await asyncio.to_thread(eligible, [h.passage_id for h in hits], passages, query)
    return found.ids
