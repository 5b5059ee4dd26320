"""Published selections: maximal marginal relevance, diverse inner-product search, cluster coverage (NEWSCOPE, §4.2).

All selections are greedy: each step adds the passage with the largest gain. A cluster of sentences stands for one
statement. A paragraph covers the clusters of its sentences.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.language.sentences import split_sentences

LEAST_WORDS = 6  # of a clustered sentence: "more than five words"
NOISE = -1
"""The label of sentences without a cluster. These sentences together count as one cluster, as in the released code."""
_COUNTED = 0.04
_DECISIVE = 4.0  # no difference of cosines is as large
_MOST = 100  # sentences of a paragraph: time and memory are quadratic
_ALIKE = 2  # sentences of the smallest cluster


@dataclass(frozen=True, slots=True)
class Clustered:
    """The paragraph and the cluster label of each sentence, both of shape (sentences,)."""

    paragraph: NDArray[np.int64]
    label: NDArray[np.int64]

    def of(self, paragraph: int) -> frozenset[int]:
        """Returns the clusters that a paragraph covers."""
        return frozenset(int(c) for c in self.label[self.paragraph == paragraph])


UNCLUSTERED = Clustered(np.zeros(0, np.int64), np.zeros(0, np.int64))


def clustered_sentences(text: str) -> list[str]:
    """Returns the first hundred sentences of a paragraph that are long enough."""
    return [s for s in split_sentences(text) if len(s.split()) >= LEAST_WORDS][:_MOST]


def cluster_sentences(vectors: NDArray[np.float32], paragraph: Sequence[int]) -> Clustered:
    """Clusters sentences with OPTICS (Ankerst et al. 1999) on the cosine distances of unit vectors of shape (sentences,
    dimensions). paragraph: the paragraph of each sentence."""
    of = np.asarray(paragraph, np.int64)
    if len(vectors) < _ALIKE:
        return Clustered(of, np.full(len(vectors), NOISE, np.int64))
    import warnings

    from sklearn.cluster import OPTICS

    distances = np.clip(1.0 - vectors @ vectors.T, 0.0, None).astype(np.float64)
    np.fill_diagonal(distances, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # OPTICS divides by the distance 0 of equal sentences
        labels = OPTICS(metric="precomputed", min_samples=_ALIKE).fit(distances).labels_
    return Clustered(of, np.asarray(labels, np.int64))


def greedy_scs(
    clusters: Clustered, similarity: NDArray[np.floating], k: int, enough: float = 1.0, released: bool = False
) -> list[int]:
    """Chooses up to k paragraphs: each step takes the paragraph with the most uncovered clusters (GreedySCS).

    similarity: to the query, shape (paragraphs,). enough: the sufficient share of clusters; when it is covered,
    similarity fills the rest of k. released: use the score 0.04 · count + similarity, as in the released code;
    otherwise similarity only breaks ties.
    """
    weight = _COUNTED if released else _DECISIVE

    def score(paragraph: int, fresh: frozenset[int]) -> float:
        return weight * len(fresh) + float(similarity[paragraph])

    return _greedy_clusters(clusters, similarity, k, enough, score)


def greedy_plus(
    clusters: Clustered, similarity: NDArray[np.floating], k: int, enough: float = 1.0, trade_off: float = 0.5
) -> list[int]:
    """Chooses up to k paragraphs by Σ ClusterScore over uncovered clusters + λ · similarity (GreedyPlus).

    ClusterScore: for each cluster, the mean similarity to the query of the paragraphs with the cluster's sentences.
    trade_off: λ, 0.5 in the paper. similarity, enough: as in `greedy_scs`.
    """
    behind = similarity[clusters.paragraph]
    value = {int(c): float(behind[clusters.label == c].mean()) for c in np.unique(clusters.label)}

    def score(paragraph: int, fresh: frozenset[int]) -> float:
        return sum(value[c] for c in fresh) + trade_off * float(similarity[paragraph])

    return _greedy_clusters(clusters, similarity, k, enough, score)


def _greedy_clusters(
    clusters: Clustered,
    similarity: NDArray[np.floating],
    k: int,
    enough: float,
    score: Callable[[int, frozenset[int]], float],
) -> list[int]:
    """Chooses by `score` until k paragraphs are chosen or the share `enough` is covered, then by similarity. Ties go to
    the paragraph with fewer sentences, then to the earlier paragraph."""
    size = len(similarity)
    covers = [clusters.of(i) for i in range(size)]
    sentences = np.bincount(clusters.paragraph, minlength=size)
    everything = frozenset().union(*covers)
    short = sorted(range(size), key=lambda i: int(sentences[i]))
    open_, taken = set(everything), list[int]()
    while len(taken) < min(k, size) and open_ and (len(everything) - len(open_)) / len(everything) < enough:
        best = max((i for i in short if i not in taken), key=lambda i: score(i, covers[i] & open_))
        taken.append(best)
        open_ -= covers[best]
    return [*taken, *sorted((i for i in short if i not in taken), key=lambda i: -float(similarity[i]))][:k]


Vectors = NDArray[np.float32]


def mmr(
    relevance: NDArray[np.floating], vectors: Vectors, k: int, trade_off: float = 0.75, largest: float | None = None
) -> list[int]:
    """Returns positions of up to k passages by maximal marginal relevance (Carbonell and Goldstein 1998), best first.

    Each step maximises λ · relevance / largest − (1 − λ) · max cosine to chosen passages (BERDS, A.6). relevance: shape
    (n,). vectors: unit, shape (n, dimensions). trade_off: λ, 0 to 1. largest: the data set's highest relevance; the
    default is the highest relevance of these passages, as in BERDS' code.
    """
    top = float(relevance.max(initial=0.0)) if largest is None else largest
    return _greedy(trade_off * relevance / (top if top > 0 else 1.0), vectors, k, 1 - trade_off, np.maximum)


def dkmips(
    relevance: NDArray[np.floating],
    vectors: Vectors,
    k: int,
    trade_off: float = 0.75,
    weight: float = 1.0,
    meant: int | None = None,
) -> list[int]:
    """Returns positions of up to k passages by greedy diversity-aware k-maximum inner product search, best first.

    The search maximises λ · Σ relevance − 2μ(1 − λ) / (k(k − 1)) · Σ over pairs of the inner product (NEWSCOPE,
    appendix D). relevance: inner products with the query, shape (n,). vectors: shape (n, dimensions). trade_off: λ.
    weight: μ. meant: the k of the formula if a caller ranks more passages than it uses; for a large k the second term
    would vanish.
    """
    size = k if meant is None else meant
    pairs = 2 * weight * (1 - trade_off) / (size * (size - 1)) if size > 1 else 0.0
    return _greedy(trade_off * relevance, vectors, k, pairs, np.add)


def _greedy(first: NDArray[np.floating], vectors: Vectors, k: int, weight: float, join: np.ufunc) -> list[int]:
    """Chooses the passage with the highest first − weight · nearness, k times. `join` combines a passage's inner
    products with the chosen passages into its nearness. Ties go to the earlier passage."""
    taken, left, near = list[int](), np.ones(len(first), bool), np.zeros(len(first))
    while len(taken) < min(k, len(first)):
        taken.append(int(np.argmax(np.where(left, first - weight * near, -np.inf))))
        left[taken[-1]] = False
        products = np.asarray(vectors @ vectors[taken[-1]], np.float64)
        near = join(near, products) if len(taken) > 1 else products
    return taken
