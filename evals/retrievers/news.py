"""Stage I of NEWSCOPE finds the candidate paragraphs of a news event. Stage II chooses among them, by a published
selection (`evals/retrievers/selections.py`) or by our own calibrated GreedyPlus. A search alone takes the first ones.
"""

import importlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from evals.datasets.news import NewsEvent, NewsSet
from evals.retrievers.corpus_index import CorpusIndex, highest
from evals.retrievers.methods import bm25
from evals.retrievers.published_selections import Clustered, cluster_sentences, clustered_sentences
from evals.retrievers.selections import (
    COVERAGE,
    KINDS,
    SEARCH_ORDER,
    ClusteredPool,
    Kind,
    Selection,
    parse_selection,
    plus,
)
from tools.models.cache import VectorCache
from tools.models.encoders import Encoder

CANDIDATES = 100
OUTSIDE = -2
"""The label of sentences of non-candidates. They have no cluster, as in the released code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCandidates(ClusteredPool):
    """An event with its n candidates, best first. MMR uses the cosines themselves, and DkMIPS the number of paragraphs
    to choose.

    ids, articles: of the candidates. positives: clusters of the sentences in relevant paragraphs. place: maps a
    relevant paragraph to its position in `positives`. seconds: time of `search` and `clustering`. by_words: BM25's
    candidates from the whole corpus, if requested.
    """

    words: NDArray[np.floating] = field(default_factory=lambda: np.zeros(0))
    support: NDArray[np.floating] = field(default_factory=lambda: np.zeros((0, 0)))
    largest: float | None = 1.0
    meant: int | None = None
    event: NewsEvent
    ids: list[str]
    articles: list[str]
    positives: Clustered
    place: dict[str, int]
    seconds: dict[str, float]
    by_words: "EventCandidates | None" = None


def with_candidates(
    news: NewsSet, events: Sequence[NewsEvent], encoder: Encoder, cache: VectorCache, words: bool = False
) -> Iterator[EventCandidates]:
    """Yields the events with candidates. words: add BM25's candidates. Raises ProviderError of a remote encoder. Each
    headline is encoded separately, and the search's seconds include the encoding."""
    importlib.import_module("sklearn.cluster")  # so that the first event's seconds exclude the import
    place = {p.external_id: i for i, p in enumerate(news.corpus)}
    articles = {p.id: p.article for e in news.events for p in e.paragraphs}
    with CorpusIndex(news.corpus, encoder, cache) as index:
        _ = index.vectors, words and index.lexical  # before the clock starts
        for event in events:
            began = time.perf_counter()
            cosine = encoder.encode_queries([event.headline])[0] @ index.vectors.T
            candidates = highest(cosine, CANDIDATES)
            searched = time.perf_counter() - began
            sentences, began = index.sentences(candidates), time.perf_counter()
            clusters = cluster_sentences(*sentences)
            seconds = {"search": searched, "clustering": time.perf_counter() - began}
            ids = [news.corpus[i].external_id for i in candidates]
            ready = EventCandidates(
                event=event,
                ids=ids,
                articles=[articles[i] for i in ids],
                vectors=index.vectors[candidates],
                cosine=cosine[candidates],
                clusters=clusters,
                positives=index.clustered([place[p.id] for p in event.positives]),
                place={p.id: i for i, p in enumerate(event.positives)},
                seconds=seconds,
            )
            yield replace(ready, by_words=_by_words(ready, index)) if words else ready


def _by_words(ready: EventCandidates, index: CorpusIndex) -> EventCandidates:
    began = time.perf_counter()
    found = bm25(index, ready.event.headline, CANDIDATES)
    seconds = {"search": time.perf_counter() - began, "clustering": 0.0}
    ids, place = [index.corpus[i].external_id for i in found], {id_: n for n, id_ in enumerate(ready.ids)}
    labels = [
        ready.clusters.label[ready.clusters.paragraph == place[id_]]
        if id_ in place
        else np.full(len(clustered_sentences(index.corpus[i].text)), OUTSIDE)
        for i, id_ in zip(found, ids, strict=True)
    ]
    of = np.repeat(np.arange(len(found)), [len(some) for some in labels])
    clusters = Clustered(of, np.concatenate([np.zeros(0, np.int64), *labels]))
    return replace(ready, ids=ids, vectors=index.vectors[found], clusters=clusters, seconds=seconds)


_SLOPE, _MIDPOINT = 23.6, 0.72
"""Parameters of `similarity`, fitted on one half of LocalNews' events. The slope comes from a logistic regression of
'relevant' on the cosine (Platt 1999). The midpoint is the median of the midpoints that reach a published P of 0.9 and
1.5 times dense retrieval's C and I."""
FITTED_ON = "LocalNews"


def held_out(events: Sequence[NewsEvent]) -> set[str]:
    """Returns the events outside the fit: the second half of a seeded shuffle."""
    drawn = list(events)
    Random(1).shuffle(drawn)
    return {e.id for e in drawn[(len(drawn) + 1) // 2 :]}


def article_cosine(ready: EventCandidates) -> NDArray[np.float32]:
    """Returns for each candidate the highest cosine in the candidate's article (MaxP, Dai and Callan 2019)."""
    best: dict[str, np.float32] = {}
    for article, cosine in zip(ready.articles, ready.cosine, strict=True):
        best.setdefault(article, cosine)  # candidates are in the order of their cosines
    return np.array([best[article] for article in ready.articles], np.float32)


def similarity(cosine: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns 1 / (1 + exp(−slope · (cosine − midpoint)))."""
    halved = _SLOPE * (cosine - _MIDPOINT) / 2
    return np.asarray((1 + np.tanh(halved)) / 2, np.float32)  # the same, without exp's overflow


_CALIBRATED = Kind(
    # The logistic function replaces a re-ranker's sigmoid.
    lambda ready, k, enough, trade: plus(ready.clusters, similarity(article_cosine(ready)), k, enough, trade),
    (0.5,),
    clustered=True,
)
_SEARCHES = dict.fromkeys(("bm25", "dense"), KINDS[SEARCH_ORDER])
_PUBLISHED = {name: kind for name, kind in KINDS.items() if name not in (COVERAGE, SEARCH_ORDER)}
_KINDS = _SEARCHES | _PUBLISHED | {"greedyplus-calibrated": _CALIBRATED}
METHODS = tuple(_KINDS)

# NEWSCOPE publishes figures for these λ of GreedyPlus (table 8), and no λ of the other methods.
_PLUS = ("0.125", "0.25", "0.5", "1", "2", "4", "8")
SWEEP = (
    *(f"mmr:{trade}" for trade in ("0.25", "0.5", "0.75", "0.9", "0.95", "0.99")),
    *(f"dkmips:{trade}:{mu}" for mu in ("1", "5", "25") for trade in ("0.25", "0.5", "0.75", "0.9")),
    *(f"{plus}:{trade}" for plus in ("greedyplus", "greedyplus-calibrated") for trade in _PLUS),
)
"""λ and μ of `--sweep`."""
_RULES = ("", ":inf", ":0", "+enough:0.5", "+enough:0.8", "+stop:0.5", "+stop:0.8")
ABLATIONS = tuple(f"{plus}{rule}" for plus in ("greedyplus", "greedyplus-calibrated") for rule in _RULES)
"""GreedyPlus without clusters, without similarity, and with each stop rule."""


def named(names: Iterable[str]) -> dict[str, Selection]:
    """Returns the methods of these names, dense first. Raises InputError for an unknown name."""
    return {name: parse_selection(name, _KINDS) for name in dict.fromkeys(("dense", *names))}
