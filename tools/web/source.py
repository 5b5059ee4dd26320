"""Sources of evidence on the internet: their interface, the form of their results, and the installed sources, which are
Steelman's own and those of other packages (entry points of `steelman.sources`).

Queries have a limited length. All sources' results have the same form.
https://packaging.python.org/en/latest/specifications/entry-points/ describes entry points.
"""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, get_args
from urllib.parse import urldefrag

import httpx

from tools.budget import current_budget, current_log
from tools.dates import date_of_result
from tools.errors import DeadlineError, ProviderDownError, ProviderError, ProviderReplyError, SettingsError
from tools.limits import LONGEST_PAGE, SEARCH_SECONDS
from tools.net.http import fetch_json, is_address, is_local, open_client
from tools.passages import EVIDENCE_KINDS, EvidenceKind
from tools.translation import tr
from tools.web.addresses import host_of, normalise_url
from tools.web.domains import covers

PAGE_RESULTS = 10
"""The most results on one page."""
_MOST_SITES = 10  # Google reads 32 words of a query; each site with its OR takes two
LONGEST_TITLE, LONGEST_SNIPPET, _LONGEST_URL = 300, 4_000, 2_000
_MORE_BY_DATE = 3  # times as many results are asked for if some will be left out by date
_LINES = ("title", "publisher", "author", "venue")
GROUP = "steelman.sources"
OWN = {
    "openalex": "tools.web.studies:OpenAlex",
    "europepmc": "tools.web.studies:EuropePmc",
    "semanticscholar": "tools.web.studies:SemanticScholar",
    "gdelt": "tools.web.news:Gdelt",
    "hackernews": "tools.web.discussion:HackerNews",
    "stackexchange": "tools.web.discussion:StackExchange",
    "wikipedia": "tools.web.encyclopedia:Wikipedia",
}
KEYED = ("semanticscholar",)
"""Sources that a key turns on."""

Extent = Literal["", "abstract", "full text", "extract", "post"]
REPLY_BY = re.compile(r"Reply by (.+):")
"""The line before each reply in the text of a discussion. It names who says the lines below it."""


@dataclass(frozen=True, slots=True)
class SourceResult:
    """A search result. `date` is ISO (`2026-03-12`, `2026-03`, `2026`) or empty.

    venue: the journal, site or forum. text: what the source itself gives whole, such as an abstract; such a result
    needs no fetch. extent: what `text` is. open_url: an open-access copy, whose full text may be read.
    """

    url: str
    title: str
    snippet: str
    date: str = ""
    publisher: str = ""
    author: str = ""
    venue: str = ""
    text: str = ""
    extent: Extent = ""
    open_url: str = ""


class Source(ABC):
    """A search service that returns pages of results.

    name: for settings, caches and notes. title: display name. kind: what it searches. longest_query: most characters of
    a query. most_results: the most results of one search. patience: the time limit of a page, as a multiple of the
    server's longest silence (`seconds`).
    """

    name: str
    title: str
    kind: EvidenceKind = "web"
    longest_query = 500
    most_results = 100
    patience = 3.0

    def __init__(self, address: str, seconds: float = SEARCH_SECONDS, headers: dict[str, str] | None = None) -> None:
        """seconds: longest silence of the server. headers: sent with every request."""
        self.address = address.rstrip("/")
        self._seconds = seconds
        self._headers = headers

    async def search(self, query: str, limit: int, domains: Sequence[str] = (), since: str = "") -> list[SourceResult]:
        """At most `limit` results, best first, without duplicates. If `domains` are given, all results are from these
        domains. since: an ISO date; results with an earlier date are left out. Raises ProviderDownError,
        ProviderReplyError, BudgetError, DeadlineError."""
        limit = max(1, min(limit, self.most_results))
        found = await self._found(query, min(limit * (_MORE_BY_DATE if since else 1), self.most_results), domains)
        return usable_results([r for r in found if not r.date or r.date >= since[: len(r.date)]], limit, domains)

    async def _found(self, query: str, limit: int, domains: Sequence[str]) -> list[SourceResult]:
        """The results, perhaps more than `limit` and of other domains. If a later page fails, the earlier results are
        returned with a note."""
        text = with_sites(query, domains if self.kind == "web" else (), self.longest_query)
        found: list[SourceResult] = []
        async with self._client() as client:
            for page in range(1, -(-limit // PAGE_RESULTS) + 1):
                try:
                    more = usable_results([*found, *await self._ask(client, text, page)])
                except ProviderError as exc:
                    if page == 1:
                        raise
                    told = {"name": self.title, "number": len(found), "error": exc}
                    current_log().note("skipped", tr("{name} gave only the first {number} results: {error}", **told))
                    break
                if len(more) == len(found):
                    break
                found = more
        return found

    async def _ask(self, client: Any, query: Any, page: int = 1) -> list[SourceResult]:
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
    async def _page(self, client: Any, query: Any, page: int) -> list[SourceResult]:
        """The results of a page, counted from 1."""

    def _client(self) -> AbstractAsyncContextManager[Any]:
        return open_client(self._headers, self._seconds)

    @staticmethod
    def _parse(response: httpx.Response) -> Any:
        """The reply's data. May raise ValueError."""
        return response.json()

    async def _fetch(self, client: Any, method: str, path: str, body: Any = None) -> dict[str, Any]:
        url = f"{self.address}{path}"
        reply = await fetch_json(client, method, url, name=self.title, body=body, parse=self._parse)
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
    results: Sequence[SourceResult], limit: int | None = None, domains: Sequence[str] = ()
) -> list[SourceResult]:
    """The first `limit` results over http(s) or from an MCP server, without duplicates. If `domains` are given, only
    results from these domains."""
    kept: dict[str, SourceResult] = {}
    patterns = [host_of(d) if "*" not in d else d.lower() for d in domains]
    for result in results:
        host = host_of(result.url) if is_page(result.url) or result.url.startswith("mcp://") else ""
        if host and (not patterns or any(covers(p, host) for p in patterns)):
            kept.setdefault(normalise_url(result.url), result)
    return list(kept.values())[:limit]


def read_results(
    name: str, items: Any, *, url: str, title: str, snippet: str, date: str, extent: Extent = "", **more: str
) -> list[SourceResult]:
    """The results in a source's JSON, except results without a usable address.

    url, title, snippet, date: the names of the fields in the JSON. more: the same for other fields of SourceResult.
    extent: of the results that have a text. Raises ProviderReplyError if the JSON is no list of objects, or no object
    has an address.
    """
    if not isinstance(items, list):
        raise ProviderReplyError(f"{name} answered without a list of results.")
    rows = [i for i in items if isinstance(i, dict) and isinstance(i.get(url), str)]
    if items and not rows:
        raise ProviderReplyError(f"{name} answered with results that have no addresses.")
    names, found = {"title": title, "snippet": snippet, "date": date, **more}, []
    for row in rows:
        if is_page(address := row[url].strip()):
            given: dict[str, Any] = {field: row.get(key) for field, key in names.items()}
            found.append(clean_result(SourceResult(urldefrag(address).url, extent=extent, **given)))
    return found


def clean_result(result: SourceResult) -> SourceResult:
    """The result with plain text of bounded length in all fields, whatever a source put there."""
    lines = {name: plain_text(getattr(result, name), LONGEST_TITLE) for name in _LINES}
    text, open_url = plain_lines(result.text), plain_text(result.open_url, _LONGEST_URL + 1)
    return replace(
        result,
        **lines,
        open_url=open_url if is_page(open_url) else "",
        snippet=plain_text(result.snippet, LONGEST_SNIPPET),
        date=date_of_result(result.date),
        text=text,
        extent=result.extent if text and result.extent in get_args(Extent) else "",
    )


def is_page(url: str) -> bool:
    """Whether the address is a usable http(s) address."""
    return url.lower().startswith(("http://", "https://")) and is_address(url) and len(url) <= _LONGEST_URL


def plain_text(value: object, longest: int) -> str:
    """The value on one line, without unprintable characters, cut at a word's end; '' if it is no text."""
    if not isinstance(value, str):
        return ""
    text = " ".join("".join(c if c.isprintable() else " " for c in value).split())
    return text if len(text) <= longest else text[:longest].rpartition(" ")[0] or text[:longest]


def plain_lines(value: object) -> str:
    """The value as lines of plain text, at most LONGEST_PAGE characters; '' if it is no text."""
    lines = value[:LONGEST_PAGE].splitlines() if isinstance(value, str) else []
    return "\n".join(filter(None, (plain_text(line, LONGEST_PAGE) for line in lines)))


def installed_sources() -> dict[str, EntryPoint]:
    """The sources by name, Steelman's own first. A package cannot replace one of these."""
    own = {name: EntryPoint(name, value, GROUP) for name, value in OWN.items()}
    return own | {point.name: point for point in entry_points(group=GROUP) if point.name not in own}


def open_source(point: EntryPoint, own: Mapping[str, str]) -> Source:
    """The source of an entry point. own: arguments of Steelman's own sources; others take none.

    Raises SettingsError for a source that cannot be used, whatever its package raises.
    """
    try:
        made = point.load()(**own if point.name in OWN else {})
    except (Exception, SystemExit) as exc:
        raise SettingsError(f"The source '{point.name}' cannot be used ({type(exc).__name__}: {exc}).") from exc
    if not isinstance(made, Source) or made.kind not in EVIDENCE_KINDS[:-1]:
        wrong = "it is no tools.web.source.Source" if not isinstance(made, Source) else f"its kind is {made.kind!r}"
        raise SettingsError(f"The source '{point.name}' cannot be used ({wrong}).")
    made.name = point.name
    return made
