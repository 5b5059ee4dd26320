"""Web search by the engines Serper, SearXNG, Tavily and DuckDuckGo."""

import asyncio
import math
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
from ddgs.engines.duckduckgo import Duckduckgo
from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException
from ddgs.results import TextResult
from lxml.etree import LxmlError
from tavily import AsyncTavilyClient
from tavily.errors import TimeoutError as TavilyTimeoutError

from tools.budget import current_budget
from tools.errors import ProviderDownError, ProviderReplyError
from tools.limits import DUCKDUCKGO_SECONDS, LARGEST_REPLY, SEARCH_SECONDS
from tools.net.http import status_error
from tools.net.route import Proxy, cause, environment_proxy
from tools.web.addresses import host_of
from tools.web.source import PAGE_RESULTS, Source, SourceResult, cut_query, exact_domains, read_results

_JSON_IS_OFF = "It answers no program until its settings.yml lists json under search: formats."
_MOST_DOMAINS = 300
"""Tavily's limit of `include_domains`."""
_USED_UP = (403, 432, 433)
_PLAN = "The plan's limit may be used up: see app.tavily.com."
_BLOCKED = (202, 403, 418, 429)
"""DuckDuckGo's HTTP statuses for a program that sends requests too often."""
_ADVICE = "Wait some minutes, or set TAVILY_API_KEY for a search that is not limited like that."


class Serper(Source):
    """Google's results from Serper (serper.dev), with one call for each ten results.

    Since September 2025 Google returns ten results a page, whatever `num` is, and about a hundred in all.
    """

    name = "serper"
    title = "Serper"

    def __init__(self, key: str, address: str = "https://google.serper.dev", seconds: float = SEARCH_SECONDS) -> None:
        super().__init__(address, seconds, {"X-API-KEY": key})

    async def _page(self, client: Any, query: str, page: int) -> list[SourceResult]:
        reply = await self._fetch(client, "POST", "/search", {"q": query, "num": PAGE_RESULTS, "page": page})
        found = reply.get("organic", [] if "searchParameters" in reply else None)
        return read_results("Serper", found, url="link", title="title", snippet="snippet", date="date")


class SearXng(Source):
    """A SearXNG server (docs.searxng.org): a metasearch engine that needs no key. Each page costs one call."""

    name = "searxng"
    title = "SearXNG"

    async def _page(self, client: Any, query: str, page: int) -> list[SourceResult]:
        asked = urlencode({"q": query, "format": "json", "pageno": page, "categories": "general"})
        try:
            reply = await self._fetch(client, "GET", f"/search?{asked}")
        except ProviderDownError as exc:
            if exc.status != 403:
                raise
            raise ProviderDownError(f"SearXNG refused the request (status 403). {_JSON_IS_OFF}") from exc
        found = reply.get("results")
        return read_results("SearXNG", found, url="url", title="title", snippet="content", date="publishedDate")


class Tavily(Source):
    """Tavily, or a server with the same API, asked through Tavily's library. Each search costs one call."""

    name = "tavily"
    title = "Tavily"
    longest_query = 400
    most_results = 20

    def __init__(self, key: str, address: str = "https://api.tavily.com", seconds: float = SEARCH_SECONDS) -> None:
        super().__init__(address, seconds)
        self._key = key

    async def _found(self, query: str, limit: int, domains: Sequence[str]) -> list[SourceResult]:
        wanted = {
            "query": cut_query(query, self.longest_query),
            "max_results": limit,
            "include_domains": list(exact_domains(domains)[:_MOST_DOMAINS]) or None,
        }
        async with self._client() as client:
            client.event_hooks = {"response": [_refused_by_tavily]}
            return await self._ask(client, wanted)

    async def _page(self, client: Any, query: Any, page: int) -> list[SourceResult]:
        try:
            asked = AsyncTavilyClient(self._key, api_base_url=self.address, client=client)
            reply = await asked.search(**query, search_depth="basic", timeout=self._seconds)
        except TavilyTimeoutError as exc:
            raise ProviderDownError("Tavily did not answer in time.") from exc
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise ProviderDownError(f"Tavily cannot be reached ({cause(exc, self.address)}).") from exc
        except (ValueError, AttributeError, TypeError, RecursionError) as exc:
            raise ProviderReplyError("Tavily answered with unexpected data.") from exc
        found = reply["results"] if reply["results"] or "query" in reply else None  # the library adds a missing list
        return read_results("Tavily", found, url="url", title="title", snippet="content", date="published_date")


async def _refused_by_tavily(response: httpx.Response) -> None:
    """Handles a refusal before the library does. Raises ProviderReplyError for a refused query, because the next query
    may succeed. Raises ProviderDownError for all other refusals."""
    if response.status_code != 200:
        failure = status_error("Tavily", response.status_code, await response.aread())
        if response.status_code == 400:
            raise ProviderReplyError(f"Tavily does not accept the query: {failure}")
        raise ProviderDownError(f"{failure} {_PLAN}" if response.status_code in _USED_UP else str(failure))


class DuckDuckGo(Source):
    """DuckDuckGo's results. Each request returns about ten results. seconds: limit of one request."""

    name = "duckduckgo"
    title = "DuckDuckGo"
    longest_query = 490
    most_results = 30
    patience = 1.0

    def __init__(self, address: str = "https://html.duckduckgo.com", seconds: float = DUCKDUCKGO_SECONDS) -> None:
        super().__init__(address, seconds)

    def _client(self) -> AbstractAsyncContextManager[Any]:
        return nullcontext()  # `ddgs` has a client of its own

    async def _page(self, client: Any, query: str, page: int) -> list[SourceResult]:
        seconds = max(1, math.ceil(min(self._seconds, current_budget().seconds_left())))
        return await asyncio.to_thread(self._read, query, page, seconds)

    def _read(self, query: str, page: int, seconds: int) -> list[SourceResult]:
        proxy = environment_proxy(self.address)
        try:
            found = _Page(f"{self.address}/html/", seconds, proxy).search(query, page=page) or []
        except RatelimitException as exc:
            raise ProviderDownError(f"DuckDuckGo answers no program now ({exc}). {_ADVICE}") from exc
        except TimeoutException as exc:
            raise ProviderDownError("DuckDuckGo did not answer in time.") from exc
        except DDGSException as exc:
            why = cause(exc, self.address, proxy)
            raise ProviderDownError(f"DuckDuckGo cannot be reached ({why}).") from exc
        except (LxmlError, ValueError) as exc:
            raise ProviderReplyError("DuckDuckGo answered with an unexpected page.") from exc
        rows = [{"url": _target(r.href), "title": r.title, "body": r.body} for r in found if r.href]
        return read_results("DuckDuckGo", rows, url="url", title="title", snippet="body", date="")


class _Result(TextResult):
    """A result whose address is as the page has it. Decoding breaks addresses with an escaped `&`, `/` or `?`."""

    _normalizers: ClassVar = {k: v for k, v in TextResult._normalizers.items() if k != "href"}


class _Page(Duckduckgo):
    """ddgs's parser of the page, which raises errors. ddgs treats every status but 200 as a page without results."""

    result_type = _Result

    def __init__(self, address: str, seconds: int, proxy: Proxy | None) -> None:
        super().__init__(timeout=seconds)
        self.http_client.client.proxy = proxy.url if proxy and proxy.to_httpx() else None  # not the environment's
        self.search_url = address

    def request(self, *args: Any, **kwargs: Any) -> str:
        reply = self.http_client.request(*args, **kwargs)
        if reply.status_code in _BLOCKED or "anomaly-modal" in reply.text:
            raise RatelimitException(f"status {reply.status_code}")
        if reply.status_code != 200:
            raise ProviderDownError(f"DuckDuckGo failed (status {reply.status_code}).")
        if len(reply.content) > LARGEST_REPLY:
            raise ProviderReplyError(f"DuckDuckGo sent more than {LARGEST_REPLY // 1_000_000} MB.")
        if "result" not in reply.text:
            raise ProviderReplyError("DuckDuckGo answered with an unexpected page.")
        return str(reply.text)


def _target(href: str) -> str:
    """The target address of a link. The link may be a redirect of DuckDuckGo."""
    url = f"https:{href}" if href.startswith("//") else href
    if not f".{host_of(url)}".endswith(".duckduckgo.com"):
        return url
    parts = urlsplit(url)
    return parse_qs(parts.query).get("uddg", [""])[0] if parts.path == "/l/" else ""
