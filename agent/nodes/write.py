"""Write: each side's claims from its chosen passages, with comparable room for the sides."""

import asyncio

from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, report, timed
from agent.options import RunOptions
from agent.providers import Providers
from agent.state import Claim, RunState


def node(providers: Providers) -> Stage[RunState]:
    async def write(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        chosen = state.get("chosen", {})
        passages = await asyncio.to_thread(providers.store.passages, {i for ids in chosen.values() for i in ids})
        statements = {p["id"]: p["statement"] for p in state["perspectives"]}
        written: dict[str, list[Claim]] = {}
        spares: list[Claim] = []
        for side in state["perspectives"]:
            mine = [passages[i] for i in chosen.get(side["id"], []) if i in passages]
            support = state["support"].get(side["id"], {})
            limit = runtime.context.claims_per_side
            contrary = statements.get(side["contrary"], "")
            written[side["id"]], more = await providers.writer.write(side, contrary, mine, support, limit)
            spares += more
        room = comparable_room({k: len(v) for k, v in written.items()})
        drafts = once([c for side, claims in written.items() for c in claims[: room[side]]])
        report(runtime, "written", claims=len(drafts))
        return RunState(drafts=drafts, spares=spares)

    return timed("write", write)


def comparable_room(claims: dict[str, int]) -> dict[str, int]:
    """How many claims each side may show: at most two more than the shortest side that has a case (two claims).

    A side with less than that is no measure for the others: the answer says that it is thin instead.
    """
    cases = [n for n in claims.values() if n >= 2]
    most = min(cases) + 2 if cases else 1
    return {side: min(n, most) for side, n in claims.items()}


def once(claims: list[Claim]) -> list[Claim]:
    """A sentence stands under one side only: the one that it supports most."""
    best: dict[str, Claim] = {}
    for claim in claims:
        if claim["text"] not in best or claim["support"] > best[claim["text"]]["support"]:
            best[claim["text"]] = claim
    return [c for c in claims if best[c["text"]] is c]
