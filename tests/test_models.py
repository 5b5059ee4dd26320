"""The encoders and judges as a run uses them, over servers on this machine."""

import asyncio
import os
from pathlib import Path

import numpy as np
import pytest
from model_server import ModelServer, Reply

from agent.models import Models
from evals.instant import InstantEncoder, InstantJudge
from tools.allowance import Allowance, using
from tools.cache import VectorCache
from tools.chat.model import ChatModel
from tools.encoders.endpoint import EndpointEncoder
from tools.errors import ProviderDownError
from tools.judges.chat import ChatJudge
from tools.judges.judge import Pair
from tools.worker import Worker


def models(tmp_path: Path, server: ModelServer) -> Models:
    """As a fresh process has them, over one cache."""
    searcher = EndpointEncoder(server.url, "small")
    cache = VectorCache(tmp_path / "cache.db")
    return Models(InstantEncoder(), InstantJudge(), Worker(), cache, searcher=searcher)


async def test_what_an_embeddings_server_gave_is_not_asked_for_again(tmp_path: Path, server: ModelServer) -> None:
    first = await models(tmp_path, server).encode_queries(["bridges"])
    asked = len(server.requests)
    again = await models(tmp_path, server).encode_queries(["bridges"])
    assert len(server.requests) == asked
    assert np.array_equal(first, again)
    assert (await models(tmp_path, server).encode_passages([])).shape == (0, first.shape[1])


async def test_two_calls_to_one_judge_do_not_take_its_form_from_each_other(server: ModelServer) -> None:
    server.on(lambda body: "useless" in str(body["messages"]), Reply("Perhaps", delay=0.02))
    server.on(lambda body: True, Reply("Yes", delay=0.1))
    judge = ChatJudge(url=server.url, model="m", concurrency=2)
    await judge.support([Pair("s", "warm")])
    good, useless = await asyncio.gather(
        judge.support([Pair("s", f"good {i}") for i in range(8)]),
        judge.support([Pair("s", f"useless {i}") for i in range(4)]),
        return_exceptions=True,
    )
    assert isinstance(good, np.ndarray)
    assert good.tolist() == [1.0] * 8
    assert "cannot be used" in str(useless)


async def test_nothing_of_the_environment_goes_to_a_server(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent.chat.framing import FramedQuestion

    monkeypatch.setitem(os.environ, "OPENAI_ORG_ID", "org-secret")
    monkeypatch.setitem(os.environ, "OPENAI_CUSTOM_HEADERS", "x-secret: 1")
    server.on(lambda body: True, {"form": "none", "neutral": ""})
    model = ChatModel("m", url=server.url)
    await model.ask("", "Frame this.", FramedQuestion)
    await model.aclose()
    sent = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert "org-secret" not in sent.values()
    assert not [name for name in sent if name.startswith(("x-", "openai-"))]


async def test_a_model_elsewhere_is_not_asked_where_nothing_may_leave() -> None:
    from agent.chat.framing import FramedQuestion

    model = ChatModel("m", url="http://203.0.113.9/v1")
    with using(Allowance(offline=True)), pytest.raises(ProviderDownError, match="leave"):
        await model.ask("", "Frame this.", FramedQuestion)
