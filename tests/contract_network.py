"""Rows of the contract table: the way to a server, and servers on a bad day, for every client that goes out."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from contract_table import Bench, Door, Outcome, Row
from fault_servers import Place, at, over, says, serves

from agent.settings import load_settings
from agent.stages.requery import PlannedQueries
from tools.errors import SteelmanError
from tools.models.chat.model import ChatModel
from tools.models.chat.vendors import COMPATIBLE, VENDORS
from tools.models.encoders import EndpointEncoder
from tools.models.judges.judge import Pair
from tools.models.judges.remote import ScoreJudge
from tools.store.dense_server import DenseServer
from tools.web.addresses import is_public
from tools.web.engines import DuckDuckGo, SearXng, Serper, Tavily
from tools.web.fetch import PageFetcher

KEY = "a-secret-key"


def client(name: str, ask: Callable[[str], Awaitable[object]]) -> Door:
    async def door(given: Place, bench: Bench) -> Outcome:
        with given(bench) as url:
            try:
                return Outcome("answered", str(await ask(url)))
            except SteelmanError as exc:
                return Outcome("failed", str(exc))

    door.__name__ = name
    return door


def chat_of(vendor: str) -> Door:
    async def ask(url: str) -> object:
        url = url if vendor else f"{url}/v1"
        async with aclosing(ChatModel("m", vendor=VENDORS.get(vendor, COMPATIBLE), url=url, key=KEY)) as model:
            return await model.ask("", "Which sides?", PlannedQueries)

    return client(vendor or "chat", ask)


async def fetched(url: str) -> object:
    trusts = load_settings().trust_proxy
    fetcher = PageFetcher(permit=lambda ip: is_public(ip) or ip == "127.0.0.1", ports=range(65536), trust_proxy=trusts)
    async with aclosing(fetcher):
        return await fetcher.fetch(url)


chat, anthropic, gemini, ollama = map(chat_of, ("", *VENDORS))
judge = client("judge", lambda url: ScoreJudge(url=url, model="m").support([Pair("One.", "Two.")]))
embeddings = client("embeddings", lambda url: asyncio.to_thread(EndpointEncoder(f"{url}/v1", "m").encode, ["x"]))
serper = client("serper", lambda url: Serper(KEY, url).search("bridges", 5))
searxng = client("searxng", lambda url: SearXng(url).search("bridges", 5))
tavily = client("tavily", lambda url: Tavily(KEY, url).search("bridges", 5))
ddgs = client("ddgs", lambda url: DuckDuckGo(url).search("bridges", 5))
chroma = client("chroma", lambda url: asyncio.to_thread(DenseServer(url, "x").number))
page = client("page", fetched)

MODELS, SEARCH = (chat, anthropic, gemini, ollama, judge, embeddings), (serper, tavily, searxng)
CLIENTS = (*MODELS, *SEARCH)
ALL = (*CLIENTS, ddgs, chroma, page)
OFF, OUT, PLAIN = "http://127.0.0.1:9", "https://a.public.example", "http://a.public.example"
GO = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
ALERT = b"\x15\3\3\0\2\2"  # a fatal one of TLS; its number follows
NONE = "http://a:hunter2#@h:1"

# Each line: situation, clients, place, cause, remedy
FAILS: tuple[tuple[str, tuple[Door, ...], Place, str, str], ...] = (
    ("unknown authority", ALL, serves(known=False), "an authority that this machine does not", "set SSL_CERT_FILE"),
    ("expired", (chat, ddgs), serves(ends=-1), "its certificate has expired", ""),
    ("another name", (page, ddgs), serves(name="a.example"), "was made for another name", "write the address with the"),
    ("http asked as https", (chat, ddgs, page), says("400 No", scheme="https"), "it speaks http, not", "with http://"),
    ("https asked as http", (chroma, serper), serves(scheme="http"), "closed the connection without", "with https://"),
    ("https that says so", (chat, embeddings), says(GO), "it speaks https, not http", "with https://"),
    ("HTTP/2 only", (judge, chroma), says(b"\0\0\x0c\4\0\0\0\0\0"), "a port for HTTP/2 alone", "with https:// if it"),
    ("wants a certificate", (chat,), says(ALERT + b"\x74", scheme="https"), "it requires a client certificate", ""),
    ("no such file", (chat, chroma, page), at(OUT, SSL_CERT_FILE="/no"), "SSL_CERT_FILE names /no", "Correct it"),
    ("no name server", (chat,), at("http://is.later.example"), "cannot be looked up now", "is this machine online?"),
    ("nothing listens", ALL, at(OFF), "nothing listens at 127.0.0.1:9", "is the server on?"),
    ("proxy is off", ALL, at(OUT, ALL_PROXY=OFF), "the proxy at 127.0.0.1:9 (ALL_PROXY) cannot be reached", "on?"),
    ("proxy wants a login", (chat, page), over(PLAIN, "", "407 No"), "requires a name and password", "NAME:PASSWORD"),
    ("proxy knows no such login", ALL, over(OUT, "a:hunter2@", "407 No"), "refused the name and", "in ALL_PROXY"),
    ("no proxy's address", ALL, at(OUT, ALL_PROXY=NONE), "holds no address of a proxy", "Write it as http://HOST"),
    ("silent", (embeddings, *SEARCH, ddgs), says(then="hang"), "did not answer", ""),
    ("silent", (page,), says(then="hang"), "took too long", ""),
    ("floods", SEARCH, says("200 OK", then="flood"), "sent more than 20 MB", ""),
    ("hangs up", ALL[:-1], says(), "it closed the connection without an answer", "with https:// if it speaks TLS"),
    ("cut off", CLIENTS[5:], says("200 OK", "[", met=1, Content_Length=9), "connection was cut in the middle", ""),
    ("cut off", CLIENTS[:5], says("200 OK", "[", Content_Length=9), "cut", ""),
    ("wrong key", (*CLIENTS, chroma), says("401 No", KEY, met=1), "refused the key (status 401)", "Check"),
    ("key said back", (chat, serper), says("403 No", f"{KEY}?", met=1), "refused the key (status 403: …?)", "Check"),
    ("not there", CLIENTS, says("404 No", "who?", met=0), "does not know the address or the model (status 404", ""),
    ("too often", CLIENTS, says("429 No", met=3), "allows no more requests now (status 429", ""),
    ("fails", CLIENTS, says("500 No", "oh dear", met=3), "failed (status 500: oh dear)", ""),
    ("moved", (*CLIENTS, chroma), says("302 No", met=1, Location=OFF), "redirects to another address", "Set that"),
    *(("no reply", (*SEARCH, ddgs), says("200 OK", text), "answered with ", "") for text in ("<{", "", "null")),
)  # fmt: skip
ANSWERS: tuple[tuple[str, tuple[Door, ...], Place], ...] = (
    ("an authority that SSL_CERT_FILE names", (chat, judge, page), serves()),
    ("proxy for http", (chat, judge, page), over(PLAIN, "ann:p%40ss@", "Basic YW5uOnBAc3M=", "http_proxy")),
    ("proxy for https", (chat, embeddings, serper, page), over(OUT, name="HTTPS_PROXY")),
    ("a name that only the proxy knows", (page,), over("http://a.no.example", STEELMAN_TRUST_PROXY="1")),
    ("NO_PROXY", (chat,), over("http://a.inside.example:PORT", "", "", no_proxy="b.example, .inside.example:*, *")),
    ("inside of the network", (chat, judge, page), over("http://a.inside.example:PORT", "", "")),
    ("on this machine", (chat, embeddings), over("http://127.0.0.1:PORT", "", "")),
)
HIDDEN = (KEY, "hunter2")
ROWS = (
    *(Row(what, door, at_, "failed", told, do, HIDDEN) for what, doors, at_, told, do in FAILS for door in doors),
    *(Row(what, door, where, "answered") for what, doors, where in ANSWERS for door in doors),
    Row("silent", judge, says(then="hang"), "answered", "nan"),
)
