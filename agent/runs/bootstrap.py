"""What every way to the agent is made of: the store of a data directory, its indexes, and the providers over it; and
how a question becomes a run: the run's usual options, what is refused before it begins, and its first state.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from agent.answer.followups import initial_state
from agent.answer.model import Answer
from agent.models.from_settings import build_encoder, build_search
from agent.models.providers import Providers
from agent.options import REMOTE_PATIENCE, Depth, RunOptions, check_answerable, check_question
from agent.runs.store import RunRow
from agent.samples import calibration_pairs, index_samples
from agent.settings import Settings, load_settings
from agent.state import RunState
from tools.documents.sandbox import ReaderLimits
from tools.errors import SteelmanError
from tools.models.cache import VectorCache
from tools.models.judges.judge import Judge
from tools.store.database import Database
from tools.store.store import SAMPLES, Store, check_encoder

if TYPE_CHECKING:
    from agent.runs.service import Runs
    from tools.models.encoders import Encoder
    from tools.store.hybrid import HybridSearch

_LOG = logging.getLogger("steelman.store")
BuildProviders = Callable[[Settings, Store], Providers]


@dataclass(frozen=True)
class AgentParts:
    """The open store and the providers over it."""

    settings: Settings
    database: Database
    store: Store
    providers: Providers

    def index_samples(self) -> None:
        """Brings the collection of samples up to date; a glance when nothing changed."""
        index_samples(self.store, self.providers.search)

    async def aclose(self) -> None:
        """Closes the providers' connections and the database."""
        try:
            await self.providers.aclose()
        finally:
            self.database.close()


def reading_limits(settings: Settings) -> ReaderLimits:
    """What reading one file may take."""
    return ReaderLimits(
        seconds=settings.read_seconds,
        megabytes=settings.read_megabytes,
        more_time="STEELMAN_READ_SECONDS allows more.",
        more_memory="STEELMAN_READ_MEGABYTES allows more.",
    )


def open_parts(settings: Settings, build: BuildProviders | None = None, *, samples: bool = False) -> AgentParts:
    """Opens the store and builds the providers (by `build`, else those that the settings turn on), which takes seconds;
    `samples`: and indexes the samples.

    Raises SettingsError for settings that cannot be used, StoreError for data that cannot.
    """
    if build is None:
        from agent.runs.build import build_providers  # with LangGraph, which only a run needs

        build = build_providers
    database = Database(settings.database_path)
    try:
        store = Store(database)
        parts = AgentParts(settings, database, store, build(settings, store))
        finish_removals(store, parts.providers.search)
        if samples:
            parts.index_samples()
        return parts
    except BaseException:
        database.close()
        raise


def build_own_judge(settings: Settings) -> Judge:
    """The judge of this process: the embedded one, or the model that the settings name, calibrated on the samples.
    Raises SettingsError, ModelError."""
    from tools.models.judges.embedded import load_judge

    embedded, (kind, _, model) = load_judge(), settings.judge.partition(":")
    if kind != "hub":
        return embedded
    from tools.models.judges.hub import HubJudge

    judge = HubJudge(model, embedded)
    judge.calibrate(calibration_pairs, VectorCache(settings.cache_dir / "cache.db"))
    return judge


def open_store() -> tuple[Store, Settings]:
    """The store of the settings in force, without any provider."""
    settings = load_settings()
    store = Store(Database(settings.database_path))
    if store.changes.unfinished():
        open_indexes()[1].close()
    return store, settings


def open_indexes() -> "tuple[Store, HybridSearch, Encoder]":
    """The store with its indexes and the encoder that fills them, without the providers of a run."""
    from tools.models.encoders import load_encoder

    settings = load_settings()
    store = Store(Database(settings.database_path))
    encoder = build_encoder(settings, load_encoder())
    search = build_search(settings, store, encoder)
    finish_removals(store, search)
    return store, search, encoder


def finish_removals(store: Store, search: "HybridSearch") -> None:
    """Removes from the indexes what a killed command removed from the store alone. If that fails, it warns, and the
    next command tries again."""
    if not store.changes.unfinished():
        return
    try:
        search.refresh()
        store.finished_removal = True
        _LOG.warning("A removal that an earlier command began is finished now.")
    except SteelmanError as exc:
        _LOG.warning("The indexes still hold what an earlier command removed from the store: %s", exc)


USER_COLLECTION = "mine"
"""The collection that `ingest` fills by default."""


def default_places(opened: "Runs | AgentParts", person: str = "", before: RunRow | None = None) -> dict[str, Any]:
    """Where a question is searched that names no place, as options of a run: the places of the run `before`, which it
    follows up on; else every collection of the user's own that holds a document. The samples are a demo, searched only
    while there is no such collection. `person`: whose collections count as own, besides everybody's.

    A collection of another encoder is left out while there are others; alone it is named, and refused with the remedy.
    """
    if before:
        options = RunOptions.from_dict(before.options)
        return {"collections": options.collections, "web": options.web, "domains": options.domains}
    own = [c for c in opened.store.of(person).collections() if c.documents and c.name != SAMPLES]
    fitting = [c.name for c in own if c.encoder == opened.providers.search.encoder.name]
    return {"collections": tuple(fitting or [c.name for c in own] or [SAMPLES])}


def default_options(
    opened: "Runs | AgentParts",
    depth: Depth = "normal",
    *,
    person: str = "",
    before: RunRow | None = None,
    **changes: Any,
) -> RunOptions:
    """The options of a depth with some of them changed: `default_places`, and time for servers."""
    usual = default_places(opened, person, before)
    if opened.settings.deadline:
        usual["deadline_seconds"] = opened.settings.deadline
    elif opened.providers.remotes:
        usual["deadline_seconds"] = REMOTE_PATIENCE * RunOptions.of(depth).deadline_seconds
    return RunOptions.of(depth, **usual | changes)


async def prepare_run(
    question: str,
    options: RunOptions,
    providers: Providers,
    earlier: Sequence[str],
    answers: Callable[[], Sequence[Answer]],
    *,
    in_thread: Callable[..., Awaitable[Any]],
    person: str = "",
) -> RunState:
    """What the graph begins with; its `question` is the one that was asked with its white space folded.

    `earlier`: questions asked before, oldest first. `answers`: reads those of the thread, oldest first. `in_thread`:
    calls a function that reads files in a thread, as `asyncio.to_thread` does. `person`: whose collections may be
    searched besides everybody's.

    Raises QuestionError, UnknownCollectionError, EncoderMismatchError, and SettingsError for options that cannot be or
    for a run of which nothing may leave this machine and that could not do without what does.
    """
    options.check()
    english_only = providers.english_only
    question = await in_thread(partial(check_question, question, english_only=english_only))
    if not options.web:
        providers.check_offline()
    state: RunState = await in_thread(lambda: initial_state(question, earlier, answers()))
    if english_only and "framing" not in state:  # rules know at once; a model is asked in the run itself
        state["framing"] = await providers.frame(question, state["earlier"])
        check_answerable(state["framing"]["form"], question)
    for collection in options.collections:
        _, made_by = await in_thread(providers.store.of(person).collection, collection)
        check_encoder(collection, made_by, providers.search.encoder.name)
    return state
