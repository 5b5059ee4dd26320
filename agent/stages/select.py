"""Select: the passages to write from."""

import asyncio
from collections.abc import Collection, Sequence

from langgraph.runtime import Runtime

from agent.evidence.aspects import focus_pattern
from agent.evidence.coverage import build_pool, counter_rank, originals_of, similarity_to
from agent.models.providers import Providers
from agent.options import RunOptions, options_of
from agent.stages.stage import stage
from agent.state import RunState, StageNote
from tools.models.judges.judge import UNJUDGED_SUPPORT
from tools.passages import Passage
from tools.selection.coverage import independent_first
from tools.selection.methods import select_passages

_NEAREST = 10  # passages, of all perspectives together, that are used where nothing speaks of a follow-up's focus
_EXTRA_PASSAGES = 16  # passages beyond the number of claims, since not every passage holds a sentence that stands alone


@stage("select")
async def select(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    options, coverage, focus = options_of(runtime), state["coverage"], state["framing"]["focus"]
    judged = providers.models.judge(state.get("judge", "")).reads_documents  # then its verdicts choose
    support, searched = state.get("support", {}), state.get("candidates", {})
    found = {p: [*c["ids"], *(support if judged else searched).get(p, ())] for p, c in coverage.items()}
    passages = await asyncio.to_thread(providers.passages, {i for ids in found.values() for i in ids})
    candidates = {p: [i for i in dict.fromkeys(ids) if i in passages] for p, ids in found.items()}
    if judged:
        candidates = {
            p: [i for i in ids if support[p].get(i, 0.0) >= state["threshold"]] for p, ids in candidates.items()
        }
    limit = None if judged else options.claims_per_side + _EXTRA_PASSAGES
    if "against" in state:
        nearness = await _nearness(providers, focus, list(passages))
        return RunState(selected={p: _counters(state, p, ids, nearness)[:limit] for p, ids in candidates.items()})
    failures: list[StageNote] = []
    on_focus: dict[str, dict[int, float]] = {}
    if focus:
        speaking, failures = await _speaking(providers, focus, passages)
        candidates = {p: [i for i in ids if i in speaking] for p, ids in candidates.items()}
        on_focus = {p: {i: support.get(p, {}).get(i, 0.0) for i in speaking} for p in coverage}
    distinct = await asyncio.to_thread(_without_copies, passages, state)
    ids, pool, problems = await build_pool(providers, state, distinct, options)
    order = await asyncio.to_thread(select_passages, options.selection, pool, pool.size)
    turn = {ids[position]: n for n, position in enumerate(order)}
    chosen = {}
    for p, own in candidates.items():
        clear = sorted(set(coverage[p]["ids"]).intersection(own), key=lambda i: turn.get(i, len(turn)))
        supporting = independent_first([passages[i] for i in clear])
        # A passage too mixed to count as a whole may still hold a sentence that argues for the perspective.
        chosen[p] = [*supporting, *(i for i in own if i not in supporting)][:limit]
    return RunState(selected=chosen, on_focus=on_focus, notes=[*failures, *problems])


async def _speaking(
    providers: Providers, focus: str, passages: dict[int, Passage]
) -> tuple[Collection[int], list[StageNote]]:
    """The passages that speak of what a follow-up asks about; where none does those nearest to it, and a note."""
    words = focus_pattern(focus)
    if speaking := {i for i, p in passages.items() if words.search(p.text)}:
        return speaking, []
    nearness = await _nearness(providers, focus, list(passages))
    message = f"No passage found speaks of {focus} in so many words: what is nearest to it was used."
    nearest = sorted(nearness, key=lambda i: (-nearness[i], i))[:_NEAREST]
    return nearest, [StageNote(stage="select", message=message, kind="scope")]


def _without_copies(passages: dict[int, Passage], state: RunState) -> dict[int, Passage]:
    """The passages without those that only repeat another one: what was judged, and what is a copy of nothing."""
    judged = {i for scores in state.get("support", {}).values() for i in scores}
    originals = originals_of(passages)
    return {i: p for i, p in passages.items() if i in judged or originals[i] == i}


def _counters(state: RunState, perspective: str, ids: Sequence[int], nearness: dict[int, float]) -> list[int]:
    """The passages that argue best against what a follow-up names; those that support the perspective first."""
    supporting, support = state["coverage"][perspective]["ids"], state["support"].get(perspective, {})
    rank = {i: counter_rank(support.get(i, UNJUDGED_SUPPORT), nearness.get(i, 0.0)) for i in ids}
    return sorted(ids, key=lambda i: (i not in supporting, -rank[i]))


async def _nearness(providers: Providers, focus: str, ids: list[int]) -> dict[int, float]:
    """Each passage's cosine to what a follow-up asks about; empty where it asks for nothing in particular."""
    if not focus:
        return {}
    return {i: float(near[0]) for i, near in (await similarity_to(providers, [focus], ids)).items()}
