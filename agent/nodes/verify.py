"""Verify: every claim is in the passage it cites, and serves the side that it stands under.

What fails is replaced once by the writer's next best claim, which has to pass the same checks; else it is dropped and
counted. Nothing is rewritten after this stage.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Literal

from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, report, timed
from agent.options import RunOptions
from agent.providers import Providers
from agent.state import Claim, Dropped, RunState
from tools.judge import Pair
from tools.passages import Passage

_SPACES = re.compile(r"\s+")


def node(providers: Providers) -> Stage[RunState]:
    async def verify(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        drafts, spares = state.get("drafts", []), state.get("spares", [])
        ids = {i for c in [*drafts, *spares] for i in c["passages"]}
        passages = await asyncio.to_thread(providers.store.passages, ids)
        verdicts = await _check(providers, state, drafts, passages)
        held = [c for c, failed in zip(drafts, verdicts, strict=True) if failed is None]
        dropped = [
            Dropped(perspective=c["perspective"], text=c["text"], check=failed)
            for c, failed in zip(drafts, verdicts, strict=True)
            if failed is not None
        ]
        repaired = await _repair(
            providers, state, dropped, [s for s in spares if s["text"] not in {c["text"] for c in drafts}], passages
        )
        claims = _in_order(state, [*held, *repaired])
        report(runtime, "verified", held=len(held), repaired=len(repaired), dropped=len(dropped))
        for claim in claims:
            report(runtime, "claim", side=claim["perspective"], text=claim["text"])
        return RunState(claims=claims, dropped=dropped)

    return timed("verify", verify)


Check = Literal["source", "side"]
"""The two checks that a claim can fail."""


async def _check(
    providers: Providers, state: RunState, claims: Sequence[Claim], passages: dict[int, Passage]
) -> list[Check | None]:
    statements = {p["id"]: p["statement"] for p in state.get("perspectives", [])}
    contrary = {p["id"]: statements.get(p["contrary"], "") for p in state.get("perspectives", [])}
    sided = [c for c in claims if c["role"] != "plain"]
    pairs = [Pair(statements[c["perspective"]], c["text"], contrary[c["perspective"]]) for c in sided]
    support = {id(c): float(s) for c, s in zip(sided, await providers.models.support(pairs), strict=True)}
    threshold = providers.models.judge.sentence_threshold
    verdicts: list[Check | None] = []
    for claim in claims:
        if not all(i in passages and verbatim(claim["text"], passages[i].text) for i in claim["passages"]):
            verdicts.append("source")
        else:
            verdicts.append(None if support.get(id(claim), 1.0) >= threshold else "side")
    return verdicts


async def _repair(
    providers: Providers,
    state: RunState,
    dropped: Sequence[Dropped],
    spares: Sequence[Claim],
    passages: dict[int, Passage],
) -> list[Claim]:
    repaired: list[Claim] = []
    for failed in dropped:
        for spare in spares:
            taken = any(spare["text"] == r["text"] for r in repaired)
            if spare["perspective"] == failed["perspective"] and not taken:
                if (await _check(providers, state, [spare], passages))[0] is None:
                    repaired.append(spare)
                break
    return repaired


def verbatim(claim: str, passage: str) -> bool:
    """Whether the claim's words stand in the passage as they are; white space may differ."""
    return _SPACES.sub(" ", claim).strip() in _SPACES.sub(" ", passage)


def _in_order(state: RunState, claims: Sequence[Claim]) -> list[Claim]:
    sides = [p["id"] for p in state.get("perspectives", [])]
    return sorted(claims, key=lambda c: sides.index(c["perspective"]) if c["perspective"] in sides else len(sides))
