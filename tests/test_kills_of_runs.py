"""Runs whose processes are killed at random moments."""

from pathlib import Path

import pytest

from evals.benchmarks.kills_of_runs import kill_while_asking


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_is_lost_doubled_or_stuck_by_kills(tmp_path: Path) -> None:
    report = kill_while_asking(5, tmp_path / "kills", seed=7, instant=True)
    assert report.violations == []
    assert report.killed.total() == 5
    assert report.interrupted > 0
