"""Builds chat models, judge, encoder, indexes and web search from the settings, without a request."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from agent.providers.inference import Models
from agent.providers.websearch import WebSearch
from agent.settings import DEFAULT_MODEL, Settings, split_list
from tools.errors import SettingsError
from tools.models.cache import TextCache
from tools.models.chat.model import ChatModel
from tools.models.chat.vendors import COMPATIBLE, Vendor, vendor_of
from tools.models.encoders import Encoder, EndpointEncoder, TransformersEncoder, card_languages, find_model
from tools.models.judges.batch import BatchJudge
from tools.models.judges.judge import Judge
from tools.models.judges.remote import ChatJudge, ScoreJudge, read_judge_prompt
from tools.models.servers import price_of
from tools.net.http import is_local
from tools.passages import EVIDENCE_KINDS
from tools.store.dense_server import DenseServer
from tools.store.hybrid import HybridSearch
from tools.store.store import Store
from tools.web.domains import DomainLists
from tools.web.fetch import PageFetcher
from tools.web.source import Source

STAGES = ("expand", "queries", "write")
GROUP = "steelman.sources"
OWN = {
    "openalex": "tools.web.studies:OpenAlex",
    "europepmc": "tools.web.studies:EuropePmc",
    "semanticscholar": "tools.web.studies:SemanticScholar",
    "gdelt": "tools.web.news:Gdelt",
    "hackernews": "tools.web.discussion:HackerNews",
    "stackexchange": "tools.web.discussion:StackExchange",
    "wikipedia": "tools.web.encyclopedia:Wikipedia",
}
KEYED = ("semanticscholar",)
"""Sources that a key turns on."""
_VARIABLES = ", ".join(f"STEELMAN_MODEL_{stage.upper()}" for stage in STAGES)


def uses_chat(settings: Settings) -> bool:
    """Whether chat models serve stages."""
    return settings.provider != "embedded" and settings.chat_is_set


def build_chat_models(settings: Settings) -> dict[str, ChatModel]:
    """Returns each stage's chat model; stages may share one object. Raises as `model_by_name` does."""
    made = {
        stage: model_by_name(settings, getattr(settings, f"model_{stage}"), f"STEELMAN_MODEL_{stage.upper()}")
        for stage in STAGES
    }
    shared = {model.name: model for model in reversed(made.values())}
    return {stage: shared[model.name] for stage, model in made.items()}


def model_by_name(settings: Settings, own: str, variable: str) -> ChatModel:
    """Returns the model that the variable names, or the default model.

    Raises SettingsError for a missing key, server or package, or an unknown vendor.
    """
    vendor, model, url, key = resolve_server(settings, own, variable)
    vendor.check()
    return open_model(settings, vendor, model, url, key)


def open_model(settings: Settings, vendor: Vendor, model: str, url: str, key: str) -> ChatModel:
    """Returns the vendor's model at the address. Only reply schemas for local servers limit lengths."""
    price = price_of(vendor.named(model), settings.prices)
    lengths = is_local(url) and vendor.prefix in ("", "ollama")
    heat, most = settings.temperature, settings.model_requests
    return ChatModel(
        model, vendor=vendor, url=url, key=key, price=price, temperature=heat, lengths=lengths, requests=most
    )


def resolve_server(settings: Settings, own: str, variable: str) -> tuple[Vendor, str, str, str]:
    """Returns vendor, model name, address and key. Raises SettingsError."""
    name = own or settings.model or DEFAULT_MODEL
    named = f"{variable if own or not settings.model else 'STEELMAN_MODEL'} is '{name}'"
    vendor, model = vendor_of(name)
    if vendor is COMPATIBLE:
        _check_compatible(settings, name, named, own or settings.model)
        return vendor, model, settings.openai_base_url or vendor.url, settings.openai_api_key.get_secret_value()
    url, key = {
        "anthropic": (settings.anthropic_base_url, settings.anthropic_api_key.get_secret_value()),
        "google_genai": (settings.google_gemini_base_url, settings.google_api_key.get_secret_value()),
        "ollama": (settings.ollama_host, ""),
    }[vendor.prefix]
    if vendor.key and not key and not url:
        raise SettingsError(f"{named}: set {vendor.key}, or {vendor.address} for a server of your own.")
    return vendor, model, url or vendor.url, key


def _check_compatible(settings: Settings, name: str, named: str, given: str) -> None:
    prefix, colon, _ = name.removeprefix("openai:").partition(":")
    if colon and prefix != "ft" and not settings.openai_base_url:  # only OpenAI's fine-tuned models have a prefix
        raise SettingsError(
            f"{named}, and '{prefix}' is not offered by name: set OPENAI_BASE_URL to its OpenAI-compatible address, "
            "OPENAI_API_KEY to its key, and the model as it is called there."
        )
    if settings.openai_api_key.get_secret_value() or settings.openai_base_url:
        return
    if not given:
        raise SettingsError(f"no model is named for every stage: set STEELMAN_MODEL, or each stage's ({_VARIABLES}).")
    raise SettingsError(f"{named}: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own.")


def build_judge(settings: Settings) -> Judge | None:
    """Returns the remote judge, or None. Raises SettingsError for an unusable or unused prompt file."""
    judge = _remote_judge(settings)
    if settings.judge_prompt and not isinstance(judge, ChatJudge):
        advice = "Set STEELMAN_JUDGE_URL and STEELMAN_JUDGE_MODEL to one, or leave the prompt out."
        raise SettingsError(f"STEELMAN_JUDGE_PROMPT is for a judge that is a chat model. {advice}")
    return judge


def _remote_judge(settings: Settings) -> Judge | None:
    if settings.provider == "embedded" or settings.judge.startswith(("embedded", "hub:")):
        return None
    if judges_in_batches(settings):
        return BatchJudge(batch_model(settings), threshold=settings.judge_threshold)
    if settings.judge == "auto" and not settings.judge_url:
        return None
    url, model, key = _judge_server(settings)
    options: dict[str, Any] = {"url": url, "model": model, "key": key, "price": price_of(model, settings.prices)}
    options |= {"threshold": settings.judge_threshold, "requests": settings.model_requests}
    if settings.judge == "score" or url.endswith("/score"):
        return ScoreJudge(**options)
    return ChatJudge(prompt=read_judge_prompt(settings.judge_prompt) if settings.judge_prompt else None, **options)


def judges_in_batches(settings: Settings) -> bool:
    """Whether a chat model judges many passages per call: if set, or if chat models serve stages without a judge."""
    if settings.provider == "embedded":
        return False
    return settings.judge == "batch" or (settings.judge == "auto" and not settings.judge_url and uses_chat(settings))


def batch_model(settings: Settings) -> ChatModel:
    """Returns the model that judges in batches: the model at the judge's address if one is set, otherwise the judge's
    or the default model, otherwise the model of `write`."""
    if settings.judge_url:
        url, model, key = _judge_server(settings)
        return open_model(settings, COMPATIBLE, model, url, key)
    if settings.judge_model or settings.model:
        return model_by_name(settings, settings.judge_model, "STEELMAN_JUDGE_MODEL")
    return model_by_name(settings, settings.model_write, "STEELMAN_MODEL_WRITE")  # no default model is set


def _judge_server(settings: Settings) -> tuple[str, str, str]:
    """Returns address, model and key; by default those of the chat model."""
    if settings.judge_url:
        return settings.judge_url, settings.judge_model, settings.judge_api_key.get_secret_value()
    vendor, model, url, key = resolve_server(settings, settings.judge_model, "STEELMAN_JUDGE_MODEL")
    if vendor.prefix:
        raise SettingsError(
            f"STEELMAN_JUDGE is 'chat', which needs log-probabilities, and {vendor.named(model)} gives none here: set "
            "STEELMAN_JUDGE=batch, or STEELMAN_JUDGE_URL and STEELMAN_JUDGE_MODEL to an OpenAI-compatible server."
        )
    return url, model, key


_MAX_FETCHES = 32  # pages fetched at once by all runs together; a fetch mostly waits


def build_encoder(settings: Settings, embedded: Encoder) -> Encoder:
    """Returns the encoder of index and queries; default `embedded`. Raises SettingsError, ModelError."""
    if settings.embeddings_url:
        return EndpointEncoder(
            settings.embeddings_url,
            settings.embeddings_model,
            settings.embeddings_api_key.get_secret_value(),
            query_prompt=settings.encoder_query_prompt,
            document_prompt=settings.encoder_document_prompt,
            batch=settings.embeddings_batch,
            requests=settings.model_requests,
        )
    if not settings.encoder:
        return embedded
    return TransformersEncoder(
        settings.encoder, query_prompt=settings.encoder_query_prompt, document_prompt=settings.encoder_document_prompt
    )


def encoder_languages(settings: Settings) -> frozenset[str]:
    """Returns the languages of the encoder that is set (ISO 639-1, or 'all'), from the setting or the model's card. The
    embedded encoder reads English only."""
    if settings.encoder_languages:
        return frozenset(split_list(settings.encoder_languages))
    return card_languages(find_model(settings.encoder)) if settings.encoder else frozenset()


def build_search(settings: Settings, store: Store, encoder: Encoder) -> HybridSearch:
    """Returns the search. Its indexes are in this process, or its dense index is on a Chroma server."""
    token, url = settings.chroma_token.get_secret_value(), settings.chroma_url
    dense = DenseServer(url, store.store_id(), token=token) if url else None
    return HybridSearch(store, settings.data_dir / "index", encoder, dense)


def build_engine(settings: Settings) -> Source | None:
    """Returns the search engine, or None."""
    tavily, serper = settings.tavily_api_key.get_secret_value(), settings.serper_api_key.get_secret_value()
    name: str = settings.web
    if name == "auto":
        known = {"tavily": tavily or settings.tavily_base_url, "serper": serper, "searxng": settings.searxng_url}
        name = next((engine for engine, given in known.items() if given), "off")
    if name == "off":
        return None
    from tools.web.engines import DuckDuckGo, SearXng, Serper, Tavily  # with their libraries

    match name:
        case "tavily":
            key, address = tavily or "none", settings.tavily_base_url  # a private server may need no key
            return Tavily(key, address=address) if address else Tavily(key)
        case "serper":
            return Serper(serper)
        case "searxng":
            return SearXng(settings.searxng_url)
    return DuckDuckGo()


def build_fetcher(settings: Settings) -> PageFetcher:
    """Returns the reader of pages. Raises SettingsError."""
    if settings.fetch == "playwright":
        try:
            from tools.web.browser import BrowserFetcher
        except ModuleNotFoundError as exc:
            how = "STEELMAN_FETCH needs the extra 'browser': .venv/bin/pip install playwright"
            raise SettingsError(how) from exc
        return BrowserFetcher(settings.chromium, concurrency=_MAX_FETCHES, trust_proxy=settings.trust_proxy)
    return PageFetcher(concurrency=_MAX_FETCHES, trust_proxy=settings.trust_proxy)


def build_sources(settings: Settings) -> tuple[list[Source], list[str]]:
    """Returns the sources that the settings turn on, the search engine first, and the errors of those that cannot be
    used. Raises SettingsError for a source that is not installed."""
    engine = build_engine(settings)
    sources, unusable = [engine] if engine else [], list[str]()
    for name in sources_on(settings):
        try:
            sources.append(build_source(settings, name))
        except SettingsError as exc:
            unusable.append(str(exc))
    return sources, unusable


def build_source(settings: Settings, name: str) -> Source:
    """Returns an installed source. Raises SettingsError if it cannot be used."""
    if name.startswith("mcp:"):
        from tools.web.mcp_source import McpSource  # takes a second

        return McpSource(name[4:], settings.mcp_servers[name[4:]])
    own = {"contact": settings.contact, "address": settings.source_places.get(name, "")}
    keys = {
        "semanticscholar": settings.semantic_scholar_api_key,
        "openalex": settings.openalex_api_key,
        "stackexchange": settings.stackexchange_api_key,
    }
    own["key"] = keys[name].get_secret_value() if name in keys else ""
    return open_source(installed_sources()[name], {k: v for k, v in own.items() if v})


def sources_on(settings: Settings) -> list[str]:
    """Returns the sources that are on besides the engine. Raises SettingsError for a name that is not installed."""
    installed, named = installed_sources(), split_list(settings.sources.lower())
    if wrong := settings.source_places.keys() - {*OWN}:
        raise SettingsError(f"STEELMAN_SOURCE_ADDRESSES names '{min(wrong)}'. It may name: {', '.join(OWN)}.")
    if unknown := [name for name in named if name not in ("all", *map(str.lower, installed))]:
        raise SettingsError(
            f"STEELMAN_SOURCES names '{unknown[0]}', which is not installed. There are: all, {', '.join(installed)}."
        )
    key = settings.semantic_scholar_api_key.get_secret_value()
    if not key and (keyless := [name for name in named if name in KEYED]):
        raise SettingsError(f"STEELMAN_SOURCES names '{keyless[0]}': set SEMANTIC_SCHOLAR_API_KEY.")
    every = map(str.lower, installed) if "all" in named else ()
    wanted = {*named, *every} - {*KEYED} | {*(KEYED if key else ())}
    return [*(name for name in installed if name.lower() in wanted), *(f"mcp:{name}" for name in settings.mcp_servers)]


def build_web(settings: Settings, store: Store, models: Models) -> WebSearch:
    """Returns the search of the internet; without sources it only reads pages that a question names."""
    sources, unusable = build_sources(settings)
    return WebSearch(
        sources=tuple(sources),
        unusable=tuple(unusable),
        fetcher=build_fetcher(settings),
        lists=DomainLists.load(settings.domains),
        store=store,
        models=models,
        cache=TextCache(settings.cache_dir / "web.db"),
        required=settings.web != "auto" and settings.web != "off",
    )


def installed_sources() -> dict[str, EntryPoint]:
    """The sources by name, Steelman's own first. A package cannot replace one of these.

    https://packaging.python.org/en/latest/specifications/entry-points/ describes entry points."""
    own = {name: EntryPoint(name, value, GROUP) for name, value in OWN.items()}
    return own | {point.name: point for point in entry_points(group=GROUP) if point.name not in own}


def open_source(point: EntryPoint, own: Mapping[str, str]) -> Source:
    """The source of an entry point. own: arguments of Steelman's own sources; others take none.

    Raises SettingsError for a source that cannot be used, whatever its package raises.
    """
    try:
        made = point.load()(**own if point.name in OWN else {})
    except (Exception, SystemExit) as exc:
        raise SettingsError(f"The source '{point.name}' cannot be used ({type(exc).__name__}: {exc}).") from exc
    if not isinstance(made, Source) or made.kind not in EVIDENCE_KINDS[:-1]:
        wrong = "it is no tools.web.source.Source" if not isinstance(made, Source) else f"its kind is {made.kind!r}"
        raise SettingsError(f"The source '{point.name}' cannot be used ({wrong}).")
    made.name = point.name
    return made
