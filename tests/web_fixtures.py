"""The live web on loopback: a WebSearch over a SearchServer and the pages of a WebServer, under any names of sites.

with SearchServer() as engine, WebServer() as site:
    address = publish(site, "alpha.example", "/one", prose(1, "help"), publisher="Alpha")
    engine.otherwise(lambda query: [Found(address)])
    async with door(settings, with_web(engine, judge=ScriptedJudge(by_word))) as runs:
        …
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from instant_providers import InstantEncoder, InstantJudge
from providers import Build, ScriptedJudge, build
from search_servers import SearchServer
from web_server import WebServer, article, open_fetcher

from agent.providers.inference import Models
from agent.providers.websearch import WebSearch
from agent.settings import Settings
from agent.stage_interfaces import Providers
from tools.models.cache import TextCache, VectorCache
from tools.models.judges.judge import Pair
from tools.store.store import Store
from tools.web.domains import DomainLists
from tools.web.engines import Tavily
from tools.web.source import Source

_WORDS = (
    "arch barge canal dock estuary ferry gate harbour inlet jetty keel lock mooring narrows oar pier quay river ship "
    "tide upstream vessel wharf anchor beacon current delta embankment flood girder hull island joint landing mast "
    "noise outlet plank rail shore timber traffic use valley water yard bank crane deck engine fare goods hill iron "
    "journey load market north order path road stone toll town village wall winter year bridge council ground"
).split()


def prose(seed: int, word: str = "help", sentences: int = 10) -> str:
    """Sentences that no other seed makes, each with the word in it."""
    rng = random.Random(seed)
    return " ".join(" ".join(rng.choices(_WORDS, k=11)).capitalize() + f" {word}s." for _ in range(sentences))


def by_word(pair: Pair) -> float:
    """What helps speaks for a statement, what harms for its negation, and all else for neither."""
    return 0.9 if ("harm" if " not " in pair.statement else "help") in pair.text else 0.01


def at(site: WebServer, host: str, path: str) -> str:
    """The address of a path under the host's name, which leads to the site."""
    return f"http://{host}:{site.port}{path}"


def publish(
    site: WebServer,
    host: str,
    path: str,
    text: str | Sequence[str],
    *,
    title: str = "",
    publisher: str = "",
    date: str = "",
) -> str:
    """Puts an article on the site; returns its address under the host's name."""
    head = f'<meta property="og:site_name" content="{publisher}">' if publisher else ""
    head += f'<meta property="article:published_time" content="{date}">' if date else ""
    site.page(path, article(title or f"On {path[1:]}", [text] if isinstance(text, str) else text, head))
    return at(site, host, path)


def asked_for(site: WebServer) -> Counter[str]:
    """How often each path was asked for."""
    return Counter(request.path for request in site.requests)


async def resolve_here(host: str) -> list[str]:
    """Every name is this machine, but for those that begin with `private`."""
    return ["10.0.0.1"] if host.startswith("private") else ["127.0.0.1"]


def instant_models(folder: Path, encoder: Any = None) -> Models:
    return Models(encoder or InstantEncoder(), InstantJudge(), VectorCache(folder / "cache.db"))


def web_search(
    engine: SearchServer,
    store: Store,
    models: Models,
    cache: Path,
    *,
    page_seconds: float = 3.0,
    engine_seconds: float = 0.7,
    beside: Sequence[Source] = (),
    **changes: Any,
) -> WebSearch:
    """The search by a Tavily at the server's address, which gives up soon. beside: other sources."""
    made = WebSearch(
        sources=(Tavily("key", engine.url, seconds=engine_seconds), *beside),
        fetcher=open_fetcher(resolver=resolve_here, seconds=page_seconds),
        lists=DomainLists.load(),
        store=store,
        models=models,
        cache=TextCache(cache / "web.db"),
    )
    return replace(made, **changes)


def with_web(engine: SearchServer, judge: ScriptedJudge | None = None, made: Build | None = None, **web: Any) -> Build:
    """The instant providers with the live web."""

    def building(settings: Settings, store: Store) -> Providers:
        providers = (made or build(judge=judge or ScriptedJudge(by_word)))(settings, store)
        searching = web_search(engine, store, providers.models, settings.cache_dir, **web)
        connected = (getattr(each, "aclose", None) for each in (searching.fetcher, *searching.sources))
        return replace(providers, web=searching, closers=(*providers.closers, *filter(None, connected)))

    return building
