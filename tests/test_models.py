"""The encoders and judges as a run uses them, over servers on this machine."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from instant_providers import InstantEncoder, InstantJudge
from model_server import ModelServer
from numpy.typing import NDArray
from providers import ScriptedJudge

from agent.models.inference import Models
from tools.models.cache import VectorCache
from tools.models.encoders import EndpointEncoder
from tools.models.judges.judge import LocalJudge, Pair


def models(tmp_path: Path, server: ModelServer) -> Models:
    """As a fresh process has them, over one cache."""
    retrieval_encoder = EndpointEncoder(server.url, "small")
    cache = VectorCache(tmp_path / "cache.db")
    return Models(InstantEncoder(), InstantJudge(), cache, other_encoder=retrieval_encoder)


async def test_what_an_embeddings_server_gave_is_not_asked_for_again(tmp_path: Path, server: ModelServer) -> None:
    first = await models(tmp_path, server).encode_queries(["bridges"])
    asked = len(server.requests)
    again = await models(tmp_path, server).encode_queries(["bridges"])
    assert len(server.requests) == asked
    assert np.array_equal(first, again)
    assert (await models(tmp_path, server).encode_passages([])).shape == (0, first.shape[1])


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


async def test_a_judge_of_one_statement_is_asked_about_the_contrary_too(tmp_path: Path) -> None:
    judge = ScriptedJudge(lambda pair: 0.8 if pair.statement == "yes" else 0.3)
    asked = Models(InstantEncoder(), judge, VectorCache(tmp_path / "cache.db")).judge()
    found = await asked.stances([Pair("yes", "a", "no"), Pair("no", "b", "yes")])
    assert found == pytest.approx(np.array([[0.8, 0.3], [0.3, 0.8]]))
    assert judge.pairs == [
        Pair("yes", "a", "no"),
        Pair("no", "b", "yes"),
        Pair("no", "a", "yes"),
        Pair("yes", "b", "no"),
    ]
