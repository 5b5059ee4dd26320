"""Write with a chat model: finished sentences, each with the passages that say it; verification decides what stays."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agent.providers import Brief
from agent.state import Claim, FramingState, Perspective
from prompts.loader import as_data, load_prompt, seen
from tools.chat.model import ChatModel
from tools.passages import Passage

_SPARES = 2
_READ = 14  # passages a side; more only dilute the request
_CITED = 3
_LONGEST = 500


class WrittenClaim(BaseModel):
    """One claim as the model is asked for it."""

    text: str = Field(min_length=1, max_length=_LONGEST)
    passages: list[int] = Field(min_length=1, max_length=12)


class WrittenCase(BaseModel):
    """What the model is asked for."""

    claims: list[WrittenClaim] = Field(max_length=24)


class ChatWriter:
    """Asks a model to write each side's case."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def write(self, brief: Brief) -> tuple[list[Claim], list[Claim]]:
        shown, framing, limit = list(brief.passages[:_READ]), brief.framing, brief.limit
        if not shown:
            return [], []
        system, user = load_prompt("write").render(
            question=as_data("question", framing["neutral"]),
            statement=as_data("statement", brief.perspective["statement"]),
            contrary=f"It is opposed to: {as_data('statement', brief.contrary)}" if brief.contrary else "",
            focus=_focus(framing),
            passages="\n".join(_shown(n, p) for n, p in enumerate(shown, start=1)),
            limit=str(limit + _SPARES),
        )
        case = await self._model.ask(system, user, WrittenCase)
        claims = [_claim(brief.perspective, written, shown, brief.support) for written in case.claims]
        return claims[:limit], claims[limit : limit + _SPARES]


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


def _claim(
    perspective: Perspective, written: WrittenClaim, shown: Sequence[Passage], support: dict[int, float]
) -> Claim:
    """The claim with passage ids for numbers; numbers that were never given cite nothing, and verification drops it."""
    cited = [shown[n - 1].id for n in dict.fromkeys(written.passages) if 1 <= n <= len(shown)][:_CITED]
    return Claim(
        perspective=perspective["id"],
        text=" ".join(seen(written.text).split()),
        passages=cited,
        support=max((support.get(i, 0.0) for i in cited), default=0.0),
        role="case",
        written=True,
        evidence=[],
    )
