"""Write with a chat model: finished sentences, each with the passages that say it; verification decides what stays."""

import re
from collections.abc import Sequence

from pydantic import BaseModel, Field

from agent.providers.chat.stages import ChatStage
from agent.seams import Brief
from agent.state import Claim, FramingState, Perspective
from prompts import as_data, one_line
from tools.language.sentences import split_sentences
from tools.passages import Passage

_SPARES = 2
_READ = 14  # passages a side at most; more only dilute the request
_FOR_A_CLAIM = 2  # passages, for each claim that is asked for
_CITED = 3
_READ_FOR_CRUX = 4  # passages a side
_ON_IT = 0.5  # probability of support
_A_HALF = 2  # passages cited of a side
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
    passages: list[int] = Field(default_factory=list, max_length=12)


class ChatWriter(ChatStage):
    """Asks a model to write each perspective's case, and what the dispute turns on."""

    async def write(self, brief: Brief) -> tuple[list[Claim], list[Claim]]:
        framing, limit = brief.framing, brief.limit
        shown = list(brief.passages[: min(_READ, _FOR_A_CLAIM * (limit + _SPARES))])
        if not shown:
            return [], []
        case = await self._ask(
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

    async def crux(self, one: Brief, other: Brief) -> Claim | None:
        mine, theirs = _on_it(one, other), _on_it(other, one)
        if not mine or not theirs:
            return None
        reply = await self._ask(
            "crux",
            WrittenCrux,
            question=as_data("question", one.framing["question"]),
            statement=as_data("statement", one.perspective["statement"]),
            contrary=as_data("statement", other.perspective["statement"]),
            passages="\n".join(_shown(n, p) for n, p in enumerate(mine, start=1)),
            opposing="\n".join(_shown(n, p) for n, p in enumerate(theirs, start=len(mine) + 1)),
        )
        numbers = list(dict.fromkeys(reply.passages))
        of_one = [n for n in numbers if 1 <= n <= len(mine)][:_A_HALF]
        of_other = [n for n in numbers if len(mine) < n <= len(mine) + len(theirs)][:_A_HALF]
        if not reply.text.strip() or not of_one or not of_other:
            return None
        written = WrittenClaim(text=reply.text, passages=[*of_one, *of_other])
        claim = _claim(one.perspective, written, [*mine, *theirs], {}, 2 * _A_HALF)
        return Claim(**{**claim, "perspective": "", "role": "crux"})


def _on_it(brief: Brief, other: Brief) -> list[Passage]:
    """The first passages whose probability of support is greater for this perspective than for the other one."""
    given = {p.id for p in other.passages if other.support.get(p.id, 0.0) >= brief.support.get(p.id, 0.0)}
    return [p for p in brief.passages if p.id not in given and brief.support.get(p.id, 0.0) >= _ON_IT][:_READ_FOR_CRUX]


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
    about = {k: v for k, v in (("title", passage.title), ("publisher", passage.publisher), ("date", passage.date)) if v}
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
