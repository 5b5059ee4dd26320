"""The page by the rules of axe-core: every view, light and dark, on a phone and on a desk."""

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Literal

import pytest
from page_server import PageServer
from test_browser import PHONES, phones  # noqa: F401  # a fixture
from visitors import Visit, Visitor

pytest_plugins = ["visitors"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

_THEIRS = {"presentation-role-conflict": "[data-testid=stFileUploaderDropzone]"}
"""Streamlit's own elements, by the rule that they break. Its area for files has a name and the role of none; axe-core
calls that minor. Its button for files, which people use, breaks no rule."""
_FINDINGS = """async theirs => (await axe.run({resultTypes: ['violations']})).violations.flatMap(rule => rule.nodes
  .filter(node => !document.querySelector(node.target[0])?.closest(theirs[rule.id] ?? 'none'))
  .map(node => `${rule.impact} ${rule.id}: ${node.html}\\n${node.failureSummary}`))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_view_breaks_a_rule_of_accessibility(
    samples_page: PageServer,
    phones: str,  # noqa: F811
    visit: Visit,
    width: int,
    scheme: Literal["light", "dark"],
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
    visitor.go("/?view=settings").button("Use these").wait_for()
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
