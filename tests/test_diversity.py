"""Choosing few out of many: worked by hand, against a plain reading of the formula, and with bad input."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from evals.retrievers.methods import pairs_to_judge
from evals.retrievers.projection import FORMS, leaning_scores
from tools.selection import INDEPENDENCE, select

Array = NDArray[np.float32]


def draw(*shape: int, seed: int = 0) -> Array:
    rows = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


# Projection


def cosine(a: Array, b: Array) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_as_the_paper_words_it(form: str) -> None:
    r, p, q = (v * s for v, s in zip(draw(3, 6), (1.0, 0.7, 2.0), strict=True))
    passages = draw(5, 6, seed=3)

    def along(v: Array) -> Array:
        return np.asarray(v - (v @ p) / (p @ p) * p, np.float32)

    read: dict[str, Callable[[Array], float]] = {
        "none": lambda c: cosine(q, c),
        "add": lambda c: cosine(r + p, c),
        "concat": lambda c: cosine(np.concatenate([r, p]), np.concatenate([c, p])),
        "cast": lambda c: cosine(q - p, c),
        "cast+": lambda c: cosine(q - p, c - p),
        "dual-sum": lambda c: cosine(r, c) + cosine(p, c),
        "tri-sum": lambda c: cosine(r, c) + cosine(p, c) + cosine(q, c),
        "pap": lambda c: cosine(along(q), c),
        "pap+": lambda c: cosine(along(q), along(c)),
    }
    expected = [read[form](c) for c in passages]
    np.testing.assert_allclose(leaning_scores(form, r, p, q, passages), expected, atol=1e-5)


# Paragraph 0 has clusters a, a, b; 1 has b, c; 2 has a; 3 has d, e, f.


# Own selection


Passages = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], list[int]]


def some(n: int = 40, m: int = 5, seed: int = 0) -> Passages:
    """Support, weights, relevance and sources."""
    chance = np.random.default_rng(seed)
    return chance.random((m, n)) ** 3, np.ones(m), chance.random(n), list(map(int, chance.integers(0, 9, n)))


def value(passages: Passages, chosen: tuple[int, ...]) -> float:
    """F(S), term by term as the module words it."""
    (support, _, relevance, sources), found = passages, list(chosen)
    covered = float(np.sum(1 - np.prod(1 - support[:, found], axis=1)))
    return covered + float(relevance[found].sum()) + INDEPENDENCE * len({sources[i] for i in found})


def test_each_passage_is_the_one_that_adds_most() -> None:
    passages, taken = some(), list[int]()
    for choice in select(*passages, 12):
        gains = {i: value(passages, (*taken, i)) - value(passages, tuple(taken)) for i in set(range(40)) - set(taken)}
        assert gains[choice] == pytest.approx(max(gains.values()))
        taken.append(choice)


# The pair budget


def test_pairs_go_where_a_perspective_is_missed() -> None:
    """The first perspective has two sure passages: missed 0.01, so that the second one's pairs come first."""
    support = np.array([[0.9, 0.9, np.nan, np.nan], [np.nan] * 4])
    expected = np.array([[0.5] * 4, [0.4, 0.3, 0.2, 0.1]])
    found = pairs_to_judge(support, expected, 5, k=2)
    assert found[:4] == [(1, 0), (1, 1), (1, 2), (1, 3)]
    assert found[4][0] == 0
