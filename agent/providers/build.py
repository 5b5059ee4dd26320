"""Builds the providers that the settings turn on; nothing is asked of any server here."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from agent.inference import Models
from agent.providers.chat.expanding import ChatExpander
from agent.providers.chat.stages import ChatFramer, ChatRequerier
from agent.providers.chat.writing import ChatWriter
from agent.providers.embedded.expanding import EmbeddedExpander
from agent.providers.embedded.stages import EmbeddedFramer, EmbeddedRequerier, EmbeddedWriter
from agent.providers.fallback import (
    EMBEDDED,
    ExpanderWithFallback,
    FramerWithFallback,
    OptionalCruxWriter,
    RequerierWithFallback,
    WriterWithFallback,
)
from agent.providers.models import STAGES, build_chats, build_judge, build_own_judge, uses_chat
from agent.providers.retrieval import build_encoder, build_reranker, build_search, build_web
from agent.seams import Providers, RemoteService
from agent.settings import Settings
from tools.inference.cache import VectorCache
from tools.inference.chat.model import ChatModel
from tools.inference.encoders import encoder as encoders
from tools.inference.encoders.encoder import Encoder
from tools.inference.judges.batch import BatchJudge
from tools.inference.judges.judge import Judge
from tools.inference.worker import Worker
from tools.net.http import is_local, without_login
from tools.store.store import Store

P = TypeVar("P")


def build_providers(
    settings: Settings,
    store: Store,
    own_judge: Callable[[Settings], Judge] = build_own_judge,
    own_encoder: Callable[[], Encoder] | None = None,
) -> Providers:
    """The providers in force. own_judge, own_encoder: what is built in the place of the embedded models. Raises
    SettingsError, ModelError when something that is on cannot be used."""
    models = _models(settings, store, own_judge, own_encoder or encoders.load_encoder)
    chats = build_chats(settings) if uses_chat(settings) else {}
    judging = {models.remote_judge.model} if isinstance(models.remote_judge, BatchJudge) else set()
    for chat in {*chats.values(), *judging}:
        chat.load()  # what the event loop would wait for at the first call
    web, search = build_web(settings, store, models), build_search(settings, store, models.retrieval_encoder)
    served = {} if chats else dict.fromkeys(("frame", "expand", "again", "write"), EMBEDDED)
    indexed_by = EMBEDDED if models.retrieval_encoder is models.encoder else models.retrieval_encoder.name
    connected = (*set(chats.values()), models.remote_judge, web and web.fetcher)
    closers = filter(None, (getattr(each, "aclose", None) for each in connected))
    providers = Providers(
        store=store,
        search=search,
        models=models,
        framer=EmbeddedFramer(),
        expander=EmbeddedExpander(models),
        requerier=EmbeddedRequerier(),
        writer=EmbeddedWriter(models),
        # Stages that a chat model may serve, and the web, are recorded when they were served.
        names={**served, "search": indexed_by, "judge": models.judge().name},
        web=web,
        reranker=build_reranker(settings),
        english_only=not chats,
        remotes=_remotes(settings, chats, models, web.engine.address if web else ""),
        closers=(*closers, partial(asyncio.to_thread, search.close)),
    )
    return _with_chat_models(providers, chats, required=settings.provider == "chat") if chats else providers


def _with_chat_models(embedded: Providers, chats: dict[str, ChatModel], *, required: bool) -> Providers:
    """The providers with the stages by chat model, the embedded ones as their fallbacks unless models are required."""
    frame, expand, requery, write = (chats[stage] for stage in STAGES)

    def fallback(provider: P) -> P | None:
        return None if required else provider

    return replace(
        embedded,
        framer=FramerWithFallback("frame", frame, ChatFramer(frame), fallback(embedded.framer), rules=embedded.framer),
        expander=ExpanderWithFallback(
            "expand", expand, ChatExpander(expand, embedded.models), fallback(embedded.expander)
        ),
        requerier=RequerierWithFallback("again", requery, ChatRequerier(requery), fallback(embedded.requerier)),
        writer=WriterWithFallback("write", write, ChatWriter(write), fallback(embedded.writer)),
        quote_fallback=embedded.writer,
        crux=OptionalCruxWriter(write, ChatWriter(write)),
    )


def _models(
    settings: Settings,
    store: Store,
    own_judge: Callable[[Settings], Judge],
    own_encoder: Callable[[], Encoder],
) -> Models:
    encoder = own_encoder()
    return Models(
        encoder,
        own_judge(settings),
        Worker(),
        VectorCache(settings.cache_dir / "cache.db"),
        remote=build_judge(settings),
        judge_required=settings.judge in ("batch", "chat", "score"),
        retrieval_encoder=build_encoder(settings, encoder),
        store=store,
    )


def _remotes(settings: Settings, chats: dict[str, ChatModel], models: Models, web: str) -> tuple[RemoteService, ...]:
    """What is outside this process, for the doctor, and for runs without network access. web: the search engine's
    address, empty without one."""
    judge = models.remote_judge.address if models.remote_judge else ""
    chat = "chat model", settings.provider == "chat", "STEELMAN_PROVIDER=chat"
    services = (
        *((address, *chat) for address in sorted({m.address for m in chats.values()})),
        (judge, "judge", models.judge_required, f"STEELMAN_JUDGE={settings.judge}"),
        (web, "web search", False, "STEELMAN_WEB"),  # not asked at all where nothing may leave
        (settings.embeddings_url, "encoder", True, "STEELMAN_EMBEDDINGS_URL"),
        (settings.chroma_url, "dense index", True, "CHROMA_URL"),
        (settings.checkpoint_url, "runs' checkpoints", True, "STEELMAN_CHECKPOINT_URL"),
    )
    return tuple(
        RemoteService(what, without_login(address), is_local(address), required, setting)
        for address, what, required, setting in services
        if address
    )
