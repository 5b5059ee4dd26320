"""The graph for LangGraph's own server, which brings its own checkpointer. `langgraph.json` names this factory."""

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


async def make_graph() -> "CompiledStateGraph[Any, Any, Any, Any]":
    """The graph over the configured providers, with the samples indexed; built off the event loop."""
    return await asyncio.to_thread(_build)


def _build() -> "CompiledStateGraph[Any, Any, Any, Any]":
    from agent.building import build_providers
    from agent.graph import build_graph
    from agent.samples import index_samples
    from agent.settings import load_settings
    from tools.ingest.ingest import Ingester
    from tools.store.database import Database
    from tools.store.store import Store

    settings = load_settings()
    store = Store(Database(settings.database_path))
    providers = build_providers(settings, store)
    encoder = providers.search.encoder
    index_samples(store, Ingester(store, providers.search, encoder), encoder.name)
    return build_graph(providers)
