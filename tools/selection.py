"""Selects passages and groups theses.

`choose_by_coverage` selects k of the retrieved passages (the pool). The selection covers the question's sides and the
points that the pool makes: each passage makes a point, and similar passages make the same point. A passage's relevance
is estimated from the scores of the passage and of similar passages. `group_theses` groups theses that mean the same; a
thesis is the sentence that states a document's argument.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.passages import Passage

Floats = NDArray[np.floating]

INDEPENDENCE = 0.05
"""What a passage adds to `select`'s objective if its source is new."""
_DIGITS = 9  # gains are rounded to these digits: rounding errors must not break ties


def select(
    support: NDArray[np.floating],
    weights: NDArray[np.floating],
    relevance: NDArray[np.floating],
    sources: Sequence[Hashable],
    k: int,
) -> list[int]:
    """Positions of up to k passages, in the order chosen, that maximise the expected coverage of the perspectives:

        F(S) = Σ over perspectives p of w_p · (1 − Π over i in S of (1 − P[p, i]))      expected coverage
             + Σ over i in S of relevance[i]                                             relevance
             + c · number of different sources in S                                      independence

    Every term is monotone and submodular, so the greedy choice reaches at least 1 − 1/e (63 %) of the optimum
    (Nemhauser, Wolsey and Fisher 1978). If passages are equal, the earlier passage is chosen. c is INDEPENDENCE.

    support: probabilities, shape (perspectives, n). weights: of the perspectives. relevance: shape (n,), 0 or more.
    sources: publisher of each passage; empty if unknown.
    """
    n = len(relevance)
    by_passage = np.asarray(support.T, np.float64, order="C")
    missed, left, known = np.ones(len(weights)), np.ones(n, bool), set[Hashable]()
    chosen: list[int] = []
    while len(chosen) < min(k, n):
        new = np.array([source not in known for source in sources] or [False] * n)
        gains = np.round(by_passage @ (weights * missed) + relevance + INDEPENDENCE * new, _DIGITS)
        best = int(np.argmax(np.where(left, gains, -np.inf)))
        chosen.append(best)
        missed *= 1 - by_passage[best]
        left[best] = False
        known.update(sources[best : best + 1])
    return chosen


def independent_first(passages: Sequence[Passage]) -> list[int]:
    """The passages' ids, reordered so that each source occurs once before any source occurs again. Among the first
    passages of sources, the first of each kind of evidence comes first."""
    turns, kinds = Counter[str](), set[str]()
    keyed = []
    for rank, passage in enumerate(passages):
        keyed.append((turns[passage.source], passage.evidence_kind in kinds, rank, passage.id))
        turns[passage.source] += 1
        kinds.add(passage.evidence_kind)
    return [i for *_, i in sorted(keyed)]


ALIKE = 0.8
"""Two passages with a higher cosine probably make the same point."""
_STEEP = 20.0


def mined_points(vectors: Floats, relevance: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(probability that passage i makes point p, shape (n, n); weight of each point, shape (n,)). Point p is what
    passage p says.

    vectors: unit, shape (n, dimensions). relevance: probabilities of relevance to the question, shape (n,).
    """
    same = 1 / (1 + np.exp(-_STEEP * (np.asarray(vectors @ vectors.T, np.float64) - ALIKE)))
    np.fill_diagonal(same, 1.0)
    shared = same @ relevance
    weights = np.divide(relevance, shared, out=np.zeros(len(relevance)), where=shared > 0)
    return same * relevance, np.asarray(weights, np.float64)


SIGNALS = {"words": 0.64, "centre": 0.377, "neighbours": 1.4}
"""Weights of the relevance signals in a fitted logistic regression (docs/decisions/0011-selection.md)."""
_OFFSET = -3.382
_CENTRAL = 5  # passages nearest to the question; their mean is the pool's centre
_NEIGHBOURS, _STEPS, _OWN = 8, 3, 0.3
_NOTHING = 1e-9


def relevance(cosine: Floats, words: Floats, vectors: Floats) -> NDArray[np.float64]:
    """The probability that each passage is relevant to the question, shape (n,), from signals standardised over the
    pool.

    words: BM25. centre: cosine to the mean of the five passages nearest to the question (pseudo-relevance feedback,
    Rocchio 1971). neighbours: cosine to the question, smoothed three times over the eight nearest passages (score
    regularisation, Diaz 2005).

    cosine: to the question. words: BM25 scores, 0 for passages that the lexical search did not retrieve. Both have
    shape (n,).
    vectors: unit, shape (n, dimensions).
    """
    if not len(cosine):
        return np.zeros(0)
    centre = vectors[np.argsort(-cosine, kind="stable")[:_CENTRAL]].mean(axis=0)
    centre = centre / max(float(np.linalg.norm(centre)), _NOTHING)
    found = (words, vectors @ centre, _spread(cosine, vectors))
    signals = np.stack([_standardised(np.asarray(values, np.float64)) for values in found], axis=1)
    logits = signals @ np.array(list(SIGNALS.values())) + _OFFSET
    return np.asarray(1 / (1 + np.exp(-logits)), np.float64)


def _spread(scores: Floats, vectors: Floats) -> NDArray[np.float64]:
    """The scores after three rounds of smoothing. Each round mixes the original score with the mean score of the
    nearest neighbours, weighted by squared cosine."""
    kept = np.asarray(scores, np.float64)
    if len(kept) < 2:
        return kept
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    near = np.argsort(-cosines, axis=1, kind="stable")[:, : min(_NEIGHBOURS, len(kept) - 1)]
    weight = np.clip(np.take_along_axis(cosines, near, axis=1), 0, None) ** 2
    weight = weight / np.maximum(weight.sum(axis=1, keepdims=True), _NOTHING)
    spread = kept
    for _ in range(_STEPS):
        spread = _OWN * kept + (1 - _OWN) * (weight * spread[near]).sum(axis=1)
    return spread


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    deviation = float(values.std())
    return (values - values.mean()) / deviation if deviation > _NOTHING else np.zeros(len(values))


MINED = 0.5
"""Weight of a mined point relative to a known side."""
_SURE = 0.3  # if the sides' total support is higher, the sides share a passage's whole relevance


@dataclass(frozen=True, slots=True)
class Pool:
    """The n passages retrieved for a question, best first, with their features.

    cosine: to the question, shape (n,). vectors: unit, shape (n, dimensions). words: BM25 scores, 0 for passages that
    the lexical search did not retrieve, shape (n,). support: probability that a passage supports a side, NaN if not
    judged, shape (sides, n); (0, n) if the sides are unknown. sources: publisher of each passage; empty if unknown.
    """

    cosine: Floats
    vectors: NDArray[np.float32]
    words: Floats
    support: Floats
    sources: Sequence[Hashable] = ()

    @property
    def size(self) -> int:
        return len(self.cosine)

    @property
    def likely(self) -> NDArray[np.float64]:
        """The relevance relative to the most relevant passage of the pool, shape (n,), at most 1. The values of
        different pools are not comparable."""
        found = relevance(self.cosine, self.words, self.vectors)
        return np.asarray(found / max(float(found.max(initial=0.0)), _NOTHING), np.float64)


def choose_by_coverage(pool: Pool, k: int) -> list[int]:
    """Up to k passages that cover the judged sides and the mined points. If the sides are unknown, the passages cover
    only the points."""
    if not pool.size:
        return []
    likely = pool.likely
    points, shares = mined_points(pool.vectors, likely)
    support = np.concatenate([side_probabilities(pool.support, likely), points])
    weights = np.concatenate([np.ones(len(pool.support)), MINED * shares])
    return select(support, weights, likely, pool.sources, k)


def side_probabilities(support: Floats, likely: Floats) -> NDArray[np.float64]:
    """The probability that a passage is relevant and supports a side, shape (sides, n).

    The sides share a passage's relevance in proportion to the judge's probabilities. If the sum of the probabilities is
    low, a part of the relevance goes to no side. If a passage is not judged, each side gets half of the relevance.
    support: shape (sides, n), with NaN. likely: relevance, shape (n,).
    """
    known = ~np.isnan(support)
    judged = np.where(known, support, 0.0)
    shares = judged / np.maximum(judged.sum(axis=0), _SURE)
    return np.asarray(np.where(known, shares, 0.5) * likely, np.float64)


_ROUNDING = 1e-6  # vector lengths below this are rounding errors


def group_theses(vectors: Floats, question: Floats, threshold: float) -> list[list[int]]:
    """The positions of the theses in groups of equal meaning, largest group first. Each group begins with its most
    central thesis.

    The method is average linkage (Sokal and Michener 1958) on the vectors without their component along the question.
    Two groups are merged while the mean cosine between their members is at least the threshold. The method follows a
    paper on a multi-perspective search engine (§4.2.3); that paper uses k-means with k = 3 on a stance classifier's
    layer. Theses whose vectors are parallel to the question's vector form a group of their own.

    vectors: of the theses, shape (n, dimensions). question: shape (dimensions,). threshold: from −1 to 1. Raises
    ValueError for a zero question vector.
    """
    left = without_question(vectors, question)
    empty = ~left.any(axis=1)
    cosines = np.minimum(left @ left.T, 1.0)
    cosines[np.ix_(empty, empty)] = 1.0
    groups = []
    for members in sorted(average_linkage(cosines, threshold), key=lambda m: (-len(m), m[0])):
        near = left[members] @ left[members].mean(axis=0)
        order = np.argsort(-np.round(near, 9), kind="stable")  # rounding errors must not break ties
        groups.append([members[i] for i in order])
    return groups


def average_linkage(similarity: Floats, threshold: float) -> list[list[int]]:
    """Returns clusters by average linkage (Sokal and Michener 1958). Merges the two most similar clusters while their
    mean similarity is at least the threshold. Members are in order, and clusters are in the order of their first
    members. similarity: shape (n, n)."""
    mean = np.array(similarity, np.float64)  # of each pair of clusters; -inf for none. SciPy's import takes 0.3 s
    np.fill_diagonal(mean, -np.inf)
    clusters = [[i] for i in range(len(mean))]
    for _ in range(len(mean) - 1):
        first, second = sorted(divmod(int(mean.argmax()), len(mean)))
        if mean[first, second] < threshold - 1e-9:  # rounding error of similarities
            break
        sizes = len(clusters[first]), len(clusters[second])
        mean[first] = mean[:, first] = np.average(mean[[first, second]], axis=0, weights=sizes)
        mean[second] = mean[:, second] = mean[first, first] = -np.inf
        clusters[first], clusters[second] = sorted(clusters[first] + clusters[second]), []
    return [cluster for cluster in clusters if cluster]


def without_question(vectors: Floats, question: Floats) -> NDArray[np.float64]:
    """Unit vectors of v − (v·q / ‖q‖²) q, q being the question's vector; shape (n, dimensions).

    A vector that is parallel to q becomes a row of zeros. Raises ValueError for a zero q.
    """
    square = float(question @ question)
    if square == 0:
        raise ValueError("the question's vector is zero")
    left = vectors - np.multiply.outer(vectors @ question / square, question)
    lengths = np.linalg.norm(left, axis=1, keepdims=True)
    return np.where(lengths > _ROUNDING, left / np.maximum(lengths, _ROUNDING), 0.0).astype(np.float64)
