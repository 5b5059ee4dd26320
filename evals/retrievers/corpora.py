"""Opens corpora for questions with perspectives (BERDS §4.2), by name.

`ctxs` is the ranking in the data file. A file, or a collection of the agent's store, is one corpus for all questions.
`web` is a corpus for each question: the readable pages that the agent's search engine found. A file stores the pages,
and the reasons for unread pages, so a second run makes no requests.
"""

import asyncio
import hashlib
import sys
from collections.abc import Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pydantic import BaseModel

from agent.providers.from_settings import build_engine, build_fetcher
from agent.settings import Settings
from evals.datasets.perspectives import GoldRow
from evals.datasets.retrieval import read_corpus
from evals.datasets.rows import read_json
from evals.reports.records import Record, Records
from evals.retrievers.ranker import Corpora
from evals.suite import ask_each
from tools.budget import Budget, StageLog, batches, budget_scope
from tools.errors import DeadlineError, InputError, ProviderReplyError, SourceError
from tools.passages import SourceDocument
from tools.store.database import Database
from tools.store.store import Store
from tools.web.domains import PAGE_READERS, DomainLists, read_source
from tools.web.fetch import PageFetcher
from tools.web.source import Source, SourceResult

CTXS, WEB, _COLLECTION = "ctxs", "web", "collection:"
_SEGMENT = 100  # words


def open_corpora(name: str, rows: Sequence[GoldRow], settings: Settings, web: "WebCorpora") -> Corpora:
    """Opens the corpora of that name, and gathers missing web corpora. Raises InputError, ProviderDownError."""
    if name == CTXS:
        if missing := [row.key for row in rows if row.ctxs is None]:
            raise InputError(f"{missing[0]} has no 'ctxs', the ranking to measure. Add it, or give another --corpus.")
        brought = {row.key: _brought(row) for row in rows}
        return Corpora(brought.__getitem__)
    if name == WEB:
        asked = {row.key: row.question for row in rows}
        web.gather(list(asked.values()), settings)
        return Corpora(lambda key: web.passages(asked[key]))
    stored = name.startswith(_COLLECTION)
    corpus = _stored(name.removeprefix(_COLLECTION), settings) if stored else read_corpus(Path(name))
    return Corpora(lambda _: corpus, shared=True)


def _brought(row: GoldRow) -> list[SourceDocument]:
    """Returns the ranking of the data file, with empty places. The passages keep the file's ids if the ids are
    unique."""
    ctxs = row.ctxs or ()
    named = len({c.id for c in ctxs} - {""}) == len(ctxs)
    return [SourceDocument(c.id if named else str(n), c.text, title=c.title) for n, c in enumerate(ctxs, start=1)]


def _stored(name: str, settings: Settings) -> list[SourceDocument]:
    with closing(Database(settings.database)) as database:
        store = Store(database)
        wanted, _ = store.collection(name)
        rows = store.scan(0, sys.maxsize)
        return [SourceDocument(str(p.id), p.text, title=p.title) for number, p in rows if number == wanted]


class KeptCorpus(BaseModel):
    """The stored web corpus of a question. searched: time of the search. results: number of search results. pages: the
    pages that were read, in the engine's order. unread: maps an address to the reason. notes: other problems."""

    question: str
    engine: str
    searched: str
    results: int = 0
    pages: list[SourceDocument] = []
    unread: dict[str, str] = {}
    notes: list[str] = []


@dataclass(frozen=True)
class WebCorpora:
    """The web corpora of a folder. pages: number of pages to request for a question. parallel: number of simultaneous
    questions."""

    folder: Path
    pages: int
    parallel: int

    def kept(self, question: str) -> KeptCorpus | None:
        """Returns the stored corpus of a question, or None if the search had no results. Raises InputError for another
        kind of file."""
        path = self._path(question)
        found = read_json(KeptCorpus, path.read_bytes(), path) if path.exists() else None
        return found if found and found.results else None

    def passages(self, question: str) -> list[SourceDocument]:
        """Returns the pages in disjoint pieces of 100 words. A page's last piece may have fewer words. A piece's id is
        the page's address with the piece's number."""
        pages = kept.pages if (kept := self.kept(question)) else ()
        cut = ((page, *of) for page in pages for of in enumerate(batches(page.text.split(), _SEGMENT), start=1))
        return [SourceDocument(f"{page.url}#{n}", " ".join(words), title=page.title) for page, n, words in cut]

    def told(self, questions: Sequence[str]) -> Record:
        """Returns the numbers of read and unread pages, and the engines."""
        kept = [k for question in questions if (k := self.kept(question))]
        pages = {"read": sum(len(k.pages) for k in kept), "unread": sum(len(k.unread) for k in kept)}
        return pages | {"engines": sorted({k.engine for k in kept})}

    def gather(self, questions: Sequence[str], settings: Settings) -> None:
        """Searches and reads pages for questions without a stored corpus. Raises InputError without an engine, and
        ProviderDownError if the engine fails. Stored corpora remain."""
        if not (missing := [q for q in dict.fromkeys(questions) if self.kept(q) is None]):
            return
        if (engine := build_engine(settings)) is None:
            raise InputError(
                f"no search engine is set, and {self.folder} lacks the pages of {len(missing)} questions. Set "
                "TAVILY_API_KEY, SERPER_API_KEY or SEARXNG_URL, or give --corpus: a file, or collection:NAME."
            )
        asyncio.run(self._gather(missing, settings, engine))

    async def _gather(self, missing: Sequence[str], settings: Settings, engine: Source) -> None:
        fetcher, lists = build_fetcher(settings), DomainLists.load(settings.domains)
        PAGE_READERS.start()
        asked = {question: partial(self._search, question, engine, fetcher, lists) for question in missing}
        async with aclosing(fetcher):
            await ask_each(asked, Records(None, "pages", {}), self.parallel, "question")

    async def _search(self, question: str, engine: Source, fetcher: PageFetcher, lists: DomainLists) -> Record:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        found = KeptCorpus(question=question, engine=engine.name, searched=now)
        with budget_scope(Budget(), log := StageLog()):
            try:
                results = await engine.search(question, self.pages, lists.allow)
            except ProviderReplyError as exc:  # the next run repeats this question
                results = []
                log.note("failed", str(exc))
            read = await asyncio.gather(*(_read(result, fetcher, lists) for result in results))
        found.results, found.notes = len(results), [text for _, text in log.notes]
        found.unread = {r.url: said for r, said in zip(results, read, strict=True) if isinstance(said, str)}
        found.pages = list(
            {p.url: p for p in read if isinstance(p, SourceDocument)}.values()
        )  # redirects may lead to one page
        path = self._path(question)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".part").write_text(found.model_dump_json(indent=1), encoding="utf-8")
            path.with_suffix(".part").replace(path)  # atomic
        except OSError as exc:
            raise InputError(f"{path} cannot be written ({exc.strerror or exc}). Name another --keep.") from exc
        return {}

    def _path(self, question: str) -> Path:
        return self.folder / f"{hashlib.sha256(f'{self.pages} {question}'.encode()).hexdigest()[:16]}.json"


async def _read(result: SourceResult, fetcher: PageFetcher, lists: DomainLists) -> SourceDocument | str:
    """Returns the page, or the reason why the page was not read."""
    if not lists.is_allowed(result.url):
        return "the lists of domains leave it out"
    try:
        page = await read_source(await fetcher.fetch(result.url), lists, result.title, result.date)
    except (SourceError, DeadlineError) as exc:
        return str(exc)
    allowed = lists.is_allowed(page.url)
    return replace(page, blocks=()) if allowed else f"leads to {page.url}, which the lists of domains exclude"
