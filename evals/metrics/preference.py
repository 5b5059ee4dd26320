"""Statistics of votes between two pages: the published z, and the number of votes that a study needs.

A vote is 1 for the answer, 0 for the list, 0.5 for 'the same'. A mean of 0.5 is no preference.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.metrics.measure import ROUNDS
from tools.errors import InputError

EVEN, ALPHA, POWER = 0.5, 0.05, 0.8  # of the one-sided test, as published


def published_z(votes: Sequence[float], seed: int = 1) -> tuple[float, float]:
    """(z, p) of Chen et al. 2022, appendix A: z = (mean − 0.5) / (sd / √n), with mean and standard deviation averaged
    over 1,000 resamples; p is one-sided. NaN if all votes are equal. It assumes independent votes: see also the
    intervals by voter."""
    if len(set(votes)) < 2:
        return math.nan, math.nan
    n = len(votes)
    drawn = np.random.default_rng(seed).choice(np.asarray(votes, float), (ROUNDS, n))
    z = float((drawn.mean() - EVEN) / (drawn.std(axis=1, ddof=1).mean() / math.sqrt(n)))
    return z, 0.5 * math.erfc(z / math.sqrt(2))


def power(n: "int | NDArray[np.int64]", share: float) -> NDArray[np.float64]:
    """The probability that n independent votes, of which the true share is `share`, show a preference in the exact
    binomial test: P(X ≥ c | n, share) for the smallest c with P(X ≥ c | n, 0.5) ≤ 0.05."""
    from scipy.stats import binom

    return np.asarray(binom.sf(binom.isf(ALPHA, n, EVEN), n, share), float)


def votes_needed(share: float) -> int:
    """The number of independent votes from which the power stays at 80 % or more: it is not monotonic, because c is an
    integer. `share` is above 0.5."""
    enough = 25 + math.ceil(6.2 / (share - EVEN) ** 2)  # four times the normal approximation
    return int(np.flatnonzero(power(np.arange(1, enough), share) < POWER)[-1]) + 2


def planned(
    people: int, each: int, icc: float, shares: Sequence[float] = (0.55, 0.6, 0.65, 0.7)
) -> dict[str, dict[str, Any]]:
    """The votes needed for each true share, and the power of the planned study. Raises InputError.

    The design effect 1 + (m − 1) ρ, for m votes a person with intra-class correlation ρ, divides the number of votes
    (Kish 1965).
    """
    if people < 1 or each < 1 or not 0 <= icc <= 1:
        raise InputError("--people and --each must be 1 or more, --icc from 0 to 1.")
    effect, needed = 1 + (each - 1) * icc, dict[str, Any]()
    worth = int(people * each / effect)
    for share in shares:
        votes = math.ceil((alone := votes_needed(share)) * effect)
        told = {"independent": alone, "votes": votes, "people": math.ceil(votes / each)}
        needed[str(share)] = told | {"power": float(power(worth, share))}
    return {"plan": {"people": people, "each": each, "icc": icc, "worth": worth}, "shares": needed}
