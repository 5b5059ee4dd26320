"""Reducers: arithmetic by hand, nothing mutated, and the order in which branches come in does not matter."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.answer.assemble import busy_seconds
from agent.state import add_numbers, merge_lists, merge_scores

KEYS = st.sampled_from("abc")
LISTS = st.dictionaries(KEYS, st.lists(st.integers(0, 5), max_size=4))
SCORES = st.dictionaries(KEYS, st.dictionaries(st.integers(0, 3), st.integers(0, 9)))
NUMBERS = st.dictionaries(KEYS, st.integers(-5, 5))


@pytest.mark.parametrize(("reducer", "values"), [(merge_lists, LISTS), (merge_scores, SCORES), (add_numbers, NUMBERS)])
@given(data=st.data())
def test_reducers_are_associative_and_leave_their_arguments_alone(
    reducer: Callable[[Any, Any], Any], values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    a, b, c = (data.draw(values) for _ in range(3))
    before = copy.deepcopy((a, b, c))
    assert reducer(reducer(a, b), c) == reducer(a, reducer(b, c))
    assert (a, b, c) == before
    assert reducer({}, a) == reducer(a, {})


def test_busy_seconds_is_the_length_of_the_union() -> None:
    # 0–2 and 1–3 overlap (3 seconds), 5–6 stands alone (1), 5.2–5.4 lies within.
    assert busy_seconds([(1.0, 3.0), (5.0, 6.0), (0.0, 2.0), (5.2, 5.4)]) == pytest.approx(4.0)
    assert busy_seconds([]) == 0.0
