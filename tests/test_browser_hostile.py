"""Text from documents, web pages, models and people that would rather be a script: in a real browser it stays text."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hostile import (
    HOSTILE,
    answer_of,
    check_harmless,
    documents,
    hidden,
)
from visitors import AGAIN, Visit

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


@pytest.fixture(scope="module")
def page(filled: Path, encoder: MiniLM, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """A page whose collection is hostile."""
    home = tmp_path_factory.mktemp("hostile")
    shutil.copytree(filled, home / "data")
    with closing(Database(home / "data" / "steelman.db")) as database:
        store = Store(database)
        search = HybridSearch(store, home / "data" / "index", encoder)
        Ingester(store, search, encoder).ingest(documents(), "mine")
        search.close()
    with PageServer(home) as server:
        yield server


def stored(home: Path) -> str:
    """Puts an answer that is hostile in every field into the page's database; returns its address."""
    run = uuid.uuid4().hex[:12]
    with closing(Database(home / "data" / "steelman.db")) as database:
        runs = RunStore(database)
        passages = [passage.id for _, passage in Store(database).scan(0, 10_000) if passage.collection == "mine"]
        answer = answer_of(HOSTILE, passages).model_copy(update={"run_id": run})
        runs.create(run, run, HOSTILE, RunOptions.of().to_dict(), "a test")
        assert runs.finish(run, "a test", "done", {}, answer.model_dump_json())
    return f"/?run={run}"


def test_an_answer_that_is_hostile_throughout_shows_text(page: PageServer, visit: Visit) -> None:
    visitor = visit(page, width=390).go(stored(page.home))
    visitor.field(AGAIN).wait_for()
    visitor.cited.first.wait_for()
    visitor.page.wait_for_timeout(1000)  # what a picture would ask for is asked by now
    check_harmless(visitor)
    assert hidden(visitor) == []
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
