"""Judge: (perspective, passage) pairs within the budget, and from them how well each perspective is covered."""

import asyncio
import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import cast

import numpy as np
from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from numpy.typing import NDArray

from agent.evidence.coverage import (
    ENOUGH_PASSAGES,
    coverage_of,
    favouring,
    judged_evidence,
    originals_of,
    paraphrase_groups,
    similarity_to,
)
from agent.models.inference import RunJudge
from agent.models.providers import Providers
from agent.options import RunOptions, options_of, time_left
from agent.stages.stage import fall_back_to_own_judge, report, stage
from agent.state import Perspective, RunState, StageNote, contrary_statements, form_of, merge_scores
from tools.budget import NOT_ALL_JUDGED, current_log
from tools.errors import JudgeError, ProviderDownError, as_sentence
from tools.language.sentences import prose_of
from tools.language.words import count
from tools.models.judges.judge import Pair
from tools.net.http import is_local
from tools.passages import Passage
from tools.selection.coverage import pairs_to_judge

_LIKELY = 0.5  # how likely the nearest passage supports its perspective, before it is judged
_LEAST = 0.01  # the same of one that is not near at all, so that its turn comes too
_SOON = 1.0  # seconds within which no more would have been judged
RESERVED_PAIR_SHARE = 0.25
"""The share of the pair budget that is reserved while another search may follow, for what that finds."""


@stage("judge")
async def judge(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    _check_web(providers, state)
    name = _in_force(providers, state, options_of(runtime))
    try:
        return await _judge_with(providers, state, runtime, name)
    except JudgeError as exc:
        update = fall_back_to_own_judge(providers, exc)
        fresh = await _judge_with(providers, state, runtime, update["judge"])
        return RunState(**{**fresh, **update})


async def _judge_with(providers: Providers, state: RunState, runtime: Runtime[RunOptions], name: str) -> RunState:
    """What the judge of that name makes of the passages; scores of another judge are left behind."""
    perspectives, options, judge = state["perspectives"], options_of(runtime), providers.models.judge(name)
    afresh = state.get("scored_by", name) != name
    known = {} if afresh else state.get("support", {})
    passages = await asyncio.to_thread(providers.passages, {i for ids in state["candidates"].values() for i in ids})
    originals = originals_of(passages)
    wanted = _unjudged(perspectives, state["candidates"], known, originals)
    searched = [p for p in perspectives if afresh or p["id"] in (state.get("next_queries") or wanted)]
    concerned = {i for p in searched for i in (p["id"], p["contrary"])}
    spent = 0 if afresh else int(state.get("counts", {}).get("pairs", 0))
    budget = pair_budget(options, state.get("round", 0), spent)
    pairs = await _worth_most(providers, state, {s: w for s, w in wanted.items() if s in concerned}, known, budget)
    fresh = await _score(judge, state, pairs, passages, options)
    support = merge_scores(known, fresh)
    speaking = {p["id"]: favouring(support.get(p["id"], {}), support.get(p["contrary"], {})) for p in perspectives}
    above = {i for mine in speaking.values() for i, s in mine.items() if s >= judge.threshold}
    same = await paraphrase_groups(providers.models, passages, above)
    coverage = {
        side: coverage_of(judged_evidence(mine, judge.threshold, passages, originals, same), passages)
        for side, mine in speaking.items()
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
        served_by={"judge": judge.name},
        notes=_late_note(len(pairs) - judged, options),
    )


def _late_note(left: int, options: RunOptions) -> list[StageNote]:
    """That pairs were left when time ran out; with time left, it was the replies that gave no verdict."""
    if not left or time_left(options, "judge") >= _SOON:
        return []
    text = f"{count(left, 'pair')} of side and passage could not be judged in time."
    return [StageNote(stage="judge", message=text, kind="late", brief=NOT_ALL_JUDGED)]


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
        problem = next((f["message"] for f in state["notes"] if f["stage"] == "web"), "")
        raise ProviderDownError(f"{as_sentence(problem)} Mend it and ask again, or unset STEELMAN_WEB.")


def _unjudged(
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
    return max(0, options.max_pairs - spent - round(RESERVED_PAIR_SHARE * to_come * options.max_pairs))


async def _worth_most(
    providers: Providers, state: RunState, wanted: dict[str, list[int]], known: dict[str, dict[int, float]], budget: int
) -> list[tuple[str, int]]:
    statements = {p["id"]: p["statement"] for p in state["perspectives"]}
    ids = list(dict.fromkeys(i for w in wanted.values() for i in w))
    near = await similarity_to(providers, [statements[p] for p in wanted], ids) if ids else {}
    return pairs_worth_judging(wanted, known, near, budget)


def pairs_worth_judging(
    wanted: dict[str, list[int]], known: dict[str, dict[int, float]], near: dict[int, NDArray[np.float32]], budget: int
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
    asked = [Pair(known[s][0], prose_of(passages[i].text), contrary[s], question, known[s][1]) for s, i in pairs]
    values = await judge.support(asked, time_left(options, "judge"))
    scores: dict[str, dict[int, float]] = {}
    for (perspective, passage), value in zip(pairs, values, strict=True):
        if not math.isnan(value):
            scores.setdefault(perspective, {})[passage] = float(value)
    return scores
