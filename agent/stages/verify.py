"""Verify: every claim is in the passage that it cites, and serves the perspective that it stands under.

A quoted claim has to stand there word for word; a written one has to be said there (`agent.evidence.claims`). What
fails is dropped and counted; quotations stand in for a perspective of which nothing written holds
(`agent.evidence.cases`). What the dispute turns on is written from the claims that hold, and checked as they are.
Nothing is rewritten after this stage.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import combinations

from langgraph.runtime import Runtime

from agent.evidence.cases import add_quotations, deduplicated
from agent.evidence.claims import ClaimVerifier
from agent.evidence.coverage import coverage_of, paraphrase_groups
from agent.limits import SAME_CLAIM, VERIFY_GRACE_SECONDS
from agent.models.inference import Models
from agent.models.providers import Providers
from agent.options import RunOptions, run_options
from agent.stages.stage import fall_back_to_own_judge, report, stage
from agent.state import (
    OF_NO_PERSPECTIVE,
    OTHER_WAYS,
    Claim,
    Coverage,
    DroppedClaim,
    Perspective,
    RunState,
    decontextualised,
    in_case,
)
from tools.budget import current_log, in_time
from tools.errors import DeadlineError, JudgeError
from tools.language.grounding import number_values, plain_text
from tools.passages import Passage


@stage("verify")
async def verify(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    if "drafts" not in state:  # nothing was to be written
        coverage, same = await _coverage(providers, state, None)
        return RunState(coverage=coverage, duplicate_of=same)
    options = run_options(runtime)
    judge = providers.models.judge(state.get("judge", ""))
    checks = ClaimVerifier(providers, state, judge)
    held: list[Claim] = []
    quoted: list[Claim] = []
    dropped: list[DroppedClaim] = []
    try:
        held, dropped = await in_time(checks.verify_claims(state["drafts"]))
        _report(runtime, held)
        quoted = await in_time(add_quotations(checks, held, dropped, options.claims_per_side))
    except DeadlineError as exc:
        current_log().note("failed", f"What could not be checked was left out: {exc}")
        with suppress(TimeoutError):  # what was read before is there at once
            async with asyncio.timeout(VERIFY_GRACE_SECONDS):
                quoted = await add_quotations(checks, held, dropped, options.claims_per_side)
    except JudgeError as exc:
        return fall_back_to_own_judge(providers, exc)
    _report(runtime, quoted)
    shown = await merge_reworded(providers.models, deduplicated([*held, *quoted]))
    order = {p["id"]: n for n, p in enumerate(state.get("perspectives", []))}
    claims = with_theses(sorted(shown, key=lambda c: order.get(c["perspective"], len(order))))
    claims += await _crux(checks, claims)
    report(runtime, "verified", held=len(held), repaired=len(quoted), dropped=len(dropped))
    coverage, same = await _coverage(providers, state, claims)
    return RunState(claims=claims, dropped=dropped, coverage=coverage, duplicate_of=same)


async def _crux(checks: ClaimVerifier, claims: Sequence[Claim]) -> list[Claim]:
    """One sentence of a model on what the dispute of two sides with a case turns on, if it holds and comes in time."""
    write, framing, sides = checks.providers.crux, checks.state["framing"], opposed_sides(checks.state, claims)
    if not sides or write is None or checks.failed:
        return []
    with suppress(DeadlineError):
        if written := await in_time(write(framing, sides)):
            return (await in_time(checks.verify_claims([written])))[0]
    return []


def opposed_sides(state: RunState, claims: Sequence[Claim]) -> list[tuple[Perspective, list[Claim]]]:
    """The two strongest perspectives that oppose each other, each with the claims of its case; none where there
    are no two with a case. They are the contrary ones. Of an open question they are the two that most passages speak
    for and against; among equals those with the most independent sources."""
    planned = (p for p in state.get("perspectives", []) if p["id"] != OTHER_WAYS)
    known, coverage = {p["id"]: p for p in planned}, state.get("coverage", {})
    cases = {p: [c for c in claims if c["perspective"] == p and in_case(c)] for p in known}
    opposition = state.get("opposition", {})
    against = {p: {i for i, s in scores.items() if s >= state["threshold"]} for p, scores in opposition.items()}

    def strength(pair: tuple[str, str]) -> tuple[int, int]:
        both = [against.get(q, set()) & {*coverage[p]["ids"]} for p, q in (pair, pair[::-1]) if p in coverage]
        return sum(map(len, both)), sum(coverage[p]["sources"] for p in pair if p in coverage)

    contrary = ((i, p["contrary"]) for i, p in known.items() if p["contrary"] in known)
    open_pair = max(combinations(filter(cases.get, known), 2), key=strength, default=())
    sides = [(known[p], cases[p]) for p in next(contrary, open_pair) if cases[p]]
    return sides if len(sides) == 2 else []


def _report(runtime: Runtime[RunOptions], claims: Sequence[Claim]) -> None:
    for claim in claims:
        side, objection = claim["perspective"], claim.get("objection", False)
        report(runtime, "claim", side=side, text=decontextualised(claim), objection=objection)


async def _coverage(
    providers: Providers, state: RunState, claims: Sequence[Claim] | None
) -> tuple[dict[str, Coverage], dict[int, int]]:
    """The coverage by what was read, and by what the verified claims cite, where there was anything to write; and which
    of all that is counted, or what a document answers, says the same."""
    judged, read = state.get("coverage", {}), state.get("sentence_evidence", {})

    def cited_by(perspective: str) -> list[int] | None:
        if claims is None:
            return None
        return [i for c in claims if c["perspective"] == perspective and in_case(c) for i in c["passages"]]

    def covered(same: Mapping[int, int]) -> dict[str, Coverage]:
        return {p: coverage_of(e, passages, read=read.get(p), cited=cited_by(p), same=same) for p, e in judged.items()}

    passages: dict[int, Passage] = {}
    counted = {i for c in covered({}).values() for i in c["ids"]}
    theses = {r["thesis"]["passage"] for r in state.get("responses", [])}
    passages = await asyncio.to_thread(providers.passages, counted | theses)
    same = await paraphrase_groups(providers.models, passages, passages)
    return covered(same), same


def with_theses(claims: list[Claim]) -> list[Claim]:
    """Each perspective's first claim, the best of its writer's that holds, is its one-line summary."""
    first = {c["perspective"]: c for c in reversed(claims) if in_case(c)}

    def marked(claim: Claim) -> Claim:
        return Claim(**{**claim, "role": "thesis" if first.get(claim["perspective"]) is claim else "case"})

    return [c if c["role"] in OF_NO_PERSPECTIVE else marked(c) for c in claims]


async def merge_reworded(models: Models, claims: Sequence[Claim]) -> list[Claim]:
    """The claims; one that says in other words what an earlier one of its perspective says is merged into that one,
    which then cites the passages of both. Claims with different numbers differ."""
    vectors = await models.encode([c["text"] for c in claims])
    kinds = [(c["perspective"], c["role"], in_case(c), number_values([plain_text(c["text"])])) for c in claims]
    merged = dict[int, Claim]()
    for n, claim in enumerate(claims):
        same = (m for m in merged if kinds[m] == kinds[n] and vectors[m] @ vectors[n] >= SAME_CLAIM)
        first = next(same, n)
        merged[first] = _citing_both(merged[first], claim) if first in merged else claim
    return list(merged.values())


def _citing_both(one: Claim, other: Claim) -> Claim:
    """The first claim, citing what the other one cites too; it answers what either does."""
    cited: dict[int, str] = {}
    for c in (other, one):
        cited |= zip(c["passages"], c.get("evidence") or [c["text"]] * len(c["passages"]), strict=True)
    ids = list(dict.fromkeys([*one["passages"], *other["passages"]]))
    written = bool(one.get("written") or other.get("written"))
    both = Claim(**{**one, "passages": ids, "evidence": [cited[i] for i in ids], "written": written})
    return Claim(**{**both, "answers": other["answers"]}) if "answers" in other and "answers" not in one else both
