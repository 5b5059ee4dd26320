"""A side's passages read sentence by sentence: what may be quoted for it, and how surely it serves the side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.aspects import speaking_of
from agent.followups import counter_rank
from agent.models import Models
from agent.providers import Brief
from agent.state import Quote
from tools.judges.judge import Pair, side_score
from tools.passages import Passage, Sentence
from tools.responses.evidence import mendable
from tools.text.sentences import passage_sentences
from tools.text.standalone import stands_alone

_ABOUT = 0.35  # cosine to the side's statement below which a sentence is about something else
_ON_POINT = 0.6  # cosine to what it argues against from which a sentence need not speak of the side's statement
_ECHO = 0.95  # cosine at which a sentence says what it is to argue against


@dataclass(frozen=True, slots=True)
class Reading:
    """The n sentences of a side's passages in their order, an empty one after each passage.

    alone: which stand alone, shape (n,). fit: which of those may be quoted for the side, (n,). support: how surely each
    serves the side, (n,), NaN where that is not known. rank: how good a bullet it makes, (n,), NaN where it is not
    sure enough for one. vectors: unit, (n, dimensions), zeros where it is not sure enough. question: (dimensions,).
    """

    sentences: list[str]
    passages: list[Passage]
    alone: NDArray[np.bool_]
    fit: NDArray[np.bool_]
    support: NDArray[np.float64]
    rank: NDArray[np.float64]
    vectors: NDArray[np.float32]
    question: NDArray[np.float32]

    def quote(self, at: int, shown: str = "") -> Quote:
        """The sentence there as a quotation."""
        support = float(self.support[at])
        return Quote(text=self.sentences[at], shown=shown, passage=self.passages[at].id, support=support)


async def read(models: Models, brief: Brief, *, judged: bool = True) -> Reading:
    """Reads a brief's passages. `judged`: the judge is asked about every sentence that stands alone; else, and for the
    sentences that only lean on what came before, it is what the judge said of the passage that counts."""
    found = [s for p in brief.passages for s in (*passage_sentences(p), Sentence("", p, -1))]
    alone = np.array([stands_alone(s.text) for s in found], bool)
    showable = [a or mendable(s.text) for a, s in zip(alone, found, strict=True)]
    support = np.array([brief.support.get(s.passage.id, np.nan) for s in found], np.float64)
    support[~np.array(showable, bool)] = np.nan
    if judged:
        support[alone] = await _judged(brief, [found[i] for i in np.flatnonzero(alone)])
    sure = np.flatnonzero(support >= brief.judge.sentence_threshold)  # what is not a number is not sure
    statement, focus = brief.perspective["statement"], brief.framing["focus"]
    known = [statement, focus or statement, brief.framing["neutral"]]
    encoded = await models.encode(known)
    vectors = np.zeros((len(found), encoded.shape[1]), np.float32)
    vectors[sure] = await models.encode_sentences([found[i] for i in sure])
    nearness, to_the_point = (vectors[sure] @ encoded[:2].T).T
    rank = np.full(len(found), np.nan)
    countered = brief.framing["form"] == "counter"
    rank[sure] = [
        counter_rank(s, float(point)) if countered else _rank(s, float(near))
        for s, near, point in zip(support[sure], nearness, to_the_point, strict=True)
    ]
    fit = np.zeros(len(found), bool)
    fit[sure[_about(brief, [found[i].text for i in sure], nearness, to_the_point)]] = True
    sentences, passages = [s.text for s in found], [s.passage for s in found]
    return Reading(sentences, passages, alone, fit & alone, support, rank, vectors, encoded[2])


async def _judged(brief: Brief, found: Sequence[Sentence]) -> list[float]:
    statement = brief.perspective["statement"]
    scores = await brief.judge.support([Pair(statement, s.text, brief.contrary) for s in found])
    return [side_score(float(x), brief.support.get(s.passage.id)) for s, x in zip(found, scores, strict=True)]


def _about(
    brief: Brief, sentences: Sequence[str], nearness: NDArray[np.float32], to_the_point: NDArray[np.float32]
) -> list[int]:
    """Positions of the sentences that speak of the statement, and of what a follow-up asks about."""
    focus = brief.framing["focus"]
    about = [i for i, near in enumerate(nearness) if near >= _ABOUT]
    if brief.framing["form"] == "counter":
        return [i for i, near in enumerate(to_the_point) if near < _ECHO and (i in about or near >= _ON_POINT)]
    if focus and any(map((words := speaking_of(focus)).search, (p.text for p in brief.passages))):
        return [i for i in about if words.search(sentences[i])]  # such a passage says other things besides
    return about


def _rank(sure: float, nearness: float) -> float:
    """How good a bullet the sentence makes: clearly on the side, and about the statement."""
    return sure * (0.8 + 0.2 * max(0.0, nearness))
