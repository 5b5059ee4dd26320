"""Builds the providers that the settings turn on; nothing is asked of any server here."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from agent.inference import Models, RemoteJudge
from agent.providers.chats import STAGES, build_chats, chat_model, server_of, uses_chat
from agent.providers.fallback import EMBEDDED, ServedCrux, ServedExpander, ServedFramer, ServedRequerier, ServedWriter
from agent.seams import CruxWriter, Expander, Framer, Providers, Remote, Requerier, Writer
from agent.settings import Settings
from tools.errors import SettingsError
from tools.net.http import is_local, without_login
from tools.store.store import Store

if TYPE_CHECKING:
    from agent.providers.websearch import WebSearch
    from tools.inference.chat.model import ChatModel
    from tools.inference.encoders.encoder import Encoder
    from tools.inference.encoders.reranker import Reranker
    from tools.inference.judges.judge import Judge
    from tools.store.hybrid import HybridSearch
    from tools.web.engines import SearchEngine

    MakeJudge = Callable[[Settings], Judge]

_PAGES_AT_ONCE = 32  # of all runs together; reading one is mostly waiting
_NO_KEY = "none"  # what is sent to an engine of one's own that wants no key
P = TypeVar("P")


def build_providers(settings: Settings, store: Store, own_judge: "MakeJudge | None" = None) -> Providers:
    """The providers in force. Raises SettingsError, ModelError when something that is on cannot be used."""
    from agent.providers.embedded.expanding import EmbeddedExpander
    from agent.providers.embedded.framing import EmbeddedFramer
    from agent.providers.embedded.requerying import EmbeddedRequerier
    from agent.providers.embedded.writing import EmbeddedWriter
    from tools.inference.judges.batch import BatchJudge

    models = _models(settings, store, own_judge or build_own_judge)
    chats = build_chats(settings) if uses_chat(settings) else {}
    judging = {models.remote_judge.model} if isinstance(models.remote_judge, BatchJudge) else set()
    for chat in {*chats.values(), *judging}:
        chat.load()  # what the event loop would wait for at the first call
    framer: Framer = EmbeddedFramer()
    expander: Expander = EmbeddedExpander(models)
    requerier: Requerier = EmbeddedRequerier()
    writer: Writer = EmbeddedWriter(models)
    quoter = writer if chats else None
    if chats:
        framer, expander, requerier, writer = _served(settings, chats, models, framer, expander, requerier, writer)
    web = _web(settings, store, models)
    closers: list[Callable[[], Awaitable[None]]] = [m.aclose for m in set(chats.values())]
    if close_judge := getattr(models.remote_judge, "aclose", None):
        closers.append(close_judge)
    if web:
        closers.append(web.fetcher.aclose)
    search = build_search(settings, store, models.searcher)
    closers.append(partial(asyncio.to_thread, search.close))
    return Providers(
        store=store,
        search=search,
        models=models,
        framer=framer,
        expander=expander,
        requerier=requerier,
        writer=writer,
        quoter=quoter,
        crux=_crux(chats["write"]) if chats else None,
        names=_names(models, chat=bool(chats)),
        web=web,
        reranker=build_reranker(settings),
        english_only=not chats,
        remotes=tuple(_remotes(settings, chats, models, web)),
        closers=tuple(closers),
    )


def _names(models: Models, *, chat: bool) -> dict[str, str]:
    """Who serves what. Stages that a chat model may serve, and the web, are recorded when they were served."""
    names = {} if chat else dict.fromkeys(("frame", "expand", "again", "write"), EMBEDDED)
    search = EMBEDDED if models.searcher is models.encoder else models.searcher.name
    return {**names, "search": search, "judge": models.judge().name}


def _crux(model: "ChatModel") -> CruxWriter:
    from agent.providers.chat.writing import ChatWriter

    return ServedCrux(model.name, model.local, ChatWriter(model))


def _served(
    settings: Settings,
    chats: "dict[str, ChatModel]",
    models: Models,
    framer: Framer,
    expander: Expander,
    requerier: Requerier,
    writer: Writer,
) -> tuple[Framer, Expander, Requerier, Writer]:
    """The stages by chat model, with the embedded ones as their stand-ins unless chat models were insisted on."""
    from agent.providers.chat.expanding import ChatExpander
    from agent.providers.chat.framing import ChatFramer
    from agent.providers.chat.requerying import ChatRequerier
    from agent.providers.chat.writing import ChatWriter

    insisted = settings.provider == "chat"

    def stand_in(embedded: P) -> P | None:
        return None if insisted else embedded

    frame, expand, again, write = (chats[stage] for stage in STAGES)
    return (
        ServedFramer("frame", frame.name, frame.local, ChatFramer(frame), stand_in(framer)),
        ServedExpander("expand", expand.name, expand.local, ChatExpander(expand, models), stand_in(expander)),
        ServedRequerier("again", again.name, again.local, ChatRequerier(again), stand_in(requerier)),
        ServedWriter("write", write.name, write.local, ChatWriter(write), stand_in(writer)),
    )


def _models(settings: Settings, store: Store, own_judge: "MakeJudge") -> Models:
    from tools.inference.cache import VectorCache
    from tools.inference.encoders.encoder import load_encoder
    from tools.inference.worker import Worker

    encoder = load_encoder(settings.cache_dir)
    return Models(
        encoder,
        own_judge(settings),
        Worker(),
        VectorCache(settings.cache_dir / "cache.db"),
        remote=build_judge(settings),
        judge_required=settings.judge in ("batch", "chat", "score"),
        searcher=build_encoder(settings, encoder),
        store=store,
    )


def build_encoder(settings: Settings, embedded: "Encoder") -> "Encoder":
    """What the collections are indexed with. Raises SettingsError, ModelError."""
    if settings.embeddings_url:
        from tools.inference.encoders.endpoint import EndpointEncoder

        return EndpointEncoder(
            settings.embeddings_url,
            settings.embeddings_model,
            settings.embeddings_api_key.get_secret_value(),
            query_prompt=settings.encoder_query_prompt,
            document_prompt=settings.encoder_document_prompt,
        )
    if settings.encoder:
        from tools.inference.encoders.presets import ENCODERS, EncoderPreset
        from tools.inference.encoders.transformers import TransformersEncoder

        preset = ENCODERS.get(settings.encoder) or EncoderPreset(settings.encoder)
        return TransformersEncoder(
            preset.model,
            query_model=settings.encoder_query or preset.query_model,
            query_prompt=settings.encoder_query_prompt or preset.query_prompt,
            document_prompt=settings.encoder_document_prompt or preset.document_prompt,
            pooling=settings.encoder_pooling or preset.pooling,
            pool_prompts=preset.pool_prompts,
            ending=preset.ending,
        )
    return embedded


def build_search(settings: Settings, store: Store, encoder: "Encoder") -> "HybridSearch":
    """The search over the store: its indexes in this process, or the dense one on a Chroma server."""
    from tools.store.hybrid import HybridSearch

    embedded = not settings.embeddings_url and not settings.encoder  # no other encoder compares sentences
    if not settings.chroma_url:
        return HybridSearch(store, settings.index_dir, encoder, keeps_sentences=embedded)
    from tools.store.dense_server import DenseServer

    dense = DenseServer(settings.chroma_url, store.store_id(), token=settings.chroma_token.get_secret_value())
    return HybridSearch(store, settings.index_dir, encoder, dense, keeps_sentences=embedded)


def build_own_judge(settings: Settings) -> "Judge":
    """The judge of this process: the embedded one, or the NLI model that is set. Raises SettingsError, ModelError."""
    if settings.judge == "nli":
        from tools.inference.judges.nli import NliJudge
        from tools.inference.judges.presets import DEFAULT

        return NliJudge(settings.judge_model or DEFAULT, settings.judge_threshold)
    from tools.inference.judges.embedded import load_judge

    return load_judge(settings.cache_dir)


def build_judge(settings: Settings) -> RemoteJudge | None:
    """The judge behind an address; None where one of this process judges. Raises SettingsError for a prompt file that
    cannot be used, or that no chat model would be asked."""
    judge = _build_judge(settings)
    if settings.judge_prompt:
        from tools.inference.judges.chat import ChatJudge

        if not isinstance(judge, ChatJudge):
            raise SettingsError(
                "a prompt for the judge is of use to a chat model only. Set STEELMAN_JUDGE_URL and "
                "STEELMAN_JUDGE_MODEL to one, or leave the prompt out."
            )
    return judge


def _build_judge(settings: Settings) -> RemoteJudge | None:
    if settings.provider == "embedded" or settings.judge in ("embedded", "nli"):
        return None
    if judges_in_batches(settings):
        return _build_batch_judge(settings)
    if settings.judge == "auto" and not settings.judge_url:
        return None
    from tools.inference.chat.prices import price_of
    from tools.inference.judges.chat import ChatJudge, read_judge_prompt
    from tools.inference.judges.score import ScoreJudge

    url, model, key = _judge_server(settings)
    threshold, price = settings.judge_threshold, price_of(model, settings.prices)
    if settings.judge == "score" or url.endswith("/score"):
        return ScoreJudge(
            url=url.removesuffix("/score"),
            model=model,
            key=key,
            threshold=threshold,
            sentence_threshold=threshold,
            price=price,
        )
    return ChatJudge(
        url=url,
        model=model,
        key=key,
        prompt=read_judge_prompt(settings.judge_prompt) if settings.judge_prompt else None,
        concurrency=settings.judge_concurrency,
        threshold=threshold,
        sentence_threshold=threshold,
        price=price,
    )


def judges_in_batches(settings: Settings) -> bool:
    """Whether a chat model judges many passages a call: where that is named, and where a chat model serves the other
    stages and no judge is set."""
    if settings.provider == "embedded":
        return False
    return settings.judge == "batch" or (settings.judge == "auto" and not settings.judge_url and uses_chat(settings))


def _build_batch_judge(settings: Settings) -> RemoteJudge:
    """The chat model that judges many passages at once: behind the judge's address, else as the stages' are."""
    from tools.inference.chat.model import ChatModel
    from tools.inference.chat.prices import price_of
    from tools.inference.judges.batch import BatchJudge

    if not settings.judge_url:
        named = bool(settings.judge_model or settings.model)  # else each stage has its own, and the writer's judges
        own, variable = ("judge_model", "STEELMAN_JUDGE_MODEL") if named else ("model_write", "STEELMAN_MODEL_WRITE")
        asked = chat_model(settings, getattr(settings, own), variable)
    else:
        url, model, key = _judge_server(settings)
        price = price_of(model, settings.prices)
        asked = ChatModel(model, url=url, key=key, price=price, temperature=settings.temperature)
    return BatchJudge(asked, threshold=settings.judge_threshold, concurrency=settings.judge_concurrency)


def _judge_server(settings: Settings) -> tuple[str, str, str]:
    """Address, model and key; without an address of its own the judge is the chat model."""
    if settings.judge_url:
        return settings.judge_url, settings.judge_model, settings.judge_api_key.get_secret_value()
    vendor, model, url, key = server_of(settings, settings.judge_model, "STEELMAN_JUDGE_MODEL")
    if vendor.prefix:
        raise SettingsError(
            f"STEELMAN_JUDGE is 'chat', which needs log-probabilities, and {vendor.named(model)} gives none here: set "
            "STEELMAN_JUDGE=batch, or STEELMAN_JUDGE_URL and STEELMAN_JUDGE_MODEL to an OpenAI-compatible server."
        )
    return url, model, key


def build_engine(settings: Settings) -> "SearchEngine | None":
    """The search engine that is on; None without one."""
    tavily, serper = settings.tavily_api_key.get_secret_value(), settings.serper_api_key.get_secret_value()
    if settings.web == "tavily" or (settings.web == "auto" and (tavily or settings.tavily_base_url)):
        from tools.web.tavily import Tavily

        key = tavily or _NO_KEY
        return Tavily(key, address=settings.tavily_base_url) if settings.tavily_base_url else Tavily(key)
    if settings.web == "serper" or (settings.web == "auto" and serper):
        from tools.web.serper import Serper

        return Serper(serper)
    if settings.web == "searxng" or (settings.web == "auto" and settings.searxng_url):
        from tools.web.searxng import SearXng

        return SearXng(settings.searxng_url)
    if settings.web == "ddgs":
        from tools.web.duckduckgo import DuckDuckGo

        return DuckDuckGo()
    return None


def _web(settings: Settings, store: Store, models: Models) -> "WebSearch | None":
    engine = build_engine(settings)
    if engine is None:
        return None
    from agent.providers.websearch import WebSearch
    from tools.inference.cache import TextCache
    from tools.web.domains import DomainLists
    from tools.web.fetch import PageFetcher

    return WebSearch(
        engine=engine,
        fetcher=PageFetcher(concurrency=_PAGES_AT_ONCE),
        lists=DomainLists.load(settings.domains),
        store=store,
        models=models,
        cache=TextCache(settings.cache_dir / "web.db"),
        required=settings.web != "auto",
    )


def build_reranker(settings: Settings) -> "Reranker | None":
    if not settings.reranker:
        return None
    from tools.inference.encoders.reranker import Reranker

    return Reranker(settings.reranker)


def _remotes(
    settings: Settings, chats: "dict[str, ChatModel]", models: Models, web: "WebSearch | None"
) -> list[Remote]:
    """What is outside this process, for the doctor, and for runs of which nothing may leave this machine."""
    remotes: list[Remote] = []

    def add(what: str, address: str, required: bool, setting: str) -> None:
        remotes.append(Remote(what, without_login(address), is_local(address), required, setting))

    for address in sorted({m.address for m in chats.values()}):
        add("chat model", address, settings.provider == "chat", "STEELMAN_PROVIDER=chat")
    if (judge := models.remote_judge) is not None:
        add("judge", judge.address, models.judge_required, f"STEELMAN_JUDGE={settings.judge}")
    if web:
        add("web search", web.engine.address, False, "STEELMAN_WEB")  # not asked at all where nothing may leave
    if settings.embeddings_url:
        add("encoder", settings.embeddings_url, True, "STEELMAN_EMBEDDINGS_URL")
    if settings.chroma_url:
        add("dense index", settings.chroma_url, True, "CHROMA_URL")
    if settings.checkpoint_url:
        add("runs' checkpoints", settings.checkpoint_url, True, "STEELMAN_CHECKPOINT_URL")
    return remotes
