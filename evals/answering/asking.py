"""Asks the agent through its service, over a data folder that lasts as long as the asking, with the usual caches.

A question is asked as it is, and without one side's documents. For that nothing is indexed twice: documents lie in
several collections, divided by which questions leave them out, and a question is asked over all but its own.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent.answer.model import Answer
from agent.models.providers import Providers
from agent.runs.build import build_providers
from agent.runs.parts import open_parts, usual_options
from agent.runs.service import Runs
from agent.settings import Settings
from evals.datasets.cases import SIDES, Case, Side
from evals.models import CachedEncoder
from evals.reports.records import Record, Records
from evals.suite import ask_each, progress
from tools.documents.ingest import Ingester
from tools.errors import SteelmanError
from tools.models.cache import VectorCache
from tools.passages import SourceDocument
from tools.store.store import Store

DEADLINE = 300.0
"""Seconds an answer may take where none are set: how busy the machine is should not show in the measures."""
Build = Callable[[Settings, Store], Providers]
_IN_FORCE = (
    "provider",
    *("model", "model_expand", "model_queries", "model_write", "temperature"),
    *("judge", "judge_model", "judge_threshold", "encoder", "embeddings_model", "deadline"),
)
PLAIN, MISSING = "plain", "missing"


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to the agent. `left_out` is the side whose gold documents it goes without."""

    case: Case
    left_out: Side | None = None

    @property
    def variant(self) -> str:
        return MISSING if self.left_out else PLAIN

    @property
    def key(self) -> str:
        return f"{self.case.key} [{self.variant}]"


def plan(cases: Sequence[Case], missing: bool, seed: int) -> list[Ask]:
    """All that is asked, question by question.

    The sides that are left out alternate over the questions that have both, whatever the number of questions; where
    the question may be worded from either pole nobody knows which side would be missing.
    """
    asks: list[Ask] = []
    sided = 0
    for case in cases:
        asks.append(Ask(case))
        both = len(case.sides) == len(SIDES)
        if missing and both and not case.either_way:
            asks.append(Ask(case, SIDES[(sided + seed) % len(SIDES)]))
        sided += both
    return asks


@dataclass(frozen=True, slots=True)
class Shelf:
    """A collection of documents. `without`: the keys of the asks that go without it."""

    name: str
    documents: list[SourceDocument]
    without: frozenset[str]


def plan_shelves(documents: Sequence[SourceDocument], asks: Sequence[Ask]) -> list[Shelf]:
    """One collection for what every question may use, and one for each set of questions that go without."""
    without: dict[str, set[str]] = {}
    for ask in asks:
        for external_id in ask.case.gold[ask.left_out] if ask.left_out else ():
            without.setdefault(external_id, set()).add(ask.key)
    shelves: dict[frozenset[str], list[SourceDocument]] = {}
    for document in documents:
        shelves.setdefault(frozenset(without.get(document.external_id, ())), []).append(document)
    return [Shelf(f"shelf-{number}", held, keys) for number, (keys, held) in enumerate(shelves.items(), start=1)]


def in_force(settings: Settings) -> Record:
    """The settings that decide what the agent answers; the web is off, since the sides of its pages are not known."""
    return {name: getattr(settings, name) for name in _IN_FORCE} | {"web": "off"}


async def ask_all(
    asks: Sequence[Ask],
    documents: Sequence[SourceDocument],
    records: Records,
    settings: Settings,
    parallel: int,
    build: Build = build_providers,
) -> None:
    """Adds a record for each ask that has none: the answer with the texts that it cites, or why it failed."""
    waiting = [a for a in asks if a.key not in records.done]
    if not waiting:
        return
    shelves = plan_shelves(documents, waiting)
    with elsewhere(settings) as apart:
        async with Runs(apart, build) as runs:
            await asyncio.to_thread(_fill, runs, shelves, settings.cache_dir / "evals.db")
            asked = {ask.key: partial(_one, runs, ask, shelves) for ask in asks}
            await ask_each(asked, records, parallel, "answer")


@asynccontextmanager
async def providers_of(settings: Settings, build: Build = build_providers) -> AsyncIterator[Providers]:
    """The providers in force, over a store with nothing in it."""
    with elsewhere(settings) as apart:
        async with aclosing(await asyncio.to_thread(open_parts, apart, build)) as parts:
            yield parts.providers


async def _one(runs: Runs, ask: Ask, shelves: Sequence[Shelf]) -> Record:
    question = ask.case.question
    record: Record = {"case": ask.case.key, "question": question, "variant": ask.variant, "asked": question}
    record["left_out"] = ask.left_out
    collections = tuple(shelf.name for shelf in shelves if ask.key not in shelf.without)
    try:
        options = usual_options(runs, collections=collections, deadline_seconds=runs.settings.deadline or DEADLINE)
        answer = await runs.answer(await runs.start(question, options))
        return record | {"answer": answer.model_dump(), "passages": await _cited(runs, answer)}
    except SteelmanError as exc:
        return record | {"failed": str(exc)}


async def _cited(runs: Runs, answer: Answer) -> dict[str, str]:
    """The stored text of every passage that the answer cites or counts a document for, by its id."""
    ids = {i for c in answer.citations for i in (c.passage_id, *(q.passage_id for q in c.more))}
    ids |= {r.thesis.passage_id for p in answer.perspectives for group in p.groups for r in group.responses}
    found = await asyncio.to_thread(runs.providers.passages, ids)
    return {str(i): p.text for i, p in sorted(found.items())}


@contextmanager
def elsewhere(settings: Settings) -> Iterator[Settings]:
    """The settings with a data folder of its own that has the usual caches, and without what is kept or found outside
    this machine."""
    values: dict[str, Any] = {name: getattr(settings, name) for name in Settings.model_fields}
    settings.cache_dir.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="steelman-evals-", ignore_cleanup_errors=True) as folder:
        Path(folder, "cache").symlink_to(settings.cache_dir.absolute(), target_is_directory=True)
        yield Settings(**values | {"data_dir": Path(folder), "web": "off", "checkpoint_url": "", "chroma_url": ""})


def _fill(runs: Runs, shelves: Sequence[Shelf], cache: Path) -> None:
    search = runs.providers.search
    ingester = Ingester(runs.store, search, CachedEncoder(search.encoder, VectorCache(cache)))
    for shelf in progress(shelves, unit="collection"):
        ingester.ingest(shelf.documents, shelf.name)
