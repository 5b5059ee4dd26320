"""Searches the internet for one perspective: asks the sources, fetches pages, stores their passages with the run.

All sources are asked in parallel. Pages that two perspectives find are read once. Results and pages are cached by
address for a while.
"""

import asyncio
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from agent.providers.inference import Models
from agent.stage_interfaces import WebResults
from tools.budget import batches, current_log, in_time, run_within, share_of_time
from tools.documents.document import document_from_json, document_to_json
from tools.documents.passage_cutting import cut_document
from tools.errors import DeadlineError, ProviderDownError, ProviderError, ProviderReplyError, SourceError
from tools.language.identification import language_of
from tools.models.cache import TextCache
from tools.passages import Block, EvidenceKind, PassageText, SourceDocument
from tools.store.hybrid import passage_text
from tools.store.run_passages import WebPage
from tools.store.store import Store
from tools.translation import tr
from tools.web.addresses import host_of, normalise_url, without_tracking
from tools.web.domains import PAGE_READERS, DomainLists, read_address
from tools.web.fetch import PageFetcher
from tools.web.source import REPLY_BY, Source, SourceResult, clean_result, plain_text, usable_results

_SEARCH_TTL = 3600.0  # seconds in the cache
_PAGE_TTL = 86_400.0
_PAGES = f"document/{' '.join(f.name for f in fields(SourceDocument))}"  # cached pages with other fields cannot be read
_MAX_PASSAGES = 12  # per page: the passages with the most query words
_SPARE = 1.5  # results per wanted page, because some pages cannot be read
_ASKING, _READING, _ENCODING = 0.5, 0.6, 0.75  # share of the remaining time that each step may take
_ENCODE_BATCH = 4  # pages; only batches that are encoded in time are used
_LONGEST_PASSAGE = 3_000  # characters; a passage has about a hundred words, but some pages have endless words
_WORD = re.compile(r"\w{4,}")
_ADDRESS = re.compile(r"\w+://\S+")  # may hold a key
_TEXTS = 5  # results of one kind that come with their text; they need no fetch
_FULL_TEXT = 1_000  # words; an open copy with fewer is a page about the study
_DOCUMENT_KINDS = {"studies": "study", "news": "news", "discussion": "forum", "encyclopedia": "reference"}


class _Hit(NamedTuple):
    """A result and its source's kind."""

    result: SourceResult
    kind: EvidenceKind

    @property
    def address(self) -> str:
        """The page to fetch."""
        return self.result.open_url or self.result.url


@dataclass(frozen=True)
class WebSearch:
    """Sources and a page reader. required: the failure of the web sources ends the run. unusable: errors of sources
    that were switched on and could not be opened."""

    sources: tuple[Source, ...]
    fetcher: PageFetcher
    lists: DomainLists
    store: Store
    models: Models
    cache: TextCache
    required: bool = False
    unusable: tuple[str, ...] = ()
    _reading: "dict[str, asyncio.Task[SourceDocument]]" = field(default_factory=dict)

    def asked(self, kinds: Sequence[EvidenceKind], domains: Sequence[str] = ()) -> list[Source]:
        """Returns the sources of these kinds, or of all if none is named. domains: only those of the web."""
        return [s for s in self.sources if (not kinds or s.kind in kinds) and not (domains and s.kind != "web")]

    async def find(
        self,
        run_id: str,
        queries: Sequence[str],
        pages: int,
        k: int,
        domains: Sequence[str] = (),
        kinds: Sequence[EvidenceKind] = (),
        since: str = "",
        found: WebResults | None = None,
    ) -> WebResults:
        """Returns up to k passages of each kind for one perspective's queries. Up to `pages` pages are fetched; results
        that come with their text need no fetch. domains: limit the search to these. since: leave out earlier dates.
        found: gets the results, so that what failed is known even if this raises an error."""
        found = found or WebResults()
        sources = [s for s in self.asked(kinds, domains) if s.name not in current_log().down]  # else a note reports it
        if not sources:
            return found
        only = domains or self.lists.allow
        await asyncio.to_thread(PAGE_READERS.start)  # loads while the sources search
        hits = _by_kind(await asyncio.gather(*(self._results(s, queries, pages, only, since, found) for s in sources)))
        texts = [hit for own in hits for hit in [h for h in own if h.result.text][:_TEXTS]]
        pages_of = [[h for h in own if not h.result.text or (h.result.open_url and h in texts)] for own in hits]
        best = [hit for hit in chain.from_iterable(zip_longest(*pages_of)) if hit]
        with share_of_time(_READING):
            read = await self._read_all(best[: math.ceil(pages * _SPARE)], pages, only, found, since)
        fetched = {d.external_id for _, d in read}
        given = [(h, d) for h in texts if (d := self._own_text(h)).external_id not in fetched]
        with share_of_time(_ENCODING):
            encoded = await self._encoded([d for _, d in (*given, *read)], queries, found)
        stored = await asyncio.to_thread(self.store.web.put, run_id, encoded)
        found.pages, found.new = len(fetched.intersection(stored.ids)), len(fetched & stored.new)
        kind_of = {d.external_id: h.kind for h, d in (*given, *read)}
        ranked = await self._ranked([i for ids in stored.ids.values() for i in ids], queries)
        for kind in dict.fromkeys(kind_of.values()):
            own = {i for url, ids in stored.ids.items() if kind_of[url] == kind for i in ids}
            found.rankings[kind] = [i for i in ranked if i in own][:k]
        return found

    async def read(self, run_id: str, urls: Sequence[str], question: str, most: int) -> WebResults:
        """Reads these pages. most: passages of each page. Raises ProviderDownError if none can be read."""
        found = WebResults()
        await asyncio.to_thread(PAGE_READERS.start)
        hits = [_Hit(SourceResult(url, "", ""), "web") for url in urls]
        with share_of_time(_READING):
            read = await self._read_all(hits, len(hits), (), found)
        pages = await self._encoded([d for _, d in read], [question], found, most)
        if not pages:
            reasons = "; ".join(f"{url} ({found.unread[url]})" for url in urls if url in found.unread)
            what = "the page cannot be read" if len(urls) == 1 else "none of the pages can be read"
            raise ProviderDownError(f"{what}: {reasons}. Check the address, or leave it out to search.")
        stored = await asyncio.to_thread(self.store.web.put, run_id, pages)
        found.pages, found.new = len(stored.ids), len(stored.new)
        return found

    async def _results(
        self, source: Source, queries: Sequence[str], pages: int, only: Sequence[str], since: str, found: WebResults
    ) -> list[_Hit]:
        """Returns a source's results for all queries by rank, each page once. Trusted sites move up slightly."""
        wanted = min(source.most_results, max(5, math.ceil(pages * _SPARE / max(1, len(queries)))))
        rankings = await asyncio.gather(*(self._ask(source, query, wanted, only, since, found) for query in queries))
        best: dict[str, SourceResult] = {}
        for result in filter(None, chain.from_iterable(zip_longest(*rankings))):
            best.setdefault(normalise_url(result.url), result)
        return [_Hit(result, source.kind) for result in self.lists.order(list(best.values()))]

    async def _ask(
        self, source: Source, query: str, limit: int, domains: Sequence[str], since: str, found: WebResults
    ) -> list[SourceResult]:
        """Returns a query's results on allowed pages; none if the source fails, which `found` then tells."""
        key = f"{query}\x1f{limit}\x1f{' '.join(domains)}{since}"
        known = await asyncio.to_thread(self.cache.get, source.name, key, _SEARCH_TTL)
        if known is None:
            try:
                with share_of_time(_ASKING):
                    known = [asdict(r) for r in await in_time(search_source(source, query, limit, domains, since))]
            except ProviderError as exc:
                late = isinstance(exc, DeadlineError)
                if late or isinstance(exc, ProviderDownError):
                    current_log().down.add(source.name)
                problem = DeadlineError(f"{source.title} did not answer in time.") if late else exc
                found.problems.setdefault(source.name, []).append(problem)
                return []
            if known:
                await asyncio.to_thread(self.cache.put, source.name, key, known)
        found.answered[source.name] += 1
        return [result for row in known if self.lists.is_allowed((result := SourceResult(**row)).url)]

    async def _read_all(
        self, hits: Sequence[_Hit], pages: int, only: Sequence[str], found: WebResults, since: str = ""
    ) -> list[tuple[_Hit, SourceDocument]]:
        """Returns `pages` documents in the order of the results. The next results replace unreadable and late pages."""
        waiting = iter(enumerate(hits))
        read, unread = dict[int, SourceDocument](), dict[int, str]()

        async def read_one() -> None:
            for rank, hit in waiting:
                unread[rank] = tr("took too long")
                try:
                    read[rank] = await self._read(hit, only, since)
                    return
                except (SourceError, DeadlineError) as exc:
                    unread[rank] = (str(exc).partition(": ")[2] or str(exc)).rstrip(".")  # a note names the address

        await run_within([read_one] * pages, pages)
        found.unread |= {hits[i].address: why for i, why in unread.items() if i not in read and not hits[i].result.text}
        return [(hits[rank], read[rank]) for rank in sorted(read)]

    async def _read(self, hit: _Hit, only: Sequence[str], since: str) -> SourceDocument:
        """Returns the page. Concurrent callers share one fetch."""
        url, result = normalise_url(hit.address), hit.result
        if (task := self._reading.get(url)) is None:
            task = self._reading[url] = asyncio.create_task(self._fetch(hit))
            task.add_done_callback(lambda done: self._reading.pop(url) and (done.cancelled() or done.exception()))
        document = await asyncio.shield(task)
        if not self.lists.is_allowed(document.url) or not usable_results(
            [replace(result, url=document.url)], domains=only
        ):
            raise SourceError(f"{hit.address}: leads to {host_of(document.url)}, which is not to be searched.")
        if not result.text:
            if document.date and document.date < since[: len(document.date)]:
                raise SourceError(f"{hit.address}: is from before {since}.")
            kind = _DOCUMENT_KINDS.get(hit.kind, "unknown") if document.kind == "unknown" else document.kind
            given = "" if hit.kind == "discussion" else result.author  # others reply on the page
            return replace(document, kind=kind, author=document.author or given, venue=result.venue)
        if len(document.text.split()) < _FULL_TEXT:
            raise SourceError(f"{hit.address}: is not the full text.")
        own = self._own_text(hit)
        return replace(own, text=document.text, blocks=document.blocks, language=document.language, extent="full text")

    async def _fetch(self, hit: _Hit) -> SourceDocument:
        url = normalise_url(hit.address)
        known: dict[str, Any] | None = await asyncio.to_thread(self.cache.get, _PAGES, url, _PAGE_TTL)
        if known is not None:
            return document_from_json(known)
        document = await read_address(hit.address, self.fetcher, self.lists, hit.result.title, hit.result.date)
        await asyncio.to_thread(self.cache.put, _PAGES, url, document_to_json(document))
        return document

    def _own_text(self, hit: _Hit) -> SourceDocument:
        """Returns the document of a result that comes with its text. Each study and each post is a source of its own,
        because a journal and a forum only publish what their authors say."""
        result, url = hit.result, without_tracking(hit.result.url)
        apart = hit.kind in ("studies", "discussion")
        blocks = _thread(result) if hit.kind == "discussion" else ()
        return SourceDocument(
            external_id=url,
            url=url,
            text="\n".join(b.text for b in blocks) or result.text,
            blocks=blocks,
            title=result.title,
            publisher=result.venue or result.publisher or self.lists.publisher_of(url),
            owner=(result.author if hit.kind == "discussion" else "") or url if apart else self.lists.owner_of(url),
            kind=_DOCUMENT_KINDS.get(hit.kind) or self.lists.kind_of(url),
            date=result.date,
            author="" if blocks else result.author,
            venue=result.venue,
            extent=result.extent,
            language=language_of(result.text),
        )

    async def _encoded(
        self, documents: Sequence[SourceDocument], queries: Sequence[str], found: WebResults, most: int = _MAX_PASSAGES
    ) -> list[WebPage]:
        """Returns the pages with passages and vectors that were ready in time."""
        pages: list[WebPage] = []
        for part in batches(documents, _ENCODE_BATCH):
            passages = [await asyncio.to_thread(_passages, d, queries, most) for d in part]
            texts = [passage_text(d.title, p.text, p.section) for d, ps in zip(part, passages, strict=True) for p in ps]
            try:
                vectors, start = await in_time(self.models.encode_passages(texts)), 0
            except DeadlineError:
                found.unread |= {d.url: tr("took too long") for d in documents[len(pages) :]}
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


async def search_source(
    source: Source, query: str, limit: int, domains: Sequence[str] = (), since: str = ""
) -> list[SourceResult]:
    """Returns the source's usable results. Raises ProviderError, also for whatever another package's source raises."""
    try:
        found = await source.search(query, limit, domains, since)
        return usable_results([clean_result(r) for r in found], limit, domains)
    except ProviderError:
        raise
    except Exception as exc:
        said = plain_text(_ADDRESS.sub("…", str(exc)), 200)
        raise ProviderReplyError(f"{source.title} failed unexpectedly ({type(exc).__name__}: {said}).") from exc


def _thread(result: SourceResult) -> tuple[Block, ...]:
    """Returns the lines of a discussion with their speakers; nothing if one person wrote all of them."""
    speaker, blocks, lines = result.author, list[Block](), result.text.splitlines()
    for line in lines:
        if named := REPLY_BY.fullmatch(line):
            speaker = named[1]
        else:
            blocks.append(Block(line, speaker=speaker))
    return tuple(blocks) if len(blocks) < len(lines) else ()


def _by_kind(found: Sequence[Sequence[_Hit]]) -> list[list[_Hit]]:
    """Returns the sources' results by kind, in turns. Each page occurs once, with its text if a source gave it."""
    once: dict[str, _Hit] = {}
    for hit in filter(None, chain.from_iterable(zip_longest(*found))):
        known = once.setdefault(normalise_url(hit.result.url), hit)
        if hit.result.text and not known.result.text:
            once[normalise_url(hit.result.url)] = hit
    kinds: dict[EvidenceKind, list[_Hit]] = {}
    for hit in once.values():
        kinds.setdefault(hit.kind, []).append(hit)
    return list(kinds.values())


def _passages(document: SourceDocument, queries: Sequence[str], most: int) -> list[PassageText]:
    """Returns the `most` passages with the most query words, in the page's order."""
    passages = [replace(p, text=p.text[:_LONGEST_PASSAGE]) for p in cut_document(document)]
    wanted = {w for q in queries for w in _WORD.findall(q.casefold())}
    overlap = [len(wanted.intersection(_WORD.findall(p.text.casefold()))) for p in passages]
    best = sorted(range(len(passages)), key=lambda i: (-overlap[i], i))[:most]
    return [passages[i] for i in sorted(best)]
