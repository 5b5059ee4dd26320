"""The page in a real browser over real runs on the samples: ask, watch, read, follow up; and over hostile text, which
stays text."""

import json
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from conftest import ROOT
from hostile import HOSTILE, answer_of, check_harmless, documents, hidden
from page_server import PageServer
from visitors import AGAIN, Visit, Visitor

from agent.options import RunOptions
from agent.runs.store import RunStore
from tools.documents.ingest import Ingester
from tools.models.encoders import MiniLM
from tools.store.database import Database
from tools.store.hybrid import HybridSearch
from tools.store.store import Store

pytest_plugins = ["visitors"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

PHONES = "Should schools ban smartphones?"


@pytest.fixture(scope="session")
def phones(samples_page: PageServer) -> str:
    """The address of an answer."""
    told = subprocess.run(
        [sys.executable, "-m", "agent", "ask", PHONES, "--json"],
        cwd=ROOT,
        env={"PATH": "", "STEELMAN_DATA_DIR": str(samples_page.data)},
        capture_output=True,
        text=True,
        check=True,
    )
    return f"/?run={json.loads(told.stdout)['run_id']}"


def test_a_question_is_asked_watched_read_and_followed_up(samples_page: PageServer, visit: Visit) -> None:
    visitor = visit(samples_page).arrive()
    visitor.ask(PHONES)
    visitor.running()
    seen: list[str] = []

    def ended() -> bool:
        seen.extend(visitor.page.locator(".sm-stages").all_inner_texts())
        return visitor.field(AGAIN).is_visible()

    visitor.until(ended, "the answer")
    assert "search" in "\n".join(seen)
    visitor.answered(PHONES)
    assert re.search(
        r"\d+ quotations? from (\d+ (source|document)|one source alone: )", visitor.page.inner_text("body")
    )
    claim = visitor.page.locator(".sm-claim").first.inner_text()
    visitor.cited.first.click()
    source = visitor.page.locator(".sm-source")
    source.first.wait_for()
    marked = source.locator("mark").first.inner_text().strip()
    assert len(marked) > 20
    assert marked.strip("“”") in claim or claim.strip("“”• ") in marked
    assert "sample" in source.first.inner_text()
    visitor.button(re.compile("^Close")).click()
    visitor.until(lambda: source.count() == 0, "the source closed", 5)
    visitor.button("Export").click()
    with visitor.page.expect_download() as coming:
        visitor.button("Plain text (Markdown)").click()
    assert Path(coming.value.path()).read_text().startswith(f"# {PHONES}\n")
    first = visitor.run_id
    suggested = visitor.page.locator(".st-key-suggested").get_by_role("button", name="What speaks against").first
    question = suggested.inner_text().strip()
    suggested.click()
    visitor.until(lambda: visitor.run_id not in ("", first), "another address")
    visitor.answered(question)


def test_a_quotation_is_moved_on_a_phone_and_put_back(samples_page: PageServer, phones: str, visit: Visit) -> None:
    visitor = visit(samples_page, width=390).go(phones).answered(PHONES)
    before = visitor.page.get_by_test_id("stMain").inner_text()
    visitor.page.get_by_role("button", name="Wrong side?").first.click()
    undo = visitor.page.get_by_role("button", name="Undo", exact=True)
    undo.wait_for()
    assert visitor.width()[0] <= 390
    visitor.text("A reader changed 1 quotation.").wait_for()
    visitor.until(lambda: undo.evaluate("e => e === document.activeElement"), "the focus on the way back", 5)
    visitor.page.keyboard.press("Enter")
    visitor.until(lambda: visitor.page.get_by_test_id("stMain").inner_text() == before, "the answer as it was", 10)


def sidebar(visitor: Visitor) -> "Visitor":
    """The visitor with the sidebar open."""
    if (closed := visitor.page.get_by_test_id("stExpandSidebarButton")).is_visible():
        closed.click()
    visitor.button("New question").wait_for()
    return visitor


# The window


def test_a_phone_shows_all_of_it(samples_page: PageServer, phones: str, visit: Visit) -> None:
    visitor = visit(samples_page, width=390).arrive()
    assert visitor.width()[0] <= 390
    for name in ("Ask", "flat earth"):
        box = visitor.page.get_by_test_id("stMain").get_by_text(name, exact=True).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    visitor.go(phones).answered(PHONES)
    assert visitor.width()[0] <= 390
    assert small_print(visitor) == []
    visitor.cited.first.scroll_into_view_if_needed()
    visitor.cited.first.click()
    source = visitor.page.locator(".sm-source").first
    source.wait_for()
    box = source.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert visitor.width()[0] <= 390
    visitor.button(re.compile("^Close")).click()
    sidebar(visitor)


def small_print(visitor: Visitor) -> list[str]:
    """Words that are set smaller than 11 pixels."""
    script = """() => [...document.querySelectorAll('[data-testid=stMain] :not(svg *)')].filter(e => e.checkVisibility()
      && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())
      && parseFloat(getComputedStyle(e).fontSize) < 11).map(e => e.textContent.slice(0, 80))"""
    return list(visitor.page.evaluate(script))


def test_sides_wrap_beside_a_source_and_print_leaves_out_what_is_no_answer(
    samples_page: PageServer, phones: str, visit: Visit
) -> None:
    visitor = visit(samples_page, width=1024)
    visitor.page.emulate_media(color_scheme="dark")
    visitor.go(phones).answered(PHONES)
    visitor.cited.first.click()
    mark = visitor.page.locator(".sm-source mark").first
    mark.wait_for()
    assert contrast(*mark.evaluate("e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]")) > 7
    sides = [box for card in visitor.page.locator("[class*=st-key-card-]").all() if (box := card.bounding_box())]
    assert len(sides) > 1
    assert min(box["width"] for box in sides) > 250
    unseen = "[data-testid=stSidebar]", ".stForm", ".st-key-source", ".stTooltipIcon"
    for media in ("screen", "print"):
        visitor.page.emulate_media(media=media)
        seen = {part: visitor.page.locator(part).first.is_visible() for part in unseen}
        assert seen == dict.fromkeys(unseen, media == "screen")
        assert visitor.page.get_by_text(re.compile("^Documents: read ")).is_visible()
        assert visitor.page.locator("[class*=cite-list]").last.is_visible() is (media == "print")  # the list is folded


def test_a_document_opens_at_its_surest_sentence_by_keyboard(
    samples_page: PageServer, phones: str, visit: Visit
) -> None:
    visitor = visit(samples_page, width=390).go(phones).answered(PHONES)
    yes, no = (
        visitor.page.locator(f"[class*=st-key-card-{stance}]").bounding_box() for stance in ("supports", "opposes")
    )
    assert yes is not None
    assert no is not None
    assert yes["y"] + yes["height"] <= no["y"]
    visitor.text(re.compile("^Documents: read ")).click()
    title = visitor.page.locator("[class*=st-key-open-read-] button").last
    title.wait_for()
    title.focus()
    visitor.page.keyboard.press("Enter")
    mark = visitor.page.get_by_role("dialog").locator("mark").first
    mark.wait_for()
    seen = "e => { const r = e.getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight }"
    visitor.until(lambda: mark.evaluate(seen), "the sentence in view", 5)
    visitor.page.keyboard.press("Escape")
    visitor.until(lambda: visitor.page.get_by_role("dialog").count() == 0, "the document closed", 5)
    visitor.button("Debate sheet").click()
    visitor.page.get_by_role("heading", name="What is not known").wait_for()
    assert visitor.width()[0] <= 390
    visitor.button("Back to the answer").click()
    visitor.answered(PHONES)


def contrast(*colours: str) -> float:
    """The ratio by WCAG 2 of two colours, each 'rgb(246, 226, 166)'."""

    def light(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, bright = sorted(map(light, colours))
    return (bright + 0.05) / (dark + 0.05)


# While runs go on


def test_a_reload_in_mid_run_finds_the_run_again(samples_page: PageServer, visit: Visit) -> None:
    visitor = visit(samples_page).arrive()
    visitor.ask(PHONES)
    visitor.running()
    run = visitor.run_id
    assert run
    visitor.reload()
    visitor.answered(PHONES)
    assert visitor.run_id == run


# Text that would rather be a script


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
        visitor.button(re.compile("^Close")).click()
        visitor.until(lambda: visitor.page.locator(".sm-source:visible").count() == 0, "the source closed", 5)
    assert "<script>window.hacked=1" in read
