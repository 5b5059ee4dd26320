"""What a writer is given for one perspective."""

import asyncio

from agent.seams import Brief, Providers
from agent.state import Perspective, RunState, contrary_statements


async def brief_of(providers: Providers, state: RunState, perspective: Perspective, limit: int) -> Brief:
    """The passages that were chosen for the perspective, and who reads their sentences; `limit`: claims wanted.

    Beside a model that writes, and for a judge of many passages in a call, the reader is the judge of this process.
    """
    models, support = providers.models, state["support"]
    judge = models.judge(state.get("judge", ""))
    well_judged = judge.checks_claims
    if providers.quote_fallback is not None or judge.checks_claims:
        judge = models.judge(models.own_judge.name)
    chosen = state.get("chosen", {}).get(perspective["id"], [])
    passages = await asyncio.to_thread(providers.passages, chosen)
    return Brief(
        perspective=perspective,
        contrary=contrary_statements(state).get(perspective["id"], ""),
        framing=state["framing"],
        passages=[passages[i] for i in chosen if i in passages],
        support=support.get(perspective["id"], {}),
        limit=limit,
        judge=judge,
        opposing=support.get(perspective["contrary"], {}),
        well_judged=well_judged,
    )
