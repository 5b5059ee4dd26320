"""The scripted model server against the real client of the interface that it speaks."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import openai
import pytest
from model_server import ModelServer, Reply


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(key="k") as running:
        yield running


def client_of(server: ModelServer, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url, api_key="k", max_retries=0, **{"timeout": 5.0, **options})


def ask(client: openai.OpenAI, text: str, **options: Any) -> Any:
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}], **options)


def test_rules_answer_in_order_and_the_last_reply_stays(server: ModelServer) -> None:
    server.on("bridge", "first", {"second": 2}).on("", lambda body: body["messages"][0]["content"].upper())
    with client_of(server) as client:
        said = [ask(client, text).choices[0].message.content for text in ("a bridge", "else", "bridge", "bridge 3")]
    assert said == ["first", "ELSE", '{"second": 2}', '{"second": 2}']
    assert server.prompts() == ["a bridge", "else", "bridge", "bridge 3"]
    assert server.requests[0].headers["authorization"] == "Bearer k"
    assert server.requests[0].path == "/v1/chat/completions"


def test_a_stream_has_the_text_and_the_usage(server: ModelServer) -> None:
    server.on("", Reply("a text of more than twelve letters", usage=(3, 4), drip=0.001))
    with client_of(server) as client:
        chunks = list(ask(client, "go", stream=True, stream_options={"include_usage": True}))
    assert (
        "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "a text of more than twelve letters"
    )
    assert chunks[-1].usage.prompt_tokens == 3
    assert chunks[-2].choices[0].finish_reason == "stop"


def test_log_probabilities_are_those_of_the_script_or_of_the_judge() -> None:
    with ModelServer(judge=lambda text: 0.25 if "bad" in text else 0.75) as server, client_of(server) as client:
        server.on("scripted", Reply(top_logprobs={"No": -1.0, "Yes": -0.5, "Maybe": -3.0}))
        scripted, judged = (
            ask(client, text, logprobs=True, top_logprobs=2).choices[0] for text in ("scripted", "a bad one")
        )
    assert scripted.message.content == "Yes"
    assert [(t.token, t.logprob) for t in scripted.logprobs.content[0].top_logprobs] == [("Yes", -0.5), ("No", -1.0)]
    offered = {t.token: round(float(np.exp(t.logprob)), 6) for t in judged.logprobs.content[0].top_logprobs}
    assert offered == {"No": 0.75, "Yes": 0.25}


@pytest.mark.parametrize("asked", ["json_schema", "json_object"])
def test_a_server_may_lack_formats(asked: str) -> None:
    with ModelServer(no_json_schema=True, no_json_object=True, no_stream_options=True) as server:
        server.on("", "plain")
        with client_of(server) as client:
            with pytest.raises(openai.BadRequestError, match=asked):
                ask(client, "x", response_format={"type": asked, "json_schema": {"name": "n", "schema": {}}})
            with pytest.raises(openai.BadRequestError, match="stream_options"):
                ask(client, "x", stream=True, stream_options={"include_usage": True})
            assert ask(client, "x").choices[0].message.content == "plain"


def test_a_wrong_key_and_scripted_failures(server: ModelServer) -> None:
    server.on("", Reply(status=429, headers={"Retry-After": "7"}), Reply(raw=b"<html>"), Reply(raw=b'{"choices": []}'))
    with client_of(server) as client:
        with pytest.raises(openai.RateLimitError) as busy:
            ask(client, "x")
        assert busy.value.response.headers["retry-after"] == "7"
        with pytest.raises(json.JSONDecodeError):
            json.loads(ask(client, "x"))
        assert ask(client, "x").choices == []
    other = {"authorization": "Bearer other"}
    with client_of(server, default_headers=other) as client, pytest.raises(openai.AuthenticationError):
        ask(client, "x")


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply("x" * 99, cut=True), openai.APIConnectionError),
        (Reply(cut=True, raw=b""), openai.APIConnectionError),
        (Reply(hang=True), openai.APITimeoutError),
        (Reply("x" * 99, cut=True, hang=True), openai.APITimeoutError),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_is_cut_or_hangs_reaches_the_client_as_such(
    server: ModelServer, reply: Reply, error: type[Exception], stream: bool
) -> None:
    server.on("", reply)
    with client_of(server, timeout=0.3) as client, pytest.raises(error):
        list(ask(client, "x", stream=stream))


def test_closing_ends_a_reply_that_hangs() -> None:
    with ModelServer(strict=False) as server:
        server.on("", Reply(hang=True))
        failures: list[Exception] = []

        def call() -> None:
            try:
                with client_of(server, timeout=60.0) as client:
                    ask(client, "x")
            except openai.APIConnectionError as exc:
                failures.append(exc)

        thread = threading.Thread(target=call)
        thread.start()
        while not server.requests:
            time.sleep(0.005)
        began = time.monotonic()
    thread.join(5)
    assert time.monotonic() - began < 2
    assert len(failures) == 1


def test_models_embeddings_scores_and_ranks(server: ModelServer) -> None:
    with client_of(server) as client:
        assert [m.id for m in client.models.list()] == ["test-model"]
        packed = client.embeddings.create(model="m", input=["a red bridge", "a red bridge"]).data
        plain = client.embeddings.create(model="m", input="a red bridge", encoding_format="float").data
        other = client.embeddings.create(model="m", input="taxes").data[0].embedding
    assert packed[0].embedding == packed[1].embedding
    assert np.allclose(packed[0].embedding, plain[0].embedding)
    assert np.dot(plain[0].embedding, other) < 0.5 < np.linalg.norm(other)
    key = {"authorization": "Bearer k"}
    for path, names in (("/score", ("text_1", "text_2")), ("/v1/score", ("queries", "documents"))):
        body = dict(zip(names, ("red bridge", ["red bridge", "red tax"]), strict=True))
        scored = httpx.post(server.root + path, json=body, headers=key).json()
        assert [(d["index"], round(d["score"], 3)) for d in scored["data"]] == [(0, 1.0), (1, 0.333)]
    ranked = httpx.post(server.url + "/rerank", json={"query": "tax", "documents": ["a", "tax"]}, headers=key).json()
    assert [r["index"] for r in ranked["results"]] == [1, 0]


def test_requests_are_served_at_the_same_time() -> None:
    four = threading.Barrier(4, timeout=10)
    with ModelServer(latency=0.01) as server, client_of(server, timeout=10) as client:
        server.on("", lambda body: str(four.wait()))
        threads = [threading.Thread(target=ask, args=(client, "x")) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert server.most_at_once == 4
    assert (server.at_once, four.broken) == (0, False)


def test_what_goes_unused_or_unanswered_is_an_error() -> None:
    with ModelServer(strict=False) as server, client_of(server) as client:
        server.on("never", "x").on("once", "x", times=2)
        ask(client, "once")
        with pytest.raises(openai.InternalServerError):
            ask(client, "nobody expects this")
    with pytest.raises(AssertionError) as failed:
        server.check()
    assert str(failed.value).splitlines()[:3] == [
        "no reply for /v1/chat/completions: 'nobody expects this'",
        "unused: 'never' on /chat/completions (used 0 times)",
        "unused: 'once' on /chat/completions (used 1 times)",
    ]


def test_the_block_raises_it_unless_something_else_failed() -> None:
    def unused(failure: type[Exception] | None) -> None:
        with ModelServer() as server:
            server.on("never", "x")
            if failure:
                raise failure

    with pytest.raises(AssertionError, match="unused: 'never'"):
        unused(None)
    with pytest.raises(ZeroDivisionError):
        unused(ZeroDivisionError)


def test_nothing_listens_after_the_end() -> None:
    with ModelServer() as server:
        port = int(server.root.rpartition(":")[2])
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
