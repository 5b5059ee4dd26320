"""The stages that make the cases.

Write: each perspective's claims from its chosen passages, with comparable room for all of them. Verify: every claim is
in the passage that it cites, and serves the perspective that it stands under. A quoted claim has to stand there word
for word; a written one has to be said there (`agent.evidence.claims`). What fails is replaced once by the writer's next
best claim, which has to pass the same checks; else it is dropped and counted. Nothing is rewritten after this stage.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np
from langgraph.runtime import Runtime

from agent.evidence.aspects import opposed, with_crux
from agent.evidence.cases import NOT_WRITTEN, apart, brief_of, fill, respond
from agent.evidence.claims import ClaimChecks, in_comparable_room, once
from agent.evidence.coverage import coverage_by_reading, same_as, with_cited
from agent.evidence.sentences import read_perspectives
from agent.nodes.stage import Stage, report, timed
from agent.options import RunOptions, in_time, options_of, time_left
from agent.providers.fallback import judge_replaced
from agent.seams import Brief, Providers, Reading
from agent.state import OF_NO_PERSPECTIVE, Claim, Coverage, Dropped, Failure, Response, RunState, as_read, in_case
from tools.errors import DeadlineError, JudgeError
from tools.language.copies import NEAR

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


def write_node(providers: Providers) -> Stage[RunState]:
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
    """What a model says that the dispute turns on; nothing where no model would check that against its passages."""
    checked = providers.models.checker(providers.models.judge(state.get("judge", "")))
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


_GRACE = 1.0  # seconds in which quotations that were read before take the place of what was not checked in time


def verify_node(providers: Providers) -> Stage[RunState]:
    async def verify(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        options = options_of(runtime)
        judge = providers.models.judge(state.get("judge", ""))
        checks = ClaimChecks(providers, state, judge, partial(time_left, options, "verify"))
        held: list[Claim] = []
        repaired: list[Claim] = []
        dropped: list[Dropped] = []
        failures: list[Failure] = []

        def checked(holding: list[Claim], failing: list[Dropped]) -> None:
            held.extend(holding)
            dropped.extend(failing)
            _report(runtime, holding)

        try:
            await in_time(options, "verify", checks.sift_perspectives(state.get("drafts", []), checked))
            repaired = await in_time(options, "verify", _repaired(checks, dropped))
            filling = fill(checks, [*held, *repaired], dropped, options.claims_per_side)
            repaired += await in_time(options, "verify", filling)
        except DeadlineError as exc:
            failures = [Failure(stage="verify", message=f"What could not be checked was left out: {exc}")]
            with suppress(TimeoutError):  # what was read before is there at once
                async with asyncio.timeout(_GRACE):
                    repaired += await fill(checks, [*held, *repaired], dropped, options.claims_per_side)
        except JudgeError as exc:
            return judge_replaced(providers, exc)
        _report(runtime, repaired)
        claims = with_crux(state, with_theses(_in_order(state, once([*held, *repaired]))))
        report(runtime, "verified", held=len(held), repaired=len(repaired), dropped=len(dropped))
        coverage, same = await _coverage(providers, state, claims)
        return RunState(claims=claims, dropped=dropped, failures=failures, coverage=coverage, same=same)

    return timed("verify", verify)


def _report(runtime: Runtime[RunOptions], claims: Sequence[Claim]) -> None:
    for claim in claims:
        if claim["role"] != "crux":
            report(runtime, "claim", side=claim["perspective"], text=as_read(claim), tier=claim.get("tier", "case"))


async def _repaired(checks: ClaimChecks, dropped: Sequence[Dropped]) -> list[Claim]:
    """For each dropped claim its perspective's next spare, if that one holds; no spare is tried twice."""
    used = {c["text"] for c in checks.state.get("drafts", [])}
    tried: list[Claim] = []
    for failed in dropped:
        spares = (s for s in checks.state.get("spares", []) if s["perspective"] == failed["perspective"])
        if spare := next((s for s in spares if s["text"] not in used), None):
            tried.append(spare)
            used.add(spare["text"])
    return (await checks.sift(tried))[0]


async def _coverage(
    providers: Providers, state: RunState, claims: Sequence[Claim]
) -> tuple[dict[str, Coverage], dict[int, int]]:
    """The coverage with the passages of verified claims counted for the perspectives that they serve; and which of all
    that is counted, or what a document answers, says the same."""
    coverage = state.get("coverage", {})

    def cited(perspective: str, case: bool) -> list[int]:
        return [i for c in claims if c["perspective"] == perspective and in_case(c) is case for i in c["passages"]]

    counted = {
        i for p, c in coverage.items() for i in (*c["ids"], *c.get("leaning", []), *cited(p, True), *cited(p, False))
    }
    theses = {r["thesis"]["passage"] for r in state.get("responses", [])}
    passages = await asyncio.to_thread(providers.passages, counted | theses)
    same = await same_as(providers.models, passages, passages)
    found = {p: with_cited(c, cited(p, True), cited(p, False), passages, same) for p, c in coverage.items()}
    near = await same_as(providers.models, passages, {i for c in found.values() for i in c["ids"]}, slack=NEAR)
    for c in found.values():
        c["distinct"] = len({near[i] for i in c["ids"] if i in near})
    return found, same


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
