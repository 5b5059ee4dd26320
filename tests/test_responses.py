"""Theses, their evidence and their groups, over small arrays worked by hand."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tools.selection import group_theses, without_question

QUESTION = np.array([1.0, 0.0])
# Cosines to the question: 1, 0.6, 0.8, -1.
SENTENCES = np.array([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6], [-1.0, 0.0]])


def at(*degrees: float) -> NDArray[np.float64]:
    """Unit vectors at these angles."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


# Theses


def test_the_part_along_the_question_is_taken_out() -> None:
    question = np.array([2.0, 0.0, 0.0])  # need not be of unit length
    vectors = np.array([[0.8, 0.6, 0.0], [0.6, 0.0, -0.8], [1.0, 0.0, 0.0], [1.0, 1e-9, 0.0]])
    assert without_question(vectors, question) == pytest.approx(np.array([[0, 1, 0], [0, 0, -1], [0, 0, 0], [0, 0, 0]]))
    with pytest.raises(ValueError, match="zero"):
        without_question(vectors, np.zeros(3))


def test_theses_that_share_the_question_only_are_told_apart() -> None:
    vectors = at(20, 15, -20)  # cosines of 0.77 and more: without the question they are 1 and -1
    assert group_theses(vectors, QUESTION, threshold=0.7) == [[0, 1], [2]]
