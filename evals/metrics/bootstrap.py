"""Intervals by a seeded bootstrap that draws whole questions, since the items of one question are alike."""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

Chosen = NDArray[np.int64]
Interval = tuple[float, float]
Statistic = Callable[[Chosen], float]
Values = Sequence[float] | NDArray[np.float64]

ROUNDS = 1000
LEVEL = 0.95


def interval(statistic: Statistic, groups: Sequence[Hashable], seed: int = 1, rounds: int = ROUNDS) -> Interval:
    """The 95 % percentile interval of a statistic.

    statistic: from the indices of the items drawn, shape (m,), to a number; NaN where it is not defined for a draw.
    groups: the question of each item; as many questions as there are, drawn with replacement, make a round. A round
    without a number is left out; (NaN, NaN) where none has one.
    """
    members = _members(groups)
    if not members:
        return float("nan"), float("nan")
    generator = np.random.default_rng(seed)
    drawn = generator.integers(0, len(members), (rounds, len(members)))
    if all(len(indices) == 1 for indices in members):  # much quicker than joining arrays of one
        single = np.concatenate(members)
        values = np.array([statistic(single[row]) for row in drawn])
    else:
        values = np.array([statistic(np.concatenate([members[i] for i in row])) for row in drawn])
    if np.isnan(values).all():
        return float("nan"), float("nan")
    low, high = np.nanpercentile(values, [100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2])
    return float(low), float(high)


def mean_interval(values: Values, groups: Sequence[Hashable] | None = None, seed: int = 1) -> Interval:
    """The interval of a mean; without groups every value is a question of its own."""
    array = np.asarray(values, float)
    return interval(lambda chosen: float(array[chosen].mean()), range(len(array)) if groups is None else groups, seed)


def mean_of(values: NDArray[np.float64]) -> Statistic:
    """The mean of those of the values drawn that are defined, NaN where none is; values: shape (n,), with NaN."""

    def mean(chosen: Chosen) -> float:
        drawn = values[chosen]
        known = drawn[~np.isnan(drawn)]
        return float(known.mean()) if known.size else float("nan")

    return mean


def _members(groups: Sequence[Hashable]) -> list[Chosen]:
    found: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        found.setdefault(group, []).append(index)
    return [np.array(indices) for indices in found.values()]
