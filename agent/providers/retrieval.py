"""Builds what retrieves passages: the encoder, the search over the store, the re-ranker and the web search."""

from agent.inference import Models
from agent.providers.websearch import WebSearch
from agent.settings import Settings
from tools.inference.cache import TextCache
from tools.inference.encoders.encoder import Encoder
from tools.inference.encoders.endpoint import EndpointEncoder
from tools.inference.encoders.transformers import Reranker, TransformersEncoder
from tools.store.dense_server import DenseServer
from tools.store.hybrid import HybridSearch
from tools.store.store import Store
from tools.web.domains import DomainLists
from tools.web.duckduckgo import DuckDuckGo
from tools.web.engines import SearchEngine
from tools.web.fetch import PageFetcher
from tools.web.paged import SearXng, Serper
from tools.web.tavily import Tavily

_MAX_FETCHES = 32  # concurrent ones, of all runs together; reading a page is mostly waiting
_NO_KEY = "none"  # what is sent to an engine of one's own that wants no key


def build_encoder(settings: Settings, embedded: Encoder) -> Encoder:
    """The encoder of the dense index and of queries; `embedded` where no other is set. Raises SettingsError,
    ModelError."""
    if settings.embeddings_url:
        return EndpointEncoder(
            settings.embeddings_url,
            settings.embeddings_model,
            settings.embeddings_api_key.get_secret_value(),
            query_prompt=settings.encoder_query_prompt,
            document_prompt=settings.encoder_document_prompt,
            batch=settings.embeddings_batch,
        )
    if not settings.encoder:
        return embedded
    return TransformersEncoder(
        settings.encoder,
        query_prompt=settings.encoder_query_prompt,
        document_prompt=settings.encoder_document_prompt,
    )


def build_search(settings: Settings, store: Store, encoder: Encoder) -> HybridSearch:
    """The search over the store: its indexes in this process, or the dense one on a Chroma server."""
    dense, url = None, settings.chroma_url
    if url:
        dense = DenseServer(url, store.store_id(), token=settings.chroma_token.get_secret_value())
    embedded = not settings.embeddings_url and not settings.encoder  # no other encoder compares sentences
    return HybridSearch(store, settings.index_dir, encoder, dense, keeps_sentences=embedded)


def build_reranker(settings: Settings) -> Reranker | None:
    """The cross-encoder that re-ranks retrieved passages; None without one. Raises ModelError."""
    return Reranker(settings.reranker) if settings.reranker else None


def build_engine(settings: Settings) -> SearchEngine | None:
    """The search engine that is on; None without one."""
    tavily, serper = settings.tavily_api_key.get_secret_value(), settings.serper_api_key.get_secret_value()
    name: str = settings.web
    if name == "auto":
        known = {"tavily": tavily or settings.tavily_base_url, "serper": serper, "searxng": settings.searxng_url}
        name = next((engine for engine, given in known.items() if given), "off")
    match name:
        case "tavily":
            key, address = tavily or _NO_KEY, settings.tavily_base_url
            return Tavily(key, address=address) if address else Tavily(key)
        case "serper":
            return Serper(serper)
        case "searxng":
            return SearXng(settings.searxng_url)
        case "ddgs":
            return DuckDuckGo()
    return None


def build_web(settings: Settings, store: Store, models: Models) -> WebSearch | None:
    """The web search that is on; None without one."""
    if (engine := build_engine(settings)) is None:
        return None
    return WebSearch(
        engine=engine,
        fetcher=PageFetcher(concurrency=_MAX_FETCHES, trust_proxy=settings.trust_proxy),
        lists=DomainLists.load(settings.domains),
        store=store,
        models=models,
        cache=TextCache(settings.cache_dir / "web.db"),
        required=settings.web != "auto",
    )
