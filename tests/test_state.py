"""Reducers: arithmetic by hand, nothing mutated, and the order in which branches come in does not matter."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.state import add_numbers, busy_seconds, merge_intervals, merge_lists, merge_scores

KEYS = st.sampled_from("abc")
LISTS = st.dictionaries(KEYS, st.lists(st.integers(0, 5), max_size=4))
SCORES = st.dictionaries(KEYS, st.dictionaries(st.integers(0, 3), st.integers(0, 9)))
NUMBERS = st.dictionaries(KEYS, st.integers(-5, 5))


def test_lists_are_joined_and_equal_items_kept_once() -> None:
    assert merge_lists({"a": ["x", "y"]}, {"a": ["y", "z"], "b": ["x"]}) == {"a": ["x", "y", "z"], "b": ["x"]}


def test_what_was_found_first_stays_in_front() -> None:
    assert merge_lists({"a": [3, 1]}, {"a": [2, 3]}) == {"a": [3, 1, 2]}


def test_a_newer_score_replaces_an_older_one() -> None:
    assert merge_scores({"a": {1: 0.2, 2: 0.3}}, {"a": {2: 0.9}, "b": {1: 0.1}}) == {
        "a": {1: 0.2, 2: 0.9},
        "b": {1: 0.1},
    }


def test_numbers_are_added_key_by_key() -> None:
    assert add_numbers({"pairs": 3}, {"pairs": 4, "seen": 1}) == {"pairs": 7, "seen": 1}


def test_intervals_are_joined() -> None:
    assert merge_intervals({"search": [(0.0, 1.0)]}, {"search": [(0.5, 2.0)]}) == {"search": [(0.0, 1.0), (0.5, 2.0)]}


@pytest.mark.parametrize(
    ("reducer", "values"),
    [(merge_lists, LISTS), (merge_scores, SCORES), (add_numbers, NUMBERS)],
)
@given(data=st.data())
def test_reducers_are_associative_and_leave_their_arguments_alone(
    reducer: Callable[[Any, Any], Any], values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    a, b, c = (data.draw(values) for _ in range(3))
    before = copy.deepcopy((a, b, c))
    assert reducer(reducer(a, b), c) == reducer(a, reducer(b, c))
    assert (a, b, c) == before
    assert reducer({}, a) == reducer(a, {})


def test_a_merged_list_is_not_the_argument() -> None:
    left = {"a": [1]}
    merge_lists(left, {})["a"].append(2)
    assert left == {"a": [1]}


def test_busy_seconds_is_the_length_of_the_union() -> None:
    # 0–2 and 1–3 overlap (3 seconds), 5–6 stands alone (1), 5.2–5.4 lies within.
    assert busy_seconds([(1.0, 3.0), (5.0, 6.0), (0.0, 2.0), (5.2, 5.4)]) == pytest.approx(4.0)
    assert busy_seconds([]) == 0.0


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=8))
def test_busy_seconds_counts_each_second_once(spans: list[tuple[int, int]]) -> None:
    covered = {second for start, length in spans for second in range(start, start + length)}
    assert busy_seconds([(float(s), float(s + n)) for s, n in spans]) == len(covered)
