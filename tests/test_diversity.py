"""Choosing few out of many: worked by hand, against a plain reading of the formula, and with bad input."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from evals.retrievers.methods import pairs_to_judge
from evals.retrievers.projection import FORMS, leaning_scores
from evals.retrievers.published_selections import Clustered, dkmips, greedy_plus, greedy_scs, mmr
from tools.selection import INDEPENDENCE, select

Array = NDArray[np.float32]


def unit(*degrees: float) -> Array:
    """Unit vectors in the plane."""
    return np.array([(math.cos(math.radians(d)), math.sin(math.radians(d))) for d in degrees], np.float32)


def draw(*shape: int, seed: int = 0) -> Array:
    rows = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


# MMR and DkMIPS


def test_mmr_worked_by_hand() -> None:
    """λ = 0.5, largest 0.8. First 0. Then 1: 0.5 · 0.7/0.8 − 0.5 · 1 = −0.06 and 2: 0.5 · 0.4/0.8 − 0.5 · 0 = 0.25."""
    relevance, vectors = np.array([0.8, 0.7, 0.4]), unit(0, 0, 90)
    assert mmr(relevance, vectors, 3, 0.5) == [0, 2, 1]
    assert mmr(relevance, vectors, 3, 1.0) == [0, 1, 2]  # relevance alone
    # Divided by 0.08, relevance outweighs what is repeated: 1: 4.375 − 0.5; 2: 2.5.
    assert mmr(relevance, vectors, 3, 0.5, largest=0.08) == [0, 1, 2]


def test_dkmips_worked_by_hand() -> None:
    """λ = 0.5, μ = 1, k = 2: a pair costs 2 · 0.5 / 2 = 0.5 times its product. 1: 0.35 − 0.5; 2: 0.2 − 0."""
    relevance, vectors = np.array([0.8, 0.7, 0.4]), unit(0, 0, 90)
    assert dkmips(relevance, vectors, 2, 0.5) == [0, 2]
    assert dkmips(relevance, vectors, 2, 0.5, weight=0.1) == [0, 1]  # 0.35 − 0.05 against 0.2
    assert dkmips(relevance, vectors, 2, 0.5, weight=0.28) == [0, 1]  # 0.35 − 0.14 against 0.2


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


# Sentence clusters


# Paragraph 0 has clusters a, a, b; 1 has b, c; 2 has a; 3 has d, e, f.
COVERS = Clustered(np.array([0, 0, 0, 1, 1, 2, 3, 3, 3]), np.array([0, 0, 1, 1, 2, 0, 3, 4, 5]))
SIMILAR = np.array([0.9, 0.8, 0.7, 0.1])


def test_greedy_scs_worked_by_hand() -> None:
    """3 brings three clusters; then 0 and 1 bring two each and 0 is more similar; then 1 brings c; 2 fills up."""
    assert greedy_scs(COVERS, SIMILAR, 4) == [3, 0, 1, 2]
    # 0.04 · count + similarity: 0: 0.98; then 1: 0.84 (b is covered); then 2: 0.7 for its similarity alone; 3: 0.22.
    assert greedy_scs(COVERS, SIMILAR, 4, released=True) == [0, 1, 2, 3]
    # Five of six clusters are 83 %: 3 and 0 do, and what is left comes by similarity.
    assert greedy_scs(COVERS, SIMILAR, 4, enough=0.8) == [3, 0, 1, 2]
    assert greedy_scs(COVERS, SIMILAR, 4, enough=0.5) == [3, 0, 1, 2]


def test_greedy_plus_worked_by_hand() -> None:
    """Scores: a (0.9 + 0.9 + 0.7)/3 = 0.83, b 0.85, c 0.8, d = e = f = 0.1.

    0: 0.83 + 0.85 + 0.45 = 2.13; 1: 0.85 + 0.8 + 0.4 = 2.05; 2: 0.83 + 0.35; 3: 0.3 + 0.05. Then 1: 0.8 + 0.4; then
    2: 0.35 and 3: 0.3 + 0.05 are equal, and 2 has fewer sentences.
    """
    assert greedy_plus(COVERS, SIMILAR, 4)[:2] == [0, 1]
    assert greedy_plus(COVERS, SIMILAR, 4, trade_off=0.0) == [0, 1, 3, 2]
    assert greedy_plus(COVERS, SIMILAR, 4, enough=0.5) == [0, 1, 2, 3]  # half is covered by 0 and 1, then similarity


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
