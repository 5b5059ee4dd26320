"""Frame with a chat model: what the rules do not tell, which are follow-ups and other languages."""

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from agent.providers.chat.stage import ChatStage
from agent.question import is_english
from agent.state import FramingState
from prompts import as_data, one_line
from tools.errors import ProviderReplyError

_LONGEST = 400  # characters of a question or an alternative
_WORD = re.compile(r"[^\W_]{2,}")
_ANYWHERE = frozenset(
    "is are was were be do does did the an of to in on at for and or not no if it its this that these those should "
    "would could can will may might must has have had what which who why how when where there with from by as".split()
)
_NONE_EARLIER = "There is no earlier question."


class FramedQuestion(BaseModel):
    """What the model is asked for."""

    form: Literal["polar", "claim", "choice", "open", "plain", "none"]
    question: str = Field(max_length=_LONGEST)
    alternatives: list[str] = Field(default_factory=list, max_length=6)
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
            question=one_line(framed.question),
            alternatives=[one_line(a) for a in framed.alternatives if a.strip()],
            focus=one_line(framed.focus),
        )


def check_framing(framed: FramedQuestion, asked: Sequence[str], model: str) -> None:
    """Raises ProviderReplyError for a framing that has nothing to do with what was asked, or lacks its parts; the
    answer shows the message, so it names the model."""
    if framed.form == "none":
        return
    about = set().union(*map(_beginnings, asked))
    # Of other languages nothing is known: the model may have translated, and not all of them put spaces.
    foreign = not about or not is_english(_WORD.findall(asked[0]))
    if not framed.question.strip() or not (foreign or about & _beginnings(framed.question)):
        raise ProviderReplyError(f"{model} gave a question that shares no word with what was asked.")
    if framed.form == "choice" and len({one_line(a).casefold() for a in framed.alternatives if a.strip()}) < 2:
        raise ProviderReplyError(f"{model} gave a choice without two alternatives.")


def _beginnings(text: str) -> set[str]:
    return {w[:5] for w in map(str.casefold, _WORD.findall(text)) if w not in _ANYWHERE}
