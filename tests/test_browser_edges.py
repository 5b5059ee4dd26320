"""The page at the edges of its window, on a screen that is touched, by keyboard, and beside a run that goes on."""

import uuid
from contextlib import closing

import pytest
from page_server import PageServer
from test_browser import PHONES, phones, sidebar  # noqa: F401  # a fixture
from toll_run import CLAIMS, toll_answer, toll_run
from visitors import FIRST, Visit, Visitor

from agent.options import RunOptions
from agent.runs.store import RunStore
from tools.store.database import Database

pytest_plugins = ["visitors"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

_SMALL = """() => [...document.querySelectorAll('button, input, summary, a[href]')]
  .filter(e => e.checkVisibility({visibilityProperty: true, opacityProperty: true}))
  .map(e => [e, e.getBoundingClientRect()]).filter(([e, box]) => box.width > 1 && box.height)
  .filter(([e, box]) => Math.min(box.width, box.height) < 43.5)
  .map(([e, box]) => `${e.ariaLabel || e.innerText} ${box.width} x ${box.height}`)"""
_COLUMNS = "cards => new Set(cards.map(card => card.getBoundingClientRect().x)).size"


def box(visitor: Visitor, place: str) -> dict[str, float]:
    found = visitor.page.locator(place).first.bounding_box()
    assert found is not None
    return {"top": found["y"], "bottom": found["y"] + found["height"]}


@pytest.mark.parametrize("width", [390, 1024, 1100, 1440])
def test_the_field_stays_at_the_lower_edge_and_sides_stand_beside_each_other_from_1100(
    samples_page: PageServer,
    phones: str,  # noqa: F811
    visit: Visit,
    width: int,
) -> None:
    visitor = visit(samples_page, width).go(phones).answered(PHONES)
    for down in (0, 700, 100_000):
        visitor.page.locator(".stMain").evaluate(f"main => main.scrollTo(0, {down})")
        visitor.page.wait_for_timeout(200)
        assert 800 < box(visitor, ".stBottom input")["bottom"] <= 900
    assert visitor.width()[0] <= width
    assert visitor.page.locator("[class*=st-key-card-]").evaluate_all(_COLUMNS) == (2 if width >= 1100 else 1)


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_a_source_never_covers_what_was_clicked(
    samples_page: PageServer,
    phones: str,  # noqa: F811
    visit: Visit,
    width: int,
) -> None:
    visitor = visit(samples_page, width).go(phones).answered(PHONES)
    if width < 1100:
        assert visitor.page.evaluate(_SMALL) == []
    numbers = visitor.page.locator("[class*=st-key-cite-]:visible button")
    for at in (0, 3, numbers.count() - 1):
        numbers.nth(at).click()
        visitor.page.locator(".sm-source mark").first.wait_for()
        visitor.page.wait_for_timeout(1000)  # while it moves
        clicked = numbers.nth(at).bounding_box()
        assert clicked is not None
        edge = box(visitor, ".st-key-source" if width < 1100 else ".stBottom")["top"]
        assert 60 < clicked["y"] < clicked["y"] + clicked["height"] <= edge
        assert box(visitor, ".st-key-source")["bottom"] <= box(visitor, ".stBottom input")["top"] + 1
        if width < 1100:
            assert visitor.page.evaluate(_SMALL) == []
            assert not visitor.page.locator("kbd").is_visible()
        visitor.page.keyboard.press("Escape")
        visitor.page.locator(".st-key-source").wait_for(state="detached")


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_a_claim_leads_to_its_reply_in_a_row_that_is_folded(samples_page: PageServer, visit: Visit, width: int) -> None:
    replying, run = "Reason 6 against a toll.", uuid.uuid4().hex[:12]
    answering = [c | {"answers": 2} if c["text"] == replying else c for c in CLAIMS]  # to the claim on traffic
    told = toll_answer(toll_run(claims=answering)).model_copy(update={"run_id": run})
    with closing(Database(samples_page.data / "steelman.db")) as database:
        runs = RunStore(database)
        runs.create(run, run, told.question, RunOptions.of().to_dict(), "a test")
        runs.finish(run, "a test", "done", {}, told.model_dump_json())
    visitor = visit(samples_page, width).go(f"/?run={run}").answered(told.question)
    cells = visitor.page.locator(".st-key-sides-row-0 [class*=st-key-card-]")
    yes, no = (cells.nth(n).evaluate("e => [e.getBoundingClientRect().x, e.getBoundingClientRect().y]") for n in (0, 1))
    assert (yes[0] < no[0], yes[1] < no[1]) == ((True, False) if width >= 1100 else (False, True))
    if width < 1100:
        assert visitor.page.evaluate(_SMALL) == []
    reply = visitor.page.locator(".sm-claim", has_text=replying)
    assert not reply.is_visible()
    visitor.page.locator(".st-key-claim-p1-1").get_by_role("button", name="Answered by").click()
    focused = f"document.activeElement.innerText.startsWith('{replying}')"
    visitor.until(lambda: reply.is_visible() and visitor.page.evaluate(focused), "the reply with the focus", 10)
    visitor.page.wait_for_timeout(1000)  # while it moves
    assert 60 < box(visitor, ".st-key-claim-p2-5")["top"] < box(visitor, ".st-key-claim-p2-5")["bottom"]
    assert box(visitor, ".st-key-claim-p2-5")["bottom"] <= box(visitor, ".stBottom")["top"]
    assert reply.is_visible()


def test_the_answer_gets_the_focus_unless_somebody_types(samples_page: PageServer, visit: Visit) -> None:
    visitor = visit(samples_page).arrive()
    visitor.ask("Is nuclear power safe?")
    visitor.answered("Is nuclear power safe?")
    focused = "document.activeElement.matches('h1') ? document.activeElement.innerText : ''"
    visitor.until(lambda: visitor.page.evaluate(focused) == "Is nuclear power safe?", "the focus on the heading", 10)
    visitor.arrive().ask("Are zoos cruel to bears?")
    visitor.running()
    typed = visitor.page.locator(".stBottom input")
    typed.first.wait_for()
    typed.press_sequentially("Who pays?")
    visitor.answered("Are zoos cruel to bears?")
    visitor.page.wait_for_timeout(1000)
    assert typed.input_value() == "Who pays?"
    assert typed.evaluate("field => field === document.activeElement")
    assert (
        sidebar(visitor).page.get_by_test_id("stSidebar").get_by_role("button", name="Are zoos cruel to bears?").count()
        == 1
    )


def test_the_history_finds_as_one_types_and_a_side_is_copied_by_keyboard(
    samples_page: PageServer,
    phones: str,  # noqa: F811
    visit: Visit,
) -> None:
    visitor = visit(samples_page)
    told: list[str] = []
    visitor.page.on("console", lambda said: told.append(said.text) if said.type in ("warning", "error") else None)
    visitor.arrive().go(phones).answered(PHONES)
    search = visitor.field("Search what was asked")
    search.press_sequentially("zebra")
    visitor.text("Nothing that was asked has these words.").wait_for()
    assert search.evaluate("field => field === document.activeElement")
    search.fill("")
    copy = visitor.button("Copy").first
    copy.press("Enter")
    focused = "document.activeElement.ariaLabel"
    visitor.until(lambda: visitor.page.evaluate(focused) == "Copy to clipboard", "the focus on what copies", 10)
    assert visitor.page.locator(".stCode button:visible").count() == 1
    visitor.page.keyboard.press("Escape")
    visitor.until(lambda: copy.evaluate("button => button === document.activeElement"), "the focus back", 10)
    for view in ("/", "/?view=documents", "/?view=settings", f"{phones}&view=compare"):
        visitor.go(view).button("New question").wait_for()
        visitor.page.wait_for_timeout(1000)
    assert told == []


def test_a_shared_link_shows_the_answer_and_no_history(samples_page: PageServer, phones: str, visit: Visit) -> None:  # noqa: F811
    visitor = visit(samples_page).go(phones).answered(PHONES)
    visitor.text("A shared link opened this window, so").wait_for()
    assert visitor.field("Search what was asked").count() == 0
    visitor.reload()
    visitor.answered(PHONES).text("A shared link opened this window, so").wait_for()
    visitor.arrive().field("Search what was asked").wait_for()  # at the page's own address
    visitor.go(phones).answered(PHONES).field("Search what was asked").wait_for()
    assert visitor.field(FIRST).count() == 0
