"""Write: each side's claims from its chosen passages, with comparable room for the sides."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from langgraph.runtime import Runtime
from numpy.typing import NDArray

from agent.evidence.crux import opposed
from agent.evidence.responses import apart, respond
from agent.evidence.sentences import read_sides
from agent.evidence.width import at_its_width, narrow_of
from agent.nodes.judge import originals_of, replaced, standing
from agent.nodes.stage import Stage, in_time, report, timed
from agent.options import RunOptions, options_of
from agent.routing import time_left
from agent.seams import Brief, Providers, Reading
from agent.state import (
    Claim,
    Coverage,
    Failure,
    Perspective,
    Response,
    RunState,
    contrary_statements,
    in_case,
)
from tools.errors import DeadlineError, JudgeError

_CRUX_SECONDS = 5.0  # after the cases are written
_READING = 0.8  # of the time for writing; what is not read by then is not quoted, and the rest is written up


def node(providers: Providers) -> Stage[RunState]:
    async def write(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        options, sides = options_of(runtime), state["perspectives"]
        turning = asyncio.create_task(_crux(providers, state, options))
        try:
            written, briefs, failures = await _written(providers, state, options)
            crux = await _soon(turning)
        except JudgeError as exc:
            return replaced(providers, exc)
        finally:
            turning.cancel()
        drafts = [*once(in_comparable_room({side: w.claims for side, w in written.items()})), *crux]
        report(runtime, "written", claims=len(drafts))
        counted = {side: w.coverage for side, w in written.items() if w.coverage}
        return RunState(
            framing=next((b.framing for b in briefs if "narrow" in b.framing), state["framing"]),
            perspectives=[b.perspective for b in briefs] or sides,
            drafts=drafts,
            spares=[c for w in written.values() for c in w.spares],
            quotations=once(in_comparable_room({side: w.quotations for side, w in written.items()})),
            responses=apart([r for w in written.values() for r in w.responses], drafts),
            coverage={
                p["id"]: counted.get(p["id"], state["coverage"][p["id"]])
                for p in sides
                if p["id"] in state.get("coverage", {})
            },
            failures=failures,
        )

    return timed("write", write)


async def _crux(providers: Providers, state: RunState, options: RunOptions) -> list[Claim]:
    """What a model says that the dispute turns on; nothing where no judge would check that against its passages."""
    checked = providers.models.judge(state.get("judge", "")).checks_claims
    pair = opposed(state["perspectives"])
    if providers.crux is None or pair is None or not checked:
        return []
    one, other = [await brief_of(providers, state, side, 1) for side in pair]
    with suppress(DeadlineError):
        if claim := await in_time(options, "write", providers.crux.crux(one, other)):
            return [claim]
    return []


async def _soon(turning: "asyncio.Task[list[Claim]]") -> list[Claim]:
    """What is written on what the dispute turns on; nothing where the cases would have to wait for it."""
    try:
        return await asyncio.wait_for(turning, _CRUX_SECONDS)
    except TimeoutError:
        return []


@dataclass(frozen=True, slots=True)
class _Written:
    """What was written for a side, what its documents answer, what was counted while they were read, and what they
    would be quoted with where a model wrote."""

    claims: list[Claim]
    spares: list[Claim]
    responses: list[Response]
    coverage: Coverage | None = None
    quotations: Sequence[Claim] = ()


async def _written(
    providers: Providers, state: RunState, options: RunOptions
) -> tuple[dict[str, _Written], list[Brief], list[Failure]]:
    """For each side what was written in time; the briefs, of the wider question where the sources only speak to that;
    and what was not written in time. Raises JudgeError.

    The passages of all sides are read sentence by sentence: for a writer that quotes before it writes, and beside a
    model that writes, by the judge of this process.
    """
    sides, quotes = state["perspectives"], providers.quote_fallback is None
    briefs = [await brief_of(providers, state, side, options.claims_per_side) for side in sides]
    try:
        briefs, readings, cases = await _read_and_wrote(providers, state, options, briefs)
    except DeadlineError as exc:
        return {}, [], [Failure(stage="write", message=f"The answer was not written: {exc}")]
    written: dict[str, _Written] = {}
    failures: list[Failure] = []
    given: list[Reading | None] = [*readings] or [None] * len(sides)
    for side, brief, found, case in zip(sides, briefs, given, cases, strict=True):
        if isinstance(case, DeadlineError):
            failures.append(Failure(stage="write", message=f"The case for '{side['name']}' was not written: {case}"))
            case = [], []
        if isinstance(case, BaseException):
            raise case
        responses = brief.responses or (await asyncio.to_thread(respond, brief, found) if found else [])
        late = int(np.isnan(found.sure[found.about]).sum()) if found and quotes and brief.contrary else 0
        if late:
            told = f"{late} sentences for '{side['name']}' were not read in time, and are not quoted."
            failures.append(Failure(stage="write", message=told))
        known = state["coverage"][side["id"]]
        coverage = counted(known, found) if found and quotes and (found.case.any() or not late) else None
        quotations = await _quoted(providers, replace(brief, responses=responses), found)
        written[side["id"]] = _Written(*case, list(responses), coverage, quotations)
    return written, briefs, failures


_Case = tuple[list[Claim], list[Claim]] | BaseException
"""What a writer wrote and what it kept in reserve, or how it failed."""


async def _read_and_wrote(
    providers: Providers, state: RunState, options: RunOptions, briefs: list[Brief]
) -> tuple[list[Brief], list[Reading], Sequence[_Case]]:
    """The briefs with what was read, the readings, and for each side its case. Raises DeadlineError, JudgeError."""
    models, quotes = providers.models, providers.quote_fallback is None
    left = time_left(options, "write", time.time())
    readings: list[Reading] = []
    reading = asyncio.create_task(read_sides(models, briefs, _READING * left))
    try:
        if quotes:
            readings = await in_time(options, "write", reading)
            if narrow := narrow_of(state["framing"]):
                left = _READING * time_left(options, "write", time.time())
                with suppress(DeadlineError):  # then what was read before is what there is
                    closer = at_its_width(models, briefs, readings, narrow, left)
                    briefs, readings = await in_time(options, "write", closer)
            briefs = [_read(brief, found) for brief, found in zip(briefs, readings, strict=True)]
        asked = (in_time(options, "write", providers.writer.write(brief)) for brief in briefs)
        cases = await asyncio.gather(*asked, return_exceptions=True)
        return briefs, readings or await _in_time(reading, options), cases
    finally:
        reading.cancel()


async def _in_time(reading: "asyncio.Task[list[Reading]]", options: RunOptions) -> list[Reading]:
    """What was read while a model wrote; nothing where that is late, since what was written stands without."""
    try:
        return await in_time(options, "write", reading)
    except DeadlineError:
        return []


async def _quoted(providers: Providers, brief: Brief, reading: Reading | None) -> Sequence[Claim]:
    """What the side's sources would be quoted with, where a model wrote and they were read in time."""
    if providers.quote_fallback is None or reading is None:
        return ()
    return (await providers.quote_fallback.write(replace(brief, reading=reading)))[0]


def _read(brief: Brief, reading: Reading) -> Brief:
    return replace(brief, reading=reading, responses=respond(brief, reading))


def counted(coverage: Coverage, reading: Reading) -> Coverage:
    """A side's coverage by what was read: the passages that hold words for its case, each text once.

    A passage that the judge took for the side as a whole, and that holds no such words, could not be shown and is not
    counted.
    """
    passages = {u.passage.id: u.passage for u in reading.units}
    originals = originals_of(passages)

    def holding(tier: NDArray[np.bool_]) -> dict[int, float]:
        """The passages that hold such words, and how sure the surest are; the surest passage of each text."""
        best: dict[int, tuple[float, int]] = {}
        for i in np.flatnonzero(tier):
            passage = reading.units[i].passage.id
            best[originals[passage]] = max(best.get(originals[passage], (-1.0, 0)), (float(reading.sure[i]), passage))
        return {passage: sure for sure, passage in sorted(best.values(), reverse=True)}

    case = holding(reading.case)
    known = {originals[i] for i in case}
    beside = [i for i in holding(reading.leaning) if originals[i] not in known]
    stands = standing(len(case), len({passages[i].source for i in case}), len(beside))
    return Coverage(
        **stands,
        ids=list(case),
        leaning=beside,
        strongest=max(case.values(), default=0.0),
        copies=coverage["copies"] if case else 0,
    )


async def brief_of(providers: Providers, state: RunState, side: Perspective, limit: int) -> Brief:
    """What a writer is given for one side: the passages that were chosen for it, and who reads their sentences. Beside
    a model that writes, and for a judge of many passages in a call, that is the judge of this process."""
    models = providers.models
    judge = models.judge(state.get("judge", ""))
    well_judged = judge.checks_claims
    if providers.quote_fallback is not None or judge.checks_claims:
        judge = models.judge(models.own_judge.name)
    chosen = state.get("chosen", {}).get(side["id"], [])
    passages = await asyncio.to_thread(providers.store.passages, chosen)
    return Brief(
        perspective=side,
        contrary=contrary_statements(state).get(side["id"], ""),
        framing=state["framing"],
        passages=[passages[i] for i in chosen if i in passages],
        support=state["support"].get(side["id"], {}),
        limit=limit,
        judge=judge,
        opposing=state["support"].get(side["contrary"], {}),
        well_judged=well_judged,
    )


def comparable_room(claims: dict[str, int]) -> dict[str, int]:
    """How many claims each side may show: at most two more than the shortest side that has a case (two claims).

    A side with less than that is no measure for the others: the answer says that it is thin instead.
    """
    cases = [n for n in claims.values() if n >= 2]
    most = min(cases) + 2 if cases else 1
    return {side: min(n, most) for side, n in claims.items()}


def in_comparable_room(cases: dict[str, Sequence[Claim]]) -> list[Claim]:
    """The claims of all sides as far as each has room."""
    room = comparable_room({side: sum(map(in_case, claims)) for side, claims in cases.items()})
    return [c for side, claims in cases.items() for c in in_room(claims, room[side])]


def in_room(claims: Sequence[Claim], room: int) -> list[Claim]:
    """The first claims of the case as the room allows, and what may speak for the side beside them."""
    return [*[c for c in claims if in_case(c)][:room], *(c for c in claims if not in_case(c))]


def once(claims: list[Claim]) -> list[Claim]:
    """A sentence stands under one side only: the one that it supports most."""
    best: dict[str, Claim] = {}
    for claim in claims:
        if claim["text"] not in best or claim["support"] > best[claim["text"]]["support"]:
            best[claim["text"]] = claim
    return [c for c in claims if best[c["text"]] is c]
