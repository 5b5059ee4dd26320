"""Fetches pages that show nothing without JavaScript once more, with a headless Chromium (extra `browser`).

Chromium has no network of its own. Each request of a page goes through a `PageFetcher`, whose guard checks addresses,
redirects and DNS answers. What Playwright does not route (sockets, WebRTC, prefetches) ends at names that do not
resolve. A page has limits on time, requests and bytes, and each of Chromium's processes has one on memory.
"""

import asyncio
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Error, Page, Playwright, Route, async_playwright
from playwright.async_api import TimeoutError as TooSlowError

from tools.budget import budget_scope, current_budget
from tools.errors import SourceError
from tools.limits import BROWSER_BYTES, BROWSER_MEGABYTES, BROWSER_REQUESTS, BROWSER_SECONDS, LARGEST_PAGE
from tools.web.addresses import check_url
from tools.web.fetch import HTML, USER_AGENT, FetchedPage, PageFetcher, failure

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_INSTALL = "Install it (Debian: apt-get install chromium; or: playwright install chromium), or set STEELMAN_CHROMIUM."
_NOWHERE = "http://nowhere.invalid:1"  # the proxy
_ARGUMENTS = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # the same for Playwright's headless shell
    *("--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage", "--renderer-process-limit=4"),
)
_POLICY = "frame-src 'none'; worker-src 'none'; object-src 'none'; form-action 'none'"
_TYPES = frozenset({"document", "script", "stylesheet", "xhr", "fetch"})
_AT_ONCE, _QUIET_SECONDS, _CLOSING_SECONDS = 2, 5.0, 3.0
# The address with the text, because the page may go elsewhere meanwhile. At most four bytes a character.
_READ = f"[location.href, document.documentElement.outerHTML.slice(0, {LARGEST_PAGE // 4})]"


class BrowserFetcher(PageFetcher):
    """A PageFetcher that can run a page's scripts. chromium: the program; empty: a usual one, else Playwright's."""

    def __init__(self, chromium: str = "", **limits: Any) -> None:
        """limits: as for PageFetcher."""
        super().__init__(**limits)
        self._parts = PageFetcher(any_type=True, **limits)
        self._chromium = chromium or next(filter(None, map(shutil.which, _NAMES)), "")
        self._turns, self._opening = asyncio.Semaphore(_AT_ONCE), asyncio.Lock()
        self._driver: Playwright | None = None
        self._browser: Browser | None = None

    async def render(self, page: FetchedPage) -> FetchedPage:
        """The page with what its scripts show. Raises SourceError, AddressError."""
        try:
            async with asyncio.timeout(current_budget().seconds_left()), self._turns:
                browser = await self._open(page.url)
                async with asyncio.timeout(BROWSER_SECONDS):
                    return await self._rendered(page, browser)
        except TimeoutError as exc:
            raise failure(page.url, "its scripts took too long") from exc
        except Error as exc:
            raise failure(page.url, f"its scripts failed in the browser ({_first_line(exc)})") from exc

    async def aclose(self) -> None:
        await super().aclose()
        await self._parts.aclose()
        await self._stop()

    async def _rendered(self, page: FetchedPage, browser: Browser) -> FetchedPage:
        context = await browser.new_context(user_agent=USER_AGENT, service_workers="block", accept_downloads=False)
        try:
            view = await context.new_page()
            await context.route("**/*", _Visit(page, view, self._parts).answer)
            await context.route_web_socket("**/*", lambda socket: socket.close())
            context.on("page", lambda popup: popup.close())
            await view.goto(page.url, wait_until="domcontentloaded")
            with suppress(TooSlowError):  # some pages never stop asking
                await view.wait_for_load_state("networkidle", timeout=1000 * _QUIET_SECONDS)
            session = await context.new_cdp_session(view)
            frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
            # The page's scripts cannot change what runs in a world of its own.
            world = (await session.send("Page.createIsolatedWorld", {"frameId": frame}))["executionContextId"]
            asked = {"expression": _READ, "contextId": world, "returnByValue": True}
            url, html = (await session.send("Runtime.evaluate", asked))["result"].get("value", ("", ""))
            return FetchedPage(check_url(url, self._ports), "text/html", html.encode(errors="replace"), "utf-8")
        finally:
            try:
                async with asyncio.timeout(_CLOSING_SECONDS):
                    await context.close()
            except (Error, TimeoutError):
                await self._stop()

    async def _open(self, url: str) -> Browser:
        async with self._opening:
            if self._browser is None or not self._browser.is_connected():
                await self._stop()
                self._driver = await async_playwright().start()
                try:
                    self._browser = await self._launch(self._driver)
                except (Error, OSError) as exc:
                    why = f"shows nothing without JavaScript, and Chromium does not start ({_first_line(exc)})"
                    raise SourceError(f"{failure(url, why)} {_INSTALL}", hint=_INSTALL) from exc
            return self._browser

    async def _launch(self, driver: Playwright) -> Browser:
        with tempfile.TemporaryDirectory(prefix="steelman-browser-") as folder:
            program, limited = self._chromium or driver.chromium.executable_path, Path(folder, "chromium")
            limited.write_text(f'#!/bin/sh\nulimit -d {BROWSER_MEGABYTES * 1024}\nexec "{program}" "$@"\n')
            limited.chmod(0o700)
            return await driver.chromium.launch(
                executable_path=limited,
                args=_ARGUMENTS,
                proxy={"server": _NOWHERE},
                chromium_sandbox=os.geteuid() != 0,  # root cannot have one
                env={name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ},
            )

    async def _stop(self) -> None:
        """Ends the driver, which ends its browser."""
        driver, self._driver, self._browser = self._driver, None, None
        if driver:
            await driver.stop()


class _Visit:
    """Answers the requests of one page."""

    def __init__(self, page: FetchedPage, view: Page, parts: PageFetcher) -> None:
        self._page: FetchedPage | None = page
        self._view, self._parts, self._budget = view, parts, current_budget()
        self._requests, self._bytes = BROWSER_REQUESTS, BROWSER_BYTES
        self._end = asyncio.get_running_loop().time() + BROWSER_SECONDS

    async def answer(self, route: Route) -> None:
        """Fulfils the request. Aborts what is no GET, no part of a text, in a frame, or over a limit."""
        try:
            found = await self._found(route)
            headers = {"Content-Type": f"{found.content_type}; charset={found.charset or 'utf-8'}"}
            await route.fulfill(body=found.data, headers={**headers, "Content-Security-Policy": _POLICY})
        except (SourceError, Error, TimeoutError):
            with suppress(Error):
                await route.abort()

    async def _found(self, route: Route) -> FetchedPage:
        asked, self._requests = route.request, self._requests - 1
        is_page = asked.is_navigation_request()
        elsewhere = is_page and asked.frame != self._view.main_frame
        if asked.method != "GET" or asked.resource_type not in _TYPES or elsewhere or self._requests < 0:
            raise failure(asked.url, "is not asked for")
        if asked.resource_type == "stylesheet":  # some pages wait for it
            return FetchedPage(asked.url, "text/css", b"")
        found, self._page = (self._page, None) if is_page else (None, self._page)
        if found is None:
            with budget_scope(self._budget):  # Playwright calls this in the context of whoever opened the browser
                async with asyncio.timeout_at(self._end):
                    found = await self._parts.fetch(asked.url)
        self._bytes -= len(found.data)
        if self._bytes < 0 or (is_page and found.content_type not in HTML):
            raise failure(asked.url, "is too large or no page")
        return found


def _first_line(exc: Exception) -> str:
    return str(exc).strip().partition("\n")[0][:200]
