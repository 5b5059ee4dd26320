"""The page in a real browser over real runs on the samples: ask, watch, read, follow up, look back."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import ROOT
from visitors import AGAIN, Visit, Visitor

from evals.benchmarks.browser import PageServer

if TYPE_CHECKING:
    pass

pytest_plugins = ["visitors"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

PHONES = "Should schools ban smartphones?"
ZOOS, TIPS = "Are zoos cruel?", "Should tipping in restaurants be abolished?"


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
    assert re.search(r"(strong|some|weak): \d+ passages?", visitor.page.inner_text("body"))
    claim = visitor.page.locator(".sm-claim").first.inner_text()
    visitor.cited.first.click()
    source = visitor.page.locator(".sm-source")
    source.first.wait_for()
    marked = source.locator("mark").first.inner_text().strip()
    assert len(marked) > 20
    assert marked.strip("“”") in claim or claim.strip("“”• ") in marked
    card = source.first.inner_text()
    assert "sample" in card
    assert re.search(r"0\.\d\d", card)
    visitor.page.keyboard.press("Escape")
    picture = visitor.page.get_by_test_id("stVegaLiteChart").first
    picture.locator("canvas, svg").first.wait_for()
    drawn = picture.bounding_box()
    assert drawn is not None
    assert (drawn["height"] > 60, drawn["width"] > 200) == (True, True)
    with visitor.page.expect_download() as coming:
        visitor.button("Download as Markdown").click()
    assert Path(coming.value.path()).read_text().startswith(f"# {PHONES}\n")
    first = visitor.run_id
    suggested = visitor.page.locator(".st-key-suggested").get_by_role("button").first
    question = suggested.inner_text().strip()
    suggested.click()
    visitor.until(lambda: visitor.run_id not in ("", first), "another address")
    visitor.answered(question)


def sidebar(visitor: Visitor) -> "Visitor":
    """The visitor with the sidebar open."""
    side = visitor.page.get_by_test_id("stSidebar")
    if not side.is_visible() or side.get_attribute("aria-expanded") == "false":
        visitor.page.get_by_test_id("stExpandSidebarButton").click()
    visitor.button("New question").wait_for()
    return visitor


# The window


def test_a_phone_shows_all_of_it(samples_page: PageServer, phones: str, visit: Visit) -> None:
    visitor = visit(samples_page, width=390).arrive()
    assert visitor.width()[0] <= 390
    for name in ("Ask", PHONES):
        box = visitor.page.get_by_test_id("stMain").get_by_role("button", name=name, exact=True).bounding_box()
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
    visitor.page.keyboard.press("Escape")
    sidebar(visitor)


def small_print(visitor: Visitor) -> list[str]:
    """Words that are set smaller than 11 pixels."""
    script = """() => [...document.querySelectorAll('[data-testid=stMain] :not(svg *)')].filter(e => e.checkVisibility()
      && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())
      && parseFloat(getComputedStyle(e).fontSize) < 11).map(e => e.textContent.slice(0, 80))"""
    return list(visitor.page.evaluate(script))
