"""Judge: scores each passage once for all perspectives, then computes the coverage of each perspective.

All passages of a small collection are judged. From a larger collection only the retrieved passages are judged; the
perspectives take turns. A second round judges only new passages.
"""

import asyncio
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from numpy.typing import NDArray

from agent.evidence.coverage import (
    FilteredPassages,
    coverage_of,
    favouring_passages,
    filter_passages,
    judged_evidence,
    originals_of,
    own_sentences_of,
    paraphrase_groups,
    similarity_to,
)
from agent.limits import OFF_QUESTION, WHOLE_COLLECTION
from agent.options import RunOptions, run_options
from agent.providers.inference import CachedJudge
from agent.stage_interfaces import Providers
from agent.stages.stage import fall_back_to_own_judge, report, run_id, stage
from agent.state import OTHER_WAYS, Coverage, Perspective, RunState, by_key, contrary_statements, judge_form
from tools.budget import NOT_ALL_JUDGED, current_budget, current_log
from tools.errors import JudgeError, ProviderDownError, as_sentence
from tools.language.lexicon import count
from tools.models.judges.judge import JudgedSide, PassageVerdicts
from tools.net.http import is_local
from tools.passages import Passage, interleave, shortened
from tools.translation import mark, tr

ENGLISH_JUDGE = mark("The built-in judge reads English only, so it reads sources in English for the sides in English.")
_SOON = 1.0  # seconds; with less time left, the time counts as used up


@stage("judge")
async def judge(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    counts = state.get("counts", {})
    if providers.web.required and counts.get("web_failed") and not counts.get("web_answered"):
        problem = next((f["message"] for f in state["notes"] if f["stage"] == "web"), "")
        raise ProviderDownError(f"{as_sentence(problem)} Mend it and ask again, or unset STEELMAN_WEB.")
    name = _active_judge(providers, state, run_options(runtime))
    try:
        return await _judge_with(providers, state, runtime, name)
    except JudgeError as exc:
        update = fall_back_to_own_judge(providers, exc)
        fresh = await _judge_with(providers, state, runtime, update["judge"])
        return RunState(**{**fresh, **update})


async def _judge_with(providers: Providers, state: RunState, runtime: Runtime[RunOptions], name: str) -> RunState:
    """Returns the state update with the scores of the named judge. Scores of another judge are discarded."""
    options, judge = run_options(runtime), providers.models.judge(name)
    state, afresh = _with_other_ways(judge, state), state.get("scored_by", name) != name
    perspectives, known = state["perspectives"], {} if afresh else state.get("support", {})
    put: Any = Overwrite if afresh else lambda scores: scores
    limit = _passage_budget(judge, perspectives, options)
    whole = await asyncio.to_thread(_small_collections, providers, options, perspectives[0]["statement"], limit, judge)
    ids = list(dict.fromkeys([*interleave(state["candidates"].get(p["id"], []) for p in perspectives), *whole.ids]))
    readable, foreign = await asyncio.to_thread(_readable, providers, state, judge.name, ids)
    passages, originals, own_sentences = await asyncio.to_thread(_without_repeated_sentences, readable, known)
    wanted, asked = _unjudged(ids, originals, known, limit)
    verdicts = await _read(judge, state, [passages[i] for i in asked], any(known.values()))
    if judge.answer_note:
        current_log().note("scope", judge.answer_note)
    fresh = _by_side(perspectives, asked, verdicts.support)
    support, judged = by_key(operator.or_)(known, fresh), len({i for scores in fresh.values() for i in scores})
    opposed = _by_side(perspectives, asked, verdicts.opposition)
    coverage = await _coverage(providers, perspectives, support, judge.threshold, passages, originals)
    perspectives = [p for p in perspectives if p["id"] != OTHER_WAYS or coverage[OTHER_WAYS]["ids"]]
    coverage = {p["id"]: coverage[p["id"]] for p in perspectives}
    _report(runtime, coverage, late=len(asked) - judged)
    web_left = providers.sources(options) and options.pages > state.get("counts", {}).get("pages", 0)
    return RunState(
        perspectives=perspectives,
        support=put(fresh),
        opposition=put(opposed),
        off_question=put(await _off_question(providers, state, asked, verdicts, judge.threshold)),
        own_sentences=own_sentences,
        candidates={p: sorted(whole.ids, key=lambda i: -s.get(i, 0.0)) for p, s in support.items()},
        to_search="all" if not whole.ids else "web" if web_left else "nothing",
        coverage=coverage,
        unjudged=len(wanted) - judged,
        counts={"passages": judged},
        judge=name,
        scored_by=name,
        threshold=judge.threshold,
        served_by={"judge": judge.name},
        foreign_documents=whole.foreign | foreign,
    )


def _readable(
    providers: Providers, state: RunState, judge: str, ids: Sequence[int]
) -> tuple[dict[int, Passage], dict[str, str]]:
    """Returns the passages that the judge can read, and titles of the other documents with their languages. The
    embedded judge reads prose in English only; for a question in another language a note says so."""
    passages = providers.passages(ids, state.get("own_sentences", {}))
    if judge != providers.models.own_judge.name:
        return passages, {}
    passages = {i: p for i, p in passages.items() if p.form == "prose"}
    if not state["framing"].get("language"):
        return passages, {}
    current_log().note("scope", tr(ENGLISH_JUDGE))
    foreign = {i: p for i, p in passages.items() if p.language not in ("", "en")}
    kept = {i: p for i, p in passages.items() if i not in foreign}
    return kept, {p.title or p.document_id: p.language for p in foreign.values()}


def _without_repeated_sentences(
    passages: dict[int, Passage], known: Mapping[str, Mapping[int, float]]
) -> tuple[dict[int, Passage], dict[int, int], dict[int, str]]:
    """Shortens near-copies to their own sentences, except those that an earlier round judged whole. Returns all
    passages, their originals, and the own sentences."""
    judged = {i for scores in known.values() for i in scores}
    own = {i: text for i, text in own_sentences_of(passages).items() if i not in judged}
    passages = passages | {i: shortened(passages[i], text) for i, text in own.items()}
    return passages, originals_of(passages), own


def _unjudged(
    ids: Sequence[int], originals: Mapping[int, int], known: Mapping[str, Mapping[int, float]], limit: int
) -> tuple[list[int], list[int]]:
    """Returns (passages without a verdict, passages to judge now), without copies. limit: of the whole run."""
    done = {originals.get(i, i) for scores in known.values() for i in scores}
    wanted = [i for i in dict.fromkeys(originals[i] for i in ids if i in originals) if i not in done]
    return wanted, wanted[: max(0, limit - len(done))]


def _report(runtime: Runtime[RunOptions], coverage: dict[str, Coverage], late: int) -> None:
    """Reports each side's coverage. late: number of passages without a verdict. A note names them if no time is left.
    With time left there is no note, because the judge's replies lacked these passages."""
    if late and current_budget().seconds_left() < _SOON:
        text = tr("{passages} could not be read in time.", passages=count(late, "passage"))
        current_log().note("late", text, tr(NOT_ALL_JUDGED))
    for side, found in coverage.items():
        report(runtime, "judged", side=side, **{name: found[name] for name in ("status", "passages", "sources")})


def _with_other_ways(judge: CachedJudge, state: RunState) -> RunState:
    """Adds a perspective for further proposals in the passages, if the judge is a judge of documents (its verdicts on
    passages are final).

    The planner saw one sentence per document and so cannot name every proposal.
    """
    planned = [p for p in state["perspectives"] if p["id"] != OTHER_WAYS]
    holds = "should be done" if "should" in state["framing"]["question"].casefold() else "is the answer"
    named = "; ".join(p["statement"].rstrip(".") if p.get("local") else p["name"] for p in planned)  # in English
    message = f"Something other than these {holds}: {named}."
    ways = Perspective(
        id=OTHER_WAYS, name=tr("Other ways"), statement=message, stance="other", contrary="", origin="sources"
    )
    asked = [*planned, ways] if judge.reads_documents and "against" not in state else planned
    return RunState(**{**state, "perspectives": asked})


def _active_judge(providers: Providers, state: RunState, options: RunOptions) -> str:
    """Returns the name of the judge to ask. A remote judge is not asked if requests must stay on this machine."""
    remote, name = providers.models.remote_judge, state.get("judge", "")
    if options.built_in:
        return providers.models.own_judge.name
    if remote is not None and not name and not options.web and not is_local(remote.address):
        current_log().note("skipped", tr("The judge was not asked, since nothing was to leave this machine."))
        return providers.models.own_judge.name
    return name


def _passage_budget(judge: CachedJudge, perspectives: Sequence[Perspective], options: RunOptions) -> int:
    """Returns the number of passages to judge in the run.

    The embedded judge reads a passage once for each pair of opposing perspectives and once for each other perspective.
    """
    readings = 1 if judge.address else len({min(p["id"], p["contrary"] or p["id"]) for p in perspectives})
    return max(1, options.max_passages // readings)


def _small_collections(
    providers: Providers, options: RunOptions, statement: str, limit: int, judge: CachedJudge
) -> FilteredPassages:
    """Returns all passages of the collections, or of the given pages, that the judge can read, and stores them with the
    run. Returns none if there are more than WHOLE_COLLECTION or `limit` passages."""
    store, most = providers.store, min(limit, WHOLE_COLLECTION)
    ids = store.web.passage_ids(run_id()) if options.urls else store.passage_ids(options.own_collections, most + 1)
    if len(ids) > most:
        return FilteredPassages([], {})
    passages, vectors = store.passages(ids), store.vectors(ids)
    found = filter_passages([i for i in ids if i in vectors], passages, statement, tables=judge.reads_documents)
    store.kept.put(run_id(), [passages[i] for i in found.ids], vectors)
    return found


async def _read(judge: CachedJudge, state: RunState, passages: Sequence[Passage], again: bool) -> PassageVerdicts:
    """Returns the verdicts that came in time. again: earlier rounds have verdicts. These stay valid if a judge of
    documents fails now; otherwise JudgeError is raised."""
    contrary = contrary_statements(state)
    sides = [JudgedSide(p["statement"], contrary[p["id"]], judge_form(p)) for p in state["perspectives"]]
    try:
        return await judge.read(state["framing"]["question"], sides, passages)
    except JudgeError as exc:
        if not (again and judge.reads_documents):
            raise
        text = tr("What the last search found was not read: {error}", error=exc)
        current_log().note("unjudged", text, tr(NOT_ALL_JUDGED))
        nothing = np.full((len(sides), len(passages)), np.nan, np.float32)
        return PassageVerdicts(nothing, nothing, nothing[0])


def _by_side(
    perspectives: Sequence[Perspective], ids: Sequence[int], scores: NDArray[np.float32]
) -> dict[str, dict[int, float]]:
    return {
        p["id"]: {i: float(v) for i, v in zip(ids, row, strict=True) if not math.isnan(v)}
        for p, row in zip(perspectives, scores, strict=True)
    }


async def _coverage(
    providers: Providers,
    perspectives: Sequence[Perspective],
    support: dict[str, dict[int, float]],
    threshold: float,
    passages: dict[int, Passage],
    originals: dict[int, int],
) -> dict[str, Coverage]:
    speaking = {
        p["id"]: favouring_passages(support.get(p["id"], {}), support.get(p["contrary"], {})) for p in perspectives
    }
    above = {i for mine in speaking.values() for i, s in mine.items() if s >= threshold}
    same = await paraphrase_groups(providers.models, passages, above)
    return {
        side: coverage_of(judged_evidence(mine, threshold, passages, originals, same), passages)
        for side, mine in speaking.items()
    }


async def _off_question(
    providers: Providers, state: RunState, ids: Sequence[int], verdicts: PassageVerdicts, threshold: float
) -> list[int]:
    """Returns the passages about something else. The judge decides; if it gives no verdict, the cosine decides.

    A passage that takes a side is never off the question.
    """
    off, models = verdicts.on_question < 1, providers.models
    if len(ids) and np.isnan(verdicts.on_question).any() and models.retrieval_encoder is models.encoder:
        near = await similarity_to(providers, [state["framing"]["question"]], ids)
        off |= np.isnan(verdicts.on_question) & np.array([i in near and near[i][0] < OFF_QUESTION for i in ids])
    no_side = (np.vstack([verdicts.support, verdicts.opposition]) < threshold).all(axis=0)
    return [i for i, about_else in zip(ids, off & no_side, strict=True) if about_else]
