"""Relevance against redundancy, passage by passage: maximal marginal relevance and diverse inner-product search.

Both are greedy: they take the best passage, then again and again the one that adds most beside those taken.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


def mmr(
    relevance: NDArray[np.floating], vectors: Vectors, k: int, trade_off: float = 0.75, largest: float | None = None
) -> list[int]:
    """Positions of up to k passages by maximal marginal relevance (Carbonell and Goldstein 1998), best first.

    Each turn takes argmax of λ · relevance / largest − (1 − λ) · max over the taken of the cosine (BERDS, A.6).

    relevance: shape (n,). vectors: unit vectors of shape (n, dimensions), of any encoder. trade_off: λ, from 0 to 1.
    largest: the highest relevance in the data set, by which BERDS divides; these passages' own where none is given, as
    its code does. Raises ValueError for a λ that is no share and for lengths that differ.
    """
    _check(relevance, vectors, trade_off)
    top = float(relevance.max(initial=0.0)) if largest is None else largest
    scaled = trade_off * relevance / (top if top > 0 else 1.0)
    nearest = np.full(len(relevance), -np.inf)

    def gain(newest: int | None) -> NDArray[np.float64]:
        if newest is None:
            return np.asarray(scaled, np.float64)
        np.maximum(nearest, vectors @ vectors[newest], out=nearest)
        return np.asarray(scaled - (1 - trade_off) * nearest, np.float64)

    return _greedy(gain, len(relevance), k)


def dkmips(
    relevance: NDArray[np.floating],
    vectors: Vectors,
    k: int,
    trade_off: float = 0.75,
    weight: float = 1.0,
    divided: bool = False,
    meant: int | None = None,
) -> list[int]:
    """Positions of up to k passages by diversity-aware k-maximum inner product search, chosen greedily, best first.

    What is maximised is λ · Σ relevance − 2μ(1 − λ) / (k(k − 1)) · Σ over pairs of the inner product (NEWSCOPE,
    appendix D). relevance: inner products with the query, shape (n,). vectors: shape (n, dimensions). trade_off: λ.
    weight: μ. divided: the first term is divided by k, as in the original. meant: the k of the formula, where more are
    ranked than will be looked at; with a large one the second term vanishes.
    Raises ValueError for a λ that is no share and for lengths that differ.
    """
    _check(relevance, vectors, trade_off)
    size = k if meant is None else meant
    first = trade_off * relevance / (size if divided else 1)
    pairs = 2 * weight * (1 - trade_off) / (size * (size - 1)) if size > 1 else 0.0
    together = np.zeros(len(relevance))

    def gain(newest: int | None) -> NDArray[np.float64]:
        if newest is not None:
            together[:] += vectors @ vectors[newest]
        return np.asarray(first - pairs * together, np.float64)

    return _greedy(gain, len(relevance), k)


def _greedy(gain: Callable[[int | None], NDArray[np.float64]], size: int, k: int) -> list[int]:
    """The best by `gain`, k times; it is told the newest, and of equals the earlier passage is taken."""
    taken: list[int] = []
    left = np.ones(size, bool)
    while len(taken) < min(k, size):
        values = np.where(left, gain(taken[-1] if taken else None), -np.inf)
        taken.append(int(np.argmax(values)))
        left[taken[-1]] = False
    return taken


def _check(relevance: NDArray[np.floating], vectors: Vectors, trade_off: float) -> None:
    if not 0 <= trade_off <= 1:
        raise ValueError(f"the trade-off has to lie between 0 and 1, not {trade_off}")
    if len(relevance) != len(vectors):
        raise ValueError(f"{len(relevance)} relevances for {len(vectors)} vectors")
