"""Encoders behind an address: what is sent, and what is made of good and bad replies."""

from typing import Any

import numpy as np
import pytest
from model_server import ModelServer, Reply

from tools.budget import Budget, budget_scope
from tools.errors import ProviderDownError, ProviderReplyError
from tools.models.encoders import EndpointEncoder


def lengths(body: dict[str, Any]) -> Reply:
    """Vectors (length of the text, 4), in the wrong order; seven tokens a request."""
    rows = [{"index": i, "embedding": [len(text), 4]} for i, text in enumerate(body["input"])]
    return Reply({"data": rows[::-1], "usage": {"prompt_tokens": 7, "total_tokens": 7}})


@pytest.fixture
def server(server: ModelServer) -> ModelServer:
    """One that counts letters; a test may say something else first."""
    server.strict = False
    return server


def counting(server: ModelServer, **options: Any) -> EndpointEncoder:
    server.on("", lengths, path="/embeddings")
    return EndpointEncoder(server.url, "small", **options)


def bodies(server: ModelServer) -> list[list[str]]:
    return [request.body["input"] for request in server.requests]


def test_unit_vectors_in_order(server: ModelServer) -> None:
    encoder = counting(server, key="secret")
    # (3, 4) and (0 + 4) by their lengths 5 and 4.
    found = encoder.encode(["abc", ""])
    assert found.tolist() == [pytest.approx([0.6, 0.8]), [0.0, 1.0]]
    assert found.dtype == np.float32
    assert encoder.dimensions == 2
    assert [r.body for r in server.requests] == [{"model": "small", "input": ["abc", ""], "encoding_format": "float"}]
    assert server.requests[0].headers["authorization"] == "Bearer secret"


def data(*rows: Any) -> dict[str, Any]:
    return {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}


@pytest.mark.parametrize(
    "reply",
    [
        Reply(raw=b"<html>"),
        {"data": [1, 2]},
        data([1, 2]),
        {"data": [{"index": 1, "embedding": [1]}, {"index": 2, "embedding": [1]}]},
        data([1, 2], [1]),
        data([], []),
        data([1, 2], [0, 0]),
        data([1, 2], [float("nan"), 1]),
    ],
)
def test_replies_that_cannot_be_used(server: ModelServer, reply: Any) -> None:
    server.on("", reply if isinstance(reply, Reply) else Reply(reply), path="/embeddings")
    with pytest.raises(ProviderReplyError):
        counting(server).encode(["bees", "ants"])


def test_an_offline_run_asks_only_this_machine(server: ModelServer) -> None:
    with budget_scope(Budget(offline=True)):
        assert counting(server).encode(["a"]).shape == (1, 2)
        with pytest.raises(ProviderDownError, match="stays offline"):
            EndpointEncoder("http://models.example/v1", "small").encode(["a"])
