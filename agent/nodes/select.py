"""Select: for each side a few passages that support it best, from as many independent sources as there are."""

import asyncio
from collections.abc import Sequence

from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, timed
from agent.options import RunOptions
from agent.providers import Providers
from agent.state import RunState
from tools.passages import Passage

_MORE = 4  # passages beyond the number of claims, since not every passage holds a sentence that stands alone


def node(providers: Providers) -> Stage[RunState]:
    async def select(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        coverage = state["coverage"]
        passages = await asyncio.to_thread(providers.store.passages, {i for c in coverage.values() for i in c["ids"]})
        limit = runtime.context.claims_per_side + _MORE
        return RunState(
            chosen={
                side: independent_first([passages[i] for i in c["ids"] if i in passages])[:limit]
                for side, c in coverage.items()
            }
        )

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
