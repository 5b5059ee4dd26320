"""Select: for each side a few passages to write from: those that support it best, from as many independent sources as
there are, then the best of what was found for it."""

import asyncio
from collections.abc import Sequence

from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, timed
from agent.options import RunOptions, options_of
from agent.providers import Providers
from agent.state import RunState
from tools.passages import Passage

_ON_FOCUS = 10  # passages, of all sides together, that a focused follow-up is written from
_MORE = 16  # passages beyond the number of claims, since not every passage holds a sentence that stands alone


def node(providers: Providers) -> Stage[RunState]:
    async def select(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        coverage, found = state["coverage"], state.get("found", {})
        candidates = {side: list(dict.fromkeys([*c["ids"], *found.get(side, [])])) for side, c in coverage.items()}
        passages = await asyncio.to_thread(providers.store.passages, {i for ids in candidates.values() for i in ids})
        limit = options_of(runtime).claims_per_side + _MORE
        if focus := state["framing"]["focus"]:
            nearest = await _nearest(providers, focus, list(passages), _ON_FOCUS)
            passages = {i: p for i, p in passages.items() if i in nearest}
        chosen = {}
        for side, ids in candidates.items():
            supporting = independent_first([passages[i] for i in coverage[side]["ids"] if i in passages])
            # A passage too mixed to count as a whole may still hold a sentence that argues for the side.
            others = [i for i in ids if i in passages and i not in supporting]
            chosen[side] = [*supporting, *others][:limit]
        return RunState(chosen=chosen)

    return timed("select", select)


async def _nearest(providers: Providers, focus: str, ids: list[int], limit: int) -> set[int]:
    """The passages nearest to what a follow-up asks about: 'what about the cost?' is answered from those on cost."""
    vector = (await providers.models.encode_queries([focus]))[0]
    stored = await asyncio.to_thread(providers.store.vectors, ids)
    return set(sorted(stored, key=lambda i: (-float(stored[i] @ vector), i))[:limit])


def independent_first(passages: Sequence[Passage]) -> list[int]:
    """Ids in order of support, reordered so that each source comes once before any source comes again."""
    turns: dict[str, int] = {}
    keyed = []
    for rank, passage in enumerate(passages):
        turn = turns.get(passage.source, 0)
        turns[passage.source] = turn + 1
        keyed.append((turn, rank, passage.id))
    return [i for _, _, i in sorted(keyed)]
