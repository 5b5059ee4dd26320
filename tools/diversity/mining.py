"""Perspectives that nobody named: the different things that the passages found say, one for each of them.

Each passage stands for a point; another one makes the same point as surely as the two are relevant and alike. A point
weighs what is left of its passage's relevance when it is shared with the passages that make it too, so that what is
said ten times is one point and not ten.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

ALIKE = 0.8
"""Cosine from which two passages rather make the same point than another one."""
_STEEP = 20.0


def mined_points(vectors: Floats, relevance: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(probability that passage i makes point p, of shape (n, n); weight of each point, of shape (n,)).

    vectors: of the passages, unit, shape (n, dimensions). relevance: probabilities that they speak to the question,
    shape (n,). Raises ValueError for lengths that differ.
    """
    if len(vectors) != len(relevance):
        raise ValueError(f"{len(relevance)} relevances for {len(vectors)} vectors")
    same = 1 / (1 + np.exp(-_STEEP * (np.asarray(vectors @ vectors.T, np.float64) - ALIKE)))
    np.fill_diagonal(same, 1.0)
    shared = same @ relevance
    weights = np.divide(relevance, shared, out=np.zeros(len(relevance)), where=shared > 0)
    return same * relevance, np.asarray(weights, np.float64)
