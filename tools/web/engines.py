"""Web search: the interface of all engines, and the engines Serper, SearXNG, Tavily and DuckDuckGo.

Queries have a limited length. All engines' results have the same form.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urldefrag, urlencode, urlsplit

from tools.budget import current_budget, current_log
from tools.dates import date_of_result
from tools.errors import DeadlineError, ProviderDownError, ProviderError, ProviderReplyError
from tools.limits import DUCKDUCKGO_SECONDS, LARGEST_REPLY, SEARCH_SECONDS
from tools.net.http import fetch_json, is_address, is_local, open_client, status_error
from tools.net.route import Proxy, cause, environment_proxy
from tools.web.addresses import host_of, normalise_url
from tools.web.domains import covers

if TYPE_CHECKING:
    import httpx
    from ddgs.base import BaseSearchEngine


PAGE_RESULTS = 10
"""The most results on one page."""
_MOST_SITES = 10  # Google reads 32 words of a query; each site with its OR takes two
_LONGEST_TITLE, _LONGEST_SNIPPET, _LONGEST_URL = 300, 4_000, 2_000


@dataclass(frozen=True, slots=True)
class WebResult:
    """A search result. `date` is ISO (`2026-03-12`, `2026-03`, `2026`) or empty."""

    url: str
    title: str
    snippet: str
    date: str = ""


class SearchEngine(ABC):
    """A search service that returns pages of results.

    title: display name. longest_query: most characters of a query. most_results: the most results of one search.
    patience: the time limit of a page, as a multiple of the server's longest silence (`seconds`).
    """

    name: str
    title: str
    longest_query = 500
    most_results = 100
    patience = 3.0

    def __init__(self, address: str, seconds: float = SEARCH_SECONDS, headers: dict[str, str] | None = None) -> None:
        """seconds: longest silence of the server. headers: sent with every request."""
        self.address = address.rstrip("/")
        self._seconds = seconds
        self._headers = headers

    async def search(self, query: str, limit: int, domains: Sequence[str] = ()) -> list[WebResult]:
        """At most `limit` results, best first, without duplicates. If `domains` are given, all results are from these
        domains.

        If a later page fails, the earlier results are returned with a note. Raises ProviderDownError,
        ProviderReplyError, BudgetError, DeadlineError.
        """
        text, limit = with_sites(query, domains, self.longest_query), max(1, min(limit, self.most_results))
        found: list[WebResult] = []
        async with self._client() as client:
            for page in range(1, -(-limit // PAGE_RESULTS) + 1):
                try:
                    more = usable_results([*found, *await self._ask(client, text, page)])
                except ProviderError as exc:
                    if page == 1:
                        raise
                    current_log().note("skipped", f"{self.title} gave only the first {len(found)} results: {exc}")
                    break
                if len(more) == len(found):
                    break
                found = more
        return usable_results(found, limit, domains)

    async def _ask(self, client: Any, query: Any, page: int = 1) -> list[WebResult]:
        """The results of a page, within the time left. Each page counts as a call."""
        budget = current_budget()
        if budget.offline and not is_local(self.address):
            raise ProviderDownError(f"{self.title} is on the internet, and this run stays offline.")
        if budget.seconds_left() <= 0:
            raise DeadlineError(f"no time was left to ask {self.title}.")
        budget.begin_call()
        try:
            async with asyncio.timeout(min(self.patience * self._seconds, budget.seconds_left())):
                return await self._page(client, query, page)
        except TimeoutError as exc:
            if budget.seconds_left() <= 0:
                raise DeadlineError(f"{self.title} did not answer before the deadline.") from exc
            raise ProviderDownError(f"{self.title} did not answer in time.") from exc

    @abstractmethod
    async def _page(self, client: Any, query: Any, page: int) -> list[WebResult]:
        """The results of a page, counted from 1."""

    def _client(self) -> AbstractAsyncContextManager[Any]:
        return open_client(self._headers, self._seconds)

    async def _fetch(self, client: Any, method: str, path: str, body: Any = None) -> dict[str, Any]:
        reply = await fetch_json(client, method, f"{self.address}{path}", name=self.title, body=body)
        if not isinstance(reply, dict):
            raise ProviderReplyError(f"{self.title} answered with unexpected data.")
        return reply


def cut_query(query: str, longest: int) -> str:
    """The query in at most `longest` characters, cut at a word's end, without unpaired quotation marks."""
    text = " ".join(query.split())
    if len(text) > longest:
        text = text[: longest + 1].rpartition(" ")[0] or text[:longest]
    return text if text.count('"') % 2 == 0 else text.replace('"', "")


def exact_domains(domains: Sequence[str]) -> Sequence[str]:
    """The domains for the engine; none if any domain is a pattern like `gov.*`, because engines do not support
    patterns."""
    return () if any(d.endswith(".*") for d in domains) else domains


def with_sites(query: str, domains: Sequence[str], longest: int) -> str:
    """The query with `site:` operators for the domains, in at most `longest` characters.

    The operators may take half of the length. Domains beyond this limit get no operator. The operators come first,
    because engines ignore the end of a long query.
    """
    clause = ""
    for domain in exact_domains(domains)[:_MOST_SITES]:
        longer = f"{clause} OR site:{domain.removeprefix('*.')}" if clause else f"site:{domain.removeprefix('*.')}"
        if len(longer) + 3 > longest // 2:
            break
        clause = longer
    if not clause:
        return cut_query(query, longest)
    clause = f"({clause})" if " OR " in clause else clause
    return f"{clause} {cut_query(query, longest - len(clause) - 1)}"


def usable_results(
    results: Sequence[WebResult], limit: int | None = None, domains: Sequence[str] = ()
) -> list[WebResult]:
    """The first `limit` results over http(s), without duplicates. If `domains` are given, only results from these
    domains."""
    kept: dict[str, WebResult] = {}
    patterns = [host_of(d) if "*" not in d else d.lower() for d in domains]
    for result in results:
        host = host_of(result.url)
        if host and (not patterns or any(covers(p, host) for p in patterns)):
            kept.setdefault(normalise_url(result.url), result)
    return list(kept.values())[:limit]


def read_results(name: str, items: Any, *, url: str, title: str, snippet: str, date: str) -> list[WebResult]:
    """The results in an engine's JSON, except results without a usable address. url, title, snippet, date: the names of
    the fields in the JSON.

    Raises ProviderReplyError if the JSON is no list of objects, or no object has an address.
    """
    if not isinstance(items, list):
        raise ProviderReplyError(f"{name} answered without a list of results.")
    rows = [i for i in items if isinstance(i, dict) and isinstance(i.get(url), str)]
    if items and not rows:
        raise ProviderReplyError(f"{name} answered with results that have no addresses.")
    return [
        WebResult(
            urldefrag(row[url].strip()).url,
            _plain(row.get(title), _LONGEST_TITLE),
            _plain(row.get(snippet), _LONGEST_SNIPPET),
            date_of_result(row.get(date)),
        )
        for row in rows
        if _is_page(row[url].strip())
    ]


def _is_page(url: str) -> bool:
    return url.lower().startswith(("http://", "https://")) and is_address(url) and len(url) <= _LONGEST_URL


def _plain(value: object, longest: int) -> str:
    if not isinstance(value, str):
        return ""
    text = " ".join("".join(c if c.isprintable() else " " for c in value).split())
    return text if len(text) <= longest else text[:longest].rpartition(" ")[0] or text[:longest]


_JSON_IS_OFF = "It answers no program until its settings.yml lists json under search: formats."
_MOST_DOMAINS = 300
"""Tavily's limit of `include_domains`."""
_USED_UP = (403, 432, 433)
_PLAN = "The plan's limit may be used up: see app.tavily.com."
_BLOCKED = (202, 403, 418, 429)
"""DuckDuckGo's HTTP statuses for a program that sends requests too often."""
_ADVICE = "Wait some minutes, or set TAVILY_API_KEY for a search that is not limited like that."


class Serper(SearchEngine):
    """Google's results from Serper (serper.dev), with one call for each ten results.

    Since September 2025 Google returns ten results a page, whatever `num` is, and about a hundred in all.
    """

    name = "serper"
    title = "Serper"

    def __init__(self, key: str, address: str = "https://google.serper.dev", seconds: float = SEARCH_SECONDS) -> None:
        super().__init__(address, seconds, {"X-API-KEY": key})

    async def _page(self, client: Any, query: str, page: int) -> list[WebResult]:
        reply = await self._fetch(client, "POST", "/search", {"q": query, "num": PAGE_RESULTS, "page": page})
        found = reply.get("organic", [] if "searchParameters" in reply else None)
        return read_results("Serper", found, url="link", title="title", snippet="snippet", date="date")


class SearXng(SearchEngine):
    """A SearXNG server (docs.searxng.org): a metasearch engine that needs no key. Each page costs one call."""

    name = "searxng"
    title = "SearXNG"

    async def _page(self, client: Any, query: str, page: int) -> list[WebResult]:
        asked = urlencode({"q": query, "format": "json", "pageno": page, "categories": "general"})
        try:
            reply = await self._fetch(client, "GET", f"/search?{asked}")
        except ProviderDownError as exc:
            if exc.status != 403:
                raise
            raise ProviderDownError(f"SearXNG refused the request (status 403). {_JSON_IS_OFF}") from exc
        found = reply.get("results")
        return read_results("SearXNG", found, url="url", title="title", snippet="content", date="publishedDate")


class Tavily(SearchEngine):
    """Tavily, or a server with the same API, asked through Tavily's library. Each search costs one call."""

    name = "tavily"
    title = "Tavily"
    longest_query = 400
    most_results = 20

    def __init__(self, key: str, address: str = "https://api.tavily.com", seconds: float = SEARCH_SECONDS) -> None:
        super().__init__(address, seconds)
        self._key = key

    async def search(self, query: str, limit: int, domains: Sequence[str] = ()) -> list[WebResult]:
        wanted = {
            "query": cut_query(query, self.longest_query),
            "max_results": max(1, min(limit, self.most_results)),
            "include_domains": list(exact_domains(domains)[:_MOST_DOMAINS]) or None,
        }
        async with self._client() as client:
            client.event_hooks = {"response": [_refused_by_tavily]}
            return usable_results(await self._ask(client, wanted), limit, domains)

    async def _page(self, client: Any, query: Any, page: int) -> list[WebResult]:
        import httpx
        from tavily import AsyncTavilyClient
        from tavily.errors import TimeoutError as TavilyTimeoutError

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


async def _refused_by_tavily(response: "httpx.Response") -> None:
    """Handles a refusal before the library does. Raises ProviderReplyError for a refused query, because the next query
    may succeed. Raises ProviderDownError for all other refusals."""
    if response.status_code != 200:
        failure = status_error("Tavily", response.status_code, await response.aread())
        if response.status_code == 400:
            raise ProviderReplyError(f"Tavily does not accept the query: {failure}")
        raise ProviderDownError(f"{failure} {_PLAN}" if response.status_code in _USED_UP else str(failure))


class DuckDuckGo(SearchEngine):
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

    async def _page(self, client: Any, query: str, page: int) -> list[WebResult]:
        seconds = max(1, math.ceil(min(self._seconds, current_budget().seconds_left())))
        return await asyncio.to_thread(self._read, query, page, seconds)

    def _read(self, query: str, page: int, seconds: int) -> list[WebResult]:
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException
        from lxml.etree import LxmlError

        proxy = environment_proxy(self.address)
        try:
            found = _reader(f"{self.address}/html/", seconds, proxy).search(query, page=page) or []
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


def _reader(address: str, seconds: int, proxy: Proxy | None) -> "BaseSearchEngine[Any]":
    """ddgs's parser of the page, with two changes: it raises errors, and does not decode addresses.

    Without these changes, ddgs treats every status but 200 as a page without results. Decoding breaks addresses with an
    escaped `&`, `/` or `?`.
    """
    from ddgs.engines.duckduckgo import Duckduckgo
    from ddgs.exceptions import RatelimitException
    from ddgs.results import TextResult

    class Result(TextResult):
        _normalizers = {k: v for k, v in TextResult._normalizers.items() if k != "href"}  # noqa: RUF012

    class Reader(Duckduckgo):
        result_type = Result

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

    reader = Reader(timeout=seconds)
    reader.http_client.client.proxy = proxy.url if proxy and proxy.to_httpx() else None  # not the environment's
    reader.search_url = address
    return reader


def _target(href: str) -> str:
    """The target address of a link. The link may be a redirect of DuckDuckGo."""
    url = f"https:{href}" if href.startswith("//") else href
    if not f".{host_of(url)}".endswith(".duckduckgo.com"):
        return url
    parts = urlsplit(url)
    return parse_qs(parts.query).get("uddg", [""])[0] if parts.path == "/l/" else ""
