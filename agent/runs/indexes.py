"""What the commands that only touch the store share: the store alone, or with the encoder and the indexes."""

from typing import TYPE_CHECKING

from agent.settings import Settings, load_settings
from tools.store.database import Database
from tools.store.store import Store

if TYPE_CHECKING:
    from tools.inference.encoders.encoder import Encoder
    from tools.store.hybrid import HybridSearch


def open_store() -> tuple[Store, Settings]:
    """The store of the settings in force."""
    settings = load_settings()
    return Store(Database(settings.database_path)), settings


def open_indexes() -> "tuple[Store, HybridSearch, Encoder]":
    """The store with its indexes and the encoder that fills them."""
    from agent.providers.retrieval import build_encoder, build_search
    from tools.inference.encoders.encoder import load_encoder

    store, settings = open_store()
    encoder = build_encoder(settings, load_encoder(settings.cache_dir))
    return store, build_search(settings, store, encoder), encoder
