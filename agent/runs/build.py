"""Builds the providers that the settings select, without a request to any server."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import ParamSpec, TypeVar

from agent.evidence.cases import quotations
from agent.options import EXAMPLE
from agent.providers import from_settings
from agent.providers.inference import Models
from agent.runs.bootstrap import build_own_judge
from agent.samples import sample_question_for
from agent.settings import Settings
from agent.stage_interfaces import Providers, RemoteService
from agent.stages.expand import counter_by_chat, expand_by_rules, plan_by_chat, with_embedded_plan
from agent.stages.frame import frame_by_classifier
from agent.stages.lookup import pick_by_chat, pick_none
from agent.stages.requery import queries_by_chat, queries_by_rules
from agent.stages.stage import EMBEDDED, ModelFallback, with_fallback
from agent.stages.write import crux_by_chat, translate_by_chat, write_by_chat
from tools.budget import current_budget, current_log
from tools.errors import ProviderError, as_sentence
from tools.models import encoders
from tools.models.cache import VectorCache
from tools.models.chat.model import ChatModel
from tools.models.judges.checker import ClaimChecker
from tools.models.judges.judge import Pair
from tools.net.http import is_local, without_login
from tools.store.store import SAMPLES, Store
from tools.translation import mark, tr

P = ParamSpec("P")
T = TypeVar("T")


def build_providers(settings: Settings, store: Store) -> Providers:
    """Returns the providers. Raises SettingsError, ModelError for a provider that cannot be used."""
    chats = from_settings.build_chat_models(settings) if from_settings.uses_chat(settings) else {}
    models = _models(settings, store, chats.get("write"))
    judging = models.remote_judge.chat if models.remote_judge else None
    for chat in filter(None, {*chats.values(), judging}):
        chat.load()  # otherwise the first call blocks the event loop
    web, search = (
        from_settings.build_web(settings, store, models),
        from_settings.build_search(settings, store, models.retrieval_encoder),
    )
    served = {} if chats else dict.fromkeys(("frame", "expand", "requery", "write"), EMBEDDED)
    indexed_by = EMBEDDED if models.retrieval_encoder is models.encoder else models.retrieval_encoder.name
    connected = (*set(chats.values()), models.remote_judge, web.fetcher, *web.sources)
    closers = filter(None, (getattr(each, "aclose", None) for each in connected))
    providers = Providers(
        store=store,
        search=search,
        models=models,
        frame=partial(frame_by_classifier, models),
        sample_question=None if models.remote_judge else partial(sample_question_for, models, search, store),
        expand=partial(expand_by_rules, models),
        requery=queries_by_rules,
        write=partial(quotations, models),
        # Stages with a chat model, and the web, are recorded when they run.
        names={**served, "retrieve": indexed_by, "judge": models.judge().name},
        web=web,
        remotes=_remotes(settings, chats, models, [s.address for s in web.sources]),
        closers=(*closers, partial(asyncio.to_thread, search.close)),
    )
    return _with_chat_models(providers, chats, required=settings.provider == "chat") if chats else providers


def _with_chat_models(embedded: Providers, chats: dict[str, ChatModel], *, required: bool) -> Providers:
    """Returns the providers with chat models. Embedded providers replace models that fail, unless required."""
    planner, queries, write = (chats[stage] for stage in from_settings.STAGES)

    def falling_back(stage: str, model: ChatModel) -> ModelFallback:
        return ModelFallback(stage, model, stands_in=not required)

    by_chat = partial(plan_by_chat, planner, embedded.models)
    return replace(
        embedded,
        plan=with_embedded_plan(falling_back("frame", planner), by_chat, embedded.frame, embedded.expand),
        expand=with_fallback(falling_back("expand", planner), partial(counter_by_chat, planner), embedded.expand),
        requery=with_fallback(falling_back("requery", queries), partial(queries_by_chat, queries), embedded.requery),
        write=with_fallback(falling_back("write", write), partial(write_by_chat, write), embedded.write),
        quote=embedded.write,
        crux=_optional(write, partial(crux_by_chat, write), mark("What the dispute turns on was not written")),
        translate=_optional(write, partial(translate_by_chat, write), mark("The quotations were not translated")),
        pick=with_fallback(falling_back("lookup", write), partial(pick_by_chat, write), pick_none),
    )


def _optional(
    model: ChatModel, work: Callable[P, Awaitable[T | None]], not_done: str
) -> Callable[P, Awaitable[T | None]]:
    """Returns the model's work with failures only noted, because the answer is complete without it."""

    async def optional(*args: P.args, **kwargs: P.kwargs) -> T | None:
        budget = current_budget()
        if budget.built_in or (budget.offline and not model.local) or model.name in current_log().down:
            return None
        try:
            return await work(*args, **kwargs)
        except ProviderError as exc:
            current_log().note("scope", f"{tr(not_done)}: {as_sentence(str(exc))}", f"{tr(not_done)}.")
            return None

    return optional


def _models(settings: Settings, store: Store, writer: ChatModel | None) -> Models:
    encoder = encoders.load_encoder()
    return Models(
        encoder,
        build_own_judge(settings),
        VectorCache(settings.cache_dir / "cache.db"),
        remote_judge=from_settings.build_judge(settings),
        judge_required=settings.judge in ("batch", "chat", "score"),
        other_encoder=from_settings.build_encoder(settings, encoder),
        store=store,
        checker=ClaimChecker(writer) if writer else None,
        encoder_languages=from_settings.encoder_languages(settings),
    )


def _remotes(
    settings: Settings, chats: dict[str, ChatModel], models: Models, web: Sequence[str]
) -> tuple[RemoteService, ...]:
    """Returns the services outside this process. web: the sources' addresses."""
    judge = models.remote_judge.address if models.remote_judge else ""
    chat = "chat model", settings.provider == "chat", "STEELMAN_PROVIDER=chat"
    services = (
        *((address, *chat) for address in sorted({m.address for m in chats.values()})),
        (judge, "judge", models.judge_required, f"STEELMAN_JUDGE={settings.judge}"),
        *((address, "web search", False, "STEELMAN_WEB") for address in web),  # not asked in offline runs
        (settings.embeddings_url, "encoder", True, "STEELMAN_EMBEDDINGS_URL"),
        (settings.chroma_url, "dense index", True, "CHROMA_URL"),
        (settings.database_url, "database", True, "STEELMAN_DATABASE_URL"),
    )
    return tuple(
        RemoteService(what, without_login(address), is_local(address), required, setting)
        for address, what, required, setting in services
        if address
    )


async def warm_up(providers: Providers) -> None:
    """Loads the embedded providers, so that the first question does not wait. Sends no request."""
    models = providers.models
    await providers.frame(EXAMPLE, [])
    if models.remote_judge is None:
        pair = Pair(f"Yes: {EXAMPLE}", EXAMPLE, f"No: {EXAMPLE}", form="answer")
        await models.judge().support([pair])
        await models.judge().stances([pair], closely=True)
    if not providers.searched_elsewhere() and providers.store.has_collection(SAMPLES):
        vector = (await models.encode_queries([EXAMPLE]))[0]
        await asyncio.to_thread(providers.search.search, EXAMPLE, vector, [SAMPLES], 1)
