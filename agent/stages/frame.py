"""Frame: what kind of question it is, and what a follow-up asks in its thread.

Rules tell the kind of an English question by its words alone. A chat model is asked only what they do not tell:
follow-ups, other languages, and what is no question to them.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Literal

from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.models.providers import Framer, Providers
from agent.options import RunOptions, check_form, check_question, in_time, options_of
from agent.stages.stage import RULES, Fallback, ask_model, report, stage
from agent.state import FramingState, RunState, StageNote
from prompts import as_data, one_line
from tools.errors import ProviderDownError, ProviderReplyError
from tools.language.identification import is_english, question_language, reads_as_english
from tools.language.question import read_question
from tools.models.chat.model import ChatModel


@stage("frame")
async def frame(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    framing = await in_time(options_of(runtime), "frame", _framed(providers, state))
    check_form(framing["form"], state["question"])
    report(runtime, "framed", neutral=framing["question"], focus=framing["focus"])
    language = "" if providers.english_only else await asyncio.to_thread(question_language, state["question"])
    told = f"The question was read from {language}: it is searched for and answered in English."
    failures = [StageNote(stage="frame", message=told, kind="scope")] if language else []
    return RunState(framing=framing, notes=failures)


async def _framed(providers: Providers, state: RunState) -> FramingState:
    """The framing: what the run began with, or what frames it. A question that wants something argued against is the
    thread's question with that in its focus: there is nothing left to ask."""
    if "framing" in state:
        return state["framing"]
    if (against := state.get("against")) is None:
        return await providers.frame(state["question"], state.get("earlier", []))
    asked, focus, claim = against["question"], against["text"], against["statement"]
    return FramingState(form="counter", question=asked, alternatives=[], focus=focus, claim=claim)


_FOLLOW_UP = re.compile(
    r"^(?:and |but |ok(?:ay)?,? |so )*(?:what|how) about (?P<focus>.+?)\??$|^(?:and|but)\s+(?P<rest>.+?)\??$",
    re.IGNORECASE,
)
_ASKS = re.compile(r"(?:is|are|should|does|do|will|can|would|has|have)\b", re.IGNORECASE)
_DOES = re.compile(r"^((?:what|how|which|when|where|why)\b.*?) (?:do|does|did) ", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their)\b|\b(?:this|that|these|those)\W*$|^\w+ (?:this|that|these|those)\b", re.IGNORECASE
)
_SHORT = 8  # words of a question that cannot do without the one that its pronoun points to


async def frame_by_rules(question: str, earlier: Sequence[str]) -> FramingState:
    """Tells the kind of a question by its words alone."""
    return await asyncio.to_thread(_frame, question, earlier)


def _frame(question: str, earlier: Sequence[str]) -> FramingState:
    asked, focus = resolve_follow_up(question, earlier[-1]) if earlier else (question, "")
    read = read_question(asked)
    return FramingState(
        form="plain" if read.kind == "fact" else read.kind,  # a fact is looked up, and has no sides
        question=read.text,
        alternatives=list(read.options),
        focus=focus,
    )


def resolve_follow_up(question: str, earlier: str) -> tuple[str, str]:
    """What a follow-up asks by itself, and the focus that it puts on the earlier question ('' where it puts none).

    'What about the cost?' is the earlier question with a focus on the cost; a short question with a pronoun ('Is it
    safe?') is asked with the earlier one before it.
    """
    asked = question.strip()
    if match := _FOLLOW_UP.match(asked):
        focus = _DOES.sub(r"\1 ", (match["focus"] or match["rest"]).strip())
        if not _ASKS.match(focus):
            return earlier, focus
        asked = focus[:1].upper() + focus[1:] + "?"
    if _PRONOUN.search(asked) and len(asked.split()) <= _SHORT:
        return f"{earlier} {asked}", ""
    return asked, ""


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


async def frame_by_chat(model: ChatModel, question: str, earlier: Sequence[str]) -> FramingState:
    """Frames a question by asking a model."""
    before = "\n".join(as_data("earlier_question", q) for q in earlier)
    framed = await ask_model(
        model,
        "frame",
        FramedQuestion,
        question=as_data("question", question),
        earlier=f"Asked before in this conversation, oldest first:\n{before}" if before else _NONE_EARLIER,
    )
    check_framing(framed, [question, *earlier], model.name)
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


_SIDED, _NOT_SIDED = ("polar", "choice"), ("open", "plain", "none")  # kinds of questions


def frame_by_rules_then_chat(fallback: Fallback, asked: Framer, rules: Framer) -> Framer:
    """Asks the model only what `rules` do not tell."""

    async def frame(question: str, earlier: Sequence[str]) -> FramingState:
        english = await asyncio.to_thread(reads_as_english, question)  # its first call may load a model
        plain = await rules(question, ()) if english else None
        if plain and not earlier and plain["form"] != "none":
            fallback.record(RULES)
            return plain

        async def by_model() -> FramingState:
            framing = await asked(question, earlier)
            if plain and plain["form"] in _SIDED and framing["form"] in _NOT_SIDED:
                told = f"{fallback.model.name} took a question that asks for a side for another kind."
                raise ProviderReplyError(told)
            return framing

        async def by_rules() -> FramingState:
            check_question(question)  # they read English only
            return await rules(question, earlier)

        framing, failure = await fallback.call(by_model, by_rules)
        if framing["form"] == "none" and failure:  # the rules read English, and not every wording
            raise ProviderDownError(f"{failure} It could not read the question.")
        return framing

    return frame
