"""People at the page: Chromium windows over the real page, from which nothing may leave it and in which nothing fails.

A test module takes the fixtures with `pytest_plugins = ["visitors"]`. PYTEST_DONT_REWRITE: they also import names from
here, which happens before it becomes a plugin.
"""

import asyncio
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from page_server import INSTALL, PageServer, chromium, find_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Locator, Request, WebSocket
    from playwright.sync_api import Error as PageError

FIRST = "Ask something that people disagree on"
AGAIN = "Follow up, or ask something new"
WAIT = 30.0
"""Seconds that a visitor waits for what has to come."""


class Visitor:
    """One person with a browser window of their own. complaints: what went wrong in it without being seen."""

    def __init__(self, browser: "Browser", server: PageServer, width: int = 1200, height: int = 900) -> None:
        self.server = server
        self.complaints: list[str] = []
        self.may_ask: tuple[str, ...] = (f"{server.url}/", "data:", "blob:")
        self.context = browser.new_context(viewport={"width": width, "height": height}, accept_downloads=True)
        self.context.set_default_timeout(WAIT * 1000)
        self.page = self.context.new_page()
        self.page.on("pageerror", self._failed)
        self.page.on("dialog", self._spoke)
        self.page.on("websocket", self._connected)
        self.context.on("request", self._asked)
        self.context.on("page", lambda page: self.complaints.append(f"a window opened: {page.url}"))

    def close(self) -> None:
        self.context.close()

    def check(self) -> None:
        assert not self.complaints, "\n".join(self.complaints)

    # What they do

    def go(self, path: str = "/") -> "Visitor":
        self.page.goto(f"{self.server.url}{path}", wait_until="commit")
        return self

    def arrive(self) -> "Visitor":
        """Opens the empty page and waits until a question can be asked."""
        self.go()
        self.field(FIRST).wait_for()
        return self

    def ask(self, question: str, label: str = FIRST) -> None:
        self.field(label).fill(question)
        self.until(lambda: self.button("Ask").count() == 1, "one form", 5)  # what was shown before takes a moment to go
        self.button("Ask").click()

    def reload(self) -> None:
        self.page.reload(wait_until="commit")

    # What they see

    def field(self, label: str) -> "Locator":
        return self.page.get_by_label(label, exact=True)

    def button(self, name: "str | re.Pattern[str]") -> "Locator":
        return self.page.get_by_role("button", name=name, exact=isinstance(name, str))

    def text(self, words: "str | re.Pattern[str]") -> "Locator":
        return self.page.get_by_text(words).first

    @property
    def cited(self) -> "Locator":
        return self.button(re.compile(r"^\[\d+\]"))

    @property
    def run_id(self) -> str:
        return parse_qs(urlsplit(self.page.url).query).get("run", [""])[0]

    def answered(self, question: str = "") -> "Visitor":
        """Waits for an answer with sources, to that question where one is named."""
        if question:
            self.page.get_by_role("heading", level=1, name=question, exact=True).wait_for()
        self.ended()
        self.until(lambda: self.cited.first.is_visible(), "citations", 10)
        return self

    def ended(self) -> "Visitor":
        """Waits for a run's answer, and until nothing of what was shown before is left."""
        self.field(AGAIN).first.wait_for()  # for a moment there may be that of an answer shown before, too
        left = self.page.locator(".sm-stages, [data-stale=true]")
        self.until(lambda: left.count() == 0 and self.field(AGAIN).count() == 1, "the answer alone")
        return self

    def running(self) -> "Visitor":
        self.page.locator(".sm-stages").wait_for()
        return self

    def width(self) -> tuple[int, int]:
        """How wide the document is, and the window, in pixels."""
        wide, window = self.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        return int(wide), int(window)

    def until(self, there: Callable[[], object], what: str, seconds: float = WAIT) -> None:
        for _ in range(int(seconds / 0.05)):
            if there():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never seen: {what}. The page says:\n{self.page.inner_text('body')[:3000]}")

    # What must not be

    def _asked(self, request: "Request") -> None:
        if not request.url.startswith(self.may_ask):
            self.complaints.append(f"the page asked for {request.url[:200]}")

    def _connected(self, socket: "WebSocket") -> None:
        if not socket.url.startswith(f"ws://127.0.0.1:{self.server.port}/"):
            self.complaints.append(f"the page connected to {socket.url[:200]}")

    def _failed(self, error: "PageError") -> None:
        self.complaints.append(f"an error in the page: {error}")

    def _spoke(self, dialog: "Dialog") -> None:
        self.complaints.append(f"a dialog: {dialog.message[:200]}")
        dialog.dismiss()


Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Chromium; a test without it is skipped, but for one in continuous integration."""
    if find_chromium() is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"there is no Chromium here. {INSTALL}")
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    from agent.runs.service import open_runs
    from agent.settings import Settings

    data = tmp_path_factory.mktemp("filled")
    shutil.copytree(shared_cache, data / "cache")

    async def index() -> None:
        async with open_runs(Settings(data_dir=data)):
            pass

    asyncio.run(index())
    return data


@pytest.fixture(scope="session")
def samples_page(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """One page on a copy of that folder for all tests."""
    server = PageServer(tmp_path_factory.mktemp("page"))
    shutil.copytree(filled, server.data)
    with server:
        yield server


@pytest.fixture
def visit(browser: "Browser") -> Iterator[Visit]:
    """Opens a window on a page; after the test nothing may have gone wrong in it or in the page's process."""
    visitors: list[Visitor] = []

    def open_window(server: PageServer, width: int = 1200) -> Visitor:
        visitors.append(Visitor(browser, server, width))
        return visitors[-1]

    yield open_window
    servers = {v.server.url: v.server for v in visitors}
    for visitor in visitors:
        visitor.close()
    for server in servers.values():
        print(f"{server.url} said:\n{server.said()[-4000:]}")  # shown where a test fails
    for visitor in visitors:
        visitor.check()
    assert not [url for url, server in servers.items() if "Traceback" in server.said()]
