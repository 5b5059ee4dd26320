"""Asks the agent through its service, with a temporary data folder and the usual caches.

A question is asked over all documents and, with `--missing`, without the documents of one side. Documents are divided
into collections by the questions that exclude them, so nothing is indexed twice.
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
from agent.runs.bootstrap import default_options, open_parts
from agent.runs.build import build_providers
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
"""Seconds for an answer without a configured deadline, so that a busy machine does not change the measures."""
Build = Callable[[Settings, Store], Providers]
_IN_FORCE = (
    *("provider", "model", "model_expand", "model_queries", "model_write", "temperature"),
    *("judge", "judge_model", "judge_threshold", "encoder", "embeddings_model", "deadline"),
)
PLAIN, MISSING = "plain", "missing"


@dataclass(frozen=True, slots=True)
class AgentQuestion:
    """A question to the agent. left_out: the side whose gold documents are excluded."""

    case: Case
    left_out: Side | None = None

    @property
    def variant(self) -> str:
        return MISSING if self.left_out else PLAIN

    @property
    def key(self) -> str:
        return f"{self.case.key} [{self.variant}]"


def plan(cases: Sequence[Case], missing: bool, seed: int) -> list[AgentQuestion]:
    """The questions to ask. The excluded side alternates; a question that may be worded from either pole has none."""
    asks: list[AgentQuestion] = []
    sided = 0
    for case in cases:
        asks.append(AgentQuestion(case))
        both = len(case.sides) == len(SIDES)
        if missing and both and not case.either_way:
            asks.append(AgentQuestion(case, SIDES[(sided + seed) % len(SIDES)]))
        sided += both
    return asks


Collections = dict[frozenset[str], list[SourceDocument]]
"""Documents by the keys of the questions that exclude them."""


def plan_collections(documents: Sequence[SourceDocument], asks: Sequence[AgentQuestion]) -> Collections:
    """One collection for each set of questions that exclude the same documents."""
    without: dict[str, set[str]] = {}
    for ask in asks:
        for external_id in ask.case.gold[ask.left_out] if ask.left_out else ():
            without.setdefault(external_id, set()).add(ask.key)
    found: Collections = {}
    for document in documents:
        found.setdefault(frozenset(without.get(document.external_id, ())), []).append(document)
    return found


def in_force(settings: Settings) -> Record:
    """The settings that determine answers. The web is off, because the sides of its pages are unknown."""
    return {name: getattr(settings, name) for name in _IN_FORCE} | {"web": "off"}


async def ask_all(
    asks: Sequence[AgentQuestion],
    documents: Sequence[SourceDocument],
    records: Records,
    settings: Settings,
    parallel: int,
    build: Build = build_providers,
) -> None:
    """Adds the missing records: the answer with its cited texts, or the failure."""
    waiting = [a for a in asks if a.key not in records.done]
    if not waiting:
        return
    collections = plan_collections(documents, waiting)
    with _isolated(settings) as isolated:
        async with Runs(isolated, build) as runs:
            await asyncio.to_thread(_ingest, runs, collections, settings.cache_dir / "evals.db")
            asked = {ask.key: partial(_answer, runs, ask, collections) for ask in asks}
            await ask_each(asked, records, parallel, "answer")


@asynccontextmanager
async def providers_of(settings: Settings, build: Build = build_providers) -> AsyncIterator[Providers]:
    """The configured providers over an empty store."""
    with _isolated(settings) as isolated:
        async with aclosing(await asyncio.to_thread(open_parts, isolated, build)) as parts:
            yield parts.providers


async def _answer(runs: Runs, ask: AgentQuestion, collections: Collections) -> Record:
    question = ask.case.question
    record: Record = {"case": ask.case.key, "question": question, "variant": ask.variant, "asked": question}
    record["left_out"] = ask.left_out
    names = tuple(_name(number) for number, without in enumerate(collections) if ask.key not in without)
    try:
        options = default_options(runs, collections=names, deadline_seconds=runs.settings.deadline or DEADLINE)
        answer = await runs.answer(await runs.start(question, options))
        return record | {"answer": answer.model_dump(), "passages": await _cited(runs, answer)}
    except SteelmanError as exc:
        return record | {"failed": str(exc)}


async def _cited(runs: Runs, answer: Answer) -> dict[str, str]:
    """The text of each passage in a citation or response, by its id."""
    ids = {i for c in answer.citations for i in (c.passage_id, *(q.passage_id for q in c.more))}
    ids |= {r.thesis.passage_id for p in answer.perspectives for group in p.groups for r in group.responses}
    found = await asyncio.to_thread(runs.providers.passages, ids)
    return {str(i): p.text for i, p in sorted(found.items())}


@contextmanager
def _isolated(settings: Settings) -> Iterator[Settings]:
    """The settings with a temporary data folder that has the usual caches, without the web and without servers."""
    values: dict[str, Any] = {name: getattr(settings, name) for name in Settings.model_fields}
    settings.cache_dir.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="steelman-evals-", ignore_cleanup_errors=True) as folder:
        Path(folder, "cache").symlink_to(settings.cache_dir.absolute(), target_is_directory=True)
        yield Settings(**values | {"data_dir": Path(folder), "web": "off", "checkpoint_url": "", "chroma_url": ""})


def _name(number: int) -> str:
    return f"collection-{number}"


def _ingest(runs: Runs, collections: Collections, cache: Path) -> None:
    search = runs.providers.search
    ingester = Ingester(runs.store, search, CachedEncoder(search.encoder, VectorCache(cache)))
    for number, documents in enumerate(progress(collections.values(), unit="collection")):
        ingester.ingest(documents, _name(number))
