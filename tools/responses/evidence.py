"""What is evidence for a document's thesis (multi-perspective search, §4.2.4): up to three of its other sentences."""

import numpy as np
from numpy.typing import NDArray

MOST = 3
"""Sentences that are shown as the evidence for one thesis."""


def likelihood(support: NDArray[np.floating]) -> NDArray[np.float64]:
    """How likely each sentence is evidence at all, shape (n,): the larger of its probabilities, NaN where one is.

    The paper's regression is not told which side a sentence is on either. support: shape (sides, n).
    """
    return np.asarray(np.max(support, axis=0), np.float64)
