"""How surely words argue for a side, worked by hand; exchanged sides exchange everything."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.models.judges.quoting import (
    FILE,
    QuotingWeights,
    argues,
    case_of,
    load_quoting_weights,
    mean_log_odds,
    relevance_features,
    relevance_probability,
    side_confidence,
    side_probability,
    stance_log_odds,
)

QUOTING = QuotingWeights(
    own=1.0,
    passage=0.5,
    document=0.25,
    centre=2.0,
    nearness=1.0,
    judged=1.0,
    foremost=0.5,
    offset=-1.0,
    near=0.3,
    case=0.8,
    alone=0.5,
    closer=0.1,
    told=1.0,
)
NAN = float("nan")
probabilities = st.floats(0, 1)
stances = st.lists(st.tuples(probabilities, probabilities), min_size=1, max_size=9)


def table(*rows: tuple[float, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array(rows, np.float64)


def test_a_leaning_is_the_difference_of_the_log_odds() -> None:
    lean, weight = stance_log_odds(table((0.5, 0.5), (0.8, 0.2), (0.2, 0.8), (0.9, 0.5), (0.9, 0.9)))
    # ln 4 - ln 1/4 = 2.7726; ln 9 - ln 1 = 2.1972
    assert lean == pytest.approx([0, 2.7726, -2.7726, 2.1972, 0], abs=1e-4)
    assert weight == pytest.approx([0.5, 0.8, 0.8, 0.9, 0.9])  # that it argues for both says that it argues


def test_the_context_is_the_mean_weighted_by_how_much_each_argues() -> None:
    lean, weight = np.array([1.0, 3.0, -2.0, NAN]), np.array([0.5, 1.0, 0.8, NAN])
    # (0.5 * 1 + 1 * 3) / 1.5; of what is known -2; of nothing, and of nothing known, 0
    assert mean_log_odds(lean, weight, [[0, 1], [2, 3], [], [3]]) == pytest.approx([2.3333, -2, 0, 0], abs=1e-4)


def test_where_nothing_comes_near_the_question_nothing_speaks_to_it() -> None:
    assert (relevance_probability(table((0.9, 0.0, 0.9, 0.29), (0.9, 0.0, 0.9, 0.3)), QUOTING) > 0).tolist() == [
        False,
        True,
    ]
    assert side_confidence(table((9, 9, 9)), table((0.9, 0.0, 0.9, 0.29)), QUOTING).tolist() == [0]


def test_sure_is_what_speaks_to_the_dispute_and_takes_the_side() -> None:
    features, grounds = table((1, 2, -1), (NAN, 0, 0)), table((0.5, -0.2, 0.7, 0.7), (0.5, -0.2, 0.7, 0.7))
    found = side_confidence(features, grounds, QUOTING)
    assert found[0] == pytest.approx(0.8520 * 0.6682, abs=1e-4)
    assert np.isnan(found[1])


def test_a_case_is_sure_and_neither_it_nor_what_stands_around_it_leans_the_other_way() -> None:
    sure = np.array([0.95, 0.8, 0.79, 0.95, 0.95, 0.95, NAN])
    lean = table((1, 1, 1), (0.5, 0, -1), (1, 1, 1), (0.4, 9, 9), (9, -0.1, 9), (NAN, 9, 9), (1, 1, 1))
    assert case_of(sure, lean, QUOTING).tolist() == [True, True, False, False, False, False, False]


def test_a_speaker_argues_for_a_side_by_all_that_was_read_of_him_if_it_speaks_to_the_question() -> None:
    near, far = (0.5, -0.2, 0.7, 0.7), (0.5, -0.2, 0.7, 0.2)  # of the first the probability is 0.6682
    features, closely = table((-9, 0, 1.6), (9, 9, 1.4), (9, 9, 9)), np.array([False, False, False])
    assert argues(features, table(near, near, far), closely, QUOTING).tolist() == [True, False, False]
    # 1.6 * 0.6682 - 0.1 * 9 = 0.17, and 1.4 * 0.6682 + 0.1 * 9 = 1.84
    assert argues(features, table(near, near, far), ~closely, QUOTING).tolist() == [False, True, False]


def test_the_grounds_of_two_passages() -> None:
    found = relevance_features(table((1, 0), (0, 1)), np.array([0.8, 0.4]), np.array([0.9, 0.0]), np.array([0.3, 0.5]))
    # Their middle lies at 45°, of cosine 0.7071 to both; their mean nearness is 0.6, the nearest has 0.5.
    assert found.ravel() == pytest.approx([0.7071, 0.2, 0.9, 0.5, 0.7071, -0.2, 0, 0.5], abs=1e-4)


@given(stances, st.data())
def test_exchanged_sides_exchange_everything(rows: list[tuple[float, float]], data: st.DataObject) -> None:
    groups = data.draw(st.lists(st.sampled_from("ab"), min_size=len(rows), max_size=len(rows)))
    one, other = table(*rows), table(*rows)[:, ::-1]
    made = []
    for given_ in (one, other):
        lean, weight = stance_log_odds(given_)
        around = mean_log_odds(lean, weight, [[i for i, g in enumerate(groups) if g == own] for own in groups])
        made.append((lean, weight, around, side_probability(np.stack([lean, around, around], axis=1), QUOTING)))
    (lean, weight, around, sure), (lean2, weight2, around2, sure2) = made
    assert lean2 == pytest.approx(-lean)
    assert weight2 == pytest.approx(weight)
    assert around2 == pytest.approx(-around)
    assert sure + sure2 == pytest.approx(np.ones(len(rows)))


# The stored weights


def test_the_stored_weights_say_what_they_have_to() -> None:
    stored = load_quoting_weights()
    assert stored == load_quoting_weights(FILE)
    assert min(stored.own, stored.passage, stored.document) > 0  # no leaning speaks against itself
    assert min(stored.centre, stored.nearness, stored.judged) > 0
    assert 0.5 < stored.case < 1
