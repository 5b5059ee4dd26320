"""Frame with a chat model: the neutral form of the question in any wording, and follow-ups made standalone."""

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from agent.state import FramingState
from prompts.loader import as_data, load_prompt
from tools.chat import ChatModel
from tools.errors import ProviderReplyError

_LONGEST = 400  # characters of a neutral question, a claim or an alternative
_WORD = re.compile(r"[^\W_]{3,}")
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


class ChatFramer:
    """Frames a question by asking a model."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def frame(self, question: str, earlier: Sequence[str]) -> FramingState:
        before = "\n".join(as_data("earlier_question", q) for q in earlier)
        system, user = load_prompt("frame").render(
            question=as_data("question", question),
            earlier=f"Asked before in this conversation, oldest first:\n{before}" if before else _NONE_EARLIER,
        )
        framed = await self._model.ask(system, user, FramedQuestion)
        check_framing(framed, [question, *earlier])
        return FramingState(
            form=framed.form,
            neutral=_one_line(framed.neutral),
            claim=_one_line(framed.claim),
            negation=_one_line(framed.negation),
            alternatives=[_one_line(a) for a in framed.alternatives if a.strip()],
            topic=_one_line(framed.topic),
            focus=_one_line(framed.focus),
        )


def check_framing(framed: FramedQuestion, asked: Sequence[str]) -> None:
    """Raises ProviderReplyError for a framing that has nothing to do with what was asked, or lacks its parts."""
    if framed.form == "none":
        return
    about = {w.casefold()[:5] for text in asked for w in _WORD.findall(text)}
    if not about & {w.casefold()[:5] for w in _WORD.findall(framed.neutral)}:
        raise ProviderReplyError("the neutral question shares no word with what was asked.")
    sided = framed.form in ("polar", "claim")
    if sided and (not framed.claim.strip() or not framed.negation.strip() or framed.claim == framed.negation):
        raise ProviderReplyError("the claim and its negation are not two different sentences.")
    if framed.form == "choice" and len([a for a in framed.alternatives if a.strip()]) < 2:
        raise ProviderReplyError("a choice needs at least two alternatives.")


def _one_line(text: str) -> str:
    return " ".join(text.split())
