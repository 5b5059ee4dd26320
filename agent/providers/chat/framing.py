"""Frame with a chat model: the neutral form of the question in any wording, and follow-ups made standalone."""

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from agent.providers.chat.stage import ChatStage
from agent.question import is_english
from agent.state import FramingState
from prompts.loader import as_data, one_line
from tools.errors import ProviderReplyError

_LONGEST = 400  # characters of a neutral question, a claim or an alternative
_WORD = re.compile(r"[^\W_]{2,}")
_ANYWHERE = frozenset(
    "is are was were be do does did the an of to in on at for and or not no if it its this that these those should "
    "would could can will may might must has have had what which who why how when where there with from by as".split()
)
_NONE_EARLIER = "There is no earlier question."


class FramedQuestion(BaseModel):
    """What the model is asked for."""

    form: Literal["polar", "claim", "choice", "open", "plain", "none"]
    neutral: str = Field(max_length=_LONGEST)
    claim: str = Field("", max_length=_LONGEST)
    negation: str = Field("", max_length=_LONGEST)
    alternatives: list[str] = Field(default_factory=list, max_length=6)
    topic: str = Field("", max_length=_LONGEST)
    focus: str = Field("", max_length=_LONGEST)


class ChatFramer(ChatStage):
    """Frames a question by asking a model."""

    async def frame(self, question: str, earlier: Sequence[str]) -> FramingState:
        before = "\n".join(as_data("earlier_question", q) for q in earlier)
        framed = await self._ask(
            "frame",
            FramedQuestion,
            question=as_data("question", question),
            earlier=f"Asked before in this conversation, oldest first:\n{before}" if before else _NONE_EARLIER,
        )
        check_framing(framed, [question, *earlier], self._model.name)
        return FramingState(
            form=framed.form,
            neutral=one_line(framed.neutral),
            claim=one_line(framed.claim),
            negation=one_line(framed.negation),
            alternatives=[one_line(a) for a in framed.alternatives if a.strip()],
            topic=one_line(framed.topic),
            focus=one_line(framed.focus),
        )


def check_framing(framed: FramedQuestion, asked: Sequence[str], model: str) -> None:
    """Raises ProviderReplyError for a framing that has nothing to do with what was asked, or lacks its parts; the
    answer shows the message, so it names the model."""
    if framed.form == "none":
        return
    sided = framed.form in ("polar", "claim")
    about = set().union(*map(_beginnings, asked))
    for what, text in (("neutral question", framed.neutral), *((("claim", framed.claim),) if sided else ())):
        # Of other languages nothing is known: the model may have translated, and not all of them put spaces.
        foreign = not about or not is_english(_WORD.findall(asked[0]))
        if not text.strip() or not (foreign or about & _beginnings(text)):
            raise ProviderReplyError(f"{model} gave a {what} that shares no word with what was asked.")
    claim, negation = (one_line(text).rstrip(".").casefold() for text in (framed.claim, framed.negation))
    if sided and (not negation or claim == negation):
        raise ProviderReplyError(f"{model} gave a claim and a negation that are not two different sentences.")
    if framed.form == "choice" and len({one_line(a).casefold() for a in framed.alternatives if a.strip()}) < 2:
        raise ProviderReplyError(f"{model} gave a choice without two alternatives.")


def _beginnings(text: str) -> set[str]:
    return {w[:5] for w in map(str.casefold, _WORD.findall(text)) if w not in _ANYWHERE}
