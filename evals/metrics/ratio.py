"""A measure that is a sum over a sum, question by question, with its interval."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from evals.metrics.bootstrap import Chosen, Interval, interval


@dataclass(frozen=True, slots=True)
class Ratio:
    """Σ numerators / Σ denominators over rows of (question, numerator, denominator).

    A mean over questions has a denominator of 1 in each row, a pooled share the number of items.
    """

    rows: tuple[tuple[str, float, float], ...]

    @classmethod
    def of(cls, rows: Iterable[tuple[str, float, float]]) -> "Ratio":
        return cls(tuple(rows))

    @property
    def total(self) -> float:
        """The sum of the denominators: over how many items or questions."""
        return sum(d for _, _, d in self.rows)

    @property
    def value(self) -> float:
        """NaN over nothing."""
        return sum(n for _, n, _ in self.rows) / self.total if self.total else float("nan")

    def interval(self, seed: int = 1) -> Interval:
        """The 95 % interval, bootstrapped by question."""
        parts = np.array([(n, d) for _, n, d in self.rows], float).reshape(-1, 2)

        def ratio(chosen: Chosen) -> float:
            above, below = parts[chosen].sum(axis=0)
            return float(above / below) if below else float("nan")

        return interval(ratio, [question for question, _, _ in self.rows], seed)
