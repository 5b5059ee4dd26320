"""Theses, their evidence and their groups, over small arrays worked by hand."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from evals.answering.theses import ThesisWeights, choose_thesis, supported_side
from tools.selection.responses import group_theses, without_question

NAN = math.nan
QUESTION = np.array([1.0, 0.0])
# Cosines to the question: 1, 0.6, 0.8, -1.
SENTENCES = np.array([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6], [-1.0, 0.0]])


def at(*degrees: float) -> NDArray[np.float64]:
    """Unit vectors at these angles."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


# Theses


def test_relevance_stance_and_place_are_added() -> None:
    support = np.array([[0.1, 0.9, 0.2], [0.2, 0.1, 0.3]])  # means 0.4 and 0.2: the document is on the first side
    # 1 + 0.1 + 0.25 · 1 = 1.35; 0.6 + 0.9 + 0.25 · 0 = 1.5; 0.8 + 0.2 + 0.25 · 1 = 1.25
    anything = np.ones(3, bool)
    assert choose_thesis(SENTENCES[:3], QUESTION, support, anything) == (1, 0)
    assert choose_thesis(SENTENCES[:3], QUESTION, support, anything, ThesisWeights(stance=0.0)) == (0, 0)


def test_the_side_is_that_of_the_three_surest_sentences() -> None:
    # 1.5 / 3 against (0.9 + 0.4 + 0) / 3; the maximum alone would say the second, and so would the two surest.
    assert supported_side(np.array([[0.0, 0.5, 0.5, 0.5, 0.0], [0.9, 0.0, 0.0, 0.0, 0.4]])) == 0
    assert supported_side(np.array([[0.2], [0.3]])) == 1
    assert supported_side(np.zeros((2, 3))) == 0
    assert supported_side(np.zeros((0, 3))) is None


def test_only_what_is_allowed_is_chosen_unless_nothing_is() -> None:
    support = np.array([[0.1, 0.1, 0.9, 0.1]])  # 1 + 0.1 + 0.25, 0.6 + 0.1 + 0.083, 0.8 + 0.9 + 0.083, 0 + 0.1 + 0.25
    for allowed, position in (([True, True, False, True], 0), ([False] * 4, 2)):
        assert choose_thesis(SENTENCES, QUESTION, support, np.array(allowed))[0] == position


# Groups


def test_the_part_along_the_question_is_taken_out() -> None:
    question = np.array([2.0, 0.0, 0.0])  # need not be of unit length
    vectors = np.array([[0.8, 0.6, 0.0], [0.6, 0.0, -0.8], [1.0, 0.0, 0.0], [1.0, 1e-9, 0.0]])
    assert without_question(vectors, question) == pytest.approx(np.array([[0, 1, 0], [0, 0, -1], [0, 0, 0], [0, 0, 0]]))
    with pytest.raises(ValueError, match="zero"):
        without_question(vectors, np.zeros(3))


def test_theses_that_share_the_question_only_are_told_apart() -> None:
    vectors = at(20, 15, -20)  # cosines of 0.77 and more: without the question they are 1 and -1
    assert group_theses(vectors, QUESTION, threshold=0.7) == [[0, 1], [2]]
