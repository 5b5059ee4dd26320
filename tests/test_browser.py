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
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from conftest import ROOT
from hostile import HOSTILE, SHOWN, check_harmless, document, hostile_answer
from oidc_server import Provider, serving
from page_server import PageServer
from pypdfium2 import PdfDocument
from visitors import AGAIN, FIRST, Visit, Visitor
from written_answers import answer, cited, stands

from agent.answer.model import Answer, AnswerClaim
from agent.options import RunOptions
from agent.runs.store import RunStore
from tools.documents.ingest import Ingester
from tools.models.encoders import MiniLM
from tools.store.database import Database
from tools.store.hybrid import HybridSearch
from tools.store.store import Store

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator


pytest_plugins = ["visitors"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

PHONES = "Should schools ban smartphones?"


@pytest.fixture(scope="session")
def phones(samples_page: PageServer) -> str:
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


def test_a_file_that_does_not_fit_is_named_and_the_others_are_stored(
    filled: Path, tmp_path: Path, browser: "Browser"
) -> None:
    shutil.copytree(filled, tmp_path / "data")
    line = "The toll on the bridge keeps carts away, as the council says.\n"
    sizes = {"alone too large.txt": 1_200_000, "a.txt": 300, "b.txt": 900_000, "c.txt": 900_000, "d.txt": 300}
    sent: list[Any] = [
        {"name": name, "mimeType": "text/plain", "buffer": (f"{name}. " + line * (size // len(line))).encode()}
        for name, size in sizes.items()
    ]
    with PageServer(tmp_path, STEELMAN_API_UPLOAD="1") as server, closing(Visitor(browser, server)) as visitor:
        page = visitor.go("/?view=documents").page
        replies: list[int] = []
        page.on("response", lambda reply: replies.append(reply.status) if reply.request.method == "PUT" else None)
        page.locator("input[type=file]").set_input_files(sent)
        told = page.get_by_text("File must be 1.0MB or smaller.")
        told.wait_for()
        assert (told.bounding_box() or {"height": 0})["height"] > 10, "Streamlit shows it only below the pointer"
        page.get_by_role("button", name="Add", exact=True).click()
        said = page.get_by_text(re.compile(r"^Not stored, because one upload holds 1 MB at most: [bc]\.txt\."))
        page.get_by_text("3 texts stored in").wait_for()
        assert (said.is_visible(), {*replies}) == (True, {204}), "Streamlit would show 'AxiosError 413'"
        for name in ("a.txt", "d.txt"):
            assert page.locator("[class*=st-key-document-]", has_text=name).is_visible()


def sidebar(visitor: Visitor) -> "Visitor":
    if (closed := visitor.page.get_by_test_id("stExpandSidebarButton")).is_visible():
        closed.click()
    visitor.button("New question").wait_for()
    return visitor


# The window


@pytest.mark.usefixtures("phones")
def test_two_visitors_read_one_page_in_their_browsers_languages(samples_page: PageServer, visit: Visit) -> None:
    english = visit(samples_page).arrive()
    browser = english.context.browser
    assert browser
    with closing(browser.new_context(locale="de-AT")) as german:
        page = german.new_page()
        page.goto(samples_page.url, wait_until="commit")
        page.get_by_role("button", name="Neue Frage", exact=True).wait_for()
        page.get_by_role("button", name="Optionen").click()
        page.get_by_text("Wie gründlich").first.wait_for()  # a popover speaks German too
        page.keyboard.press("Escape")
        page.get_by_role("textbox").first.fill("Sollen Schulen Smartphones verbieten?")
        page.get_by_role("button", name="Fragen", exact=True).click()
        page.get_by_text("ist offenbar nicht auf Englisch").wait_for()  # a check in the service's threads
    english.reload()
    english.button("New question").wait_for()


def test_the_page_speaks_the_visitors_language_and_an_answer_its_own(
    samples_page: PageServer, phones: str, visit: Visit
) -> None:
    """An English answer for a German visitor, and the same answer as a German one for an English visitor."""
    shown = {"copy": "Copy", "export": "Export", "counts": "quotations from", "source": "academic (sample)"}
    german = {"copy": "Kopieren", "export": "Exportieren", "counts": "Zitate aus", "source": "(Beispiel)"}
    visitor = visit(samples_page)
    browser = visitor.context.browser
    assert browser
    with closing(browser.new_context(locale="de-AT")) as context:
        page = context.new_page()
        page.goto(samples_page.url + phones, wait_until="commit")
        page.get_by_role("button", name=german["export"]).wait_for()
        page.get_by_text(shown["source"]).first.wait_for()
        page.wait_for_function("document.documentElement.lang == 'de'")
        said = page.inner_text(".stMain")
        assert page.get_by_test_id("stSkipToContent").text_content() == "Zum Inhalt springen"
        assert german["copy"] in said
        assert shown["counts"] in said
        assert shown["source"] in said
    with closing(Database(samples_page.data / "steelman.db")) as database:
        run, runs = uuid.uuid4().hex[:12], RunStore(database)
        before = runs.get(phones.removeprefix("/?run=")).answer
        assert before
        told = before.model_copy(update={"run_id": run, "language": "de"}).model_dump_json()
        runs.create(run, run, PHONES, RunOptions.of().to_dict(), "a test")
        assert runs.finish(run, "a test", "done", {}, told)
    visitor.arrive().go(f"/?run={run}").answered(PHONES).page.get_by_text(german["source"]).first.wait_for()
    visitor.page.wait_for_function("document.documentElement.lang == 'en'")
    said = visitor.page.inner_text(".stMain")
    assert shown["copy"] in said
    assert german["counts"] in said
    assert german["source"] in said
    visitor.button("Wrong side?").first.hover()
    visitor.text(re.compile("^Moves it to .* You can take it back")).wait_for()
    visitor.go(f"/?run={run}&view=sheet").button("Back to the answer").wait_for()
    visitor.text("Was nicht bekannt ist").wait_for()


def test_a_row_of_the_history_is_no_wider_than_the_sidebar(samples_page: PageServer, visit: Visit) -> None:
    row = visit(samples_page).arrive().page.locator(".stHorizontalBlock:has(> [class*=st-key-more-])").first
    row.hover()
    assert row.evaluate("row => row.scrollWidth - row.clientWidth") == 0


def test_sides_wrap_beside_a_source_and_print_leaves_out_what_is_no_answer(
    samples_page: PageServer, phones: str, visit: Visit
) -> None:
    visitor = visit(samples_page, width=1024)
    visitor.page.emulate_media(color_scheme="dark")
    visitor.go(phones).answered(PHONES)
    visitor.cited.first.click()
    mark = visitor.page.locator(".sm-source mark").first
    mark.wait_for()
    sides = [box for card in visitor.page.locator("[class*=st-key-card-]").all() if (box := card.bounding_box())]
    assert len(sides) > 1
    assert min(box["width"] for box in sides) > 250
    unseen = "[data-testid=stSidebar]", ".st-key-asking", ".st-key-source", ".stTooltipIcon", ".stMenuButton"
    for media in ("screen", "print"):
        visitor.page.emulate_media(media=media)
        seen = {part: visitor.page.locator(part).first.is_visible() for part in unseen}
        assert seen == dict.fromkeys(unseen, media == "screen")
        assert visitor.page.get_by_text(re.compile("^Documents: read ")).is_visible()
        assert visitor.page.locator("[class*=cite-list]").last.is_visible() is (media == "print")  # the list is folded
    visitor.go(f"{phones}&view=sheet").page.get_by_role("heading", name="What is not known").wait_for()
    printed = visitor.page.pdf(format="A4", margin={"top": "1cm", "right": "1cm", "bottom": "1cm", "left": "1cm"})
    assert len(PdfDocument(printed)) == 1


def test_two_sides_with_long_quotations_fit_on_one_printed_page(
    samples_page: PageServer, phones: str, visit: Visit
) -> None:
    run, made = uuid.uuid4().hex[:12], long_answer()
    with closing(Database(samples_page.data / "steelman.db")) as database:
        runs = RunStore(database)
        runs.create(run, run, made.question, RunOptions.of().to_dict(), "a test")
        assert runs.finish(run, "a test", "done", {}, made.model_copy(update={"run_id": run}).model_dump_json())
    visitor = visit(samples_page).arrive()
    visitor.go(f"/?run={run}&view=sheet").page.get_by_role("heading", name="What is not known").wait_for()
    printed = visitor.page.pdf(format="A4", margin={"top": "1cm", "right": "1cm", "bottom": "1cm", "left": "1cm"})
    assert len(PdfDocument(printed)) == 1


def long_answer() -> Answer:
    """Two sides with three written claims each, of two sources each, and three named gaps, all of them long."""
    said = (
        "the keeper of the lock wrote in spring that barges wait longer each year and that the old gates leak at night "
    )
    about = {"page": 12, "date": "2025-03-12", "speaker": "Cllr Wilhelmina Faulds"}
    quotes = {n: f"On day {n} {said * 4}" for n in range(1, 13)}
    quotes |= {n: f"Nobody has counted how often on day {n} {said * 2}." for n in range(13, 16)}
    claims = [
        AnswerClaim(
            text=f"New gates would show on day {n} whether {said * 2}.",
            citations=[n, n + 6],
            quoted=False,
            reason=f"delay {n}",
            evidence=[quotes[n], quotes[n + 6]],
            answered_by=[f"New gates would show on day {n + 3} whether {said * 2}."] if n < 4 else [],
        )
        for n in range(1, 7)
    ]
    crux = AnswerClaim(text=f"It turns on whether {said * 2}.", citations=[1, 4], role="crux", quoted=False)
    return answer(
        "Should the lock get new gates?",
        stands("p1", "supports", "Yes.", *claims[:3]),
        stands("p2", "opposes", "No.", *claims[3:]),
        citations=[cited(n, quote=quote, **about) for n, quote in quotes.items()],
        gaps=[AnswerClaim(text=quotes[n], citations=[n], role="also") for n in range(13, 16)],
        crux=crux,
    )


# Text that would rather be a script


@pytest.fixture(scope="module")
def page(filled: Path, encoder: MiniLM, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """A page whose collection is hostile."""
    home = tmp_path_factory.mktemp("hostile")
    shutil.copytree(filled, home / "data")
    with closing(Database(home / "data" / "steelman.db")) as database:
        store = Store(database)
        search = HybridSearch(store, home / "data" / "index", encoder)
        Ingester(store, search, encoder).ingest([document()], "mine")
        search.close()
    with PageServer(home) as server:
        yield server


def stored(home: Path) -> str:
    """Puts an answer that is hostile in every field into the page's database; returns its address."""
    run = uuid.uuid4().hex[:12]
    with closing(Database(home / "data" / "steelman.db")) as database:
        runs = RunStore(database)
        passage = next(p.id for _, p in Store(database).scan(0, 10_000) if p.collection == "mine")
        runs.create(run, run, HOSTILE, RunOptions.of().to_dict(), "a test")
        assert runs.finish(run, "a test", "done", {}, hostile_answer(run, passage).model_dump_json())
    return f"/?run={run}"


def test_an_answer_that_is_hostile_throughout_shows_text(page: PageServer, visit: Visit) -> None:
    visitor = visit(page, width=390).go(stored(page.home))
    visitor.field(AGAIN).wait_for()
    visitor.cited.first.wait_for()
    visitor.page.wait_for_timeout(1000)  # what a picture would ask for is asked by now
    check_harmless(visitor)
    said = visitor.page.get_by_test_id("stMain").inner_text()
    assert [part for part in SHOWN if part not in said] == []
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


LETTER = (
    "Our town should sell the old pier, since repairs cost more each year than all the fees bring in. "
    "The town should not sell the old pier, because whoever owns the pier decides who may fish from it."
)


_LOSE = "it => it.addEventListener('focus', () => setTimeout(() => { it.blur(); it.id = 'lost' }, 100), {once: true})"
"""The element loses the focus once, as where the page is still being drawn."""


@pytest.mark.parametrize("width", [390, 1440])
def test_a_source_has_the_focus_until_escape_closes_it(
    samples_page: PageServer, phones: str, visit: Visit, width: int
) -> None:
    visitor = visit(samples_page, width).go(phones).answered(PHONES)
    number, panel = visitor.cited.nth(1), visitor.page.locator(".st-key-source")
    number.press("Enter")
    visitor.until(lambda: focused(panel.get_by_role("button", name="Close")), "the focus in the source", 10)
    number.evaluate(_LOSE)
    visitor.page.keyboard.press("Escape")
    panel.wait_for(state="detached")
    lost = visitor.page.locator("#lost")
    visitor.until(lambda: focused(lost) and focused(number), "the focus where it was", 10)


def test_a_side_is_copied_and_a_quotation_moved_and_put_back_by_keyboard(
    samples_page: PageServer, phones: str, visit: Visit
) -> None:
    visitor = visit(samples_page).arrive().go(phones).answered(PHONES)
    copy, copies = visitor.button("Copy").first, visitor.button("Copy to clipboard")
    copy.press("Enter")
    visitor.until(lambda: focused(copies), "the focus on what copies", 10)
    visitor.page.keyboard.press("Escape")
    visitor.until(lambda: focused(copy), "the focus back", 10)
    before, undo = visitor.page.get_by_test_id("stMain").inner_text(), visitor.button("Undo")
    visitor.button("Wrong side?").first.press("Enter")
    visitor.text(re.compile("A reader moved 1 quotation: “.+” from Yes to No.")).wait_for()
    visitor.until(lambda: focused(undo), "the focus on the way back", 10)
    visitor.page.keyboard.press("Enter")
    visitor.until(lambda: visitor.page.get_by_test_id("stMain").inner_text() == before, "the answer as it was", 10)


def test_what_a_claim_leads_to_is_chosen_by_keyboard_and_print_is_asked_for_once(
    samples_page: PageServer, phones: str, visit: Visit
) -> None:
    visitor = visit(samples_page, 390)
    visitor.page.add_init_script("window.prints = 0; window.print = () => window.prints++")
    visitor.arrive().go(phones).answered(PHONES)
    menu, chosen = visitor.button("Follow up").first, visitor.page.get_by_role("menuitem")
    menu.press("Enter")
    visitor.until(lambda: focused(visitor.page.get_by_role("menu", name="Follow up")), "the focus in the menu", 10)
    ways = ["What speaks against this", "More like this", "Only this source"]
    moves = ["Move it to ‘Also on this question’", "Move it to ‘Not on this question’"]
    assert chosen.all_inner_texts() == [*ways, *moves]
    assert min(box["height"] for item in chosen.all() if (box := item.bounding_box())) >= 44
    for key in ("End", *("ArrowUp" for _ in moves), "Enter"):
        visitor.page.keyboard.press(key)
    visitor.text("You asked: Only this source [1]").wait_for()
    visitor.until(lambda: focused(visitor.page.locator(".st-key-reply-1")), "the focus on the reply", 10)
    visitor.button("Print").click()
    visitor.page.keyboard.press("Enter")  # the button has the focus: a second click
    visitor.until(lambda: visitor.page.evaluate("window.prints") > 0, "the print", 10)
    visitor.page.wait_for_timeout(2000)
    assert visitor.page.evaluate("window.prints") == 1


def test_what_is_typed_outlives_a_visit_elsewhere_and_enter_asks_it(
    samples_page: PageServer, phones: str, visit: Visit
) -> None:
    visitor = visit(samples_page).arrive()
    visitor.field(FIRST).press_sequentially("Should bells ring?")
    for view, heading in (("Settings", "Settings"), ("Documents", "Documents"), ("New question", "Steelman")):
        visitor.button(view).click()
        visitor.page.get_by_role("heading", level=1, name=heading, exact=True).wait_for()
    visitor.until(lambda: visitor.field(FIRST).input_value() == "Should bells ring?", "what was typed", 10)
    visitor.arrive().go(phones).answered(PHONES)
    visitor.field(AGAIN).fill("/summarise")
    visitor.field(AGAIN).press("Enter")
    visitor.text("You asked: /summarise").wait_for()
    visitor.until(lambda: visitor.field(AGAIN).input_value() == "", "an empty field", 10)


def test_the_head_of_a_source_stays_in_view(samples_page: PageServer, phones: str, visit: Visit) -> None:
    visitor = visit(samples_page, 390)
    visitor.page.set_viewport_size({"width": 390, "height": 480})
    visitor.go(phones).answered(PHONES)
    scrolled = 0.0
    for number in range(4):
        visitor.cited.nth(number).click()
        visitor.page.locator(".sm-source mark").first.wait_for()
        visitor.page.wait_for_timeout(1000)  # while it moves
        panel = visitor.page.locator(".st-key-source")
        panel.evaluate("panel => panel.scrollTo(0, 1000)")
        scrolled += panel.evaluate("panel => panel.scrollTop")
        assert box(visitor, ".st-key-close-source button")["top"] >= box(visitor, ".st-key-source")["top"]
        assert panel.evaluate(_HIDDEN) == []
        visitor.page.keyboard.press("Escape")
        panel.wait_for(state="detached")
    assert scrolled > 0


def focused(place: "Locator") -> bool:
    return place.count() == 1 and bool(place.evaluate("it => it === document.activeElement"))


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


@pytest.mark.parametrize("width", [390, 1024, 1100, 1280, 1400, 1440])
def test_the_field_stays_at_the_lower_edge_and_sides_stand_beside_each_other_from_1100(
    samples_page: PageServer, phones: str, visit: Visit, width: int
) -> None:
    visitor = visit(samples_page, width).go(phones).answered(PHONES)
    for down in (0, 700, 100_000):
        visitor.page.locator(".stMain").evaluate(f"main => main.scrollTo(0, {down})")
        visitor.page.wait_for_timeout(200)
        assert 800 < box(visitor, ".stBottom input")["bottom"] <= 900
    assert visitor.width()[0] <= width
    cards = visitor.page.locator("[class*=st-key-card-]")
    assert cards.evaluate_all(_COLUMNS) == (2 if width >= 1100 else 1)
    visitor.cited.nth(3).click()
    visitor.page.locator(".sm-source mark").first.wait_for()
    assert visitor.page.get_by_test_id("stSidebar").is_visible() is (width > 768)
    assert cards.evaluate_all(_COLUMNS) == (2 if width >= 1100 else 1)


_HIDDEN = """sheet => [...sheet.querySelectorAll('b, h2, p, mark, button')].filter(part => {
  const box = part.getBoundingClientRect(), at = box.top + box.height / 2, all = sheet.getBoundingClientRect();
  return at > all.top && at < all.bottom && [box.left + 2, box.right - 2].some(
    x => !sheet.contains(document.elementFromPoint(x, at)))
}).map(part => part.innerText)"""
"""What another part of the page lies over, in the part of the source that is scrolled into view."""


@pytest.mark.parametrize("width", [390, 820, 1024, 1280, 1440])
def test_a_source_never_covers_what_was_clicked(
    samples_page: PageServer, phones: str, visit: Visit, width: int
) -> None:
    visitor = visit(samples_page, width).go(phones).answered(PHONES)
    if width < 1100:
        assert visitor.page.evaluate(_SMALL) == []
    numbers = visitor.page.locator("[class*=st-key-cite-]:visible button")
    for at in (0, 3, numbers.count() - 1):
        numbers.nth(at).scroll_into_view_if_needed()
        before = numbers.nth(at).bounding_box()
        numbers.nth(at).click()
        visitor.page.locator(".sm-source mark").first.wait_for()
        visitor.page.wait_for_timeout(1000)  # while it moves
        clicked = numbers.nth(at).bounding_box()
        assert clicked is not None
        assert before is not None
        edge = box(visitor, ".st-key-source" if width < 1400 else ".stBottom")["top"]
        if width >= 1400 and at < numbers.count() - 1:  # below the last one is nothing to scroll to
            assert abs(clicked["y"] - before["y"]) < 4
        assert visitor.page.locator(".st-key-source").evaluate(_HIDDEN) == []
        assert 60 < clicked["y"] < clicked["y"] + clicked["height"] <= edge
        assert box(visitor, ".st-key-source")["bottom"] <= box(visitor, ".stBottom input")["top"] + 1
        if width < 1100:
            assert visitor.page.evaluate(_SMALL) == []
            assert not visitor.page.locator("kbd").is_visible()
        visitor.page.keyboard.press("Escape")
        visitor.page.locator(".st-key-source").wait_for(state="detached")


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


_THEIRS = {"presentation-role-conflict": "[data-testid=stFileUploaderDropzone]"}
"""Streamlit's own elements, by the rule that they break. Its area for files has a name and the role of none; axe-core
calls that minor. Its button for files, which people use, breaks no rule."""
_FINDINGS = """async theirs => (await axe.run({resultTypes: ['violations']})).violations.flatMap(rule => rule.nodes
  .filter(node => !document.querySelector(node.target[0])?.closest(theirs[rule.id] ?? 'none'))
  .map(node => `${rule.impact} ${rule.id}: ${node.html}\\n${node.failureSummary}`))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_view_breaks_a_rule_of_accessibility(
    samples_page: PageServer, phones: str, visit: Visit, width: int, scheme: Literal["light", "dark"]
) -> None:
    visitor = visit(samples_page, width)
    visitor.page.emulate_media(color_scheme=scheme)
    broken = {view: told for view in views(visitor, phones) if (told := findings(visitor))}
    assert not broken, broken


def views(visitor: Visitor, answer: str) -> Iterator[str]:
    """Opens one view after the other, and names it."""
    visitor.arrive()
    yield "start"
    visitor.button("Options").click()
    visitor.text("How thorough").wait_for()
    yield "options"
    visitor.go(answer).answered(PHONES)
    yield "answer"
    visitor.text("Documents: read ").click()
    visitor.page.locator("[class*=st-key-open-read-] button").last.wait_for()
    yield "list of documents"
    visitor.cited.first.click()
    visitor.page.locator(".sm-source mark").first.wait_for()
    yield "source"
    visitor.button("Whole document").click()
    visitor.page.get_by_role("dialog").locator("mark").first.wait_for()
    yield "document"
    for view, shown in (("sheet", "What is not known"), ("compare", "Compare with another answer")):
        visitor.go(f"{answer}&view={view}").page.get_by_role("heading", name=shown).wait_for()
        yield view
    visitor.go("/?view=documents").text(re.compile(r"\d passages?\.")).wait_for()
    yield "documents"
    visitor.go("/?view=settings").button("Use these settings").wait_for()
    visitor.until(lambda: visitor.page.locator(".sm-row b", has_text="…").count() == 0, "all that is on")
    yield "settings"


def findings(visitor: Visitor) -> list[str]:
    """What breaks a rule in what the page shows, once nothing moves any more."""
    visitor.page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    told: list[str] = []
    for _ in range(10):
        visitor.page.wait_for_timeout(500)
        if not (told := visitor.page.evaluate(_FINDINGS, _THEIRS)):
            break
    return told


# People who log in


@pytest.fixture
def login_page(filled: Path, tmp_path: Path) -> Iterator[tuple[PageServer, Provider]]:
    people = {"bob": {"email": "desk@example.org"}, "cyd": {"name": "Cyd Carter", "email": "cyd@example.org"}}
    with serving(Provider(people)) as provider:
        server = PageServer(tmp_path)
        shutil.copytree(filled, server.data)
        (server.data / "secrets.toml").write_text(provider.secrets(f"{server.url}/oauth2callback"))
        with server:
            yield server, provider


def test_an_answer_is_its_persons_after_logging_out_and_in_again(
    login_page: tuple[PageServer, Provider], visit: Visit
) -> None:
    server, provider = login_page

    def log_in(subject: str) -> Visitor:
        visitor = visit(server)
        visitor.may_ask += (f"{provider.url}/",)
        visitor.go().button("Log in").click()
        visitor.page.get_by_role("link", name=subject).click()
        visitor.button("Log out").wait_for()
        return visitor

    cyd = log_in("cyd").arrive()
    cyd.ask(PHONES)
    hers = f"/?run={cyd.answered(PHONES).run_id}"
    cyd.button("Log out").click()
    cyd.button("Log in").wait_for()
    for visitor in (cyd, visit(server)):
        visitor.go(hers).button("Log in").wait_for()
        assert visitor.field(AGAIN).count() == visitor.field(FIRST).count() == 0
    bob = log_in("bob").go(hers)
    bob.text("There is no answer at this address.").wait_for()
    assert bob.button(PHONES).count() == 0
    provider.people["cyd"].update(name="Cyd Baker", email="cyd.baker@example.org")
    again = log_in("cyd")
    again.text("Cyd Baker").wait_for()
    again.go(hers).answered(PHONES)
