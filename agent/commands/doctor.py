"""`doctor`: what is on, what answers, and how to turn on the rest."""

import argparse
import time
from collections.abc import Callable

from agent.__main__ import FAILED, OK
from agent.settings import Settings, load_settings
from tools.errors import SteelmanError


def run(args: argparse.Namespace) -> int:
    """Tries each part; exit status 1 when one that is on does not work."""
    settings = load_settings()
    checks: tuple[tuple[str, Callable[[Settings], str]], ...] = (
        ("data", _data),
        ("encoder", _encoder),
        ("judge", _judge),
        ("indexes", _indexes),
        ("checkpoints", _checkpoints),
    )
    failed = 0
    for name, check in checks:
        began = time.monotonic()
        try:
            state, detail = "ok", check(settings)
        except SteelmanError as exc:
            state, detail, failed = "FAILS", str(exc), failed + 1
        print(f"{state:<6} {name:<12} {detail}  ({time.monotonic() - began:.1f} s)")
    print("ok     frame, sides, queries, writing: embedded (English grammar and verbatim quotation)")
    print("off    web search: this version searches your collections only")
    return FAILED if failed else OK


def _data(settings: Settings) -> str:
    from agent.commands.storage import open_store

    store, _ = open_store()
    held = (
        ", ".join(f"{c.name} ({c.passages} passages)" for c in store.collections())
        or "nothing yet; `ask` indexes the samples"
    )
    return f"{settings.data_dir}: {held}"


def _encoder(settings: Settings) -> str:
    from tools.encoder import load_encoder

    encoder = load_encoder(settings.cache_dir)
    return f"{encoder.name}, {encoder.dimensions} dimensions, embedded"


def _judge(settings: Settings) -> str:
    from tools.judge_embedded import load_judge

    judge = load_judge(settings.cache_dir)
    return f"{judge.name}, accepts a passage from {judge.threshold:.2f} on, embedded"


def _indexes(settings: Settings) -> str:
    from agent.commands.storage import open_store
    from tools.encoder import load_encoder
    from tools.hybrid import HybridSearch

    store, _ = open_store()
    encoder = load_encoder(settings.cache_dir)
    search = HybridSearch(store, settings.index_dir, encoder)
    for collection in store.collections():
        search.search("test", encoder.encode(["test"])[0], [collection.name], 1)
    return "Chroma and tantivy, both in this process, up to date with the store"


def _checkpoints(settings: Settings) -> str:
    import asyncio

    from agent.checkpoints import open_checkpointer

    async def opened() -> str:
        async with open_checkpointer(settings):
            return "Postgres" if settings.checkpoint_url else f"SQLite in {settings.checkpoint_path}"

    return asyncio.run(opened())
