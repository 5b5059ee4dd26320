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
from tools.passages import Sentence
from tools.text.sentences import passage_sentences
from tools.text.standalone import stands_alone

_SPARES = 3
_ABOUT = 0.35  # cosine to the side's statement below which a sentence is about something else
_ON_POINT = 0.6  # cosine to what it argues against from which a sentence need not speak of the side's statement
_ECHO = 0.95  # cosine at which a sentence says what it is to argue against
_REPEATS = 0.72  # cosine at which a sentence says what another one has said
_A_PASSAGE = 2  # sentences of one passage at most


@dataclass(frozen=True, slots=True)
class _Candidate:
    sentence: Sentence
    support: float
    rank: float


class EmbeddedWriter:
    """Quotes the sentences that argue most clearly for a side."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def write(self, brief: Brief) -> tuple[list[Claim], list[Claim]]:
        found = [s for p in brief.passages for s in passage_sentences(p) if stands_alone(s.text)]
        statement, threshold = brief.perspective["statement"], brief.judge.sentence_threshold
        scores = await brief.judge.support([Pair(statement, s.text, brief.contrary) for s in found])
        judged = [
            (s, side_score(float(x), brief.support.get(s.passage.id))) for s, x in zip(found, scores, strict=True)
        ]
        kept = [(s, sure) for s, sure in judged if sure >= threshold]  # what is not a number is not sure
        focus, countered = brief.framing["focus"], brief.framing["form"] == "counter"
        asked = await self._models.encode([statement, focus or statement])
        vectors = await self._models.encode_sentences([s for s, _ in kept])
        nearness, to_the_point = (vectors @ asked.T).T
        about = [i for i, near in enumerate(nearness) if near >= _ABOUT]
        if countered:
            about = [i for i, near in enumerate(to_the_point) if near < _ECHO and (i in about or near >= _ON_POINT)]
        elif focus and any(map((words := speaking_of(focus)).search, (p.text for p in brief.passages))):
            about = [i for i in about if words.search(kept[i][0].text)]  # such a passage says other things besides
        ranks = [
            counter_rank(sure, float(to_the_point[i])) if countered else _rank(sure, float(nearness[i]))
            for i, (_, sure) in enumerate(kept)
        ]
        candidates = [_Candidate(*kept[i], ranks[i]) for i in about]
        picked = _pick(candidates, vectors[about], brief.limit + _SPARES)
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
            passage, taken = candidates[i].sentence.passage, [candidates[j].sentence.passage for j in chosen]
            if not again and passage.source in {p.source for p in taken}:
                continue
            if [p.id for p in taken].count(passage.id) >= _A_PASSAGE:
                continue
            chosen.append(i)
    return [candidates[i] for i in chosen]


def _claim(perspective: Perspective, candidate: _Candidate) -> Claim:
    return Claim(
        perspective=perspective["id"],
        text=candidate.sentence.text,
        passages=[candidate.sentence.passage.id],
        support=candidate.support,
        role="case",
    )
