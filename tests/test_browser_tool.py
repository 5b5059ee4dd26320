"""The page as a tool, in a real browser: documents of one's own, a source beside the answer, follow-ups, the history,
the first seconds, dark mode."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from page_server import PageServer
from test_browser import PHONES, sidebar
from visitors import FIRST, Visit, Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytest_plugins = ["visitors"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LETTER = (
    "Our town should sell the old pier, since repairs cost more each year than all the fees bring in. "
    "The town should not sell the old pier, because whoever owns the pier decides who may fish from it."
)


@pytest.fixture(scope="module")
def answer(samples_page: PageServer, browser: object) -> str:
    """The address of an answer, asked on the page."""
    visitor = Visitor(browser, samples_page).arrive()  # type: ignore[arg-type]
    visitor.ask(PHONES)
    visitor.answered(PHONES)
    address = f"/?run={visitor.run_id}"
    visitor.close()
    return address


def test_documents_are_added_asked_opened_and_deleted(samples_page: PageServer, visit: Visit, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(LETTER)
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"no pdf")
    visitor = visit(samples_page).go("/?view=documents")
    visitor.page.locator("input[type=file]").first.set_input_files([letter, broken])
    visitor.text("letter.txt").wait_for()
    visitor.button("Add").click()
    visitor.text(re.compile("1 document stored in 'mine'")).wait_for()
    assert "broken.pdf" in visitor.page.inner_text("[role=status]")  # what could not be read, and why
    visitor.button("Open").first.click()
    visitor.text("decides who may fish from it").wait_for()
    visitor.page.keyboard.press("Escape")
    visitor.arrive().ask("Should our town sell the old pier?")
    visitor.answered("Should our town sell the old pier?")
    assert "repairs cost more each year" in visitor.page.inner_text("body")
    visitor.go("/?view=documents").button(
        "Delete",
    ).first.click()
    visitor.button("Delete for good").click()
    visitor.text("0 documents, 0 passages.").wait_for()


def test_a_source_stays_beside_the_answer_and_opens_whole(samples_page: PageServer, answer: str, visit: Visit) -> None:
    visitor = visit(samples_page, 1440).go(answer).answered(PHONES)
    visitor.cited.nth(1).click()
    panel = visitor.page.locator(".st-key-source")
    panel.locator("mark").wait_for()
    assert panel.locator("mark").count() == 1
    cards, beside = visitor.page.locator("[class*=st-key-card-]"), panel.bounding_box()
    assert beside is not None
    for n in range(cards.count()):
        box = cards.nth(n).bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= beside["x"]
    visitor.page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, 700)")
    visitor.until(lambda: (panel.bounding_box() or {"y": -1})["y"] >= 0, "the source beside what is read", 5)
    visitor.button("Whole document").click()
    visitor.page.get_by_role("dialog").locator("mark").wait_for()


_LOSE = "it => it.addEventListener('focus', () => setTimeout(() => { it.blur(); it.id = 'lost' }, 100), {once: true})"
"""The element loses the focus once, as where the page is still being drawn."""


@pytest.mark.parametrize("width", [390, 1440])
def test_a_source_has_the_focus_until_escape_closes_it(
    samples_page: PageServer, answer: str, visit: Visit, width: int
) -> None:
    visitor = visit(samples_page, width).go(answer).answered(PHONES)
    number, panel = visitor.cited.nth(1), visitor.page.locator(".st-key-source")
    number.press("Enter")
    visitor.until(lambda: focused(panel.get_by_role("button", name="Close")), "the focus in the source", 10)
    number.evaluate(_LOSE)
    visitor.page.keyboard.press("Escape")
    panel.wait_for(state="detached")
    lost = visitor.page.locator("#lost")
    visitor.until(lambda: focused(lost) and focused(number), "the focus where it was", 10)


def focused(place: "Locator") -> bool:
    return place.count() == 1 and bool(place.evaluate("it => it === document.activeElement"))


def test_another_view_opens_at_its_top_and_over_it_no_sidebar(
    samples_page: PageServer, answer: str, visit: Visit
) -> None:
    visitor = visit(samples_page, 390).arrive().go(answer).answered(PHONES)
    visitor.button("Compare").scroll_into_view_if_needed()
    assert scrolled(visitor) > 400
    visitor.button("Compare").click()
    visitor.text("Compare with another answer").wait_for()
    visitor.until(lambda: scrolled(visitor) == 0, "the top", 5)
    sidebar(visitor).page.get_by_test_id("stSidebar").get_by_role("button", name=PHONES).first.click()
    visitor.ended().page.get_by_test_id("stExpandSidebarButton").wait_for()  # there while it is closed


def scrolled(visitor: Visitor) -> float:
    return float(visitor.page.locator(".stMain").evaluate("main => main.scrollTop"))


def test_follow_ups_are_told_by_the_answer_or_begin_a_run(samples_page: PageServer, answer: str, visit: Visit) -> None:
    visitor = visit(samples_page).go(answer).answered(PHONES)
    run = visitor.run_id
    visitor.page.get_by_role("button", name="Summarise").click()
    visitor.text("In short").wait_for()
    visitor.until(lambda: ends_in_sight(visitor, ".st-key-reply-1"), "its last line", 5)
    visitor.page.get_by_role("button", name="Only newer sources").click()
    visitor.text(re.compile("What the sources dated .* or later say")).wait_for()
    assert visitor.run_id == run
    assert visitor.page.locator("[class*=st-key-reply-]").count() == 2  # in their order
    visitor.until(lambda: begins_in_sight(visitor, ".st-key-reply-2"), "the newest", 5)
    visitor.page.get_by_role("button", name="Search more for this").first.click()
    visitor.until(lambda: visitor.run_id not in ("", run), "another run")
    visitor.ended()


def begins_in_sight(visitor: Visitor, place: str) -> bool:
    """The reply begins below the page's head. Of one that is longer than the window the end is scrolled to."""
    box = visitor.page.locator(place).bounding_box()
    return box is not None and 60 < box["y"] < 600


def ends_in_sight(visitor: Visitor, place: str) -> bool:
    """The reply ends above the field at the lower edge."""
    box, field = (visitor.page.locator(part).bounding_box() for part in (place, ".stBottom"))
    return box is not None and field is not None and box["y"] + box["height"] <= field["y"]


def test_the_first_seconds(samples_page: PageServer, visit: Visit) -> None:
    visitor = visit(samples_page).arrive()
    visitor.until(lambda: visitor.field(FIRST).evaluate("field => field === document.activeElement"), "focus")
    assert visitor.page.get_by_test_id("stPills").or_(visitor.page.get_by_test_id("stButtonGroup")).count() == 1
    for said in ("547 sample passages", "flat earth", "Should schools ban smartphones?"):
        assert said in visitor.page.inner_text("body")
    visitor.go("/?q=Are+zoos+cruel%3F").field(FIRST).wait_for()
    visitor.until(lambda: visitor.field(FIRST).input_value() == "Are zoos cruel?", "the question of the address")
    visitor.button("Ask").click()
    visitor.answered("Are zoos cruel?")


def test_a_double_click_begins_one_run_and_the_next_can_be_asked(samples_page: PageServer, visit: Visit) -> None:
    visitor = visit(samples_page).arrive()
    visitor.field(FIRST).fill("Should voting be compulsory?")
    visitor.button("Ask").dblclick()
    visitor.running()
    visitor.field(FIRST).first.wait_for()  # while it runs; for a moment the one of before is there, too
    visitor.answered("Should voting be compulsory?")
    side = sidebar(visitor).page.get_by_test_id("stSidebar")
    assert side.get_by_role("button", name="Should voting be compulsory?").count() == 1
    side.get_by_role("button", name="Rename or delete").first.click()
    visitor.button("Delete").click()
    visitor.button("Undo").click()
    side.get_by_role("button", name="Should voting be compulsory?").wait_for()


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_dark_follows_the_system(samples_page: PageServer, answer: str, browser: object, width: int) -> None:
    visitor = Visitor(browser, samples_page, width)  # type: ignore[arg-type]
    visitor.page.emulate_media(color_scheme="dark")
    visitor.go(answer).answered(PHONES)
    ground, ink = visitor.page.evaluate(
        "() => { const s = getComputedStyle(document.querySelector('.stApp')); return [s.backgroundColor, s.color] }"
    )
    light = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ground, ink)]
    assert light[0] < 150 < 500 < light[1]
    assert visitor.width()[0] <= width
    visitor.check()
    visitor.close()
