"""Clients of the contract table that go out to servers: each meets a fault at an address, and tells what came of it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, aclosing
from typing import Any

from pydantic import BaseModel

from agent.settings import load_settings
from tools.errors import SteelmanError
from tools.models.chat.model import ChatModel
from tools.models.chat.vendors import VENDORS
from tools.models.encoders.endpoint import EndpointEncoder
from tools.models.judges.judge import Pair
from tools.models.judges.server import ScoreJudge
from tools.store.dense_server import DenseServer
from tools.web.engines import DuckDuckGo, SearXng, Serper, Tavily
from tools.web.fetch import PageFetcher
from tools.web.guard import is_public

Client = Callable[[Any, Any], Awaitable[str]]
Place = Callable[[Any], AbstractContextManager[str]]
"""An address at which the fault is met, of `ways`."""


class Shelf(BaseModel):
    shelf: str


async def told(asked: Awaitable[object]) -> str:
    try:
        return f"an answer: {await asked}"
    except SteelmanError as exc:
        return str(exc)


async def _ask(url: str, **who: Any) -> object:
    async with aclosing(ChatModel("m", url=url, silence=5, **who)) as model:
        return await model.ask("", "Which shelf?", Shelf)


def client(name: str, ask: Callable[[str], Awaitable[object]]) -> Client:
    async def asked(given: Place, bench: Any) -> str:
        with given(bench) as url:
            return await told(ask(url))

    asked.__name__ = name
    return asked


chat = client("chat", lambda url: _ask(f"{url}/v1"))
anthropic = client("anthropic", lambda url: _ask(url, vendor=VENDORS["anthropic"], key="a-key"))
judge = client("judge", lambda url: ScoreJudge(url=url, model="m", seconds=5).support([Pair("One.", "Two.")]))
embeddings = client("embeddings", lambda url: asyncio.to_thread(EndpointEncoder(f"{url}/v1", "m").encode, ["x"]))
serper = client("serper", lambda url: Serper("a-key", url).search("bridges", 5))
searxng = client("searxng", lambda url: SearXng(url).search("bridges", 5))
tavily = client("tavily", lambda url: Tavily("a-key", url).search("bridges", 5))
ddgs = client("ddgs", lambda url: DuckDuckGo(url).search("bridges", 5))
chroma = client("chroma", lambda url: asyncio.to_thread(DenseServer(url, "x", seconds=5).number))


async def page(given: Place, bench: Any) -> str:
    settings = load_settings()
    with given(bench) as url:
        here = PageFetcher(
            permit=lambda ip: is_public(ip) or ip == "127.0.0.1", ports=range(65536), trust_proxy=settings.trust_proxy
        )
        async with aclosing(here):
            return await told(here.fetch(url if url.count("/") > 2 else f"{url}/a"))


async def trusting_page(given: Place, bench: Any) -> str:
    bench.patch.setenv("STEELMAN_TRUST_PROXY", "1")
    return await page(given, bench)


ALL: tuple[Client, ...] = (chat, anthropic, judge, embeddings, serper, tavily, ddgs, chroma, page)
WITHOUT_RUST: tuple[Client, ...] = (chat, anthropic, judge, embeddings, serper, tavily, chroma)
