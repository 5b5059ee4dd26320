"""Text from documents, web pages, models and people that would rather be a script: in a real browser it stays text."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from hostile import (
    HOSTILE,
    MARKUP,
    SHORT,
    SHOWN,
    STREAMLIT,
    answer_of,
    check_harmless,
    documents,
    escape_once,
    hidden,
    polarity,
    prose,
    replies,
    what_it_did,
)
from model_server import ModelServer
from search_servers import Found, SearchServer
from visitors import AGAIN, Visit, Visitor
from web_fixtures import publish
from web_server import WebServer

from agent.answer.model import Answer
from agent.options import RunOptions
from agent.runs.store import RunStore
from evals.benchmarks.browser import PageServer
from tools.inference.encoders.encoder import MiniLM
from tools.ingest.ingest import Ingester
from tools.store.database import Database
from tools.store.hybrid import HybridSearch
from tools.store.store import Store

pytest_plugins = ["visitors"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

QUESTION = f"Bridges in towns, go on: {STREAMLIT}"
"""No question to the rules, so that the model words it."""
LONGEST_LOOK = 5.0
"""Seconds in which a page full of it has to be there."""


# Where it comes from


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(strict=False, score=polarity) as server:
        yield server


@pytest.fixture(scope="module")
def web() -> Iterator[SearchServer]:
    """An engine that finds hostile pages of four sites."""
    with SearchServer() as engine, WebServer() as site:
        found = [
            Found(
                publish(
                    site,
                    f"source{n}.example",
                    f"/{n}",
                    escape_once(prose(n + 6, f"village {n}", SHORT)),
                    title=escape_once(f"Bridges, page {n} {MARKUP[:60]}"),
                    publisher=escape_once(f"Press {n} {MARKUP}"),
                ),
                title=HOSTILE,
                snippet=HOSTILE,
            )
            for n in range(4)
        ]
        engine.otherwise(lambda _: found)
        yield engine


@pytest.fixture(scope="module")
def library(filled: Path, encoder: MiniLM, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a page whose collection is hostile."""
    home = tmp_path_factory.mktemp("hostile")
    shutil.copytree(filled, home / "data")
    with closing(Database(home / "data" / "steelman.db")) as database:
        store = Store(database)
        search = HybridSearch(store, home / "data" / "index", encoder)
        Ingester(store, search, encoder).ingest(documents(), "mine")
        search.close()
    return home


@pytest.fixture(scope="module")
def page(library: Path, model: ModelServer, web: SearchServer) -> Iterator[PageServer]:
    start = (str(ROOT / "tests" / "page_on_loopback.py"), web.url)
    with PageServer(library, replies(model), start) as server:
        yield server


# A whole run over it


def test_a_run_over_hostile_sources_pages_and_replies_shows_text(page: PageServer, visit: Visit) -> None:
    visitor = visit(page).arrive()
    visitor.ask(QUESTION)
    visitor.running()
    did: set[str] = set()

    def ended() -> bool:
        did.update(what_it_did(visitor))
        return visitor.field(AGAIN).is_visible()

    visitor.until(ended, "the answer")
    assert not did, "\n".join(sorted(did))
    visitor.answered(" ".join(QUESTION.split()))
    cited_sources_do_nothing(visitor)
    assert hidden(visitor, SHOWN[2:]) == []
    hover_over_the_ledger(visitor)


def hover_over_the_ledger(visitor: Visitor) -> None:
    """Moves over the dots, each of which names its passage and publisher in a tooltip."""
    picture = visitor.page.get_by_test_id("stVegaLiteChart").last
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box is not None
    told: set[str] = set()
    for down in range(40, int(box["height"]), 10):
        for across in range(20, 220, 6):  # the surest passages stand beside the names
            visitor.page.mouse.move(box["x"] + across, box["y"] + down)
            told.add(visitor.page.evaluate("document.getElementById('vg-tooltip-element')?.innerText ?? ''"))
    check_harmless(visitor)
    assert any("<" in words for words in told)


def cited_sources_do_nothing(visitor: Visitor) -> None:
    """Opens each citation."""
    assert visitor.cited.count() > 0
    read = ""
    for number in range(visitor.cited.count()):
        visitor.cited.nth(number).click()
        card = visitor.page.locator(".sm-source:visible")
        card.first.wait_for()
        read += card.first.inner_text()
        check_harmless(visitor)
        visitor.page.keyboard.press("Escape")
        visitor.until(lambda: visitor.page.locator(".sm-source:visible").count() == 0, "the source closed", 5)
    assert "<script>window.hacked=1" in read


# An answer that is hostile in every field, whatever the agent lets through


def stored(home: Path, answer: Answer | None, question: str, *events: tuple[str, dict[str, Any]], end: str) -> str:
    """Puts a run into the page's database; returns its address."""
    run, owner = uuid.uuid4().hex[:12], "a test"
    with closing(Database(home / "data" / "steelman.db")) as database:
        runs = RunStore(database)
        runs.create(run, run, question, RunOptions.of().to_dict(), owner)
        for kind, data in events:
            runs.add_event(run, owner, kind, data)
        text = answer.model_copy(update={"run_id": run}).model_dump_json() if answer else None
        assert runs.finish(run, owner, end, {"error": HOSTILE}, text, HOSTILE if end == "failed" else None)  # type: ignore[arg-type]
    return f"/?run={run}"


def passage_ids(home: Path) -> list[int]:
    with closing(Database(home / "data" / "steelman.db")) as database:
        return [passage.id for _, passage in Store(database).scan(0, 10_000) if passage.collection == "mine"]


def test_an_answer_that_is_hostile_throughout_shows_text(page: PageServer, visit: Visit) -> None:
    address = stored(page.home, answer_of(HOSTILE, passage_ids(page.home)), HOSTILE, end="done")
    visitor = visit(page, width=390).go(address)
    visitor.field(AGAIN).wait_for()
    visitor.cited.first.wait_for()
    visitor.page.wait_for_timeout(1000)  # what a picture would ask for is asked by now
    check_harmless(visitor)
    assert hidden(visitor) == []
    cited_sources_do_nothing(visitor)
