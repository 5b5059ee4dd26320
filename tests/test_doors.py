"""The same question through every door: the same places, the same options, the same answer."""

import asyncio
import contextlib
import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import api
from instant_providers import InstantEncoder
from mcp import Client
from providers import WatchedSearch, build
from search_servers import SearchServer
from web_fixtures import prose, publish, with_web
from web_server import WebServer

import steelman
from agent.__main__ import main as agent_line
from agent.commands.langgraph_server import build_served
from agent.runs import build as parts
from agent.runs import service as session
from agent.runs.bootstrap import open_parts
from agent.runs.service import Runs
from agent.runs.store import RunStore
from agent.settings import Settings
from agent.stage_interfaces import Providers
from tools.documents.ingest import Ingester
from tools.passages import SourceDocument
from tools.store.database import Database
from tools.store.store import SAMPLES, Store
from ui.service import PageService

Searched = set[tuple[str, ...]]


class NotingSearch(WatchedSearch):
    """The real search, which notes the collections that it is asked for."""

    searched: Searched

    def search(self, text: str, vector: Any, collections: Sequence[str], k: int) -> Any:
        self.searched.add(tuple(collections))
        return super().search(text, vector, collections, k)


@pytest.fixture
def searched(settings: Settings, shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Searched:
    """The collections that are searched, by all doors of this process, which are over instant providers."""
    found: Searched = set()

    def made(settings: Settings, store: Store) -> Providers:
        providers = build()(settings, store)
        search: Any = NotingSearch(providers.search, lambda _: None)
        search.searched = found
        return replace(providers, search=search)

    monkeypatch.setattr(session, "Runs", partial(Runs, build=made))
    monkeypatch.setattr("agent.runs.bootstrap.index_samples", lambda *_: None)
    monkeypatch.setattr("agent.runs.build.build_providers", made)
    (settings.data_dir / "cache").symlink_to(shared_cache)
    return found


def keep(settings: Settings, *collections: str) -> None:
    """Stores a document in each of the collections, and makes one that holds none."""
    with contextlib.closing(Database(settings.database)) as database:
        store = Store(database)
        search = build()(settings, store).search
        for name in collections:
            Ingester(store, search, InstantEncoder()).ingest([SourceDocument("d", "A bridge is of use.")], name)
        store.ensure_collection("empty", InstantEncoder.name)
        search.close()


Options = dict[str, Any]
OPTIONS: Options = {"collections": ["mine"], "deadline_seconds": 20.0, "web": False}
NAMED = {"collections": "collection", "urls": "url", "deadline_seconds": "deadline"}


def named(options: Options) -> Options:
    """The options by their names on the command line, which programs use too."""
    return {NAMED.get(name, name): value for name, value in options.items()}


def flags(options: Options) -> list[str]:
    given = {name: value if isinstance(value, list) else [value] for name, value in named(options).items()}
    web = ["--no-web"] if given.pop("web", [True]) == [False] else []
    return [*web, *(f"--{name}={each}" for name, values in given.items() for each in values)]


def command_lines(settings: Settings, patch: pytest.MonkeyPatch, options: Options) -> None:
    (questions := settings.data_dir / "questions.jsonl").write_text(json.dumps({"question": QUESTION}))
    patch.setattr(sys, "stdin", io.StringIO(f"{QUESTION}\n"))
    batch = ["batch", str(questions), "--out", str(settings.data_dir / f"{time.time()}.jsonl")]
    for words in (["ask", QUESTION], ["chat"], batch):
        assert agent_line([*words, "--quick", *flags(options)]) == 0, words


def program(_: Settings, patch: pytest.MonkeyPatch, options: Options) -> None:
    def run(typed: Sequence[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        with contextlib.redirect_stdout(io.StringIO()) as told:
            status = agent_line(list(typed[5:]))
        return subprocess.CompletedProcess(typed, status, told.getvalue(), "")

    patch.setattr(subprocess, "run", run)
    assert steelman.ask(QUESTION, depth="quick", **named(options))["outcome"] == "answered"


def servers(settings: Settings, _: pytest.MonkeyPatch, options: Options) -> None:

    async def mcp(address: str) -> None:
        async with Client(f"{address}/mcp") as client:
            assert not (await client.call_tool("ask", asked)).is_error

    asked = {"question": QUESTION, "depth": "quick", **options}
    with api(settings, parts.build_providers) as address, httpx.Client(base_url=f"{address}/v1", timeout=60) as http:
        http.post("/ask", json=asked).raise_for_status()
        chat = {"model": "steelman-quick", "messages": [{"role": "user", "content": QUESTION}], "steelman": options}
        http.post("/chat/completions", json=chat).raise_for_status()
        asyncio.run(mcp(address))


def page(settings: Settings, _: pytest.MonkeyPatch, options: Options) -> None:
    given: Options = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    with contextlib.closing(PageService(settings)) as service:
        run = service.start(QUESTION, "quick", **given)
        while service.rows.get(run).status == "running":
            time.sleep(0.05)
        assert service.rows.get(run).answer


def langgraph(settings: Settings, _: pytest.MonkeyPatch, options: Options) -> Any:
    async def ask() -> Any:
        opened = open_parts(settings)
        try:
            return await build_served(opened).ainvoke({"question": QUESTION}, context={"depth": "quick", **options})
        finally:
            await opened.aclose()

    return asyncio.run(ask())["answer"]


DOORS = (command_lines, program, servers, page, langgraph)


@pytest.mark.slow
@pytest.mark.parametrize("own", [(), ("letters", "mine")], ids=["samples alone", "own collections"])
def test_every_door_searches_the_same_places(
    own: tuple[str, ...], settings: Settings, searched: Searched, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(settings, *own)
    for door in DOORS:
        searched.clear()
        door(settings, monkeypatch, {})
        assert searched == {own or (SAMPLES,)}, door.__name__


@pytest.mark.slow
@pytest.mark.usefixtures("searched")
def test_every_door_takes_the_same_options_and_gives_the_same_answer(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(settings, "letters", "mine")
    check_doors(settings, monkeypatch, OPTIONS)


@pytest.mark.slow
def test_every_door_reads_the_given_pages_and_nothing_else(
    settings: Settings, shared_cache: Path, engine: SearchServer, site: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = with_web(engine, page_seconds=20.0)
    monkeypatch.setattr(session, "Runs", partial(Runs, build=made))
    monkeypatch.setattr("agent.runs.bootstrap.index_samples", lambda *_: None)
    monkeypatch.setattr("agent.runs.build.build_providers", made)
    (settings.data_dir / "cache").symlink_to(shared_cache)
    sides = (("a", "help"), ("b", "harm"))
    pages = [publish(site, f"{name}.example", f"/{name}", prose(n, w)) for n, (name, w) in enumerate(sides)]
    [first, *_] = check_doors(settings, monkeypatch, {"urls": pages, "deadline_seconds": 60.0})
    assert sorted(document["id"] for document in first["documents"]) == sorted(pages)
    assert not engine.requests


def check_doors(settings: Settings, patch: pytest.MonkeyPatch, options: Options) -> list[Options]:
    """The answers of all doors, which have stored the same options and agree."""
    kept = ("question", "outcome", "perspectives", "also", "citations", "documents")
    answers = [door(settings, patch, options) for door in DOORS]
    with contextlib.closing(Database(settings.database)) as database:
        rows = [RunStore(database).get(run.id) for run in RunStore(database).latest(20)]
    assert len(rows) == 8
    assert all(row.options == rows[0].options for row in rows)
    assert rows[0].options | options | {"depth": "quick"} == rows[0].options
    answers = [json.loads(row.stored or "") for row in rows] + [answer for answer in answers if answer]
    assert len(answers) == 9
    told = [json.dumps({name: answer[name] for name in kept}) for answer in answers]
    assert len({re.sub(r'"passage_id": -\d+', "", each) for each in told}) == 1  # each run has web passages of its own
    return answers
