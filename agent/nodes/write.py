"""Write: each perspective's claims from its chosen passages, with comparable room for all of them."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from langgraph.runtime import Runtime

from agent.deadlines import in_time, time_left
from agent.evidence.briefs import brief_of
from agent.evidence.coverage import coverage_by_reading
from agent.evidence.crux import opposed
from agent.evidence.filling import NOT_WRITTEN
from agent.evidence.responses import apart, respond
from agent.evidence.room import in_comparable_room
from agent.evidence.sentences import read_perspectives
from agent.nodes.stage import Stage, report, timed
from agent.options import RunOptions, options_of
from agent.providers.fallback import judge_replaced
from agent.seams import Brief, Providers, Reading
from agent.state import Claim, Coverage, Failure, Response, RunState
from tools.errors import DeadlineError, JudgeError

_CRUX_SECONDS = 5.0  # after the cases are written
_READING = 0.8  # of the time for writing; what is not read by then is not quoted, and the rest is written up


@dataclass
class _Written:
    """What was written, by perspective: the claims, the spares, what the documents answer, what was counted while they
    were read, what they would be quoted with where a model wrote; and what was not written in time."""

    claims: dict[str, list[Claim]] = field(default_factory=dict)
    spares: list[Claim] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    coverage: dict[str, Coverage] = field(default_factory=dict)
    quotations: dict[str, Sequence[Claim]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def fail(self, message: str) -> None:
        self.failures.append(Failure(stage="write", message=message))


def node(providers: Providers) -> Stage[RunState]:
    async def write(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        options, known = options_of(runtime), state.get("coverage", {})
        writing_crux = asyncio.create_task(_crux(providers, state, options))
        try:
            written = await _written(providers, state, options)
            crux: list[Claim] = []
            with suppress(TimeoutError):  # the cases do not wait for it
                crux = await asyncio.wait_for(writing_crux, _CRUX_SECONDS)
        except JudgeError as exc:
            return judge_replaced(providers, exc)
        finally:
            writing_crux.cancel()
        drafts = [*in_comparable_room(written.claims), *crux]
        report(runtime, "written", claims=len(drafts))
        return RunState(
            drafts=drafts,
            spares=written.spares,
            quotations=in_comparable_room(written.quotations),
            responses=apart(written.responses, drafts),
            coverage={
                p["id"]: written.coverage.get(p["id"], known[p["id"]])
                for p in state["perspectives"]
                if p["id"] in known
            },
            failures=written.failures,
        )

    return timed("write", write)


async def _crux(providers: Providers, state: RunState, options: RunOptions) -> list[Claim]:
    """What a model says that the dispute turns on; nothing where no judge would check that against its passages."""
    checked = providers.models.judge(state.get("judge", "")).checks_claims
    pair = opposed(state["perspectives"])
    if providers.crux is None or pair is None or not checked:
        return []
    one, other = [await brief_of(providers, state, perspective, 1) for perspective in pair]
    with suppress(DeadlineError):
        if claim := await in_time(options, "write", providers.crux.crux(one, other)):
            return [claim]
    return []


async def _written(providers: Providers, state: RunState, options: RunOptions) -> _Written:
    """What was written in time for each perspective. Raises JudgeError.

    The passages of all perspectives are read sentence by sentence: for a writer that quotes before it writes, and
    beside a model that writes, by the judge of this process.
    """
    quotes, written = providers.quote_fallback is None, _Written()
    briefs = [await brief_of(providers, state, p, options.claims_per_side) for p in state["perspectives"]]
    try:
        briefs, readings, cases = await _read_and_wrote(providers, state, options, briefs)
    except DeadlineError as exc:
        written.fail(f"{NOT_WRITTEN}: {exc}")
        return written
    for perspective, brief, reading, case in zip(state["perspectives"], briefs, readings, cases, strict=True):
        name, own = perspective["name"], perspective["id"]
        if isinstance(case, DeadlineError):
            written.fail(f"The case for '{name}' was not written: {case}")
            case = [], []
        if isinstance(case, BaseException):
            raise case
        written.claims[own] = case[0]
        written.spares += case[1]
        responses = brief.responses or (await asyncio.to_thread(respond, brief, reading) if reading else [])
        written.responses += responses
        if reading and quotes:
            late = int(np.isnan(reading.sure[reading.about]).sum()) if brief.contrary else 0
            if late:
                written.fail(f"{late} sentences for '{name}' were not read in time, and are not quoted.")
            if reading.case.any() or not late:
                written.coverage[own] = coverage_by_reading(state["coverage"][own], reading)
        brief = replace(brief, responses=responses, reading=reading)
        written.quotations[own] = (
            (await providers.quote_fallback.write(brief))[0] if providers.quote_fallback and reading else ()
        )
    return written


_Case = tuple[list[Claim], list[Claim]] | BaseException
"""What a writer wrote and its spares, or how it failed."""


async def _read_and_wrote(
    providers: Providers, state: RunState, options: RunOptions, briefs: list[Brief]
) -> tuple[list[Brief], Sequence[Reading | None], Sequence[_Case]]:
    """The briefs with what was read; for each its reading, None where a model wrote and that was late, and its case.
    Raises DeadlineError, JudgeError."""
    models, readings = providers.models, list[Reading]()
    reading = asyncio.create_task(read_perspectives(models, briefs, _READING * time_left(options, "write")))
    try:
        if providers.quote_fallback is None:
            readings = await in_time(options, "write", reading)
            read = zip(briefs, readings, strict=True)
            briefs = [replace(brief, reading=found, responses=respond(brief, found)) for brief, found in read]
        writing = (in_time(options, "write", providers.writer.write(brief)) for brief in briefs)
        cases = await asyncio.gather(*writing, return_exceptions=True)
        with suppress(DeadlineError):  # what a model wrote stands without what was read beside it
            readings = readings or await in_time(options, "write", reading)
        return briefs, readings or [None] * len(briefs), cases
    finally:
        reading.cancel()
