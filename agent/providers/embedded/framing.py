"""Frame by grammar: the neutral form of the question, its claim and negation, and follow-ups made standalone."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

from agent.state import FramingState
from tools.language.grammar import Framing, evened, frame, same_polarity

_FOLLOW_UP = re.compile(
    r"^(?:and |but |ok(?:ay)?,? |so )*(?:what|how) about (?P<focus>.+?)\??$|^(?:and|but)\s+(?P<rest>.+?)\??$",
    re.IGNORECASE,
)
_SAID = re.compile(r"(?:they|it|he|she|we|you) \w+", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:it|that|this|they|them|these|those)\b", re.IGNORECASE)


class EmbeddedFramer:
    """Frames a question by its grammar alone."""

    async def frame(self, question: str, earlier: Sequence[str]) -> FramingState:
        return await asyncio.to_thread(_frame, question, earlier)


def _frame(question: str, earlier: Sequence[str]) -> FramingState:
    focus = ""
    if earlier:
        question, focus = make_standalone(question, earlier[-1])
    framing = frame(question)
    if framing.form == "claim" and not same_polarity(_stating(question, framing.claim), framing.claim):
        # Somebody who claims that something is not so is for that: 'For' has to be what was claimed.
        framing = replace(framing, claim=framing.negation, negation=framing.claim)
    framing = evened(framing)
    return FramingState(
        form="plain" if framing.form == "fact" else framing.form,  # a fact is looked up, and has no sides
        neutral=framing.neutral,
        claim=framing.claim,
        negation=framing.negation,
        alternatives=list(framing.alternatives) or [_chosen(framing, option) for option in framing.options],
        topic=framing.topic,
        focus=focus,
    )


def _stating(question: str, claim: str) -> str:
    """The sentence of the question that has most of the claim's words."""
    wanted = set(claim.lower().split())
    return max(re.split(r"(?<=[.!?]) ", question), key=lambda part: len(wanted & set(part.lower().split())))


def _chosen(framing: Framing, option: str) -> str:
    """An alternative that could not be made a statement: its name, and the question to which it is the answer."""
    if _SAID.match(option):
        return f"{option.rstrip('.')}."
    return f"{option}: {framing.neutral}"


def make_standalone(question: str, earlier: str) -> tuple[str, str]:
    """A follow-up as a question of its own, and the focus that it puts on the earlier one ('' when it puts none).

    'What about the cost?' is the earlier question with a focus on the cost; a pronoun stands for its topic.
    """
    if match := _FOLLOW_UP.match(question.strip()):
        focus = (match["focus"] or match["rest"]).strip()
        if not focus.lower().startswith(
            ("is ", "are ", "should ", "does ", "do ", "will ", "can ", "would ", "has ", "have ")
        ):
            return earlier, focus
        question = focus
    topic = frame(earlier).topic
    if topic and _PRONOUN.search(question) and topic.lower() not in question.lower():
        return _PRONOUN.sub(topic, question, count=1), ""
    return question, ""
