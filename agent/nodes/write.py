"""Write: each side's claims from its chosen passages, with comparable room for the sides."""

import asyncio
from dataclasses import replace

from langgraph.runtime import Runtime

from agent.nodes.judge import replaced
from agent.nodes.reporting import Stage, in_time, report, timed
from agent.options import RunOptions, options_of
from agent.providers import Brief, Providers
from agent.reading import read
from agent.responses import apart, confirmed, respond
from agent.state import Claim, Failure, Perspective, Response, RunState, contrary_statements
from tools.errors import DeadlineError, JudgeError


def node(providers: Providers) -> Stage[RunState]:
    async def write(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        options, sides = options_of(runtime), state["perspectives"]
        cases = await asyncio.gather(
            *(in_time(options, "write", _case(providers, state, side, options)) for side in sides),
            return_exceptions=True,
        )
        if failed := next((c for c in cases if isinstance(c, JudgeError)), None):
            return replaced(providers, failed)
        written: dict[str, list[Claim]] = {}
        spares: list[Claim] = []
        responses: list[Response] = []
        failures: list[Failure] = []
        for side, case in zip(sides, cases, strict=True):
            if isinstance(case, DeadlineError):
                failures.append(
                    Failure(stage="write", message=f"The case for '{side['name']}' was not written: {case}")
                )
            elif isinstance(case, BaseException):
                raise case
            else:
                written[side["id"]], more, said = case
                spares += more
                responses += said
        room = comparable_room({k: len(v) for k, v in written.items()})
        drafts = once([c for side, claims in written.items() for c in claims[: room[side]]])
        report(runtime, "written", claims=len(drafts))
        return RunState(drafts=drafts, spares=spares, responses=apart(responses, drafts), failures=failures)

    return timed("write", write)


async def brief_of(providers: Providers, state: RunState, side: Perspective, limit: int) -> Brief:
    """What a writer is given for one side: the passages that were chosen for it."""
    chosen = state.get("chosen", {}).get(side["id"], [])
    passages = await asyncio.to_thread(providers.store.passages, chosen)
    return Brief(
        perspective=side,
        contrary=contrary_statements(state).get(side["id"], ""),
        framing=state["framing"],
        passages=[passages[i] for i in chosen if i in passages],
        support=state["support"].get(side["id"], {}),
        limit=limit,
        judge=providers.models.judge(state.get("judge", "")),
        opposing=state["support"].get(side["contrary"], {}),
    )


async def _case(
    providers: Providers, state: RunState, side: Perspective, options: RunOptions
) -> tuple[list[Claim], list[Claim], list[Response]]:
    """One side's claims and spares, and what its documents answer.

    A writer that quotes begins with those answers, for which the judge reads the sentences that the writer asks about
    anyway. While a chat model writes, its passages are read by the verdicts on them.
    """
    models, brief = providers.models, await brief_of(providers, state, side, options.claims_per_side)
    if providers.quoter is None:
        reading = await read(models, brief)
        responses = await confirmed(brief, await asyncio.to_thread(respond, brief, reading))
        claims, spares = await providers.writer.write(replace(brief, responses=responses, reading=reading))
        return claims, spares, responses
    reading, (claims, spares) = await asyncio.gather(read(models, brief, judged=False), providers.writer.write(brief))
    return claims, spares, await asyncio.to_thread(respond, brief, reading)


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
