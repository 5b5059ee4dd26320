"""Chat models over real HTTP: what is asked, what is made of every kind of reply, and what a bad day costs."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from loopback import Speaks
from model_server import ModelServer, Reply
from pydantic import BaseModel, Field

from tools.budget import Budget, budget_scope
from tools.errors import ProviderError, ProviderReplyError
from tools.models.chat.model import ChatModel
from tools.models.servers import Price
from tools.net import retries

pytestmark = pytest.mark.usefixtures("quick_retries")
KEY = "sk-very-secret-0123456789"


class Item(BaseModel):
    title: str = Field(max_length=40)
    pages: list[int] = Field(min_length=1, max_length=9)


class Shelf(BaseModel):
    """What the tests ask for; its fields are named after words of the schema language."""

    default: str = ""
    items: list[Item] = Field(max_length=3)


GOOD: dict[str, Any] = {"default": "a", "items": [{"title": "One", "pages": [1]}]}
TEXT = json.dumps(GOOD)


@asynccontextmanager
async def model(url: str, key: str = "", **options: Any) -> AsyncIterator[ChatModel]:
    made = ChatModel("test-model", url=url, key=key, **{"silence": 5.0, **options})
    try:
        yield made
    finally:
        await made.aclose()


async def ask(server: ModelServer, **options: Any) -> Shelf:
    async with model(server.url, **options) as chat:
        return await chat.ask("Be brief.", "Which items?", Shelf)


# --- how it is asked --------------------------------------------------------------------------------------------------


async def test_the_schema_is_strict_and_closed_and_the_prompt_is_sent_as_it_is(server: ModelServer) -> None:
    server.on("Which items?", GOOD)
    assert await ask(server, key=KEY) == Shelf.model_validate(GOOD)
    request = server.requests[0]
    assert request.headers["authorization"] == f"Bearer {KEY}"
    body = request.body
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert body["messages"][0]["content"] == "Be brief."
    assert body["messages"][1]["content"].startswith("Which items?\n\nAnswer with one JSON object")
    assert (body["model"], body["stream"], body["stream_options"]) == ("test-model", True, {"include_usage": True})
    assert "temperature" not in body
    asked = body["response_format"]["json_schema"]
    assert asked["strict"] is True
    shelf, item = asked["schema"], asked["schema"]["$defs"]["Item"]
    for part in (shelf, item):
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])
    assert list(shelf["properties"]) == ["default", "items"]
    assert shelf["properties"]["items"].keys() == {"type", "items"}  # no lengths, which some vendors refuse
    assert item["properties"]["title"] == {"type": "string"}


# --- what is made of the reply ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"<think>Perhaps {{}} or {{}}?</think>\n{TEXT}",
        f"Here you are:\n```json\n{TEXT}\n```\nAnything else?",
        f"An empty one would be {{}}, and yours is {TEXT} {{",
        f"{{{{{TEXT}",
        json.dumps({**GOOD, "further": [1, 2]}),
        TEXT.replace('"default": "a", ', ""),
        TEXT.replace('"a"', '"a </think> b"'),
    ],
)
async def test_the_json_object_is_found_in_any_reply(server: ModelServer, text: str) -> None:
    server.on("", text)
    assert (await ask(server)).items[0].title == "One"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ("", "the reply is empty"),
        (None, "the reply is empty"),
        ("<think>I never come to an end", "the reply is empty"),
        ("I cannot help with that.", "there is no whole JSON object"),
        (TEXT[:-4], "there is no whole JSON object"),
        ('{"default": "a"}', "'items' is not as required"),
        ('{"items": [{"title": "' + "x" * 41 + '", "pages": [1]}]}', "'items.0.title' is not as required"),
        ('{"items": [{"title": "\\ud800", "pages": [1]}]}', "'items.0.title' is not as required"),
        ('{"items": [{"title": "One", "pages": [1' + "0" * 5000 + "]}]}", "is no"),
        ('{"items": ' + "[" * 20_000, "there is no whole JSON object"),
    ],
)
async def test_a_wrong_reply_is_asked_for_again(server: ModelServer, bad: Any, problem: str) -> None:
    server.on("", Reply(bad), GOOD)
    assert (await ask(server)).items[0].title == "One"
    first, second = server.requests
    assert [m["role"] for m in second.body["messages"]] == ["system", "user"]
    assert second.text.startswith(first.text)
    assert problem in second.text
    assert problem not in first.text


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_an_unstreamed_answer_is_found_in_the_reasoning(server: ModelServer, name: str) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "", name: TEXT}, "finish_reason": "stop"}
    server.on("", Reply(raw=json.dumps({"choices": [choice]}).encode()))
    assert (await ask(server)).items[0].title == "One"


# --- tokens and money -------------------------------------------------------------------------------------------------


async def spent(server: ModelServer, **options: Any) -> Budget:
    budget = Budget()
    with budget_scope(budget):
        await ask(server, **options)
    return budget


@pytest.mark.parametrize(("price", "cost", "unpriced"), [((2.0, 10.0), 0.0025, 0), (None, 0.0, 1)])
async def test_the_price_of_a_distant_model(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, price: Price | None, cost: float, unpriced: int
) -> None:
    server.on("", Reply(GOOD, usage=(1000, 50)))
    monkeypatch.setattr("tools.models.chat.model.is_local", lambda _: False)
    budget = await spent(server, price=price)
    assert budget.cost == pytest.approx(cost)
    assert budget.unpriced == unpriced


# --- a server's bad day -----------------------------------------------------------------------------------------------


async def failed(server: ModelServer, budget: Budget | None = None, **options: Any) -> ProviderError:
    with budget_scope(budget or Budget()), pytest.raises(ProviderError) as caught:
        await asyncio.wait_for(ask(server, **options), 20)
    return caught.value


@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request"])
async def test_a_reply_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    monkeypatch.setattr(retries, "LARGEST_REPLY", 2_000_000)
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    with Speaks(head.encode(), "flood") as endless:
        async with model(f"http://127.0.0.1:{endless.port}/v1") as chat:
            with pytest.raises(ProviderReplyError, match="more than 2 MB"):
                await asyncio.wait_for(chat.ask("", "Which items?", Shelf), 20)
    assert endless.met <= 2


async def test_other_programs_variables_are_ignored(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_PROXY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-secret: 1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    server.on("", GOOD)
    await ask(server, key=KEY)
    sent = server.requests[0].headers
    assert sent["authorization"] == f"Bearer {KEY}"
    assert "org-secret" not in sent.values()
    assert not [name for name in sent if name.startswith(("x-", "openai-"))]
