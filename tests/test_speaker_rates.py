"""Who says the labelled sentences of two sets of documents, which the rules were tuned on: a guard, and no measure of
documents that nobody has seen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from speaker_rates import SETS, rates


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.name)
def test_labelled_sentences_have_their_speakers(folder: Path) -> None:
    found = rates(folder)
    assert found["right"] >= 0.92 * found.total(), found
    assert found["wrong"] <= 1, found
    assert not found["lost"]


@pytest.mark.parametrize("script", ["speaker_rates.py", "kind_rates.py"])
def test_a_wrong_folder_is_told_in_one_line(script: str, tmp_path: Path) -> None:
    command = [sys.executable, str(Path(__file__).with_name(script)), str(tmp_path / "none")]
    run = subprocess.run(
        command, cwd=Path(__file__).parents[1], env={**os.environ, "PYTHONPATH": "."}, capture_output=True, text=True
    )
    assert (run.returncode, len(run.stderr.splitlines())) == (2, 1)
    assert str(tmp_path / "none") in run.stderr
