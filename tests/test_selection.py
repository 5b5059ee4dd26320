"""Selections over a pool: what tells relevant passages, points that are mined, the own choice, names, hard input."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evals.retrievers.published_selections import Clustered
from evals.retrievers.selections import (
    ClusteredPool,
)
from tools.selection import (
    choose_by_coverage,
)


def unit(*rows: tuple[float, ...]) -> NDArray[np.float32]:
    vectors = np.array(rows, np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def pool(vectors: NDArray[np.float32], support: object = None, **changes: object) -> ClusteredPool:
    """Passages whose question is the first axis."""
    n = len(vectors)
    sides = np.zeros((0, n)) if support is None else np.array(support, np.float64).reshape(-1, n)
    base = ClusteredPool(vectors[:, 0], vectors, np.zeros(n), sides, clusters=Clustered(np.arange(n), np.arange(n)))
    return replace(base, **changes)  # type: ignore[arg-type]


# The own choice


def test_both_sides_are_covered_before_one_is_covered_twice() -> None:
    # Passages 0, 1 and 2 support the first side, 3 the second; they are equally relevant and say different things.
    vectors = unit((0.7, 0.7, 0, 0, 0), (0.7, 0, 0.7, 0, 0), (0.7, 0, 0, 0.7, 0), (0.7, 0, 0, 0, 0.7))
    support = [[0.9, 0.9, 0.9, 0.05], [0.05, 0.05, 0.05, 0.9]]
    assert 3 in choose_by_coverage(pool(vectors, support), 2)
    assert 3 not in choose_by_coverage(pool(vectors, np.zeros((0, 4))), 2)  # of equals the earlier ones
