"""Computes the published z of votes between two pages.

A vote is 1 for the answer, 0 for the list, 0.5 for 'the same'. A mean of 0.5 means no preference.
"""

import math
from collections.abc import Sequence

import numpy as np

from evals.metrics.measure import ROUNDS

EVEN = 0.5


def published_z(votes: Sequence[float], seed: int = 1) -> tuple[float, float]:
    """Returns (z, p) of Chen et al. 2022, appendix A: z = (mean − 0.5) / (sd / √n). The mean and the standard deviation
    are averages over 1,000 resamples. p is one-sided. NaN if all votes are equal. z assumes independent votes; the
    intervals by voter do not."""
    if len(set(votes)) < 2:
        return math.nan, math.nan
    n = len(votes)
    drawn = np.random.default_rng(seed).choice(np.asarray(votes, float), (ROUNDS, n))
    z = float((drawn.mean() - EVEN) / (drawn.std(axis=1, ddof=1).mean() / math.sqrt(n)))
    return z, 0.5 * math.erfc(z / math.sqrt(2))
