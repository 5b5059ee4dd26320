"""Write without a model: verbatim sentences that stand alone, best supported and least redundant."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.aspects import speaking_of
from agent.followups import counter_rank
from agent.models import Models
from agent.providers import Brief
from agent.state import Claim, Perspective
from tools.judges.judge import Pair, side_score
from tools.passages import Passage
from tools.text.sentences import split_sentences
from tools.text.standalone import stands_alone

_SPARES = 3
_ABOUT = 0.35  # cosine to the side's statement below which a sentence is about something else
_ON_POINT = 0.6  # cosine to what it argues against from which a sentence need not speak of the side's statement
_ECHO = 0.95  # cosine at which a sentence says what it is to argue against
_REPEATS = 0.72  # cosine at which a sentence says what another one has said
_A_PASSAGE = 2  # sentences of one passage at most


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    passage: Passage
    support: float
    rank: float


class EmbeddedWriter:
    """Quotes the sentences that argue most clearly for a side."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def write(self, brief: Brief) -> tuple[list[Claim], list[Claim]]:
        found = [(s, p) for p in brief.passages for s in split_sentences(p.text) if stands_alone(s)]
        statement, threshold = brief.perspective["statement"], brief.judge.sentence_threshold
        scores = await brief.judge.support([Pair(statement, s, brief.contrary) for s, _ in found])
        judged = [
            (s, p, side_score(float(x), brief.support.get(p.id))) for (s, p), x in zip(found, scores, strict=True)
        ]
        kept = [(s, p, sure) for s, p, sure in judged if sure >= threshold]  # what is not a number is not sure
        focus, countered = brief.framing["focus"], brief.framing["form"] == "counter"
        vectors = await self._models.encode([statement, focus or statement, *(s for s, _, _ in kept)])
        nearness, to_the_point = (vectors[2:] @ vectors[:2].T).T
        about = [i for i, near in enumerate(nearness) if near >= _ABOUT]
        if countered:
            about = [i for i, near in enumerate(to_the_point) if near < _ECHO and (i in about or near >= _ON_POINT)]
        elif focus and any(map((words := speaking_of(focus)).search, (p.text for p in brief.passages))):
            about = [i for i in about if words.search(kept[i][0])]  # such a passage says other things besides
        ranks = [
            counter_rank(sure, float(to_the_point[i])) if countered else _rank(sure, float(nearness[i]))
            for i, (_, _, sure) in enumerate(kept)
        ]
        candidates = [_Candidate(*kept[i], ranks[i]) for i in about]
        picked = _pick(candidates, vectors[2:][about], brief.limit + _SPARES)
        claims = [_claim(brief.perspective, c) for c in picked]
        return claims[: brief.limit], claims[brief.limit :]


def _rank(sure: float, nearness: float) -> float:
    """How good a bullet the sentence makes: clearly on the side, and about the statement."""
    return sure * (0.8 + 0.2 * max(0.0, nearness))


def _pick(candidates: Sequence[_Candidate], vectors: NDArray[np.float32], limit: int) -> list[_Candidate]:
    """Greedily the best ranked that repeat nothing, each source once before any source twice."""
    chosen: list[int] = []
    order = sorted(range(len(candidates)), key=lambda i: (-candidates[i].rank, i))
    for again in (False, True):
        for i in order:
            if len(chosen) == limit:
                return [candidates[i] for i in chosen]
            if i in chosen or any(float(vectors[i] @ vectors[j]) >= _REPEATS for j in chosen):
                continue
            sources = [candidates[j].passage.source for j in chosen]
            passages = [candidates[j].passage.id for j in chosen]
            if (not again and candidates[i].passage.source in sources) or passages.count(
                candidates[i].passage.id
            ) >= _A_PASSAGE:
                continue
            chosen.append(i)
    return [candidates[i] for i in chosen]


def _claim(perspective: Perspective, candidate: _Candidate) -> Claim:
    return Claim(
        perspective=perspective["id"],
        text=candidate.text,
        passages=[candidate.passage.id],
        support=candidate.support,
        role="case",
    )
