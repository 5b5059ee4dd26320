"""`doctor`: what is on, what answers, and how to turn on the rest."""

import argparse
import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from agent.__main__ import FAILED, OK
from agent.settings import Settings, load_settings
from tools.errors import SteelmanError

T = TypeVar("T")
Check = Callable[[Settings], str]
_SECONDS = 20.0


def run(args: argparse.Namespace) -> int:
    """Tries each part; exit status 1 when one that is on does not work."""
    settings = load_settings()
    failed = sum(not _try(name, check, settings) for name, check in checks(settings, ask=args.ask))
    for name, how in off(settings):
        print(f"{'off':<6} {name:<14} {how}")
    print("How to turn each on, what it costs and what is sent to whom: docs/providers.md")
    return FAILED if failed else OK


def _try(name: str, check: Check, settings: Settings) -> bool:
    began = time.monotonic()
    try:
        state, detail = "ok", check(settings)
    except SteelmanError as exc:
        state, detail = "FAILS", str(exc)
    print(f"{state:<6} {name:<14} {detail}  ({time.monotonic() - began:.1f} s)", flush=True)
    return state == "ok"


def checks(settings: Settings, *, ask: bool) -> list[tuple[str, Check]]:
    """What is on, each with how it is tried; `ask` also tries what costs something."""
    from agent.building import build_engine, build_judge, uses_chat

    found: list[tuple[str, Check]] = [("data", _data), ("encoder", _encoder), ("indexes", _indexes)]
    found.append(("chat model", _chat_asked if ask else _chat) if uses_chat(settings) else ("language", _language))
    found.append(("judge", _served_judge if build_judge(settings) else _embedded_judge))
    if build_engine(settings):
        found.append(("web search", _web_asked if ask else _web))
    if settings.reranker:
        found.append(("re-ranker", _reranker))
    return [*found, ("checkpoints", _checkpoints)]


def off(settings: Settings) -> list[tuple[str, str]]:
    """What is not on, each with the line for `.env` that turns it on."""
    from agent.building import build_engine, build_judge, uses_chat

    other_encoder = settings.encoder or settings.embeddings_url
    lines: tuple[tuple[object, str, str], ...] = (
        (uses_chat(settings), "chat model", "OPENAI_API_KEY, or OPENAI_BASE_URL and STEELMAN_MODEL for your own"),
        (build_judge(settings), "judge server", "STEELMAN_JUDGE_URL and STEELMAN_JUDGE_MODEL; see `make judge-server`"),
        (build_engine(settings), "web search", "TAVILY_API_KEY, SERPER_API_KEY, or STEELMAN_WEB=ddgs without a key"),
        (settings.chroma_url, "Chroma server", "CHROMA_URL"),
        (other_encoder, "other encoder", "STEELMAN_ENCODER, or STEELMAN_EMBEDDINGS_URL and STEELMAN_EMBEDDINGS_MODEL"),
        (settings.reranker, "re-ranker", "STEELMAN_RERANKER"),
    )
    return [(name, f"on with {how}") for on, name, how in lines if not on]


def _wait(work: Coroutine[Any, Any, T], what: str) -> T:
    """The result of asynchronous work; raises ProviderDownError when it takes too long."""
    from tools.errors import ProviderDownError

    async def limited() -> T:
        try:
            async with asyncio.timeout(_SECONDS):
                return await work
        except TimeoutError as exc:
            raise ProviderDownError(f"{what} did not answer within {_SECONDS:.0f} seconds.") from exc

    return asyncio.run(limited())


def _data(settings: Settings) -> str:
    from agent.commands.storage import open_store

    store, _ = open_store()
    held = (
        ", ".join(f"{c.name} ({c.passages} passages)" for c in store.collections())
        or "nothing yet; `ask` indexes the samples"
    )
    return f"{settings.data_dir}: {held}"


def _encoder(settings: Settings) -> str:
    from agent.building import build_encoder
    from tools.encoders.encoder import load_encoder

    encoder = build_encoder(settings, load_encoder(settings.cache_dir))
    where = settings.embeddings_url or ("sentence-transformers" if settings.encoder else "embedded")
    return f"{encoder.name}, {encoder.dimensions} dimensions, {where}"


def _language(settings: Settings) -> str:
    return "frame, sides, queries and claims are embedded (English grammar and verbatim quotation)"


def _chat(settings: Settings) -> str:
    """Asks for the list of models, which costs nothing and tells whether address, key and names are right."""
    from agent.building import STAGES, build_chat
    from tools.chat.model import OPENAI, models_at
    from tools.errors import ProviderReplyError

    models = {stage: build_chat(settings, stage) for stage in STAGES}
    address, names = models["frame"].address, list(dict.fromkeys(m.name for m in models.values()))
    offered = _wait(models_at(settings.openai_base_url or OPENAI, settings.openai_api_key.get_secret_value()), address)
    if missing := [name for name in names if name not in offered]:
        some = ", ".join(offered[:8]) + (" …" if len(offered) > 8 else "")
        raise ProviderReplyError(f"{address} does not offer {missing[0]}. It offers: {some or 'nothing'}.")
    insisted = "fails without it" if settings.provider == "chat" else "the embedded one stands in when it fails"
    return f"{', '.join(names)} at {address}; {insisted}"


def _chat_asked(settings: Settings) -> str:
    """Asks each model for the framing of one question."""
    from agent.building import STAGES, build_chat
    from agent.chat.framing import ChatFramer

    async def asked() -> None:
        for model in {m.name: m for m in (build_chat(settings, stage) for stage in STAGES)}.values():
            try:
                await ChatFramer(model).frame("Should voting be compulsory?", [])
            finally:
                await model.aclose()

    _wait(asked(), "the chat model")
    return f"{_chat(settings)}; answered a question"


def _embedded_judge(settings: Settings) -> str:
    from tools.judges.embedded import load_judge

    judge = load_judge(settings.cache_dir)
    return f"{judge.name}, accepts a passage from {judge.threshold:.2f} on, embedded"


def _served_judge(settings: Settings) -> str:
    """Judges one pair."""
    from agent.building import build_judge
    from tools.errors import ProviderReplyError
    from tools.judges.judge import Pair

    judge = build_judge(settings)
    assert judge is not None  # this check is only made where there is one
    pair = Pair("Voting should be compulsory.", "Every citizen ought to be obliged by law to vote.")
    score = float(_wait(judge.support([pair], _SECONDS), judge.address)[0])
    if score != score:
        raise ProviderReplyError(f"{judge.name} at {judge.address} gave neither Yes nor No.")
    insisted = "fails without it" if settings.judge != "auto" else "the embedded judge stands in when it fails"
    return f"{judge.name} at {judge.address}, accepts a passage from {judge.threshold:.2f} on; {insisted}"


def _indexes(settings: Settings) -> str:
    from agent.commands.storage import open_indexes

    store, search, encoder = open_indexes()
    search.refresh()
    for collection in store.collections():
        search.search("test", encoder.encode_queries(["test"])[0], [collection.name], 1)
    where = f"Chroma at {settings.chroma_url}, tantivy in this process" if settings.chroma_url else ""
    return f"{where or 'Chroma and tantivy, both in this process'}, up to date with the store"


def _web(settings: Settings) -> str:
    from agent.building import build_engine
    from tools.web.domains import DomainLists

    engine = build_engine(settings)
    assert engine is not None  # this check is only made where there is one
    lists = DomainLists.load(settings.domains)
    listed = f"{len(lists.prefer)} preferred, {len(lists.block)} blocked, {len(lists.allow) or 'all'} allowed domains"
    return f"{engine.name} at {engine.address}, not asked (`doctor --ask` asks it); {listed}"


def _web_asked(settings: Settings) -> str:
    from agent.building import build_engine

    engine = build_engine(settings)
    assert engine is not None  # this check is only made where there is one
    results = _wait(engine.search("arguments for and against compulsory voting", 5), engine.name)
    return f"{engine.name} at {engine.address}: {len(results)} results"


def _reranker(settings: Settings) -> str:
    from tools.encoders.reranker import Reranker

    Reranker(settings.reranker).scores("test", ["a test"])
    return settings.reranker


def _checkpoints(settings: Settings) -> str:
    from agent.checkpoints import open_checkpointer

    async def opened() -> str:
        async with open_checkpointer(settings):
            return "Postgres" if settings.checkpoint_url else f"SQLite in {settings.checkpoint_path}"

    return asyncio.run(opened())
