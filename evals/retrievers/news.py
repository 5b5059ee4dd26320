"""The methods that choose among the paragraphs found for a news event (NEWSCOPE's stage II)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evals.datasets.news import NewsEvent
from evals.retrievers.corpus_index import Ranking, Vectors
from tools.diversity.published import Clustered, dkmips, greedy_plus, greedy_scs, mmr

_PLUS_TRADE_OFF = 0.5  # λ of GreedyPlus in all of the paper's main results


@dataclass(frozen=True, slots=True)
class Dials:
    """What the methods can be told; `enough` None is never to stop before k."""

    trade_off: float = 0.75
    weight: float = 1.0
    divided: bool = False
    enough: float | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """An event after stage I, with its n candidates in the order of their cosines.

    ids: of the candidates. articles: which each is of. vectors: shape (n, dimensions). cosine and similarity: to the
    headline, shape (n,); the second is what GreedyPlus goes by. clusters: of the candidates' sentences. positives: of
    the sentences of the event's relevant paragraphs; place tells which of these a paragraph is. seconds: of clustering
    the candidates'.
    """

    event: NewsEvent
    ids: list[str]
    articles: list[str]
    vectors: Vectors
    cosine: NDArray[np.float32]
    similarity: NDArray[np.float32]
    clusters: Clustered
    positives: Clustered
    place: dict[str, int]
    seconds: float


Choose = Callable[[Ready, int, Dials], Ranking]
"""From an event to the positions of up to k candidates, best first."""
Reading = Callable[[Ready], NDArray[np.float32]]
"""From an event to a cosine of each candidate, shape (n,), that tells how relevant it is."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic function that makes a similarity, from 0 to 1, of a cosine; at its midpoint it is a half."""

    slope: float
    midpoint: float

    def similarity(self, cosine: NDArray[np.float32]) -> NDArray[np.float32]:
        """1 / (1 + exp(−slope · (cosine − midpoint))), each by itself."""
        halved = self.slope * (cosine - self.midpoint) / 2
        return np.asarray((1 + np.tanh(halved)) / 2, np.float32)  # the same, without exp's overflow


OF_ARTICLES = Calibration(slope=23.6, midpoint=0.72)
"""Fitted on one half of LocalNews' events by `python -m evals news --fit`."""


def own_cosine(ready: Ready) -> NDArray[np.float32]:
    """Of the paragraph alone."""
    return ready.cosine


def article_cosine(ready: Ready) -> NDArray[np.float32]:
    """The highest of the candidate's article: the best passage stands for the document (MaxP, Dai and Callan 2019)."""
    best: dict[str, np.float32] = {}
    for article, cosine in zip(ready.articles, ready.cosine, strict=True):
        best.setdefault(article, cosine)  # candidates come in the order of their cosines
    return np.array([best[article] for article in ready.articles], np.float32)


def stopped(order: Ranking, clusters: Clustered, enough: float) -> Ranking:
    """The order up to where it covers the share `enough` of the clusters, then other candidates by their cosine.

    order: positions of candidates, which are numbered by their cosine; as many come back.
    """
    total, covered, kept = len(np.unique(clusters.label)), set[int](), list[int]()
    for position in order:
        if not total or len(covered) / total >= enough:
            break
        covered |= clusters.of(position)
        kept.append(position)
    taken = set(kept)
    rest = [i for i in range(len(order)) if i not in taken]
    return [*kept, *rest][: len(order)]


def _dense(ready: Ready, k: int, dials: Dials) -> Ranking:
    return list(range(min(k, len(ready.ids))))


def _mmr(ready: Ready, k: int, dials: Dials) -> Ranking:
    order = mmr(ready.cosine, ready.vectors, k, dials.trade_off, largest=1.0)
    return order if dials.enough is None else stopped(order, ready.clusters, dials.enough)


def _dkmips(ready: Ready, k: int, dials: Dials) -> Ranking:
    order = dkmips(ready.cosine, ready.vectors, k, dials.trade_off, dials.weight, dials.divided)
    return order if dials.enough is None else stopped(order, ready.clusters, dials.enough)


def _scs(released: bool) -> Choose:
    return lambda ready, k, dials: greedy_scs(ready.clusters, ready.cosine, k, _enough(dials), released)


def _plus(ready: Ready, k: int, dials: Dials) -> Ranking:
    return greedy_plus(ready.clusters, ready.similarity, k, _enough(dials), _PLUS_TRADE_OFF)


def calibrated(reading: Reading, calibration: Calibration) -> Choose:
    """GreedyPlus by a calibrated cosine in the place of a re-ranker's sigmoid."""

    def choose(ready: Ready, k: int, dials: Dials) -> Ranking:
        similarity = calibration.similarity(reading(ready))
        return greedy_plus(ready.clusters, similarity, k, _enough(dials), _PLUS_TRADE_OFF)

    return choose


def _enough(dials: Dials) -> float:
    return 1.0 if dials.enough is None else dials.enough


METHODS: dict[str, Choose] = {
    "dense": _dense,
    "mmr": _mmr,
    "dkmips": _dkmips,
    "scs": _scs(released=False),
    "scs-released": _scs(released=True),
    "greedyplus": _plus,
    "greedyplus-calibrated": calibrated(article_cosine, OF_ARTICLES),
}
_WITHOUT_CLUSTERS = ("mmr", "dkmips")


def needs_clusters(name: str, dials: Dials) -> bool:
    """Whether clustering is a part of the method's work."""
    return name != "dense" and (name not in _WITHOUT_CLUSTERS or dials.enough is not None)
