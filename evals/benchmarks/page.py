"""The chat page in a real browser: how soon it can be used, and how soon it answers a hand while a run goes on."""

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.benchmarks.browser import PageServer, chromium
from evals.benchmarks.timing import spread
from tools.errors import ModelError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

_VISITS = 5
_WINDOW: "ViewportSize" = {"width": 1200, "height": 900}
_TOUCHES = 30
_ASKED = "Should schools ban smartphones?"
_FIELD = "Ask something that people disagree on"
_PATIENCE = 120_000.0


def bench_page() -> dict[str, Any]:
    """First paint: seconds from the beginning of a visit until the question's field and button are to be seen, the
    very first visit to a server apart. Touch: milliseconds from a click, or a key, to what it does, while the embedded
    judge works for a run in another window. Raises SettingsError without a browser."""
    with tempfile.TemporaryDirectory() as home, chromium() as browser, PageServer(Path(home)) as server:
        began = time.perf_counter()
        first = _visit(browser, server)
        ready = _opened(browser, server, began)
        visits = [_visit(browser, server) for _ in range(_VISITS)]
        clicks, keys = _touches(browser, server)
    return {
        "first_visit_seconds": round(first, 2),
        "samples_indexed_seconds": round(ready, 2),
        "first_paint_seconds": round(statistics.median(visits), 2),
        "slowest_paint_seconds": round(max(visits), 2),
        **spread("click", clicks, "milliseconds", None),
        **spread("key", keys, "milliseconds", None),
    }


def _visit(browser: "Browser", server: PageServer) -> float:
    """Seconds of one visit by somebody who was never here."""
    context = browser.new_context(viewport=_WINDOW)
    try:
        page = context.new_page()
        began = time.perf_counter()
        _arrive(page, server)
        return time.perf_counter() - began
    finally:
        context.close()


def _arrive(page: "Page", server: PageServer) -> None:
    page.set_default_timeout(_PATIENCE)
    page.goto(server.url, wait_until="commit")
    page.get_by_label(_FIELD, exact=True).wait_for()
    page.get_by_role("button", name="Ask", exact=True).wait_for()


def _opened(browser: "Browser", server: PageServer, began: float) -> float:
    """Seconds until a first question is answered, which waits for the samples to be indexed."""
    context = browser.new_context()
    try:
        page = context.new_page()
        _arrive(page, server)
        _ask(page, _ASKED)
        page.get_by_text("Download as Markdown").first.wait_for()
        return time.perf_counter() - began
    finally:
        context.close()


def _ask(page: "Page", question: str) -> None:
    page.get_by_label(_FIELD, exact=True).fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def _touches(browser: "Browser", server: PageServer) -> tuple[list[float], list[float]]:
    """Milliseconds of clicks that run the page anew, and of keys, while another window's runs go on."""
    from agent.samples import sample_questions

    clicks: list[float] = []
    keys: list[float] = []
    page, worker = (browser.new_context(viewport=_WINDOW).new_page() for _ in range(2))
    try:
        _arrive(page, server)
        for question in list(sample_questions().values())[1:]:  # each once: what was judged before is not judged again
            _arrive(worker, server)
            _ask_deep(worker, question)
            page.bring_to_front()  # what nobody sees is drawn once a second
            while len(clicks) < _TOUCHES and worker.get_by_role("button", name="Stop", exact=True).is_visible():
                clicks.append(_clicked(page, _ASKED, "h1", _ASKED))  # an earlier answer, and back
                clicks.append(_clicked(page, "New question", "label", _FIELD))
                keys += [_typed(page) for _ in range(2)]
            if len(clicks) >= _TOUCHES:
                return clicks, keys
        raise ModelError("the runs ended before the page could be touched; see the page's log.")
    finally:
        page.context.close()
        worker.context.close()


def _ask_deep(page: "Page", question: str) -> None:
    page.get_by_role("button", name="Options").click()
    page.get_by_text("deep", exact=True).first.click()
    page.keyboard.press("Escape")
    _ask(page, question)
    page.get_by_role("button", name="Stop", exact=True).wait_for()


_CLICKED = """([name, kind, words]) => new Promise(done => {
  const named = (kind, words) => [...document.querySelectorAll(kind)].find(e => e.innerText.trim() === words);
  const began = performance.now();
  const look = () => requestAnimationFrame(() => named(kind, words) ? done(performance.now() - began) : look());
  named('[data-testid=stSidebar] button', name).click();
  look();
})"""
_TYPED = """() => document.activeElement.addEventListener('input', e => requestAnimationFrame(() =>
  requestAnimationFrame(now => { window.typed = now - e.timeStamp; })), {once: true})"""


def _clicked(page: "Page", name: str, kind: str, words: str) -> float:
    """Milliseconds from a click on a button of the sidebar until an element of the kind with the words is there."""
    page.get_by_test_id("stSidebar").get_by_role("button", name=name, exact=True).wait_for()
    return float(page.evaluate(_CLICKED, [name, kind, words]))


def _typed(page: "Page") -> float:
    """Milliseconds from a key until its letter was painted."""
    page.get_by_label(_FIELD, exact=True).click()
    page.evaluate("window.typed = 0")
    page.evaluate(_TYPED)
    page.keyboard.press("x")
    page.wait_for_function("window.typed")
    return float(page.evaluate("window.typed"))
