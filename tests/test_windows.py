"""Long texts are read in windows, and the best window counts."""

import itertools

import pytest

from tools.models.judges.judge import WINDOW_WORDS, windows


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
