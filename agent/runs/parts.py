"""What every way to the agent is made of: the store of a data directory, its indexes, and the providers over it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.providers.build import build_providers
from agent.providers.retrieval import build_encoder, build_search
from agent.samples import index_samples
from agent.seams import Providers
from agent.settings import Settings, load_settings
from tools.ingest.limits import Limits
from tools.store.database import Database
from tools.store.store import Store

if TYPE_CHECKING:
    from tools.inference.encoders.encoder import Encoder
    from tools.store.hybrid import HybridSearch

BuildProviders = Callable[[Settings, Store], Providers]


@dataclass(frozen=True)
class Parts:
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


def reading_limits(settings: Settings) -> Limits:
    """What reading one file may take."""
    return Limits(
        seconds=settings.read_seconds,
        megabytes=settings.read_megabytes,
        more_time="STEELMAN_READ_SECONDS allows more.",
        more_memory="STEELMAN_READ_MEGABYTES allows more.",
    )


def open_parts(settings: Settings, build: BuildProviders = build_providers, *, samples: bool = False) -> Parts:
    """Opens the store and builds the providers, which takes seconds; `samples`: and indexes the samples.

    Raises SettingsError for settings that cannot be used, StoreError for data that cannot.
    """
    database = Database(settings.database_path)
    try:
        store = Store(database)
        parts = Parts(settings, database, store, build(settings, store))
        if samples:
            parts.index_samples()
        return parts
    except BaseException:
        database.close()
        raise


def open_store() -> tuple[Store, Settings]:
    """The store of the settings in force, without any provider."""
    settings = load_settings()
    return Store(Database(settings.database_path)), settings


def open_indexes() -> "tuple[Store, HybridSearch, Encoder]":
    """The store with its indexes and the encoder that fills them, without the providers of a run."""
    from tools.inference.encoders.encoder import load_encoder

    store, settings = open_store()
    encoder = build_encoder(settings, load_encoder())
    return store, build_search(settings, store, encoder), encoder
