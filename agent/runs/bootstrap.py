"""Opens the agent (store, indexes, providers), and prepares a run: default options, checks and first state."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from agent.answer.followups import initial_state
from agent.answer.model import Answer
from agent.evidence.coverage import search_store
from agent.options import REMOTE_PATIENCE, Depth, RunOptions, check_answerable, check_question
from agent.providers.from_settings import build_encoder, build_search
from agent.runs.store import RunRow
from agent.samples import calibration_pairs, index_samples
from agent.settings import Settings, load_settings
from agent.stage_interfaces import Providers
from agent.state import FramingState, RunState
from tools.documents.sandbox import ReaderLimits
from tools.errors import SteelmanError
from tools.language.lexicon import respelled
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
    """The open store and its providers."""

    settings: Settings
    database: Database
    store: Store
    providers: Providers

    def index_samples(self) -> None:
        """Updates the collection of samples."""
        index_samples(self.store, self.providers.search)

    async def aclose(self) -> None:
        try:
            await self.providers.aclose()
        finally:
            self.database.close()


def reading_limits(settings: Settings) -> ReaderLimits:
    """Returns the limits for reading one file."""
    return ReaderLimits(
        seconds=settings.read_seconds,
        megabytes=settings.read_megabytes,
        more_time="STEELMAN_READ_SECONDS allows more.",
        more_memory="STEELMAN_READ_MEGABYTES allows more.",
    )


def open_parts(settings: Settings, build: BuildProviders | None = None) -> AgentParts:
    """Opens the store and builds the providers, which takes seconds. build: in place of `build_providers`. Raises
    SettingsError, StoreError."""
    if build is None:
        from agent.runs.build import build_providers  # imports LangGraph, which only a run needs

        build = build_providers
    database = Database(settings.database)
    try:
        store = Store(database)
        parts = AgentParts(settings, database, store, build(settings, store))
        _finish_removals(settings, store, parts.providers.search)
        return parts
    except BaseException:
        database.close()
        raise


def build_own_judge(settings: Settings) -> Judge:
    """Returns the embedded judge, or the user's model that the settings name as 'hub:MODEL', calibrated on the samples.
    Raises SettingsError, ModelError."""
    from tools.models.judges.embedded import load_judge

    embedded, (kind, _, model) = load_judge(), settings.judge.partition(":")
    if kind != "hub":
        return embedded
    from tools.models.judges.hub import HubJudge

    judge = HubJudge(model, embedded)
    judge.calibrate(calibration_pairs, VectorCache(settings.cache_dir / "cache.db"))
    return judge


def open_indexes() -> "tuple[Store, HybridSearch, Encoder]":
    """Returns the store, its indexes and their encoder, without a run's providers."""
    settings = load_settings()
    store = Store(Database(settings.database))
    encoder = open_encoder(settings)
    search = build_search(settings, store, encoder)
    _finish_removals(settings, store, search)
    return store, search, encoder


def open_encoder(settings: Settings) -> "Encoder":
    """Returns the encoder of the indexes. Raises SettingsError, ModelError."""
    from tools.models.encoders import load_encoder

    return build_encoder(settings, load_encoder())


def _finish_removals(settings: Settings, store: Store, search: "HybridSearch") -> None:
    """Removes from the indexes what a killed command removed only from the store. Warns if that fails."""
    if not store.changes.unfinished(settings.data_dir / "index"):
        return
    try:
        search.refresh()
        _LOG.warning("A removal that an earlier command began is finished now.")
    except SteelmanError as exc:
        _LOG.warning("The indexes still hold what an earlier command removed from the store: %s", exc)


USER_COLLECTION = "mine"
"""The default collection of `ingest`."""


def default_places(opened: "Runs | AgentParts", person: str = "", before: RunRow | None = None) -> dict[str, Any]:
    """Returns where to search if a question does not say it: the places of the run `before`, otherwise the user's own
    collections.

    The samples are a demo. They are searched only if the user has no own collection. person: the person whose private
    collections count as own; collections that everybody may search always count. Collections of another encoder are
    left out if there are other collections. Otherwise they are returned, so that the run refuses them and names the
    remedy.
    """
    if before:
        options = RunOptions.from_dict(before.options)
        return {name: getattr(options, name) for name in ("collections", "web", "domains", "sources", "since", "urls")}
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
    """Returns a depth's options with `default_places`, the settings' or servers' deadline, and the changes."""
    usual = default_places(opened, person, before)
    if changes.get("sources") or changes.get("domains") or changes.get("collections"):
        usual["urls"] = ()
    if changes.get("collections") and "mine" not in usual.get("sources", ()):
        usual["sources"] = ()
    if opened.settings.deadline:
        usual["deadline_seconds"] = opened.settings.deadline
    elif opened.providers.remotes:
        usual["deadline_seconds"] = REMOTE_PATIENCE * RunOptions.of(depth).deadline_seconds
    return RunOptions.of(depth, **usual | changes)


async def first_state(
    question: str, earlier: Sequence[str], answers: Sequence[Answer], providers: Providers, options: RunOptions
) -> RunState:
    """Returns the first state, with the framing unless a chat model frames the question. Raises QuestionError."""
    state = initial_state(question, earlier, answers)
    if providers.english_only and "framing" not in state:
        framing = await providers.frame(question, state["earlier"])
        if framing["form"] == "none" and len(question.split()) in _SHORT and options.own_collections:
            framing = await _respelled_framing(question, state["earlier"], providers, options) or framing
        state["framing"] = framing
        check_answerable(state["framing"]["form"], question)
    return state


_SHORT = range(2, 6)  # words of a question that a few slips hide; a longer one has enough other words


async def _respelled_framing(
    question: str, earlier: Sequence[str], providers: Providers, options: RunOptions
) -> FramingState | None:
    """Returns the framing of the question as the nearest documents spell it; None if they have no other spelling."""
    _, passages = await search_store(providers, question, options, "")
    spelled = respelled(question, " ".join(passage.text for passage in passages.values()))
    return await providers.frame(spelled, earlier) if spelled != question else None


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
    """Checks a question and returns the graph's first state; its `question` has white space folded.

    earlier: questions, oldest first. answers: reads the thread's answers. in_thread: runs a blocking function in a
    thread. person: whose collections may be searched. Raises QuestionError, UnknownCollectionError,
    EncoderMismatchError, and SettingsError if an offline run needs a remote service.
    """
    known = providers.models.encoder_languages if providers.english_only else {"all"}
    question = await in_thread(partial(check_question, question, known))
    if not options.web:
        providers.check_offline()
    providers.check_sources(options)
    for collection in options.own_collections:
        _, made_by = await in_thread(providers.store.of(person).collection, collection)
        check_encoder(collection, made_by, providers.search.encoder.name)
    return await first_state(question, earlier, await in_thread(answers), providers, options)
