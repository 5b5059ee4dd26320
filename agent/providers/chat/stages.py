"""The stages by chat model that ask one short thing: frame (what the rules do not tell: follow-ups and other languages)
and requery; and what all of them share."""

import re
from collections.abc import Sequence
from typing import Literal, TypeVar

from pydantic import BaseModel, Field

from agent.question import is_english
from agent.state import FramingState, Perspective, asked_query
from prompts import as_data, load_prompt, one_line
from tools.errors import ProviderReplyError
from tools.inference.chat.model import ChatModel

T = TypeVar("T", bound=BaseModel)


class ChatStage:
    """A stage that asks a model."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def _ask(self, prompt: str, shape: type[T], **values: str) -> T:
        """The reply to a prompt of `prompts/` with its variables filled in. Raises ProviderError, PromptError."""
        system, user = load_prompt(prompt).render(**values)
        return await self._model.ask(system, user, shape)


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


MOST_QUERIES = 4
_LONGEST_QUERY = 200
_LETTER = re.compile(r"\w")


class PlannedQueries(BaseModel):
    """What the model is asked for."""

    queries: list[str] = Field(max_length=12)


class ChatRequerier(ChatStage):
    """Asks a model for queries that were not tried."""

    async def queries(
        self, perspective: Perspective, framing: FramingState, tried: Sequence[str], found: Sequence[str] = ()
    ) -> list[str]:
        planned = await self._ask(
            "requery",
            PlannedQueries,
            question=as_data("question", asked_query(framing)),
            statement=as_data("statement", perspective["statement"]),
            tried="\n".join(as_data("query", t) for t in tried),
            most=str(MOST_QUERIES),
        )
        known = {" ".join(t.casefold().split()) for t in tried}
        fresh: dict[str, str] = {}
        for query in (one_line(q)[:_LONGEST_QUERY] for q in planned.queries):
            if _LETTER.search(query) and query.casefold() not in known:
                fresh.setdefault(query.casefold(), query)
        return list(fresh.values())[:MOST_QUERIES]
