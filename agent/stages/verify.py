"""Verify: every claim is in the passage that it cites, and serves the perspective that it stands under.

A quoted claim has to stand there word for word; a written one has to be said there (`agent.evidence.claims`). What
fails is dropped and counted, and replaced once by the writer's next best claim, which has to pass the same checks; then
quotations fill what a model wrote too little for (`agent.evidence.cases`). Nothing is rewritten after this stage.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal

from langgraph.runtime import Runtime

from agent.evidence.aspects import add_crux
from agent.evidence.cases import add_quotations, deduplicated
from agent.evidence.claims import ClaimVerifier
from agent.evidence.coverage import Cited, coverage_of, paraphrase_groups
from agent.models.providers import Providers
from agent.options import RunOptions, in_time, options_of, time_left
from agent.stages.stage import fall_back_to_own_judge, report, stage
from agent.state import OF_NO_PERSPECTIVE, Claim, Coverage, Dropped, RunState, StageNote, decontextualised, in_case
from tools.errors import DeadlineError, JudgeError
from tools.passages import Passage

_GRACE = 1.0  # seconds in which quotations that were read before take the place of what was not checked in time


@stage("verify")
async def verify(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    if "drafts" not in state:  # nothing was to be written
        coverage, same = await _coverage(providers, state, None)
        return RunState(coverage=coverage, duplicate_of=same)
    options = options_of(runtime)
    judge = providers.models.judge(state.get("judge", ""))
    checks = ClaimVerifier(providers, state, judge, partial(time_left, options, "verify"))
    held: list[Claim] = []
    repaired: list[Claim] = []
    dropped: list[Dropped] = []
    failures: list[StageNote] = []

    def checked(holding: list[Claim], failing: list[Dropped]) -> None:
        held.extend(holding)
        dropped.extend(failing)
        _report(runtime, holding)

    try:
        await in_time(options, "verify", checks.verify_by_perspective(state.get("drafts", []), checked))
        repaired = await in_time(options, "verify", _repaired(checks, dropped))
        filling = add_quotations(checks, [*held, *repaired], dropped, options.claims_per_side)
        repaired += await in_time(options, "verify", filling)
    except DeadlineError as exc:
        failures = [StageNote(stage="verify", message=f"What could not be checked was left out: {exc}")]
        with suppress(TimeoutError):  # what was read before is there at once
            async with asyncio.timeout(_GRACE):
                repaired += await add_quotations(checks, [*held, *repaired], dropped, options.claims_per_side)
    except JudgeError as exc:
        return fall_back_to_own_judge(providers, exc)
    _report(runtime, repaired)
    claims = add_crux(state, with_theses(_in_order(state, deduplicated([*held, *repaired]))))
    report(runtime, "verified", held=len(held), repaired=len(repaired), dropped=len(dropped))
    coverage, same = await _coverage(providers, state, claims)
    return RunState(claims=claims, dropped=dropped, notes=failures, coverage=coverage, duplicate_of=same)


def _report(runtime: Runtime[RunOptions], claims: Sequence[Claim]) -> None:
    for claim in claims:
        if claim["role"] != "crux":
            report(
                runtime,
                "claim",
                side=claim["perspective"],
                text=decontextualised(claim),
                tier=claim.get("tier", "case"),
                objection=claim.get("objection", False),
            )


async def _repaired(checks: ClaimVerifier, dropped: Sequence[Dropped]) -> list[Claim]:
    """For each dropped claim its perspective's next spare, if that one holds; no spare is tried twice."""
    used = {c["text"] for c in checks.state.get("drafts", [])}
    tried: list[Claim] = []
    for failed in dropped:
        spares = (s for s in checks.state.get("spares", []) if s["perspective"] == failed["perspective"])
        if spare := next((s for s in spares if s["text"] not in used), None):
            tried.append(spare)
            used.add(spare["text"])
    return (await checks.verify_claims(tried))[0]


async def _coverage(
    providers: Providers, state: RunState, claims: Sequence[Claim] | None
) -> tuple[dict[str, Coverage], dict[int, int]]:
    """The coverage by what was read, and by what the verified claims cite, where there was anything to write; and which
    of all that is counted, or what a document answers, says the same."""
    judged, on_focus, read = state.get("coverage", {}), state.get("on_focus", {}), state.get("sentence_evidence", {})

    def cited_by(perspective: str) -> Cited | None:
        own = [(i, in_case(c)) for c in claims or () if c["perspective"] == perspective for i in c["passages"]]
        return None if claims is None else Cited([i for i, case in own if case], [i for i, case in own if not case])

    def covered(same: Mapping[int, int]) -> dict[str, Coverage]:
        return {
            p: coverage_of(e, passages, on_focus=on_focus.get(p), read=read.get(p), cited=cited_by(p), same=same)
            for p, e in judged.items()
        }

    passages: dict[int, Passage] = {}
    counted = {i for c in covered({}).values() for i in (*c["ids"], *c["leaning"])}
    theses = {r["thesis"]["passage"] for r in state.get("responses", [])}
    passages = await asyncio.to_thread(providers.passages, counted | theses)
    same = await paraphrase_groups(providers.models, passages, passages)
    return covered(same), same


def _in_order(state: RunState, claims: Sequence[Claim]) -> list[Claim]:
    ids = [p["id"] for p in state.get("perspectives", [])]
    return sorted(claims, key=lambda c: ids.index(c["perspective"]) if c["perspective"] in ids else len(ids))


def with_theses(claims: list[Claim]) -> list[Claim]:
    """Each perspective's first claim, the best of its writer's that holds, is its one-line summary."""
    led: set[str] = set()
    marked: list[Claim] = []
    for claim in claims:
        if claim["role"] not in OF_NO_PERSPECTIVE:
            first = in_case(claim) and claim["perspective"] not in led
            role: Literal["thesis", "case"] = "thesis" if first else "case"
            led |= {claim["perspective"]} if first else set()
            claim = Claim(**{**claim, "role": role})
        marked.append(claim)
    return marked
