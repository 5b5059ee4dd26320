"""Searches the web for one perspective: asks the engine, fetches pages, stores their passages with the run.

Pages that two perspectives find are read once. Results and pages are cached by address for a while.
"""

import asyncio
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain, zip_longest
from typing import Any

from agent.providers.inference import Models
from agent.stage_interfaces import WebResults
from tools.budget import batches, current_budget, current_log, in_time, share_of_time
from tools.documents.document import document_from_json, document_to_json
from tools.documents.passage_cutting import cut_document
from tools.errors import DeadlineError, ProviderDownError, ProviderError, SourceError
from tools.models.cache import TextCache
from tools.passages import PassageText, SourceDocument
from tools.store.hybrid import passage_text
from tools.store.run_passages import WebPage
from tools.store.store import Store
from tools.web.addresses import host_of, normalise_url
from tools.web.domains import PAGE_READERS, DomainLists, read_address
from tools.web.fetch import PageFetcher
from tools.web.source import Source, SourceResult, usable_results

_SEARCH_TTL = 3600.0  # seconds in the cache
_PAGE_TTL = 86_400.0
_PAGES = f"document/{' '.join(f.name for f in fields(SourceDocument))}"  # cached pages with other fields cannot be read
_MAX_PASSAGES = 12  # per page: the passages with the most query words
_SPARE = 1.5  # results per wanted page, because some pages cannot be read
_ASKING, _READING, _ENCODING = 0.5, 0.6, 0.75  # share of the remaining time that each step may take
_ENCODE_BATCH = 4  # pages; only batches that are encoded in time are used
_LONGEST_PASSAGE = 3_000  # characters; a passage has about a hundred words, but some pages have endless words
_WORD = re.compile(r"\w{4,}")


@dataclass(frozen=True)
class WebSearch:
    """A search engine and a page reader. required: the engine's failure ends the run."""

    engine: Source
    fetcher: PageFetcher
    lists: DomainLists
    store: Store
    models: Models
    cache: TextCache
    required: bool = False
    _reading: "dict[str, asyncio.Task[SourceDocument]]" = field(default_factory=dict)

    async def find(
        self, run_id: str, queries: Sequence[str], pages: int, k: int, domains: Sequence[str] = ()
    ) -> WebResults:
        """Returns up to k passages of up to `pages` pages for one perspective's queries. domains: limit the search to
        these."""
        found = WebResults()
        if self.engine.name in current_log().down:  # a note already reports the failure
            return found
        only = domains or self.lists.allow
        await asyncio.to_thread(PAGE_READERS.start)  # loads while the engine searches
        results = await self._results(queries, pages, only, found)
        with share_of_time(_READING):
            documents = await self._read_all(results[: math.ceil(pages * _SPARE)], pages, only, found)
        with share_of_time(_ENCODING):
            read = await self._encoded(documents, queries, found)
        stored = await asyncio.to_thread(self.store.web.put, run_id, read)
        found.pages, found.new = len(stored.ids), stored.new
        found.ids = (await self._ranked([i for ids in stored.ids.values() for i in ids], queries))[:k]
        return found

    async def _results(
        self, queries: Sequence[str], pages: int, only: Sequence[str], found: WebResults
    ) -> list[SourceResult]:
        """Returns the engine's results for all queries, sorted by rank. Each page occurs once; trusted sites move up
        slightly."""
        wanted = min(self.engine.most_results, max(5, math.ceil(pages * _SPARE / max(1, len(queries)))))
        answers = await asyncio.gather(*(self._ask(q, wanted, only) for q in queries), return_exceptions=True)
        rankings: list[list[SourceResult]] = []
        for answer in answers:
            if isinstance(answer, ProviderError):
                found.problems.append(answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                found.answered += 1
                rankings.append([r for r in answer if self.lists.is_allowed(r.url)])
        best: dict[str, SourceResult] = {}
        for result in filter(None, chain.from_iterable(zip_longest(*rankings))):
            best.setdefault(normalise_url(result.url), result)
        return self.lists.order(list(best.values()))

    async def _ask(self, query: str, limit: int, domains: Sequence[str]) -> list[SourceResult]:
        key = f"{query}\x1f{limit}\x1f{' '.join(domains)}"
        known = await asyncio.to_thread(self.cache.get, self.engine.name, key, _SEARCH_TTL)
        if known is None:
            try:
                with share_of_time(_ASKING):
                    results = await in_time(self.engine.search(query, limit, domains))
            except DeadlineError as exc:
                current_log().down.add(self.engine.name)
                raise DeadlineError(f"{self.engine.title} did not answer in time.") from exc
            except ProviderDownError:
                current_log().down.add(self.engine.name)
                raise
            known = [asdict(r) for r in results]
            if known:
                await asyncio.to_thread(self.cache.put, self.engine.name, key, known)
        return [SourceResult(**row) for row in known]

    async def _read_all(
        self, results: Sequence[SourceResult], pages: int, only: Sequence[str], found: WebResults
    ) -> list[SourceDocument]:
        """Returns `pages` documents in the order of the results. The next results replace unreadable and late pages."""
        waiting = list(enumerate(results))
        tasks: dict[asyncio.Task[SourceDocument], int] = {}
        read: dict[int, SourceDocument] = {}
        try:
            while len(read) < pages and (waiting or tasks):
                for rank, result in waiting[: (more := pages - len(read) - len(tasks))]:
                    tasks[asyncio.create_task(self._read(result, only))] = rank
                waiting = waiting[more:]
                left = max(0.0, current_budget().seconds_left())
                timeout = None if math.isinf(left) else left
                done, _ = await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    break
                for task in done:
                    rank = tasks.pop(task)
                    if problem := _read_failure(task):
                        found.unread[results[rank].url] = problem
                    else:
                        read[rank] = task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        found.unread |= {results[rank].url: "took too long" for rank in tasks.values()}
        return [read[rank] for rank in sorted(read)]

    async def _read(self, result: SourceResult, only: Sequence[str]) -> SourceDocument:
        """Returns the page. Concurrent callers share one fetch."""
        url = normalise_url(result.url)
        if (task := self._reading.get(url)) is None:
            task = self._reading[url] = asyncio.create_task(self._fetch(result))
            task.add_done_callback(lambda done: self._reading.pop(url) and (done.cancelled() or done.exception()))
        document = await asyncio.shield(task)
        if not self.lists.is_allowed(document.url) or not usable_results(
            [replace(result, url=document.url)], domains=only
        ):
            raise SourceError(f"{result.url}: leads to {host_of(document.url)}, which is not to be searched.")
        return document

    async def _fetch(self, result: SourceResult) -> SourceDocument:
        """Returns the page as a document, from the cache or the web."""
        url = normalise_url(result.url)
        known: dict[str, Any] | None = await asyncio.to_thread(self.cache.get, _PAGES, url, _PAGE_TTL)
        if known is not None:
            return document_from_json(known)
        document = await read_address(result.url, self.fetcher, self.lists, result.title, result.date)
        await asyncio.to_thread(self.cache.put, _PAGES, url, document_to_json(document))
        return document

    async def _encoded(
        self, documents: Sequence[SourceDocument], queries: Sequence[str], found: WebResults
    ) -> list[WebPage]:
        """Returns the pages with passages and vectors that were ready in time."""
        pages: list[WebPage] = []
        for part in batches(documents, _ENCODE_BATCH):
            passages = [await asyncio.to_thread(_passages, d, queries) for d in part]
            texts = [passage_text(d.title, p.text, p.section) for d, ps in zip(part, passages, strict=True) for p in ps]
            try:
                vectors, start = await in_time(self.models.encode_passages(texts)), 0
            except DeadlineError:
                found.unread |= {d.url: "took too long" for d in documents[len(pages) :]}
                break
            for document, mine in zip(part, passages, strict=True):
                pages.append(WebPage(document, tuple(mine), vectors[start : start + len(mine)]))
                start += len(mine)
        return pages

    async def _ranked(self, ids: Sequence[int], queries: Sequence[str]) -> list[int]:
        """Returns the passages by their highest cosine to a query."""
        asked = await self.models.encode_queries(list(queries))
        stored = await asyncio.to_thread(self.store.vectors, ids)
        return sorted(stored, key=lambda i: (-float((asked @ stored[i]).max()), -i))


def _read_failure(task: "asyncio.Task[SourceDocument]") -> str:
    """Returns why the page could not be read; empty if it could be read."""
    if task.cancelled():
        return "took too long"
    exc = task.exception()
    if exc is None:
        return ""
    if isinstance(exc, SourceError | DeadlineError):
        return (str(exc).partition(": ")[2] or str(exc)).rstrip(".")  # the note already names the address
    raise exc


def _passages(document: SourceDocument, queries: Sequence[str]) -> list[PassageText]:
    """Returns the passages with the most query words, in the page's order. A short page keeps all its passages."""
    passages = [replace(p, text=p.text[:_LONGEST_PASSAGE]) for p in cut_document(document)]
    wanted = {w for q in queries for w in _WORD.findall(q.casefold())}
    overlap = [len(wanted.intersection(_WORD.findall(p.text.casefold()))) for p in passages]
    best = sorted(range(len(passages)), key=lambda i: (-overlap[i], i))[:_MAX_PASSAGES]
    return [passages[i] for i in sorted(best)]
