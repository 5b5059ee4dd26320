"""Requery without a model: queries for an uncovered perspective by templates over its statement."""

import re
from collections.abc import Sequence

from agent.state import FramingState, Perspective, asked_as
from tools.language.grammar import lower_first
from tools.language.word_lists import KEYWORD_STOP_WORDS, NEGATORS

_REASON = re.compile(r",? (?:because|since|so that|as long as)\b", re.IGNORECASE)
_DENIALS = NEGATORS | {"nor", "without"}
_ANGLES: tuple[str, ...] = ("evidence that {statement}", "reasons why {statement}", "{keywords}")
_ASKED = ("arguments: {statement}", "{keywords}")
"""Of a question that stands in for a statement."""
_COUNTERS = ("{topic}", "doubts and evidence against {topic}")
_POINT = 12  # words of what is argued against that make a query


class EmbeddedRequerier:
    """Queries by angle, each with the side's whole statement: its topic alone would look for either side, or for the
    wrong one ('benefits of smoking bans' where the side is that smoking should not be banned)."""

    async def queries(self, perspective: Perspective, framing: FramingState, tried: Sequence[str]) -> list[str]:
        statement = _REASON.split(asked_as(perspective["statement"]))[0].rstrip(" .?!")
        words = keywords(statement)
        angles, topic = _ANGLES, ""
        if framing["form"] == "counter":
            angles, topic = (words, *_COUNTERS), " ".join(keywords(framing["focus"]).split()[:_POINT])
        elif perspective["statement"].endswith("?"):
            angles = _ASKED
        made = [a.format(statement=lower_first(statement), topic=topic, keywords=words) for a in angles]
        known = {t.casefold() for t in tried}
        return [q for q in dict.fromkeys(made) if q and q.casefold() not in known]


def keywords(statement: str) -> str:
    """The statement's content words in their order, and what denies them."""
    words = re.findall(r"[\w'-]+", statement)
    return " ".join(w for w in words if w.lower() in _DENIALS or w.lower() not in KEYWORD_STOP_WORDS)
