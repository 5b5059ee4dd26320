"""The live web for one side: ask the search engine, read the pages, keep their passages with the run.

What is found is ranked by meaning like the passages of the store. Pages that two sides find are read once; searches and
pages are remembered for a while, by address.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from agent.models import Models
from tools.allowance import current
from tools.cache import TextCache
from tools.errors import DeadlineError, ProviderDownError, ProviderError, SourceError
from tools.hybrid import passage_text
from tools.passages import SourceDocument
from tools.sentences import cut
from tools.store import Store
from tools.web.domains import DomainLists
from tools.web.engines import SearchEngine, WebResult
from tools.web.fetch import PageFetcher
from tools.web.pages import hint_of, normalise_url, read_page
from tools.web_passages import WebPage

_SEARCH_KEPT = 3600.0  # seconds
_PAGE_KEPT = 86_400.0
_A_PAGE = 12  # passages of one page at most, those that share most words with what was looked for
_SPARE = 1.5  # results asked for beyond the pages wanted, since some cannot be read


@dataclass
class WebFound:
    """What one side's search on the web came to: passage ids best first, pages that could not be read and why."""

    ids: list[int] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    problems: list[ProviderError] = field(default_factory=list)
    pages: int = 0


@dataclass(frozen=True)
class WebSearch:
    """A search engine and a reader of pages. `required`: named by the user, so that its failure is an error."""

    engine: SearchEngine
    fetcher: PageFetcher
    lists: DomainLists
    store: Store
    models: Models
    cache: TextCache
    required: bool = False
    _reading: dict[str, "asyncio.Task[SourceDocument]"] = field(default_factory=dict)

    async def find(
        self, run_id: str, queries: Sequence[str], pages: int, k: int, domains: Sequence[str] = ()
    ) -> WebFound:
        """Up to k passages of up to so many pages for one side's queries; only from `domains` where any are given."""
        found = WebFound()
        results = await self._results(queries, pages, domains, found)
        documents = await self._read_all(results[: math.ceil(pages * _SPARE)], pages, found)
        await self._keep(run_id, documents, queries)
        urls = [d.external_id for d in documents]
        ids = await asyncio.to_thread(self.store.web.of_page, run_id, urls)
        found.ids = (await self._ranked([i for url in urls for i in ids.get(url, [])], queries))[:k]
        found.pages = len(ids)
        return found

    async def _results(
        self, queries: Sequence[str], pages: int, domains: Sequence[str], found: WebFound
    ) -> list[WebResult]:
        """What the engine found for all queries, rank by rank, each page once, trusted sites a little earlier."""
        only = domains or self.lists.allow
        wanted = min(self.engine.most_results, max(5, math.ceil(pages * _SPARE / max(1, len(queries)))))
        answers = await asyncio.gather(*(self._ask(q, wanted, only) for q in queries), return_exceptions=True)
        rankings: list[list[WebResult]] = []
        for answer in answers:
            if isinstance(answer, ProviderError):
                found.problems.append(answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                rankings.append([r for r in answer if self.lists.is_allowed(r.url)])
        longest = max(map(len, rankings), default=0)
        mixed = [r[rank] for rank in range(longest) for r in rankings if rank < len(r)]
        return self.lists.order(list({normalise_url(r.url): r for r in reversed(mixed)}.values())[::-1])

    async def _ask(self, query: str, limit: int, domains: Sequence[str]) -> list[WebResult]:
        if self.engine.name in current().down:
            raise ProviderDownError(f"{self.engine.name} has failed in this run already.")
        key = f"{query}\x1f{limit}\x1f{' '.join(domains)}"
        known = await asyncio.to_thread(self.cache.get, self.engine.name, key, _SEARCH_KEPT)
        if known is None:
            try:
                results = await self.engine.search(query, limit, domains)
            except ProviderDownError:
                current().down.add(self.engine.name)
                raise
            known = [asdict(r) for r in results]
            if known:
                await asyncio.to_thread(self.cache.put, self.engine.name, key, known)
        return [WebResult(**row) for row in known]

    async def _read_all(self, results: Sequence[WebResult], pages: int, found: WebFound) -> list[SourceDocument]:
        """The first so many pages that can be read, in the order of the results; what is late is left."""
        tasks = [asyncio.create_task(self._read(r)) for r in results]
        documents: list[SourceDocument] = []
        if tasks:
            left = current().seconds_left()
            _, late = await asyncio.wait(tasks, timeout=None if math.isinf(left) else max(0.0, left * 0.8))
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        for result, task in zip(results, tasks, strict=True):
            problem = "took too long" if task in late else _problem(task)
            if problem:
                found.unread[result.url] = problem
            elif len(documents) < pages:
                documents.append(task.result())
        return documents

    async def _read(self, result: WebResult) -> SourceDocument:
        url = normalise_url(result.url)
        if (task := self._reading.get(url)) is None:
            task = self._reading[url] = asyncio.create_task(self._fetch(result))
            task.add_done_callback(lambda t: (self._reading.pop(url, None), t.cancelled() or t.exception()))
        return await asyncio.shield(task)

    async def _fetch(self, result: WebResult) -> SourceDocument:
        """The page as a document of the right kind and publisher, read now or lately."""
        url = normalise_url(result.url)
        known: dict[str, Any] | None = await asyncio.to_thread(self.cache.get, "page", url, _PAGE_KEPT)
        if known is not None:
            return SourceDocument(**known)
        page = await self.fetcher.fetch(result.url)
        document, hint = await asyncio.to_thread(lambda: (read_page(page), hint_of(page)))
        document = replace(
            document,
            title=document.title or result.title,
            date=document.date or result.date,
            publisher=self.lists.publisher_of(document.url, document.publisher),
            kind=self.lists.kind_of(document.url, hint),
        )
        await asyncio.to_thread(self.cache.put, "page", url, asdict(document))
        return document

    async def _keep(self, run_id: str, documents: Sequence[SourceDocument], queries: Sequence[str]) -> None:
        parts = [(d, _nearest_words(cut(d.text), queries)) for d in documents]
        vectors = await self.models.encode_passages([passage_text(d.title, p) for d, ps in parts for p in ps])
        kept, start = [], 0
        for document, passages in parts:
            kept.append(WebPage(document, tuple(passages), vectors[start : start + len(passages)]))
            start += len(passages)
        await asyncio.to_thread(self.store.web.put, run_id, kept)

    async def _ranked(self, ids: Sequence[int], queries: Sequence[str]) -> list[int]:
        """The passages by their greatest cosine to any of the queries."""
        asked = await self.models.encode_queries(list(queries))
        stored = await asyncio.to_thread(self.store.vectors, ids)
        return sorted(stored, key=lambda i: (-float((asked @ stored[i]).max()), -i))


def _problem(task: "asyncio.Task[SourceDocument]") -> str:
    """Why the page could not be read; empty when it could."""
    if task.cancelled():
        return "took too long"
    exc = task.exception()
    if exc is None:
        return ""
    if isinstance(exc, SourceError | DeadlineError):
        return str(exc).rstrip(".")
    raise exc


def _nearest_words(passages: Sequence[str], queries: Sequence[str]) -> list[str]:
    """The passages, in their order, that share most words with the queries; of a short page all of them."""
    if len(passages) <= _A_PAGE:
        return list(passages)
    wanted = {w for q in queries for w in q.casefold().split() if len(w) > 3}
    overlap = [len(wanted & set(p.casefold().split())) for p in passages]
    best = sorted(sorted(range(len(passages)), key=lambda i: (-overlap[i], i))[:_A_PAGE])
    return [passages[i] for i in best]
