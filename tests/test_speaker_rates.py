"""Who says the labelled sentences of two sets of documents, which the rules were tuned on: a guard, and no measure of
documents that nobody has seen."""

from pathlib import Path

import pytest
from speaker_rates import SETS, rates


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.name)
def test_labelled_sentences_have_their_speakers(folder: Path) -> None:
    found = rates(folder)
    assert found["right"] >= 0.92 * found.total(), found
    assert found["wrong"] <= 1, found
    assert not found["lost"]
