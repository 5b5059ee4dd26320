"""The stages that weigh what was found.

Judge: (perspective, passage) pairs within the budget, and from them how well each perspective is covered. Select: the
passages to write from.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import cast

import numpy as np
from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from numpy.typing import NDArray

from agent.evidence.aspects import speaking_of
from agent.evidence.coverage import (
    ENOUGH_PASSAGES,
    coverage_by_judge,
    coverage_on_focus,
    nearness_to,
    not_outweighed,
    originals_of,
    pool_of,
    same_as,
)
from agent.evidence.followups import counter_rank
from agent.inference import RunJudge
from agent.nodes.stage import Stage, report, timed
from agent.options import RunOptions, options_of, time_left
from agent.providers.fallback import judge_replaced
from agent.seams import Providers
from agent.state import Failure, Perspective, Reason, RunState, contrary_statements, form_of, merge_scores
from tools.budget import NOT_ALL_JUDGED, current_log
from tools.diversity.coverage import Choice, pairs_to_judge
from tools.diversity.selection import Pool, pick
from tools.errors import JudgeError, ProviderDownError, ended
from tools.inference.judges.judge import UNJUDGED, Pair
from tools.language.sentences import prose
from tools.language.words import count
from tools.net.http import is_local
from tools.passages import Passage

_LIKELY = 0.5  # how likely the nearest passage supports its perspective, before it is judged
_LEAST = 0.01  # the same of one that is not near at all, so that its turn comes too
_SOON = 1.0  # seconds within which no more would have been judged
RESERVED = 0.25
"""The share of the pair budget that is reserved while another search may follow, for what that finds."""


def judge_node(providers: Providers) -> Stage[RunState]:
    async def judge(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        _check_web(providers, state)
        name = _in_force(providers, state, options_of(runtime))
        try:
            return await _judged(providers, state, runtime, name)
        except JudgeError as exc:
            update = judge_replaced(providers, exc)
            fresh = await _judged(providers, state, runtime, update["judge"])
            return RunState(**{**fresh, **update})

    return timed("judge", judge)


async def _judged(providers: Providers, state: RunState, runtime: Runtime[RunOptions], name: str) -> RunState:
    """What the judge of that name makes of the passages; scores of another judge are left behind."""
    perspectives, options, judge = state["perspectives"], options_of(runtime), providers.models.judge(name)
    afresh = state.get("scored_by", name) != name
    known = {} if afresh else state.get("support", {})
    passages = await asyncio.to_thread(providers.passages, {i for ids in state["found"].values() for i in ids})
    originals = originals_of(passages)
    wanted = _wanted(perspectives, state["found"], known, originals)
    searched = [p for p in perspectives if afresh or p["id"] in (state.get("planned") or wanted)]
    concerned = {i for p in searched for i in (p["id"], p["contrary"])}
    spent = 0 if afresh else int(state.get("counts", {}).get("pairs", 0))
    budget = pair_budget(options, state.get("round", 0), spent)
    pairs = await _worth_most(providers, state, {s: w for s, w in wanted.items() if s in concerned}, known, budget)
    fresh = await _score(judge, state, pairs, passages, options)
    support = merge_scores(known, fresh)
    speaking = {p["id"]: not_outweighed(support.get(p["id"], {}), support.get(p["contrary"], {})) for p in perspectives}
    above = {i for mine in speaking.values() for i, s in mine.items() if s >= judge.threshold}
    same = await same_as(providers.models, passages, above)
    coverage = {
        side: coverage_by_judge(mine, judge.threshold, passages, originals, same) for side, mine in speaking.items()
    }
    for perspective, found in coverage.items():
        counted = {"status": found["status"], "passages": found["passages"], "sources": found["sources"]}
        report(runtime, "judged", side=perspective, **counted)
    judged = sum(len(s) for s in fresh.values())
    return RunState(
        support=cast(dict[str, dict[int, float]], Overwrite(fresh)) if afresh else fresh,
        coverage=coverage,
        unjudged=sum(len(w) for w in wanted.values()) - judged,
        counts={"pairs": judged},
        judge=name,
        scored_by=name,
        threshold=judge.threshold,
        served={"judge": judge.name},
        failures=_late(len(pairs) - judged, options),
    )


def _late(left: int, options: RunOptions) -> list[Failure]:
    """That pairs were left when time ran out; with time left, it was the replies that gave no verdict."""
    if not left or time_left(options, "judge") >= _SOON:
        return []
    text = f"{count(left, 'pair')} of side and passage could not be judged in time."
    return [Failure(stage="judge", message=text, kind="late", brief=NOT_ALL_JUDGED)]


def _in_force(providers: Providers, state: RunState, options: RunOptions) -> str:
    """The name of the judge to ask; a distant one is not asked where nothing may leave this machine."""
    remote, name = providers.models.remote_judge, state.get("judge", "")
    if remote is not None and not name and not options.web and not is_local(remote.address):
        told = f"The judge {remote.name} was not asked, since nothing was to leave this machine."
        current_log().note("skipped", told)
        return providers.models.own_judge.name
    return name


def _check_web(providers: Providers, state: RunState) -> None:
    """Raises ProviderDownError when the search engine that the user named has answered no query at all."""
    counts = state.get("counts", {})
    if providers.web and providers.web.required and counts.get("web_failed") and not counts.get("web_answered"):
        problem = next((f["message"] for f in state["failures"] if f["stage"] == "web"), "")
        raise ProviderDownError(f"{ended(problem)} Mend it and ask again, or unset STEELMAN_WEB.")


def _wanted(
    perspectives: Sequence[Perspective],
    found: dict[str, list[int]],
    judged: dict[str, dict[int, float]],
    originals: dict[int, int],
) -> dict[str, list[int]]:
    """For each perspective the passages still to judge: its own finds first, then what the other perspectives found,
    rank by rank."""
    wanted: dict[str, list[int]] = {}
    for perspective in perspectives:
        own = found.get(perspective["id"], [])
        others = [found.get(o["id"], []) for o in perspectives if o["id"] != perspective["id"]]
        mixed = [i for rank in zip_longest(*others) for i in rank if i is not None]
        firsts = [originals[i] for i in [*own, *mixed] if i in originals]
        known = {originals.get(i, i) for i in judged.get(perspective["id"], {})}
        wanted[perspective["id"]] = [i for i in dict.fromkeys(firsts) if i not in known]
    return wanted


def pair_budget(options: RunOptions, done_rounds: int, spent: int) -> int:
    """Pairs that may be judged now: each search that may still follow has its part of the share that is reserved."""
    to_come = (options.max_rounds - done_rounds) / options.max_rounds if options.max_rounds else 0.0
    return max(0, options.max_pairs - spent - round(RESERVED * to_come * options.max_pairs))


async def _worth_most(
    providers: Providers,
    state: RunState,
    wanted: dict[str, list[int]],
    known: dict[str, dict[int, float]],
    budget: int,
) -> list[tuple[str, int]]:
    statements = {p["id"]: p["statement"] for p in state["perspectives"]}
    ids = list(dict.fromkeys(i for w in wanted.values() for i in w))
    near = await nearness_to(providers, [statements[p] for p in wanted], ids) if ids else {}
    return worth_most(wanted, known, near, budget)


def worth_most(
    wanted: dict[str, list[int]],
    known: dict[str, dict[int, float]],
    near: dict[int, NDArray[np.float32]],
    budget: int,
) -> list[tuple[str, int]]:
    """The (perspective, passage) pairs within the budget whose verdicts can change most, best first (`pairs_to_judge`).

    wanted: for each perspective the passages that may be judged, in the order in which they were found. known: what was
    judged before. near: each passage's cosines to the perspectives, in the order of `wanted`; what is nearer is
    likelier to support.
    """
    perspectives = list(wanted)
    ids = list(dict.fromkeys(i for p in perspectives for i in (*wanted[p], *known.get(p, {}))))
    column = {i: n for n, i in enumerate(ids)}
    # What may not be judged is as good as judged, and supports nothing.
    support = np.zeros((len(perspectives), len(ids)))
    expected = np.zeros_like(support)
    for row, perspective in enumerate(perspectives):
        for i, value in known.get(perspective, {}).items():
            support[row, column[i]] = value
        for i in wanted[perspective]:
            support[row, column[i]] = np.nan
            expected[row, column[i]] = max(_LEAST, float(near[i][row])) if i in near else _LEAST
    expected *= _LIKELY / max(_LIKELY, float(expected.max(initial=0.0)))
    return [(perspectives[row], ids[n]) for row, n in pairs_to_judge(support, expected, budget, ENOUGH_PASSAGES)]


async def _score(
    judge: RunJudge,
    state: RunState,
    pairs: Sequence[tuple[str, int]],
    passages: dict[int, Passage],
    options: RunOptions,
) -> dict[str, dict[int, float]]:
    """Support by perspective and passage, as far as the deadline allows; what is left stays unjudged and is counted."""
    known = {p["id"]: (p["statement"], form_of(p)) for p in state["perspectives"]}
    contrary, question = contrary_statements(state), state["framing"]["question"]
    asked = [Pair(known[s][0], prose(passages[i].text), contrary[s], question, known[s][1]) for s, i in pairs]
    values = await judge.support(asked, time_left(options, "judge"))
    scores: dict[str, dict[int, float]] = {}
    for (perspective, passage), value in zip(pairs, values, strict=True):
        if not math.isnan(value):
            scores.setdefault(perspective, {})[passage] = float(value)
    return scores


_NEAREST = 10  # passages, of all perspectives together, that are used where nothing speaks of a follow-up's focus
_EXPLAINED = 4  # passages a perspective whose reasons are given
_MAKES_POINT = 0.5  # the probability from which a passage is taken to make a point
_MORE = 16  # passages beyond the number of claims, since not every passage holds a sentence that stands alone


def select_node(providers: Providers) -> Stage[RunState]:
    async def select(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        options, coverage, focus = options_of(runtime), state["coverage"], state["framing"]["focus"]
        found = {p: [*c["ids"], *state.get("found", {}).get(p, [])] for p, c in coverage.items()}
        passages = await asyncio.to_thread(providers.passages, {i for ids in found.values() for i in ids})
        candidates = {p: [i for i in dict.fromkeys(ids) if i in passages] for p, ids in found.items()}
        limit = options.claims_per_side + _MORE
        if "against" in state:
            nearness = await _nearness(providers, focus, list(passages))
            return RunState(chosen={p: _counters(state, p, ids, nearness)[:limit] for p, ids in candidates.items()})
        failures: list[Failure] = []
        if focus:
            speaking, failures = await _speaking(providers, focus, passages)
            candidates = {p: [i for i in ids if i in speaking] for p, ids in candidates.items()}
            support = state["support"]
            coverage = {p: coverage_on_focus(c, speaking, support.get(p, {}), passages) for p, c in coverage.items()}
        distinct = await asyncio.to_thread(_distinct, passages, state)
        ids, pool, problems = await pool_of(providers, state, distinct, options)
        choices = await asyncio.to_thread(pick, options.selection, pool, pool.size)
        turn = {ids[c.position]: n for n, c in enumerate(choices)}
        chosen = {}
        for p, own in candidates.items():
            clear = sorted(set(coverage[p]["ids"]).intersection(own), key=lambda i: turn.get(i, len(turn)))
            supporting = independent_first([passages[i] for i in clear])
            # A passage too mixed to count as a whole may still hold a sentence that argues for the perspective.
            chosen[p] = [*supporting, *(i for i in own if i not in supporting)][:limit]
        reasons = [_reason(ids, c, state, pool) for c in choices[: _EXPLAINED * len(chosen)]]
        return RunState(chosen=chosen, coverage=coverage, failures=[*failures, *problems], reasons=reasons)

    return timed("select", select)


async def _speaking(
    providers: Providers, focus: str, passages: dict[int, Passage]
) -> tuple[Collection[int], list[Failure]]:
    """The passages that speak of what a follow-up asks about; where none does those nearest to it, and a note."""
    words = speaking_of(focus)
    if speaking := {i for i, p in passages.items() if words.search(p.text)}:
        return speaking, []
    nearness = await _nearness(providers, focus, list(passages))
    message = f"No passage found speaks of {focus} in so many words: what is nearest to it was used."
    nearest = sorted(nearness, key=lambda i: (-nearness[i], i))[:_NEAREST]
    return nearest, [Failure(stage="select", message=message, kind="scope")]


def _distinct(passages: dict[int, Passage], state: RunState) -> dict[int, Passage]:
    """The passages without those that only repeat another one: what was judged, and what is a copy of nothing."""
    judged = {i for scores in state.get("support", {}).values() for i in scores}
    originals = originals_of(passages)
    return {i: p for i, p in passages.items() if i in judged or originals[i] == i}


def _counters(state: RunState, perspective: str, ids: Sequence[int], nearness: dict[int, float]) -> list[int]:
    """The passages that argue best against what a follow-up names; those that support the perspective first."""
    supporting, support = state["coverage"][perspective]["ids"], state["support"].get(perspective, {})
    rank = {i: counter_rank(support.get(i, UNJUDGED), nearness.get(i, 0.0)) for i in ids}
    return sorted(ids, key=lambda i: (i not in supporting, -rank[i]))


async def _nearness(providers: Providers, focus: str, ids: list[int]) -> dict[int, float]:
    """Each passage's cosine to what a follow-up asks about; empty where it asks for nothing in particular."""
    if not focus:
        return {}
    return {i: float(near[0]) for i, near in (await nearness_to(providers, [focus], ids)).items()}


def _reason(ids: Sequence[int], choice: Choice, state: RunState, pool: Pool) -> Reason:
    """Why a passage was chosen; of a selection that gives no reasons, that it was."""
    perspectives = [p["id"] for p in state["perspectives"]]
    points = {p for p in choice.perspectives if p >= len(perspectives)}
    return Reason(
        passage=ids[choice.position],
        gain=choice.gain,
        sides={perspectives[p]: raised for p, raised in choice.perspectives.items() if p < len(perspectives)},
        relevance=choice.relevance,
        points=sum(choice.perspectives[p] >= _MAKES_POINT for p in points),
        new_source=choice.new_source,
    )


def independent_first(passages: Sequence[Passage]) -> list[int]:
    """Ids in the order of the passages, reordered so that each source comes once before any source comes again."""
    turns = Counter[str]()
    keyed = []
    for rank, passage in enumerate(passages):
        keyed.append((turns[passage.source], rank, passage.id))
        turns[passage.source] += 1
    return [i for _, _, i in sorted(keyed)]
