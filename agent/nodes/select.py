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

_MORE = 16  # passages beyond the number of claims, since not every passage holds a sentence that stands alone


def node(providers: Providers) -> Stage[RunState]:
    async def select(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        coverage, found = state["coverage"], state.get("found", {})
        candidates = {side: list(dict.fromkeys([*c["ids"], *found.get(side, [])])) for side, c in coverage.items()}
        passages = await asyncio.to_thread(providers.store.passages, {i for ids in candidates.values() for i in ids})
        limit = options_of(runtime).claims_per_side + _MORE
        chosen = {}
        for side, ids in candidates.items():
            supporting = independent_first([passages[i] for i in coverage[side]["ids"] if i in passages])
            # A passage too mixed to count as a whole may still hold a sentence that argues for the side.
            others = [i for i in ids if i in passages and i not in supporting]
            chosen[side] = [*supporting, *others][:limit]
        return RunState(chosen=chosen)

    return timed("select", select)


def independent_first(passages: Sequence[Passage]) -> list[int]:
    """Ids in order of support, reordered so that each source comes once before any source comes again."""
    turns: dict[str, int] = {}
    keyed = []
    for rank, passage in enumerate(passages):
        turn = turns.get(passage.source, 0)
        turns[passage.source] = turn + 1
        keyed.append((turn, rank, passage.id))
    return [i for _, _, i in sorted(keyed)]
