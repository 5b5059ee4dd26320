"""`make screenshots`: pictures of the chat page on the samples, taken by a browser."""

import io
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from page_server import PageServer, chromium

from tools.errors import SteelmanError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_FIELD = "Ask something that people disagree on"
_BEFORE = ("Is nuclear power safe?", "Should voting be compulsory?")
_SHOWN = "Should schools ban smartphones?"


def main(folder: Path) -> None:
    """Takes the pictures. Raises SettingsError without a browser."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, chromium() as browser, PageServer(Path(home)) as server:
        page = _window(browser, 1200, 860)
        page.goto(server.url, wait_until="commit")
        page.get_by_role("button", name="New question", exact=True).wait_for()
        _save(page, folder / "empty.png")
        for question in _BEFORE:
            _ask(page, server.url, question)
            page.get_by_role("button", name="Export").wait_for()
        _ask(page, server.url, _SHOWN, deep=True)  # so that there is something to see of a run that goes on
        page.locator(".sm-side", has_text="enough found").first.wait_for()
        _save(page, folder / "running.png", still=False)
        page.get_by_role("button", name="Export").wait_for()
        _save(page, folder / "answer.png")
        page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, 0)")
        page.get_by_role("button", name=re.compile(r"^\[\d+\]")).first.click()
        page.locator(".sm-source mark").first.wait_for()
        _save(page, folder / "source.png")
        phone = _window(browser, 390, 844, scale=2)
        phone.goto(page.url, wait_until="commit")
        phone.get_by_role("button", name="Export").wait_for()
        _save(phone, folder / "phone.png")
        page.get_by_role("button", name="Documents", exact=True).click()
        page.get_by_text("547 passages").wait_for()
        _save(page, folder / "documents.png")


def _window(browser: "Browser", width: int, height: int, scale: int = 1) -> "Page":
    context = browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=scale)
    context.set_default_timeout(120_000)
    return context.new_page()


def _ask(page: "Page", address: str, question: str, *, deep: bool = False) -> None:
    page.goto(address, wait_until="commit")
    page.get_by_label(_FIELD, exact=True).wait_for()
    if deep:
        page.get_by_role("button", name="Options").click()
        page.get_by_text("deep", exact=True).first.click()
        page.keyboard.press("Escape")
    page.get_by_label(_FIELD, exact=True).fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def _save(page: "Page", file: Path, *, still: bool = True) -> None:
    """A picture in 64 colours, which is a third of the size; `still`: once nothing moves any more."""
    from PIL import Image

    if still:
        page.wait_for_timeout(1200)
    page.mouse.move((page.viewport_size or {"width": 2})["width"] - 2, 2)  # where it lights up nothing
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(64, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file}  {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/screenshots"))
    except SteelmanError as exc:
        sys.exit(f"screenshots: {exc}")
