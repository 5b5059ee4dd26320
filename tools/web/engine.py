"""The seam of the web search, and what all engines share: queries of bounded length, results of one shape."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urldefrag

from tools.budget import current_budget, current_log
from tools.dates import date_of_result
from tools.errors import DeadlineError, ProviderDownError, ProviderError, ProviderReplyError, SettingsError
from tools.net.http import fault_of_key, fetch_json, is_address, is_local, open_client
from tools.web.hosts import covers, host_of, normalise_url

PAGE_RESULTS = 10
"""Results that a page of a web search holds at most."""
_MOST_SITES = 10  # Google reads 32 words of a query; every site takes two, its OR included
_LONGEST_TITLE, _LONGEST_SNIPPET, _LONGEST_URL = 300, 4_000, 2_000


@dataclass(frozen=True, slots=True)
class WebResult:
    """One hit of a web search. `date` is ISO (`2026-03-12`, `2026-03`, `2026`) or empty."""

    url: str
    title: str
    snippet: str
    date: str = ""


class SearchEngine(ABC):
    """Finds pages by a service that gives one page of results after the other.

    title: what people call the engine. longest_query: characters; most_results: what one search gives at most.
    patience: times the longest silence of the server that a page, or an answer that is all of them, may take in all.
    """

    name: str
    title: str
    longest_query = 500
    most_results = 100
    patience = 3.0

    def __init__(self, address: str, seconds: float = 20.0, headers: dict[str, str] | None = None) -> None:
        """seconds: the longest silence of the server. headers: sent with every request."""
        self.address = address.rstrip("/")
        self._seconds = seconds
        self._headers = headers

    async def search(self, query: str, limit: int, domains: Sequence[str] = ()) -> list[WebResult]:
        """At most `limit` results, best first, each address once; only from `domains` where any are given.

        Where a later page fails, what the earlier ones brought is kept and the log notes it. Raises ProviderDownError,
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
        """The results of a page within the time that there is; it counts as a call."""
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
        """What all pages of a search are asked over."""
        return open_client(self._headers, self._seconds)

    async def _fetch(self, client: Any, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """The JSON object that the engine answers with. Raises ProviderDownError, ProviderReplyError."""
        reply = await fetch_json(client, method, f"{self.address}{path}", name=self.title, body=body)
        if not isinstance(reply, dict):
            raise ProviderReplyError(f"{self.title} answered with something that is not its JSON.")
        return reply


def cut_query(query: str, longest: int) -> str:
    """The query in at most `longest` characters, cut at a word's end if there is one, and without quotation marks
    that lost their partner."""
    text = " ".join(query.split())
    if len(text) > longest:
        text = text[: longest + 1].rpartition(" ")[0] or text[:longest]
    return text if text.count('"') % 2 == 0 else text.replace('"', "")


def exact_domains(domains: Sequence[str]) -> Sequence[str]:
    """The domains as an engine can be asked for them: none at all where one is a pattern like `gov.*`, which no engine
    knows and which the others would shut out."""
    return () if any(d.endswith(".*") for d in domains) else domains


def with_sites(query: str, domains: Sequence[str], longest: int) -> str:
    """The query limited to the domains by `site:` operators, in at most `longest` characters.

    The operators may take half of it: of a longer list only the first that fit are asked for. They stand in front,
    since what an engine does not read of a query is its end.
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


def checked_key(name: str, key: str) -> str:
    """The key without blanks around it; raises SettingsError where it could not be sent as a header."""
    key = key.strip()
    if fault := fault_of_key(key) if key else "is empty. Copy it again into .env":
        raise SettingsError(f"the key for {name} {fault}.")
    return key


def usable_results(
    results: Sequence[WebResult], limit: int | None = None, domains: Sequence[str] = ()
) -> list[WebResult]:
    """The first `limit` results: pages over http(s), each address once, only from `domains` where any are given."""
    kept: dict[str, WebResult] = {}
    patterns = [host_of(d) if "*" not in d else d.lower() for d in domains]
    for result in results:
        host = host_of(result.url)
        if host and (not patterns or any(covers(p, host) for p in patterns)):
            kept.setdefault(normalise_url(result.url), result)
    return list(kept.values())[:limit]


def read_results(name: str, items: Any, *, url: str, title: str, snippet: str, date: str) -> list[WebResult]:
    """Results from an engine's JSON, where they have these fields; one that has no usable address is left out.

    Raises ProviderReplyError when that is no list of objects, or none of them has an address at all.
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
