"""MRecall and precision with the judge's errors, by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from evals.metrics.judge_errors import corrected, read_errors
from tools.errors import InputError

MANY = 1e12
# Three questions at k = 2. Both sides found: precision 2/2, MRecall 1. One passage for one side: 1/2, 0. None: 0, 0.
SAID = [np.array([[True, False], [False, True]]), np.array([[True], [False]]), np.zeros((2, 0), bool)]


def test_a_perfect_judge_changes_nothing() -> None:
    found = corrected(SAID, [MANY, 0, 0, MANY], [1, 2], seed=1)
    assert found["precision@2"][0] == pytest.approx((1 + 0.5 + 0) / 3, abs=0.02)  # the bootstrap of the questions alone
    assert found["mrecall@2"][0] == pytest.approx(1 / 3, abs=0.02)
    assert found["mrecall@1"][0] == pytest.approx(2 / 3, abs=0.02)  # m = 2 > k = 1: one distinct one is enough


def test_the_mean_is_that_of_the_posteriors() -> None:
    errors = [3, 1, 2, 14]
    accepted = corrected([np.array([[True]])], errors, [1], seed=1, rounds=40_000)
    assert accepted["mrecall@1"][0] == pytest.approx(0.7, abs=0.01)
    both = corrected([np.array([[True], [False]])], errors, [2], seed=1, rounds=40_000)
    assert both["mrecall@2"][0] == pytest.approx(0.7 * 2.5 / 17, abs=0.01)  # both perspectives, errors independent
    assert both["precision@2"][0] == pytest.approx((1 - 0.3 * 14.5 / 17) / 2, abs=0.01)  # either perspective


def test_the_counts_are_read_from_a_result_of_this_judge(tmp_path: Path) -> None:
    items = {"precision": [["a", 2, 3], ["b", 1, 1]], "recall": [["a", 2, 2], ["b", 1, 3]]}
    told = {"config": {"judge": "j"}, "items": items, "metrics": {"pairs": 20}}
    path = tmp_path / "judge.json"
    path.write_text(json.dumps(told))
    assert read_errors(path, {"judge": "j"}) == [3, 1, 2, 14]
    with pytest.raises(InputError, match="'judge' was 'j' and is 'k' here"):
        read_errors(path, {"judge": "k"})
    path.write_text("{}")
    with pytest.raises(InputError, match=r"judge\.json is not a readable result of `python -m evals judge --json`"):
        read_errors(path, {"judge": "j"})
