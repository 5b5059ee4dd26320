"""Encoders and re-rankers behind an address: what is sent, and what is made of good and bad replies."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from tools.budget import Budget, using
from tools.errors import BudgetError, DeadlineError, ProviderDownError, ProviderReplyError
from tools.inference.encoders.endpoint import EndpointEncoder

Reply = Callable[[str, dict[str, Any]], Any]


class Server(ThreadingHTTPServer):
    """Answers with what `reply` makes of the path and the body, and remembers what it heard."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply = reply
        self.statuses: list[int] = []  # of the next replies; 200 after that
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is what some of the tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        self.server.headers.append({k.lower(): v for k, v in self.headers.items()})
        made = self.server.reply(self.path, body)
        data = made if isinstance(made, bytes) else json.dumps(made).encode()
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def serving(reply: Reply) -> Iterator[Server]:
    with Server(reply) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def lengths(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Vectors (length of the text, 4), in the wrong order; seven tokens a request."""
    assert path == "/v1/embeddings"
    rows = [{"index": i, "embedding": [len(text), 4]} for i, text in enumerate(body["input"])]
    return {"data": rows[::-1], "usage": {"prompt_tokens": 7, "total_tokens": 7}}


def test_unit_vectors_in_order() -> None:
    with serving(lengths) as server:
        encoder = EndpointEncoder(server.url, "small", key="secret")
        # (3, 4) and (0 + 4) by their lengths 5 and 4.
        assert encoder.encode(["abc", ""]).tolist() == [pytest.approx([0.6, 0.8]), [0.0, 1.0]]
        assert encoder.dimensions == 2
        assert server.bodies == [{"model": "small", "input": ["abc", ""], "encoding_format": "float"}]
        assert server.headers[0]["authorization"] == "Bearer secret"


def test_many_texts_in_batches() -> None:
    with serving(lengths) as server:
        vectors = EndpointEncoder(server.url, "small", batch=7).encode(["x" * i for i in range(100)])
        assert sorted(len(b["input"]) for b in server.bodies) == [2] + [7] * 14
    assert vectors.shape == (100, 2)
    assert (vectors[:, 0] / vectors[:, 1]).tolist() == pytest.approx([i / 4 for i in range(100)], abs=1e-5)


def test_prompts_go_before_the_texts() -> None:
    with serving(lengths) as server:
        encoder = EndpointEncoder(server.url, "small", query_prompt="query: ", document_prompt="passage: ")
        encoder.encode(["bees"])
        encoder.encode_queries(["ants"])
        assert [b["input"] for b in server.bodies] == [["passage: bees"], ["query: ants"]]


def test_the_name_follows_what_the_vectors_depend_on() -> None:
    made = [
        EndpointEncoder("http://a/v1", "small"),
        EndpointEncoder("http://a/v1", "large"),
        EndpointEncoder("http://a/v1", "small", query_prompt="q"),
        EndpointEncoder("http://a/v1", "small", document_prompt="q"),
        EndpointEncoder("http://a/v1", "small", dimensions=3),
    ]
    assert len({encoder.name for encoder in made}) == 5
    assert EndpointEncoder("http://b/v1/embeddings/", "small").name == made[0].name
    assert EndpointEncoder("http://b/v1/embeddings/", "small").address == "http://b/v1"


def test_dimensions_are_asked_for_once_and_only_if_need_be() -> None:
    with serving(lengths) as server:
        assert EndpointEncoder(server.url, "small", dimensions=2).dimensions == 2
        assert server.bodies == []
        encoder = EndpointEncoder(server.url, "small")
        assert encoder.encode([]).shape == encoder.encode_queries([]).shape == (0, 2)
        assert encoder.dimensions == 2
        assert len(server.bodies) == 1
        with pytest.raises(ProviderReplyError, match="2 dimensions in the place of 3"):
            EndpointEncoder(server.url, "small", dimensions=3).encode(["bees"])


def data(*rows: Any) -> dict[str, Any]:
    return {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}


@pytest.mark.parametrize(
    "reply",
    [
        b"<html>",
        [],
        {},
        {"data": None},
        {"data": [1, 2]},
        {"error": "loading"},
        data([1, 2]),
        data([1, 2], [1, 2], [1, 2]),
        {"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]},
        {"data": [{"index": 1, "embedding": [1]}, {"index": 2, "embedding": [1]}]},
        data([1, 2], [1]),
        data([1, 2], ["a", "b"]),
        data([1, 2], [None, 1]),
        data([], []),
        data([[1]], [[2]]),
        data(1, 2),
        data([1, 2], [0, 0]),
        data([1, 2], [float("nan"), 1]),
        data([1, 2], [float("inf"), 1]),
    ],
)
def test_replies_that_cannot_be_used(reply: Any) -> None:
    with serving(lambda *_: reply) as server, pytest.raises(ProviderReplyError):
        EndpointEncoder(server.url, "small").encode(["bees", "ants"])


def test_parts_of_different_length() -> None:
    def growing(_: str, body: dict[str, Any]) -> dict[str, Any]:
        return data([1.0] * len(body["input"][0]))

    with serving(growing) as server, pytest.raises(ProviderReplyError, match="different lengths"):
        EndpointEncoder(server.url, "small", batch=1).encode(["a", "bc"])


def test_a_busy_server_is_asked_again() -> None:
    with serving(lengths) as server:
        server.statuses = [503]
        assert EndpointEncoder(server.url, "small").encode(["abc"]).shape == (1, 2)
        assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("status", "says"),
    [(401, "refused the key"), (404, "does not know"), (400, "status 400"), (308, "at another address")],
)
def test_refusals(status: int, says: str) -> None:
    with serving(lengths) as server:
        server.statuses = [status] * 3
        with pytest.raises(ProviderDownError, match=f"the encoder small .*{says}"):
            EndpointEncoder(server.url, "small", batch=1).encode(["a", "b", "c"])


def test_nothing_there() -> None:
    with serving(lengths) as server:
        gone = server.url
    with pytest.raises(ProviderDownError, match="cannot be reached"), using(Budget(deadline_at=time.time() + 0.3)):
        EndpointEncoder(gone, "small").encode(["a"])


def test_what_a_run_may_spend_is_counted() -> None:
    with serving(lengths) as server, using(Budget()) as budget:
        EndpointEncoder(server.url, "small", batch=1).encode(["a", "b"])
        assert (budget.calls, budget.input_tokens, budget.unpriced) == (2, 14, 0)
        budget.max_calls = 2
        with pytest.raises(BudgetError):
            EndpointEncoder(server.url, "small").encode(["a"])
        assert len(server.bodies) == 2


def test_an_offline_run_asks_only_this_machine() -> None:
    with serving(lengths) as server, using(Budget(offline=True)):
        assert EndpointEncoder(server.url, "small").encode(["a"]).shape == (1, 2)
        with pytest.raises(ProviderDownError, match="stays offline"):
            EndpointEncoder("http://models.example/v1", "small").encode(["a"])


def test_the_deadline_holds() -> None:
    waiting = threading.Event()

    def late(*_: Any) -> dict[str, Any]:
        waiting.wait(5)
        return data([1, 2])

    with serving(late) as server, using(Budget(deadline_at=time.time() + 0.3)):
        with pytest.raises(DeadlineError):
            EndpointEncoder(server.url, "small").encode(["a"])
        waiting.set()


def test_rows_are_float32() -> None:
    with serving(lengths) as server:
        assert EndpointEncoder(server.url, "small").encode(["abc"]).dtype == np.float32
