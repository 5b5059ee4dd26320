"""Write: each perspective's claims from its chosen passages, with comparable room for all of them.

Without a model they are quotations (`agent.evidence.cases`). A chat model writes finished sentences, each with the
passages that say it; verification decides what stays.
"""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count, zip_longest

import numpy as np
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.evidence.cases import NOT_WRITTEN, balance_claims, brief_of, document_responses, under_one_perspective
from agent.evidence.coverage import sentence_evidence
from agent.evidence.sentences import score_sentences
from agent.models.providers import Brief, Providers, SentenceScores
from agent.options import RunOptions, in_time, options_of, time_left
from agent.stages.stage import ask_model, fall_back_to_own_judge, report, stage
from agent.state import (
    Claim,
    FramingState,
    Perspective,
    Response,
    RunState,
    SentenceEvidence,
    StageNote,
    decontextualised,
)
from prompts import as_data, one_line
from tools.errors import DeadlineError, JudgeError
from tools.language.sentences import split_sentences
from tools.models.chat.model import ChatModel
from tools.passages import Passage

_READING = 0.8  # of the time for writing; what is not read by then is not quoted, and the rest is written up


@dataclass
class _Written:
    """What was written, by perspective: the claims, the spares, what the documents answer, what was counted while they
    were read, what they would be quoted with where a model wrote; and what was not written in time."""

    claims: dict[str, list[Claim]] = field(default_factory=dict)
    spares: list[Claim] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    read: dict[str, SentenceEvidence] = field(default_factory=dict)
    quotations: dict[str, Sequence[Claim]] = field(default_factory=dict)
    failures: list[StageNote] = field(default_factory=list)

    def fail(self, message: str) -> None:
        self.failures.append(StageNote(stage="write", message=message))


@stage("write")
async def write(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    options = options_of(runtime)
    try:
        written = await _written(providers, state, options)
    except JudgeError as exc:
        return fall_back_to_own_judge(providers, exc)
    drafts = balance_claims(written.claims)
    report(runtime, "written", claims=len(drafts))
    return RunState(
        drafts=drafts,
        spares=written.spares,
        quotations=balance_claims(written.quotations),
        responses=under_one_perspective(written.responses, drafts),
        sentence_evidence=written.read,
        notes=written.failures,
    )


async def _written(providers: Providers, state: RunState, options: RunOptions) -> _Written:
    """What was written in time for each perspective. Raises JudgeError.

    The passages of all perspectives are read sentence by sentence: for a writer that quotes before it writes, and
    beside a model that writes, by the judge of this process.
    """
    quotes, written = providers.quote is None, _Written()
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
        responses = brief.responses or (await asyncio.to_thread(document_responses, brief, reading) if reading else [])
        written.responses += responses
        if reading and quotes:
            late = int(np.isnan(reading.confidence[reading.on_topic]).sum()) if brief.contrary else 0
            if late:
                written.fail(f"{late} sentences for '{name}' were not read in time, and are not quoted.")
            if reading.case.any() or not late:
                written.read[own] = sentence_evidence(reading)
        brief = replace(brief, responses=responses, reading=reading)
        written.quotations[own] = (await providers.quote(brief))[0] if providers.quote and reading else ()
    return written


_Case = tuple[list[Claim], list[Claim]] | BaseException
"""What a writer wrote and its spares, or how it failed."""


async def _read_and_wrote(
    providers: Providers, state: RunState, options: RunOptions, briefs: list[Brief]
) -> tuple[list[Brief], Sequence[SentenceScores | None], Sequence[_Case]]:
    """The briefs with what was read; for each its reading, None where a model wrote and that was late, and its case.
    Raises DeadlineError, JudgeError."""
    models, readings = providers.models, list[SentenceScores]()
    reading = asyncio.create_task(score_sentences(models, briefs, _READING * time_left(options, "write")))
    try:
        if providers.quote is None:
            readings = await in_time(options, "write", reading)
            read = zip(briefs, readings, strict=True)
            briefs = [
                replace(brief, reading=found, responses=document_responses(brief, found)) for brief, found in read
            ]
        writing = (in_time(options, "write", providers.write(brief)) for brief in briefs)
        cases = await asyncio.gather(*writing, return_exceptions=True)
        with suppress(DeadlineError):  # what a model wrote stands without what was read beside it
            readings = readings or await in_time(options, "write", reading)
        return briefs, readings or [None] * len(briefs), cases
    finally:
        reading.cancel()


_SPARES = 2
_READ = 14  # passages a side at most; more only dilute the request
_FOR_A_CLAIM = 2  # passages, for each claim that is asked for
_CITED = 3
_OF_A_SIDE = 2  # passages of each side that a crux cites
_LONGEST = 500
_LEAD = re.compile(
    r"^(?:the )?passages?\b[^,.;]{0,60}?\b(?:says?|states?|mentions?|notes?|argues?|reports?) that ", re.I
)


class WrittenClaim(BaseModel):
    """One claim as the model is asked for it."""

    passages: list[int] = Field(min_length=1, max_length=12)  # first, so that a model writes what it has chosen
    text: str = Field(min_length=1, max_length=_LONGEST)


class WrittenCase(BaseModel):
    """What the model is asked for."""

    claims: list[WrittenClaim] = Field(max_length=24)


class WrittenCrux(BaseModel):
    """What the model is asked for on the dispute as a whole."""

    text: str = Field(default="", max_length=_LONGEST)
    claims: list[int] = Field(default_factory=list, max_length=12)


async def write_by_chat(model: ChatModel, brief: Brief) -> tuple[list[Claim], list[Claim]]:
    framing, limit = brief.framing, brief.limit
    shown = list(brief.passages[: min(_READ, _FOR_A_CLAIM * (limit + _SPARES))])
    if not shown:
        return [], []
    case = await ask_model(
        model,
        "write",
        WrittenCase,
        question=as_data("question", framing["question"]),
        statement=as_data("statement", brief.perspective["statement"]),
        contrary=f"It is opposed to: {as_data('statement', brief.contrary)}" if brief.contrary else "",
        focus=_focus(framing),
        passages="\n".join(_shown(n, p) for n, p in enumerate(shown, start=1)),
        limit=str(limit + _SPARES),
    )
    made = [
        _claim(brief.perspective, WrittenClaim(text=text, passages=written.passages), shown, brief.support)
        for written in case.claims
        for text in _points(written.text)
    ]
    claims = _by_source(made, {p.id: p.source for p in shown})
    return claims[:limit], claims[limit : limit + _SPARES]


async def crux_by_chat(
    model: ChatModel, framing: FramingState, sides: Sequence[tuple[Perspective, Sequence[Claim]]]
) -> Claim | None:
    """A sentence from the numbered claims of both sides, which cites their passages."""
    numbers = count(1)
    shown = [(p["statement"], {next(numbers): claim for claim in claims}) for p, claims in sides]
    told = (
        "\n".join([as_data("side", side), *(as_data("claim", decontextualised(c), number=n) for n, c in own.items())])
        for side, own in shown
    )
    reply = await ask_model(
        model,
        "crux",
        WrittenCrux,
        question=as_data("question", framing["question"]),
        sides="\n\n".join(told),
    )
    cited = [_crux_passages([own[n] for n in dict.fromkeys(reply.claims) if n in own]) for _, own in shown]
    if not reply.text.strip() or not all(cited):
        return None
    return Claim(
        perspective="",
        text=one_line(reply.text),
        passages=list(dict.fromkeys(i for ids in cited for i in ids)),
        support=0.0,
        role="crux",
        written=True,
        evidence=[],
    )


def _crux_passages(claims: Sequence[Claim]) -> list[int]:
    """The passages to cite for one side: one of each claim before another of any."""
    ranked = [i for rank in zip_longest(*(c["passages"] for c in claims)) for i in rank if i is not None]
    return list(dict.fromkeys(ranked))[:_OF_A_SIDE]


def _by_source(claims: Sequence[Claim], source_of: dict[int, str]) -> list[Claim]:
    """Claims that cite a new source before the others, each group in the order in which it was written."""
    seen_sources: set[str] = set()
    first, rest = list[Claim](), list[Claim]()
    for claim in claims:
        own = {source_of[i] for i in claim["passages"]}
        (rest if claim["passages"] and own <= seen_sources else first).append(claim)
        seen_sources |= own
    return [*first, *rest]


def _focus(framing: FramingState) -> str:
    focus = as_data("focus", framing["focus"])
    if framing["form"] == "counter":
        return (
            f"The reader wants to know what speaks most strongly against this: {focus}\n"
            "Begin with what answers its very point."
        )
    return f"The reader asks about: {focus}" if framing["focus"] else ""


def _shown(number: int, passage: Passage) -> str:
    about = {name: getattr(passage, name) for name in ("speaker", "author", "title", "publisher", "date")}
    return as_data("passage", passage.text, number=number, **about)


def _points(text: str) -> list[str]:
    """The sentences of what was to be one, without a lead that only says that a passage says it."""
    points = (_LEAD.sub("", sentence) for sentence in split_sentences(one_line(text)))
    return [point[:1].upper() + point[1:] for point in points if point]


def _claim(
    perspective: Perspective,
    written: WrittenClaim,
    shown: Sequence[Passage],
    support: dict[int, float],
    most: int = _CITED,
) -> Claim:
    """The claim with passage ids for numbers; numbers that were never given cite nothing, and verification drops it."""
    cited = [shown[n - 1].id for n in dict.fromkeys(written.passages) if 1 <= n <= len(shown)][:most]
    return Claim(
        perspective=perspective["id"],
        text=one_line(written.text),
        passages=cited,
        support=max((support.get(i, 0.0) for i in cited), default=0.0),
        role="case",
        written=True,
        evidence=[],
    )
