"""Frame without a model: what kind of question it is, and follow-ups read with their thread."""

import asyncio
import re
from collections.abc import Sequence

from agent.state import FramingState
from tools.language.question import read_question

_FOLLOW_UP = re.compile(
    r"^(?:and |but |ok(?:ay)?,? |so )*(?:what|how) about (?P<focus>.+?)\??$|^(?:and|but)\s+(?P<rest>.+?)\??$",
    re.IGNORECASE,
)
_ASKS = re.compile(r"(?:is|are|should|does|do|will|can|would|has|have)\b", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their)\b|\b(?:this|that|these|those)\W*$|^\w+ (?:this|that|these|those)\b", re.IGNORECASE
)
_SHORT = 8  # words of a question that cannot do without the one that its pronoun points to


class EmbeddedFramer:
    """Tells the kind of a question by its words alone."""

    async def frame(self, question: str, earlier: Sequence[str]) -> FramingState:
        return await asyncio.to_thread(_frame, question, earlier)


def _frame(question: str, earlier: Sequence[str]) -> FramingState:
    asked, focus = read_with(question, earlier[-1]) if earlier else (question, "")
    read = read_question(asked)
    return FramingState(
        form="plain" if read.kind == "fact" else read.kind,  # a fact is looked up, and has no sides
        question=read.text,
        alternatives=list(read.options),
        focus=focus,
    )


def read_with(question: str, earlier: str) -> tuple[str, str]:
    """What a follow-up asks by itself, and the focus that it puts on the earlier question ('' where it puts none).

    'What about the cost?' is the earlier question with a focus on the cost; a short question with a pronoun ('Is it
    safe?') is asked with the earlier one before it.
    """
    asked = question.strip()
    if match := _FOLLOW_UP.match(asked):
        focus = (match["focus"] or match["rest"]).strip()
        if not _ASKS.match(focus):
            return earlier, focus
        asked = focus[:1].upper() + focus[1:] + "?"
    if _PRONOUN.search(asked) and len(asked.split()) <= _SHORT:
        return f"{earlier} {asked}", ""
    return asked, ""
