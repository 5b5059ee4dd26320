"""Select: chooses the passages from which each perspective's claims are written."""

import asyncio
from collections.abc import Sequence

from langgraph.runtime import Runtime

from agent.evidence.coverage import build_pool, counter_rank, originals_of, similarity_to
from agent.limits import EXTRA_PASSAGES, FOCUSED_PASSAGES, UNJUDGED_SUPPORT
from agent.options import RunOptions, run_options
from agent.stage_interfaces import Providers
from agent.stages.stage import stage
from agent.state import RunState
from tools.passages import Passage
from tools.selection import choose_by_coverage, independent_first


@stage("select")
async def select(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    options, coverage, focus = run_options(runtime), state["coverage"], state["framing"]["focus"]
    judged = providers.models.judge(state.get("judge", "")).reads_documents  # this judge's verdicts select
    support, searched = state.get("support", {}), state.get("candidates", {})
    found = {p: [*c["ids"], *(support if judged else searched).get(p, ())] for p, c in coverage.items()}
    wanted, own_sentences = {i for ids in found.values() for i in ids}, state.get("own_sentences", {})
    passages = await asyncio.to_thread(providers.passages, wanted, own_sentences)
    passages = await asyncio.to_thread(_without_copies, passages, state)
    candidates = {p: [i for i in dict.fromkeys(ids) if i in passages] for p, ids in found.items()}
    if judged:
        candidates = {
            p: [i for i in ids if support[p].get(i, 0.0) >= state["threshold"]] for p, ids in candidates.items()
        }
    limit = None if judged else options.claims_per_side + EXTRA_PASSAGES
    if focus:
        nearness = {i: float(near[0]) for i, near in (await similarity_to(providers, [focus], list(passages))).items()}
        if "against" in state:
            return RunState(selected={p: _counters(state, p, ids, nearness)[:limit] for p, ids in candidates.items()})
        near = {p: sorted(ids, key=lambda i: -nearness.get(i, 0.0)) for p, ids in candidates.items()}
        return RunState(selected={p: ids[:FOCUSED_PASSAGES] for p, ids in near.items()})
    ids, pool = await build_pool(providers, state, passages, options)
    order = await asyncio.to_thread(choose_by_coverage, pool, pool.size)
    turn = {ids[position]: n for n, position in enumerate(order)}
    chosen = {}
    for p, own in candidates.items():
        clear = sorted(set(coverage[p]["ids"]).intersection(own), key=lambda i: turn.get(i, len(turn)))
        supporting = independent_first([passages[i] for i in clear])
        # Passages that are not clearly for the perspective may still contain a sentence for it.
        chosen[p] = [*supporting, *(i for i in own if i not in supporting)][:limit]
    return RunState(selected=chosen)


def _without_copies(passages: dict[int, Passage], state: RunState) -> dict[int, Passage]:
    """Returns the passages without those copies that were not judged."""
    judged = {i for scores in state.get("support", {}).values() for i in scores}
    originals = originals_of(passages)
    return {i: p for i, p in passages.items() if i in judged or originals[i] == i}


def _counters(state: RunState, perspective: str, ids: Sequence[int], nearness: dict[int, float]) -> list[int]:
    """Sorts passages by `counter_rank`. Passages that support the perspective come before all others."""
    supporting, support = state["coverage"][perspective]["ids"], state["support"].get(perspective, {})
    rank = {i: counter_rank(support.get(i, UNJUDGED_SUPPORT), nearness.get(i, 0.0)) for i in ids}
    return sorted(ids, key=lambda i: (i not in supporting, -rank[i]))
