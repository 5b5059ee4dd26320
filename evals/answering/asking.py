"""Asks the agent through its service, with a temporary data folder and the usual caches."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from agent.runs.bootstrap import default_options
from agent.runs.build import build_providers
from agent.runs.service import Runs
from agent.settings import Settings
from agent.stage_interfaces import Providers
from evals.datasets.cases import Case
from evals.models import CachedEncoder
from evals.reports.records import Record, Records
from evals.suite import ask_each
from tools.documents.ingest import Ingester
from tools.errors import SteelmanError
from tools.models.cache import VectorCache
from tools.passages import SourceDocument
from tools.store.store import Store

DEADLINE = 300.0
"""Seconds for an answer if the settings name no deadline. The limit is high, so that a busy machine does not change the
measures."""
Build = Callable[[Settings, Store], Providers]
_IN_FORCE = (
    *("provider", "model", "model_expand", "model_queries", "model_write", "temperature"),
    *("judge", "judge_model", "judge_threshold", "encoder", "embeddings_model", "deadline"),
)
_COLLECTION = "documents"


def in_force(settings: Settings) -> Record:
    """Returns the settings that determine answers. The web is off, because the sides of web pages are unknown."""
    return {name: getattr(settings, name) for name in _IN_FORCE} | {"web": "off"}


@asynccontextmanager
async def isolated_runs(settings: Settings, build: Build = build_providers) -> AsyncIterator[Runs]:
    """Opens the agent in a temporary data folder, without the web and without servers. The agent uses the configured
    caches."""
    settings.cache_dir.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="steelman-evals-", ignore_cleanup_errors=True) as folder:
        Path(folder, "cache").symlink_to(settings.cache_dir.absolute(), target_is_directory=True)
        apart = {"data_dir": Path(folder), "web": "off", "database_url": "", "chroma_url": ""}
        async with Runs(settings.model_copy(update=apart), build) as runs:
            yield runs


async def ask_all(
    runs: Runs, cases: Sequence[Case], documents: Sequence[SourceDocument], records: Records, parallel: int
) -> None:
    """Asks the questions that have no record. Stores a record for each: the answer with its cited texts, or the
    failure."""
    if waiting := [case for case in cases if case.key not in records.done]:
        await asyncio.to_thread(_ingest, runs, documents)
        asked = {case.key: partial(_answer, runs, case.question) for case in waiting}
        await ask_each(asked, records, parallel, "answer", SteelmanError)


async def _answer(runs: Runs, question: str) -> Record:
    """Returns the answer, and the text of each cited passage by id."""
    options = default_options(runs, collections=(_COLLECTION,), deadline_seconds=runs.settings.deadline or DEADLINE)
    answer = await runs.answer(await runs.start(question, options))
    ids = {i for c in answer.citations for i in (c.passage_id, *(q.passage_id for q in c.more))}
    found = await asyncio.to_thread(runs.providers.passages, ids)
    return {"answer": answer.model_dump(), "passages": {str(i): p.text for i, p in sorted(found.items())}}


def _ingest(runs: Runs, documents: Sequence[SourceDocument]) -> None:
    search, cache = runs.providers.search, VectorCache(runs.settings.cache_dir / "evals.db")
    Ingester(runs.store, search, CachedEncoder(search.encoder, cache)).ingest(documents, _COLLECTION)
