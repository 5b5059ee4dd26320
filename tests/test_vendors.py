"""Chat models by the name of their vendor, over servers on this machine that speak the vendors' own interfaces.

For each of them the transport's retries are the only ones, and deadline, budgets and `--no-web` hold.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from model_server import ModelServer, Reply
from pydantic import BaseModel, Field
from vendor_replies import refuses, says, script

from tools.budget import Budget, StageLog, budget_scope
from tools.errors import ProviderDownError, ProviderError, ProviderReplyError
from tools.models.chat.model import ChatModel
from tools.models.chat.vendors import COMPATIBLE, VENDORS, vendor_of
from tools.net import retries

KEY = "very-secret-0123456789"
KEY_HEADER = {
    "anthropic": ("authorization", f"Bearer {KEY}"),
    "google_genai": ("x-goog-api-key", KEY),
    "ollama": ("", ""),
}
OWN_HEADERS = {"anthropic": {"anthropic-version"}, "google_genai": set[str](), "ollama": set[str]()}
USUAL = {"host", "accept", "accept-encoding", "connection", "content-type", "content-length"}


class Shelf(BaseModel):
    """What the tests ask for."""

    name: str = Field(max_length=40)
    pages: list[int] = Field(min_length=1, max_length=9)


GOOD: dict[str, Any] = {"name": "One", "pages": [1, 2]}
TEXT = json.dumps(GOOD)


@pytest.fixture(params=sorted(VENDORS))
def vendor(request: pytest.FixtureRequest, quick_retries: None) -> str:
    name: str = request.param
    pytest.importorskip(VENDORS[name].module)
    return name


@asynccontextmanager
async def model(vendor: str, url: str, **options: Any) -> AsyncIterator[ChatModel]:
    made = ChatModel("m-1", vendor=VENDORS[vendor], url=url, **{"silence": 5.0, "key": KEY, **options})
    try:
        yield made
    finally:
        await made.aclose()


async def ask(vendor: str, server: ModelServer, **options: Any) -> Shelf:
    async with model(vendor, server.root, **options) as chat:
        return await chat.ask("Be brief.", "Which shelf?", Shelf)


async def failed(
    vendor: str, server: ModelServer, budget: Budget | None = None, log: StageLog | None = None, **options: Any
) -> ProviderError:
    with budget_scope(budget or Budget(), log), pytest.raises(ProviderError) as caught:
        await asyncio.wait_for(ask(vendor, server, **options), 20)
    return caught.value


# --- what is asked ----------------------------------------------------------------------------------------------------


async def test_an_answer_comes_back_as_the_shape_and_its_tokens_are_counted(vendor: str, server: ModelServer) -> None:
    script(server, vendor, says(vendor, GOOD, (120, 30)))
    told: list[int] = []
    budget = Budget()
    with budget_scope(budget, StageLog(on_reply=told.append)):
        assert await ask(vendor, server) == Shelf.model_validate(GOOD)
    assert (budget.calls, budget.input_tokens, budget.output_tokens) == (1, 120, 30)
    assert len(set(told)) > 2  # it was streamed
    assert told[-1] == len(TEXT)


async def test_nothing_is_sent_but_the_key_and_the_question(
    vendor: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "ANTHROPIC_PROXY", "ANTHROPIC_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-secret: 1")
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.setenv(name, "of-somebody-else")
    script(server, vendor, says(vendor, GOOD))
    await ask(vendor, server, temperature=0.2)
    request = server.requests[0]
    keys = {name: value for name, value in [KEY_HEADER[vendor]] if name}
    assert {name: request.headers.get(name) for name in keys} == keys
    assert set(request.headers) <= USUAL | OWN_HEADERS[vendor] | set(keys)
    assert request.headers["accept-encoding"] == "identity"
    assert "of-somebody-else" not in str(request)
    asked = json.dumps(request.body)
    for words in ("Be brief.", "Which shelf?", "Answer with one JSON object", "0.2"):
        assert words in asked


async def test_the_shape_is_asked_for_by_schema_and_in_words_where_that_is_refused(
    vendor: str, server: ModelServer
) -> None:
    def schema_in(body: Any) -> Any:
        forms = (body.get("output_config"), body.get("format"), body.get("generationConfig", {}))
        return next((f for f in forms if f and "properties" in json.dumps(f)), None)

    script(server, vendor, refuses(400, "schemas are not supported"), match=schema_in)
    script(server, vendor, says(vendor, GOOD))
    async with model(vendor, server.root) as chat:
        for _ in range(2):
            assert await chat.ask("", "Which shelf?", Shelf) == Shelf.model_validate(GOOD)
    asked = [schema_in(r.body) is not None for r in server.requests]
    assert asked[0]
    assert asked[-2:] == [False, False]  # it is remembered
    first = json.dumps(schema_in(server.requests[0].body))
    assert "maxItems" not in first


# --- a bad day --------------------------------------------------------------------------------------------------------


async def test_the_transports_retries_are_the_only_ones(vendor: str, server: ModelServer) -> None:
    script(server, vendor, refuses(500, "oh dear"))
    budget = Budget()
    error = await failed(vendor, server, budget)
    assert isinstance(error, ProviderDownError)
    assert str(error).startswith(f"{vendor}:m-1 at {server.root} failed (status 500: oh dear)")
    assert len(server.requests) == retries._TRIES
    assert (budget.calls, budget.input_tokens, budget.output_tokens) == (1, 0, 0)


async def test_a_refused_key_is_named_by_its_variable_and_not_shown(vendor: str, server: ModelServer) -> None:
    script(server, vendor, refuses(401, f"{KEY} is not right"))
    log = StageLog()
    error = await failed(vendor, server, log=log)
    assert isinstance(error, ProviderDownError)
    assert f"refused the key (status 401). Check {VENDORS[vendor].key or 'it'} in .env." in str(error)
    assert KEY not in repr(error)
    assert log.down == {server.root}
    assert len(server.requests) == 1


async def test_gemini_says_of_a_wrong_key_that_the_request_is_bad(server: ModelServer, quick_retries: None) -> None:
    pytest.importorskip("langchain_google_genai")
    script(server, "google_genai", refuses(400, "API key not valid. Please pass a valid API key."))
    assert "Check GOOGLE_API_KEY in .env." in str(await failed("google_genai", server))
    assert len(server.requests) == 1


@pytest.mark.parametrize("raw", [b"", b"data: []\n\n", b"\xff\xfe\n"])
async def test_what_is_no_reply_cannot_be_used(vendor: str, server: ModelServer, raw: bytes) -> None:
    script(server, vendor, Reply(raw=raw))
    error = await failed(vendor, server)
    assert isinstance(error, ProviderReplyError)
    assert str(error).startswith(f"{vendor}:m-1 did not give what it was asked for")
    assert len(server.requests) == 2


# --- what may be asked at all -----------------------------------------------------------------------------------------


async def test_nothing_leaves_this_machine_where_nothing_is_to_leave(vendor: str) -> None:
    async with model(vendor, "http://203.0.113.9") as chat:
        with budget_scope(Budget(offline=True)), pytest.raises(ProviderDownError, match="leave this machine"):
            await chat.ask("", "Which shelf?", Shelf)


async def test_a_login_in_the_address_is_sent_and_not_shown(vendor: str, server: ModelServer) -> None:
    script(server, vendor, refuses(402, "oh dear"))
    async with model(vendor, server.root.replace("//", "//ann:hunter2@")) as chat:
        with pytest.raises(ProviderDownError) as caught:
            await chat.ask("", "Which shelf?", Shelf)
        assert "hunter2" not in str(caught.value) + chat.address
    assert server.requests[0].headers["authorization"].startswith("Basic ")


# --- which models there are -------------------------------------------------------------------------------------------

LISTED: dict[str, tuple[str, Any]] = {
    "anthropic": ("/v1/models", {"data": [{"id": "m-1-20260101"}, {"id": "m-2"}]}),
    "google_genai": ("/v1beta/models", {"models": [{"name": "models/m-1"}, {"name": "models/m-2"}]}),
    "ollama": ("/api/tags", {"models": [{"name": "m-1:latest"}, {"name": "m-2"}]}),
}


async def test_a_vendor_lists_its_models(vendor: str, server: ModelServer) -> None:
    path, listed = LISTED[vendor]
    server.on(lambda _: True, Reply(listed), path=path)
    script(server, vendor, says(vendor, GOOD))
    async with model(vendor, server.root) as chat:
        found = await chat.list_models()
        assert found == [name.replace("models/", "") for row in listed.values() for r in row for name in r.values()]
        assert chat.is_among(found)
        assert not chat.is_among(["m-2", "m-10", "m-1-mini"])
        await chat.ask("", "Which shelf?", Shelf)
    first, second = server.requests
    for name in OWN_HEADERS[vendor] | {KEY_HEADER[vendor][0]} - {""}:
        assert first.headers[name] == second.headers[name]  # as its client has it


# --- names ------------------------------------------------------------------------------------------------------------


def test_a_name_speaks_of_a_vendor_only_where_one_is_offered() -> None:
    assert vendor_of("anthropic:claude-x") == (VENDORS["anthropic"], "claude-x")
    assert vendor_of("ollama:qwen3:4b") == (VENDORS["ollama"], "qwen3:4b")
    for plain in ("gpt-5", "qwen3:4b", "ft:gpt-4o:org::id", "anthropic:", ":x", "Anthropic:x"):
        assert vendor_of(plain) == (COMPATIBLE, plain)
    assert vendor_of("openai:gpt-5") == (COMPATIBLE, "gpt-5")
