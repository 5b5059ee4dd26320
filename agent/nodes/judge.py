"""Judge: (side, passage) pairs within the budget, and from them how well each side is covered."""

import asyncio
import time
from collections.abc import Sequence

from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, report, timed
from agent.options import RunOptions
from agent.providers import Providers
from agent.routing import searching_time_left
from agent.state import Coverage, Perspective, RunState, merge_scores
from tools.copies import copy_groups
from tools.judge import Pair
from tools.passages import Passage

ENOUGH_PASSAGES = 2
ENOUGH_SOURCES = 2
_BATCH = 64


def node(providers: Providers) -> Stage[RunState]:
    async def judge(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        sides, options = state["perspectives"], runtime.context
        passages = await asyncio.to_thread(
            providers.store.passages, {i for ids in state["found"].values() for i in ids}
        )
        originals = _originals(passages)
        spent = int(state.get("counts", {}).get("pairs", 0))
        wanted = _wanted(sides, state["found"], state.get("support", {}), originals)
        pairs = fair_share(wanted, options.max_pairs - spent)
        fresh, late = await _score(providers, state, pairs, passages, options)
        support = merge_scores(state.get("support", {}), fresh)
        threshold = providers.models.judge.threshold
        coverage = {p["id"]: covered(support.get(p["id"], {}), threshold, passages, originals) for p in sides}
        for side in sides:
            report(runtime, "judged", side=side["id"], **_seen(coverage[side["id"]]))
        judged = sum(len(s) for s in fresh.values())
        return RunState(
            support=fresh,
            coverage=coverage,
            unjudged=sum(len(w) for w in wanted.values()) - len(pairs) + late,
            counts={"pairs": judged},
        )

    return timed("judge", judge)


def _originals(passages: dict[int, Passage]) -> dict[int, int]:
    """Passage id to the id of the passage that it is a copy of; copies are judged and counted as one."""
    ids = sorted(passages)
    return {ids[i]: ids[group] for i, group in enumerate(copy_groups([passages[i].text for i in ids]))}


def _wanted(
    sides: Sequence[Perspective],
    found: dict[str, list[int]],
    judged: dict[str, dict[int, float]],
    originals: dict[int, int],
) -> dict[str, list[int]]:
    """For each side the passages still to judge: its own finds first, then what the other sides found, rank by rank."""
    wanted: dict[str, list[int]] = {}
    for side in sides:
        own = found.get(side["id"], [])
        others = [found.get(o["id"], []) for o in sides if o["id"] != side["id"]]
        longest = max((len(o) for o in others), default=0)
        mixed = [o[rank] for rank in range(longest) for o in others if rank < len(o)]
        firsts = [originals[i] for i in [*own, *mixed] if i in originals]
        wanted[side["id"]] = [i for i in dict.fromkeys(firsts) if i not in judged.get(side["id"], {})]
    return wanted


def fair_share(wanted: dict[str, list[int]], budget: int) -> list[tuple[str, int]]:
    """(side, passage) pairs within the budget, dealt out rank by rank so that every side has the same chance."""
    longest = max((len(w) for w in wanted.values()), default=0)
    dealt = [(side, ids[rank]) for rank in range(longest) for side, ids in wanted.items() if rank < len(ids)]
    return dealt[: max(0, budget)]


async def _score(
    providers: Providers,
    state: RunState,
    pairs: Sequence[tuple[str, int]],
    passages: dict[int, Passage],
    options: RunOptions,
) -> tuple[dict[str, dict[int, float]], int]:
    """Support by side and passage, and how many pairs the deadline left out."""
    statements = {p["id"]: p["statement"] for p in state["perspectives"]}
    contrary = {p["id"]: statements.get(p["contrary"], "") for p in state["perspectives"]}
    scores: dict[str, dict[int, float]] = {}
    for start in range(0, len(pairs), _BATCH):
        if start and searching_time_left(options, time.time()) <= 0:
            return scores, len(pairs) - start
        part = pairs[start : start + _BATCH]
        values = await providers.models.support([Pair(statements[s], passages[i].text, contrary[s]) for s, i in part])
        for (side, passage), value in zip(part, values, strict=True):
            scores.setdefault(side, {})[passage] = float(value)
    return scores, 0


def covered(
    support: dict[int, float], threshold: float, passages: dict[int, Passage], originals: dict[int, int]
) -> Coverage:
    """How well a side is covered by its passages at or above the threshold, copies counted once."""
    ids = sorted((i for i, s in support.items() if s >= threshold and i in passages), key=lambda i: (-support[i], i))
    sources = {passages[i].source for i in ids}
    enough = len(ids) >= ENOUGH_PASSAGES and len(sources) >= ENOUGH_SOURCES
    return Coverage(
        status="supported" if enough else "thin" if ids else "not_found",
        passages=len(ids),
        sources=len(sources),
        strongest=max((support[i] for i in ids), default=0.0),
        ids=ids,
        copies=sum(1 for i, first in originals.items() if first in ids and i != first),
    )


def _seen(coverage: Coverage) -> dict[str, object]:
    return {"status": coverage["status"], "passages": coverage["passages"], "sources": coverage["sources"]}
