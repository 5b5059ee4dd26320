"""The paragraphs found for a news event (NEWSCOPE's stage I), and the methods that choose among them (stage II)."""

import importlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from evals.datasets.news import NewsEvent, NewsSet
from evals.retrievers.corpus_index import CorpusIndex, Ranking, Vectors, highest
from tools.models.cache import VectorCache
from tools.models.encoders.encoder import Encoder
from tools.selection.published import Clustered, cluster_sentences, dkmips, greedy_plus, greedy_scs, mmr

CANDIDATES = 100
TRADE_OFF, WEIGHT = 0.75, 1.0
"""λ of MMR and DkMIPS, μ of DkMIPS: not published."""
_PLUS_TRADE_OFF = 0.5  # λ of GreedyPlus in all of the paper's main results


@dataclass(frozen=True, slots=True)
class Ready:
    """An event after stage I, with its n candidates in the order of their cosines.

    ids: of the candidates. articles: which each is of. vectors: shape (n, dimensions). cosine: to the
    headline, shape (n,). clusters: of the candidates' sentences. positives: of
    the sentences of the event's relevant paragraphs; place tells which of these a paragraph is. seconds: of clustering
    the candidates'.
    """

    event: NewsEvent
    ids: list[str]
    articles: list[str]
    vectors: Vectors
    cosine: NDArray[np.float32]
    clusters: Clustered
    positives: Clustered
    place: dict[str, int]
    seconds: float


def prepared(news: NewsSet, events: Sequence[NewsEvent], encoder: Encoder, cache: VectorCache) -> Iterator[Ready]:
    """The events after stage I. Raises ProviderError of an encoder elsewhere."""
    corpus = news.corpus
    place = {p.external_id: i for i, p in enumerate(corpus)}
    article = {p.id: p.article for e in news.events for p in e.paragraphs}
    importlib.import_module("sklearn.cluster")  # else the first event's seconds would be those of the import
    with CorpusIndex(corpus, encoder, cache) as index:
        cosines = index.query_vectors([e.headline for e in events]) @ index.vectors.T
        for event, row in zip(events, cosines, strict=True):
            candidates = highest(row, CANDIDATES)
            ids = [corpus[i].external_id for i in candidates]
            sentences, began = index.sentences(candidates), time.perf_counter()
            clusters = cluster_sentences(*sentences)
            seconds = time.perf_counter() - began
            yield Ready(
                event=event,
                ids=ids,
                articles=[article[i] for i in ids],
                vectors=index.vectors[candidates],
                cosine=row[candidates],
                clusters=clusters,
                positives=index.clustered([place[p.id] for p in event.positives]),
                place={p.id: i for i, p in enumerate(event.positives)},
                seconds=seconds,
            )


Choose = Callable[[Ready, int, float], Ranking]
"""From an event to the positions of up to k candidates, best first; the greedy methods stop at that share of covered
clusters, and the rest of k is filled by their similarity."""


_SLOPE, _MIDPOINT = 23.6, 0.72
"""Of `similarity`, fitted on one half of LocalNews' events: the slope is a logistic regression of 'relevant' on the
cosine (Platt 1999), the midpoint the middle one of those that reach published P 0.9 and 1.5 times dense retrieval's C
and I there."""
FITTED_ON = "LocalNews"


def held_out(events: Sequence[NewsEvent]) -> set[str]:
    """The events that nothing was fitted on: the second half of a shuffle whose seed is fixed."""
    drawn = list(events)
    Random(1).shuffle(drawn)
    return {e.id for e in drawn[(len(drawn) + 1) // 2 :]}


def article_cosine(ready: Ready) -> NDArray[np.float32]:
    """The highest of the candidate's article: the best passage stands for the document (MaxP, Dai and Callan 2019)."""
    best: dict[str, np.float32] = {}
    for article, cosine in zip(ready.articles, ready.cosine, strict=True):
        best.setdefault(article, cosine)  # candidates come in the order of their cosines
    return np.array([best[article] for article in ready.articles], np.float32)


def similarity(cosine: NDArray[np.float32]) -> NDArray[np.float32]:
    """From 0 to 1, of a cosine each by itself: 1 / (1 + exp(−slope · (cosine − midpoint)))."""
    halved = _SLOPE * (cosine - _MIDPOINT) / 2
    return np.asarray((1 + np.tanh(halved)) / 2, np.float32)  # the same, without exp's overflow


def _plus(ready: Ready, near: NDArray[np.float32], k: int, enough: float) -> Ranking:
    return greedy_plus(ready.clusters, near, k, enough, _PLUS_TRADE_OFF)


METHODS: dict[str, Choose] = {
    "dense": lambda ready, k, _: list(range(min(k, len(ready.ids)))),
    "mmr": lambda ready, k, _: mmr(ready.cosine, ready.vectors, k, TRADE_OFF, largest=1.0),
    "dkmips": lambda ready, k, _: dkmips(ready.cosine, ready.vectors, k, TRADE_OFF, WEIGHT),
    "scs": lambda ready, k, enough: greedy_scs(ready.clusters, ready.cosine, k, enough),
    "scs-released": lambda ready, k, enough: greedy_scs(ready.clusters, ready.cosine, k, enough, released=True),
    "greedyplus": lambda ready, k, enough: _plus(ready, ready.cosine, k, enough),
    # In the place of a re-ranker's sigmoid.
    "greedyplus-calibrated": lambda ready, k, enough: _plus(ready, similarity(article_cosine(ready)), k, enough),
}
CLUSTERED = [name for name in METHODS if name not in ("dense", "mmr", "dkmips")]
"""The methods that clustering is a part of."""
