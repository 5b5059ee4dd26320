"""Long texts are read in windows, and the best window counts."""

import itertools
import math

import numpy as np
import pytest

from tools.models.judges.judge import WINDOW_WORDS, best_window_scores, windows


def numbered(count: int) -> str:
    return " ".join(f"w{i}" for i in range(count))


@pytest.mark.parametrize("count", [136, 170, 171, 240, 1000, 100_000])
def test_windows_overlap_and_miss_nothing(count: int) -> None:
    found = [part.split() for part in windows(numbered(count))]
    assert {len(part) for part in found} == {WINDOW_WORDS}
    assert found[0][0] == "w0"
    assert found[-1][-1] == f"w{count - 1}"
    firsts = [int(part[0][1:]) for part in found]
    steps = {b - a for a, b in itertools.pairwise(firsts)}
    assert max(steps) <= 70
    assert max(steps) - min(steps) <= 1


def test_the_best_window_counts_and_a_missing_one_is_not_hidden() -> None:
    scores = best_window_scores(np.array([0.2, 0.1, 0.9, 0.3, math.nan], np.float32), [0, 1, 1, 2, 2], 3)
    assert scores[:2].tolist() == pytest.approx([0.2, 0.9])
    assert math.isnan(scores[2])
    assert best_window_scores(np.zeros(0, np.float32), [], 0).shape == (0,)
