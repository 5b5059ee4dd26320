"""Requery without a model: queries for an uncovered perspective from its statement and what was found for it."""

import re
from collections import Counter
from collections.abc import Sequence

from agent.state import FramingState, Perspective, is_answer
from tools.language.lexicon import lower_first
from tools.language.words import KEYWORD_STOP_WORDS, LIGHT_WORDS, NEGATORS

_REASON = re.compile(r",? (?:because|since|so that|as long as)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w'-]+")
_DENIALS = NEGATORS | {"nor", "without"}
_ANGLES: tuple[str, ...] = ("evidence that {statement}", "reasons why {statement}", "{keywords}")
_ASKED = ("{keywords} {found}", "{keywords}")
"""Of a question with the word that answers it."""
_COUNTERS = ("{topic}", "doubts and evidence against {topic}")
_POINT = 12  # words of what is argued against that make a query
_FOUND, _SHORTEST = 6, 4
"""Words of the best passages that make a query, and the letters of one at least."""


class EmbeddedRequerier:
    """Queries by angle, each with the side's whole statement: its topic alone would look for either side, or for the
    wrong one ('benefits of smoking bans' where the side is that smoking should not be banned)."""

    async def queries(
        self, perspective: Perspective, framing: FramingState, tried: Sequence[str], found: Sequence[str] = ()
    ) -> list[str]:
        said, angles, topic = perspective["statement"], _ANGLES, ""
        if answers := is_answer(perspective["name"], said):
            said, angles = framing["question"], _ASKED
        statement = _REASON.split(said)[0].rstrip(" .?!")
        words = keywords(statement)
        if framing["form"] == "counter":
            angles, topic = (words, *_COUNTERS), " ".join(keywords(framing["focus"]).split()[:_POINT])
        about = " ".join(_frequent(found, words)) if answers else ""
        filled = (
            a.format(statement=lower_first(statement), topic=topic, keywords=words, found=about).strip() for a in angles
        )
        known = {t.casefold() for t in tried}
        return [q for q in dict.fromkeys(filled) if q and q.casefold() not in known]


def keywords(statement: str) -> str:
    """The statement's content words in their order, and what denies them."""
    words = _WORD.findall(statement)
    return " ".join(w for w in words if w.lower() in _DENIALS or w.lower() not in KEYWORD_STOP_WORDS)


def _frequent(texts: Sequence[str], known: str) -> list[str]:
    """The words that most of the texts have and the query has not (pseudo-relevance feedback, Rocchio 1971)."""
    asked = {w.lower() for w in known.split()}
    counts = Counter(w for text in texts for w in dict.fromkeys(map(str.lower, _WORD.findall(text))))
    left_out = asked | KEYWORD_STOP_WORDS | LIGHT_WORDS
    return [w for w, _ in counts.most_common() if w.isalpha() and len(w) >= _SHORTEST and w not in left_out][:_FOUND]
