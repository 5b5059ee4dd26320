"""The chat page in a real browser: how soon it can be used."""

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.benchmarks.browser import PageServer, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

_VISITS = 5
_WINDOW: "ViewportSize" = {"width": 1200, "height": 900}
_ASKED = "Should schools ban smartphones?"
_FIELD = "Ask something that people disagree on"
_PATIENCE = 120_000.0


def bench_page() -> dict[str, Any]:
    """First paint: seconds from the beginning of a visit until the question's field and button are to be seen, the
    very first visit to a server apart. Raises SettingsError without a browser."""
    with tempfile.TemporaryDirectory() as home, chromium() as browser, PageServer(Path(home)) as server:
        began = time.perf_counter()
        first = _visit(browser, server)
        ready = _opened(browser, server, began)
        visits = [_visit(browser, server) for _ in range(_VISITS)]
    return {
        "first_visit_seconds": round(first, 2),
        "samples_indexed_seconds": round(ready, 2),
        "first_paint_seconds": round(statistics.median(visits), 2),
        "slowest_paint_seconds": round(max(visits), 2),
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
