"""What people's servers, files and wordings do: faults × clients, one table.

A row is a fault that somebody met, the client that meets it here, what that client is given, and what has to come of
it. A client is a function of what is given and of the bench; it has the real part of the product meet the fault (a
server's over real HTTP on this machine) and returns what a person would see of it, as text.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from ways import GO, PACKED, at, over, says, tls

from agent.settings import load_settings
from tools.errors import SteelmanError
from tools.inference.chat.model import ChatModel
from tools.inference.chat.vendors import VENDORS
from tools.inference.encoders.endpoint import EndpointEncoder
from tools.inference.judges.judge import Pair
from tools.inference.judges.score import ScoreJudge
from tools.store.dense_server import DenseServer
from tools.web.duckduckgo import DuckDuckGo
from tools.web.fetch import PageFetcher
from tools.web.guard import is_public
from tools.web.serper import Serper
from tools.web.tavily import Tavily


@dataclass(frozen=True)
class Bench:
    """What a client may use: a folder of its own, and the means to set what is set."""

    folder: Path
    patch: pytest.MonkeyPatch


Client = Callable[[Any, Bench], Awaitable[str]]


@dataclass(frozen=True)
class Row:
    """fault: what a server, file or person does. right: texts that all stand in what comes of it; wrong: none does."""

    fault: str
    client: Client
    given: Any
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


# --- the way to a server ----------------------------------------------------------------------------------------------

Place = Callable[[Bench], AbstractContextManager[str]]
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
    async def asked(given: Place, bench: Bench) -> str:
        with given(bench) as url:
            return await told(ask(url))

    asked.__name__ = name
    return asked


chat = client("chat", lambda url: _ask(f"{url}/v1"))
anthropic = client("anthropic", lambda url: _ask(url, vendor=VENDORS["anthropic"], key="a-key"))
judge = client("judge", lambda url: ScoreJudge(url=url, model="m", seconds=5).support([Pair("One.", "Two.")]))
embeddings = client("embeddings", lambda url: asyncio.to_thread(EndpointEncoder(f"{url}/v1", "m").encode, ["x"]))
serper = client("serper", lambda url: Serper("a-key", url).search("bridges", 5))
tavily = client("tavily", lambda url: Tavily("a-key", url).search("bridges", 5))
ddgs = client("ddgs", lambda url: DuckDuckGo(url).search("bridges", 5))
chroma = client("chroma", lambda url: asyncio.to_thread(DenseServer(url, "x", seconds=5).stamp))


async def page(given: Place, bench: Bench) -> str:
    settings = load_settings()
    with given(bench) as url:
        here = PageFetcher(
            permit=lambda ip: is_public(ip) or ip == "127.0.0.1", ports=range(65536), trust_proxy=settings.trust_proxy
        )
        async with aclosing(here):
            return await told(here.fetch(url if url.count("/") > 2 else f"{url}/a"))


async def trusting_page(given: Place, bench: Bench) -> str:
    bench.patch.setenv("STEELMAN_TRUST_PROXY", "1")
    return await page(given, bench)


ALL: tuple[Client, ...] = (chat, anthropic, judge, embeddings, serper, tavily, ddgs, chroma, page)
WITHOUT_RUST: tuple[Client, ...] = (chat, anthropic, judge, embeddings, serper, tavily, chroma)
OUT, INSIDE = "http://api.public.example", "http://api.inside.example:{port}"
OFF = "http://127.0.0.1:9"
_CAUSES: tuple[tuple[str, tuple[Client, ...], Place, str], ...] = (
    ("unknown authority", ALL, partial(tls, known=False), "set SSL_CERT_FILE to that authority's certificate"),
    ("its own authority", WITHOUT_RUST[:-1], partial(tls, known=False, by_itself=True), "is signed by itself"),
    ("expired", ALL, partial(tls, days=-1), "its certificate has expired"),
    ("another name", ALL, partial(tls, name="a.example"), "write the address with the name that it was made for"),
    ("https to http", ALL, partial(says, said=b"HTTP/1.1 400 No\r\n\r\n", scheme="https"), "with http://"),
    ("http to https", (*WITHOUT_RUST, ddgs), partial(tls, scheme="http"), "with https://"),
    ("http to Go's https", WITHOUT_RUST[:-1], partial(says, said=GO), "it speaks https, not http"),
    ("HTTP/2 only", WITHOUT_RUST, partial(says, said=b"\0\0\x0c\4\0\0\0\0\0"), "a port for HTTP/2 alone"),
    ("HTTP/2 only, by TLS", WITHOUT_RUST, partial(tls, alpn="h2"), "it closed the connection without an answer"),
    ("no such name", WITHOUT_RUST, partial(at, url="http://no.such.example"), "the name no.such.example is unknown"),
    ("a port that refuses", ALL, partial(at, url=OFF), "nothing listens at 127.0.0.1:9"),
    (
        "no such file",
        (chat, judge, chroma, page),
        partial(at, url="https://127.0.0.1:9", SSL_CERT_FILE="/no"),
        "names /no",
    ),
    ("a proxy that is off", ALL, partial(at, url=OUT, ALL_PROXY=OFF), "the proxy at 127.0.0.1:9 (ALL_PROXY) cannot be"),
    ("a proxy with no name", WITHOUT_RUST, partial(over, url=OUT, login="ann:pw"), "wants a name and password"),
    (
        "a wrong password",
        ALL,
        partial(over, url="https://api.public.example", login="ann:pw", given="a:hunter2"),
        "407",
    ),
    ("a proxy's 502", WITHOUT_RUST, partial(over, url=OUT, answer="502 Bad Gateway"), "(ALL_PROXY) answered 502 Bad G"),
    ("socks", ALL, partial(at, url=OUT, all_proxy="socks://127.0.0.1:9"), ".venv/bin/pip install socksio"),
    ("no proxy's address", ALL, partial(at, url=OUT, ALL_PROXY="http://a:hunter2#@h:1"), "holds no address of a proxy"),
)
_ANSWERS: tuple[tuple[str, tuple[Client, ...], Place], ...] = (
    ("an authority that SSL_CERT_FILE names", (chat, judge, embeddings), tls),
    ("compressed unasked", (embeddings,), partial(says, said=PACKED)),
    ("a proxy for http", (chat, judge, embeddings), partial(over, url=OUT, variable="http_proxy")),
    ("a proxy for https", (chat, judge), partial(over, url="https://api.public.example", variable="HTTPS_PROXY")),
    ("a proxy with a login", (chat,), partial(over, url=OUT, login="ann:p@ss", given="ann:p%40ss")),
    ("this machine is no proxy's", (chat, judge, embeddings), partial(over, url=INSIDE, through=False)),
    ("nor is it by its address", (chat, embeddings), partial(over, url="http://127.0.0.1:{port}", through=False)),
    ("a search engine over a proxy", (serper,), partial(over, url="https://search.public.example")),
    ("pages over a proxy", (page,), partial(over, url="https://page.public.example")),
    ("pages over a proxy, plain", (page,), partial(over, url="http://page.public.example")),
    ("a page of this machine", (page,), partial(over, url="http://page.inside.example:{site}", through=False)),
    ("a name that only the proxy knows", (trusting_page,), partial(over, url="http://page.unknown.example")),
)
_REFUSED: tuple[tuple[str, str, bool, str], ...] = (
    ("a name unknown here", "http://page.unknown.example", False, "STEELMAN_TRUST_PROXY"),
    ("a private name", "http://page.private.example", False, "not public"),
    ("a redirect into the private network", "http://page.public.example/private", True, "not public"),
)
WAYS = (
    *(Row(f, client, place, (said,), ("hunter2",)) for f, clients, place, said in _CAUSES for client in clients),
    *(Row(f, client, place, ("an answer: ",)) for f, clients, place in _ANSWERS for client in clients),
    *(
        Row(f, client, partial(over, url=url, through=through), (said,))
        for f, url, through, said in _REFUSED
        for client in ((page,) if "unknown" in url else (page, trusting_page))
    ),
)

# --- the table --------------------------------------------------------------------------------------------------------

ROWS: tuple[Row, ...] = (*WAYS,)


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.client.__name__}: {row.fault}")
async def test_what_comes_of_it(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    came = await row.client(row.given, Bench(tmp_path, monkeypatch))
    assert not [text for text in row.right if text not in came], came
    assert not [text for text in row.wrong if text in came], came
