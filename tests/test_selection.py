"""Selections over a pool: what tells relevant passages, points that are mined, the own choice, names, hard input."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from evals.retrievers.published_selections import Clustered
from evals.retrievers.selections import (
    COVERAGE,
    PARAMETERS,
    SELECTIONS,
    ClusteredPool,
    needs_clusters,
    parse_selection,
    select_passages,
)
from tools.errors import InputError
from tools.selection import (
    SIGNALS,
    choose_by_coverage,
    mined_points,
    relevance,
    side_probabilities,
    signals,
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


# Relevance


def test_the_company_that_a_passage_keeps_tells_it_from_one_as_near() -> None:
    # Passages 0 and 5 are equally near to the question (0.8); 0 lies among passages on the subject, 5 alone.
    about = [(0.8, 0.6, 0.0), (0.8, 0.58, 0.1), (0.82, 0.55, 0.1), (0.85, 0.5, 0.0), (0.8, 0.6, 0.05)]
    vectors = unit(*about, (0.8, -0.6, 0.0), *[(0.1, -1.0, 0.1 * i) for i in range(6)])
    found = signals(vectors[:, 0], np.zeros(12), vectors)
    assert found.shape == (12, len(SIGNALS))
    centre, neighbours = (found[:, list(SIGNALS).index(name)] for name in ("centre", "neighbours"))
    assert centre[0] > centre[5] + 0.5
    assert neighbours[0] > neighbours[5] + 0.5


def test_relevance_by_hand() -> None:
    # Words 1 and 3 are standardised to -1 and 1, the rest is equal: the logistic function of ±0.64 - 3.382.
    found = relevance(np.array([0.5, 0.5]), np.array([1.0, 3.0]), unit((1, 0), (1, 0)))
    assert found == pytest.approx([0.0176, 0.0605], abs=1e-4)


# Points


def test_what_is_said_ten_times_weighs_as_one_point() -> None:
    vectors = unit(*[(1.0, 0.0)] * 10, (0.0, 1.0))
    made, weights = mined_points(vectors, np.ones(11))
    assert weights[:10].sum() == pytest.approx(1, abs=0.02)  # at cosine 1 two make the same point with 0.98
    assert weights[10] == pytest.approx(1, abs=1e-4)
    assert made[0, 1] > 0.97  # a copy makes the point
    assert made[0, 10] < 1e-6


# The own choice


def test_both_sides_are_covered_before_one_is_covered_twice() -> None:
    # Passages 0, 1 and 2 support the first side, 3 the second; they are equally relevant and say different things.
    vectors = unit((0.7, 0.7, 0, 0, 0), (0.7, 0, 0.7, 0, 0), (0.7, 0, 0, 0.7, 0), (0.7, 0, 0, 0, 0.7))
    support = [[0.9, 0.9, 0.9, 0.05], [0.05, 0.05, 0.05, 0.9]]
    assert 3 in choose_by_coverage(pool(vectors, support), 2)
    assert 3 not in choose_by_coverage(pool(vectors, np.zeros((0, 4))), 2)  # of equals the earlier ones


def test_a_side_is_taken_by_shares_and_what_was_not_judged_counts_half() -> None:
    support = np.array([[0.6, 0.1, np.nan], [0.2, 0.05, np.nan]])
    taken = side_probabilities(support, np.array([1.0, 1.0, 0.4]))
    # 0.6 of 0.8; 0.1 of at least 0.3; half of 0.4.
    assert taken[:, 0] == pytest.approx([0.75, 0.25])
    assert taken[:, 1] == pytest.approx([0.1 / 0.3, 0.05 / 0.3])
    assert taken[:, 2] == pytest.approx([0.2, 0.2])


# Names


def test_every_name_selects_and_every_selection_has_a_name() -> None:
    assert set(SELECTIONS) == set(PARAMETERS)
    vectors = unit((1, 0), (0.9, 0.1), (0.1, 0.9))
    for name in PARAMETERS:
        made = pool(vectors) if needs_clusters(name) else pool(vectors, clusters=None)
        found = select_passages(name, made, 2)
        assert len(found) == len(set(found)) == 2, name


@pytest.mark.parametrize(
    ("name", "parsed"),
    [("coverage", (COVERAGE, 0.0)), ("mmr", ("mmr", 0.75)), ("mmr:0.5", ("mmr", 0.5)), ("scs:1", ("scs", 1.0))],
)
def test_a_name_with_its_number(name: str, parsed: tuple[str, float]) -> None:
    assert parse_selection(name) == parsed


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("best", "no selection 'best'. There are: coverage, found, mmr"),
        ("mmr:", "is a number from 0 to 1"),
        ("mmr:1.5", "is a number from 0 to 1, such as mmr:0.75"),
        ("coverage:1", "takes no number: write 'coverage'"),
    ],
)
def test_a_name_that_is_none(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_selection(name)


# Hard input


@pytest.mark.parametrize("name", list(PARAMETERS))
def test_a_pool_of_nothing_and_a_k_beyond_it(name: str) -> None:
    empty = ClusteredPool(
        np.zeros(0),
        np.zeros((0, 3), np.float32),
        np.zeros(0),
        np.zeros((2, 0)),
        clusters=Clustered(np.zeros(0, np.int64), np.zeros(0, np.int64)),
    )
    assert select_passages(name, empty, 5) == []
    assert sorted(select_passages(name, pool(unit((1, 0), (0, 1))), 99)) == [0, 1]
