"""Verify: every claim is in the passage it cites, and serves the side that it stands under.

What fails is replaced once by the writer's next best claim, which has to pass the same checks; else it is dropped and
counted. Nothing is rewritten after this stage.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Literal

from langgraph.runtime import Runtime

from agent.nodes.judge import standing
from agent.nodes.reporting import Stage, in_time, report, timed
from agent.options import RunOptions, options_of
from agent.providers import Providers
from agent.state import Claim, Coverage, Dropped, Failure, RunState
from tools.errors import DeadlineError
from tools.judge import Pair, side_score
from tools.passages import Passage

_SPACES = re.compile(r"\s+")


def node(providers: Providers) -> Stage[RunState]:
    async def verify(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        held: list[Claim] = []
        repaired: list[Claim] = []
        dropped: list[Dropped] = []
        failures: list[Failure] = []
        options = options_of(runtime)
        try:
            held, dropped = await in_time(options, "verify", _sift(providers, state))
            repaired = await in_time(options, "verify", _repair(providers, state, dropped))
        except DeadlineError as exc:
            failures = [Failure(stage="verify", message=f"What could not be checked was left out: {exc}")]
        claims = _in_order(state, [*held, *repaired])
        report(runtime, "verified", held=len(held), repaired=len(repaired), dropped=len(dropped))
        for claim in claims:
            report(runtime, "claim", side=claim["perspective"], text=claim["text"])
        coverage = await asyncio.to_thread(_counted, providers, state, claims)
        return RunState(claims=claims, dropped=dropped, failures=failures, coverage=coverage)

    return timed("verify", verify)


def _counted(providers: Providers, state: RunState, claims: Sequence[Claim]) -> dict[str, Coverage]:
    """The ledger with the passages of verified claims counted for the sides that they serve."""
    coverage = state.get("coverage", {})
    cited = {side: [i for c in claims if c["perspective"] == side for i in c["passages"]] for side in coverage}
    ids = {i for side, c in coverage.items() for i in (*c["ids"], *cited[side])}
    passages = providers.store.passages(ids)
    return {side: with_passages(c, cited[side], passages) for side, c in coverage.items()}


def with_passages(coverage: Coverage, ids: Sequence[int], passages: dict[int, Passage]) -> Coverage:
    """The side's coverage with these passages counted too; without any it is thin at best, since evidence that cannot
    be shown in a sentence makes no case."""
    counted = list(dict.fromkeys([*coverage["ids"], *ids]))
    sources = {passages[i].source for i in counted if i in passages}
    now = Coverage(**{**coverage, **standing(len(counted), len(sources)), "ids": counted})
    return now if ids or now["status"] == "not_found" else Coverage(**{**now, "status": "thin"})


async def _sift(providers: Providers, state: RunState) -> tuple[list[Claim], list[Dropped]]:
    drafts = state.get("drafts", [])
    verdicts = await _check(providers, state, drafts)
    held = [c for c, failed in zip(drafts, verdicts, strict=True) if failed is None]
    dropped = [
        Dropped(perspective=c["perspective"], text=c["text"], check=failed)
        for c, failed in zip(drafts, verdicts, strict=True)
        if failed is not None
    ]
    return held, dropped


Check = Literal["source", "side"]
"""The two checks that a claim can fail."""


async def _check(providers: Providers, state: RunState, claims: Sequence[Claim]) -> list[Check | None]:
    passages = await asyncio.to_thread(providers.store.passages, {i for c in claims for i in c["passages"]})
    statements = {p["id"]: p["statement"] for p in state.get("perspectives", [])}
    contrary = {p["id"]: statements.get(p["contrary"], "") for p in state.get("perspectives", [])}
    sided = [c for c in claims if c["role"] != "plain"]
    pairs = [Pair(statements[c["perspective"]], c["text"], contrary[c["perspective"]]) for c in sided]
    judged = state.get("support", {})
    support = {
        id(c): side_score(float(s), judged.get(c["perspective"], {}).get(c["passages"][0]) if c["passages"] else None)
        for c, s in zip(sided, await providers.models.support(pairs), strict=True)
    }
    threshold = providers.models.judge.sentence_threshold
    verdicts: list[Check | None] = []
    for claim in claims:
        stands = [i in passages and verbatim(claim["text"], passages[i].text) for i in claim["passages"]]
        if not stands or not all(stands):
            verdicts.append("source")
        else:
            verdicts.append(None if support.get(id(claim), 1.0) >= threshold else "side")
    return verdicts


async def _repair(providers: Providers, state: RunState, dropped: Sequence[Dropped]) -> list[Claim]:
    """For each dropped claim its side's next spare, if that one holds; no spare is tried twice."""
    shown = {c["text"] for c in state.get("drafts", [])}
    waiting = [s for s in state.get("spares", []) if s["text"] not in shown]
    tried: list[Claim] = []
    for failed in dropped:
        mine = (s for s in waiting if s["perspective"] == failed["perspective"])
        if spare := next((s for s in mine if s["text"] not in {t["text"] for t in tried}), None):
            tried.append(spare)
    verdicts = await _check(providers, state, tried)
    return [spare for spare, failed in zip(tried, verdicts, strict=True) if failed is None]


def verbatim(claim: str, passage: str) -> bool:
    """Whether the claim's words stand in the passage as they are; white space may differ. No words stand nowhere."""
    words = _SPACES.sub(" ", claim).strip()
    return bool(words) and words in _SPACES.sub(" ", passage)


def _in_order(state: RunState, claims: Sequence[Claim]) -> list[Claim]:
    sides = [p["id"] for p in state.get("perspectives", [])]
    return sorted(claims, key=lambda c: sides.index(c["perspective"]) if c["perspective"] in sides else len(sides))
