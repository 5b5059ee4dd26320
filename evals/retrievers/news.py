"""Stage I of NEWSCOPE finds the candidate paragraphs of a news event. Stage II is in
`evals/retrievers/news_methods.py`."""

import importlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evals.datasets.news import NewsEvent, NewsSet
from evals.retrievers.corpus_index import CorpusIndex, Vectors, highest
from evals.retrievers.methods import bm25
from evals.retrievers.published_selections import Clustered, cluster_sentences, clustered_sentences
from tools.models.cache import VectorCache
from tools.models.encoders import Encoder

CANDIDATES = 100
OUTSIDE = -2
"""The label of sentences of non-candidates. They have no cluster, as in the released code."""


@dataclass(frozen=True, slots=True)
class EventCandidates:
    """An event with its n candidates, best first.

    ids, articles: of the candidates. vectors: shape (n, dimensions). cosine: to the headline, shape (n,). clusters:
    clusters of the candidates' sentences. positives: clusters of the sentences in relevant paragraphs. place: maps a
    relevant paragraph to its position in `positives`. seconds: time of `search` and `clustering`. by_words: BM25's
    candidates from the whole corpus, if requested.
    """

    event: NewsEvent
    ids: list[str]
    articles: list[str]
    vectors: Vectors
    cosine: NDArray[np.float32]
    clusters: Clustered
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
