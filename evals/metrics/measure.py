"""Figures over items with 95 % intervals. A seeded bootstrap resamples whole questions."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Chosen = NDArray[np.int64]
Interval = tuple[float, float]
Statistic = Callable[[Chosen], float]
"""Maps the indices of the drawn items, shape (m,), to a number, or to NaN if undefined."""
Values = Sequence[float] | NDArray[np.float64]
ItemRow = tuple[str, float, float]
"""Question, numerator, denominator."""

ROUNDS = 1000
LEVEL = 0.95


@dataclass(frozen=True)
class Figure:
    """A statistic of items, NaN without items. groups: the question of each item. rows: the rows whose sums make the
    statistic; empty for other statistics."""

    statistic: Statistic
    groups: Sequence[Hashable]
    rows: tuple[ItemRow, ...] = ()

    @property
    def value(self) -> float:
        return self.statistic(np.arange(len(self.groups))) if len(self.groups) else float("nan")

    @property
    def total(self) -> float:
        """Returns the number of items."""
        return len(self.groups)

    def interval(self, seed: int = 1) -> Interval:
        """Returns the 95 % percentile interval over resamples of the questions. Skips undefined resamples. Returns
        (NaN, NaN) if all resamples are undefined."""
        found: dict[Hashable, list[int]] = {}
        for index, group in enumerate(self.groups):
            found.setdefault(group, []).append(index)
        if not found:
            return float("nan"), float("nan")
        members = [np.array(indices) for indices in found.values()]
        drawn = np.random.default_rng(seed).integers(0, len(members), (ROUNDS, len(members)))
        if len(members) == len(self.groups):  # faster than joining one-item arrays
            values = np.array([self.statistic(row) for row in drawn])
        else:
            values = np.array([self.statistic(np.concatenate([members[i] for i in row])) for row in drawn])
        if np.isnan(values).all():
            return float("nan"), float("nan")
        low, high = np.nanpercentile(values, [100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2])
        return float(low), float(high)

    def less(self, other: "Figure") -> "Figure":
        """Returns this figure minus another figure of the same items. Both figures use the same resamples."""
        return Figure(lambda chosen: self.statistic(chosen) - other.statistic(chosen), self.groups)


@dataclass(frozen=True)
class Ratio(Figure):
    """Σ numerators / Σ denominators over rows of (question, numerator, denominator). NaN if the denominators' sum is 0.
    A mean over questions has denominators of 1."""

    @classmethod
    def of(cls, rows: Iterable[ItemRow]) -> "Ratio":
        kept = tuple(rows)
        parts = np.array([(n, d) for _, n, d in kept], float).reshape(-1, 2)

        return cls(lambda chosen: ratio(*parts[chosen].sum(axis=0)), [question for question, _, _ in kept], kept)

    @property
    def total(self) -> float:
        """Returns the sum of the denominators."""
        return sum(d for _, _, d in self.rows)


def ratio(part: Any, whole: Any) -> float:
    """Returns part / whole; NaN if `whole` is 0."""
    return float(part / whole) if whole else float("nan")


def mean(values: Values, groups: Sequence[str]) -> Figure:
    """Returns the mean of the defined values. values: shape (n,), with NaN for undefined values."""
    known = [(g, 0.0, 0.0) if np.isnan(v) else (g, float(v), 1.0) for g, v in zip(groups, values, strict=True)]
    return replace(Ratio.of(known), rows=tuple(row for row in known if row[2]))


def figures(measures: Mapping[str, Figure], seed: int) -> dict[str, dict[str, Any]]:
    """Returns `metrics`, their 95 % `intervals`, and the `items` of figures with rows."""
    found = {name: (m.value, *m.interval(seed)) for name, m in measures.items()}
    return {
        "metrics": {name: value for name, (value, _, _) in found.items()},
        "intervals": {name: (low, high) for name, (_, low, high) in found.items()},
        "items": {name: m.rows for name, m in measures.items() if m.rows},
    }


def paired(base: Mapping[str, Figure], other: Mapping[str, Figure], seed: int) -> dict[str, dict[str, Any]]:
    """Returns the `difference` of each measure from the base's measure, and its `interval`, on the same resamples."""
    differences = {name: other[name].less(base[name]) for name in base}
    return {name: {"difference": d.value, "interval": d.interval(seed)} for name, d in differences.items()}


def figures_by(found: Mapping[str, Mapping[str, Mapping[str, Figure]]], seed: int) -> dict[str, dict[str, Any]]:
    """Returns `figures` by data and method."""
    each = {data: {name: figures(m, seed) for name, m in methods.items()} for data, methods in found.items()}
    return {
        part: {data: {name: f[part] for name, f in methods.items()} for data, methods in each.items()}
        for part in ("metrics", "intervals", "items")
    }
