"""New queries for an uncovered side, from its statement and from how people argue for or against things."""

import re
from collections.abc import Sequence

from agent.state import FramingState, Perspective

_FUNCTION_WORDS = frozenset(
    "a an the of to in on for and or is are was were be been being should would could will can may might must do does "
    "did not no it its this that these those by with as at from than then there their they who which what how so such "
    "have has had more most very into about over under only all any some".split()
)
_ANGLES: dict[str, tuple[str, ...]] = {
    "supports": ("benefits and advantages of {topic}", "why {topic} is right", "arguments in favour of {topic}"),
    "opposes": ("harms, risks and costs of {topic}", "problems with {topic}", "arguments against {topic}"),
    "other": ("{keywords}", "alternatives and compromises on {topic}"),
}
_COUNTERS = ("{topic}", "doubts and evidence against {topic}")
_POINT = 12  # words of what is argued against that make a query


class EmbeddedRequerier:
    """Queries by angle: the side's own words, then what its advocates would speak of."""

    async def queries(self, perspective: Perspective, framing: FramingState, tried: Sequence[str]) -> list[str]:
        words = keywords(perspective["statement"])
        topic = framing["topic"] or keywords(framing["neutral"])
        angles = _ANGLES[perspective["stance"]]
        if framing["form"] == "counter":
            angles, topic = _COUNTERS, " ".join(keywords(framing["focus"]).split()[:_POINT])
        made = [words, *(a.format(topic=topic, keywords=words) for a in angles)]
        known = {t.casefold() for t in tried}
        return [q for q in dict.fromkeys(made) if q and q.casefold() not in known]


def keywords(statement: str) -> str:
    """The statement's content words in their order."""
    return " ".join(w for w in re.findall(r"[\w'-]+", statement) if w.lower() not in _FUNCTION_WORDS)
