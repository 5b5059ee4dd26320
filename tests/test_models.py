"""The encoders and judges as a run uses them, over servers on this machine."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from instant_providers import InstantEncoder, InstantJudge
from model_server import ModelServer
from numpy.typing import NDArray

from agent.models.inference import Models
from tools.models.cache import VectorCache
from tools.models.encoders import EndpointEncoder
from tools.models.judges.judge import LocalJudge, Pair


def models(tmp_path: Path, server: ModelServer) -> Models:
    """As a fresh process has them, over one cache."""
    retrieval_encoder = EndpointEncoder(server.url, "small")
    cache = VectorCache(tmp_path / "cache.db")
    return Models(InstantEncoder(), InstantJudge(), cache, other_encoder=retrieval_encoder)


class BothSides(LocalJudge):
    """Tells both sides of a text by one reading; of some it says nothing."""

    name = "both-sides"
    threshold = 0.5

    def __init__(self) -> None:
        self.asked: list[list[Pair]] = []

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        return self.score_both(pairs)[:, 0]

    def score_both(self, pairs: Sequence[Pair], closely: bool = False) -> NDArray[np.float32]:
        self.asked.append(list(pairs))
        return np.array([[np.nan, 0.1] if p.text == "?" else [0.8, 0.1] for p in pairs], np.float32)


async def test_a_judge_of_both_sides_is_asked_once_and_remembered_as_such(tmp_path: Path) -> None:
    inner = BothSides()
    judge = Models(InstantEncoder(), inner, VectorCache(tmp_path / "cache.db")).judge()
    pairs = [Pair("yes", text, "no") for text in ("a", "b", "a", "?")]
    found = await judge.stances(pairs)
    assert found[:3] == pytest.approx(np.array([[0.8, 0.1]] * 3))
    assert np.isnan(found[3]).any()
    assert inner.asked == [[pairs[0], pairs[1], pairs[3]]]  # a text that comes twice is read once
    again = await judge.stances(pairs)
    assert again[:3].tolist() == found[:3].tolist()
    assert inner.asked[1:] == [[pairs[3]]]  # what was not told is asked again
    # What a text supports is another question than both its sides, and so is the contrary statement.
    assert (await judge.support(pairs[:1])).tolist() == pytest.approx([0.8])
    await judge.stances([Pair("no", "a", "yes")])
    assert inner.asked[2:] == [[pairs[0]], [Pair("no", "a", "yes")]]
    await judge.stances([Pair("yes", "a", "no", placed="b. ⟨ a ⟩")])  # the same words in another place
    assert inner.asked[4:] == [[Pair("yes", "a", "no", placed="b. ⟨ a ⟩")]]
    assert (await judge.stances([])).shape == (0, 2)
