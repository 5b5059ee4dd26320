"""Pictures of the chat page on the samples, taken by a browser: `make screenshots`."""

import argparse
import io
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from evals.benchmarks.browser import PageServer, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_FIELD = "Ask something that people disagree on"
_SHOWN = "Should schools ban smartphones?"
_BEFORE = ("Is nuclear power safe?", "Should voting be compulsory?")
_WIDE = (1200, 860)
_PHONE = (390, 844)
_COLOURS = 64
_PATIENCE = 120_000.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="where they are put")


def run(args: argparse.Namespace) -> int:
    """Takes the pictures. Raises SettingsError without a browser."""
    args.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, chromium() as browser, PageServer(Path(home)) as server:
        page = _window(browser, _WIDE)
        _visit(page, server)
        page.get_by_role("button", name="New question", exact=True).wait_for()
        _save(page, args.folder / "empty.png")
        for question in _BEFORE:
            _answered(page, server, question)
        _visit(page, server)
        _ask(page, _SHOWN, deep=True)
        page.locator(".sm-side", has_text="covered").first.wait_for()
        _save(page, args.folder / "running.png", still=False)
        page.get_by_text("Download as Markdown").first.wait_for()
        _answer(page, args.folder)
        _phone(browser, page.url, args.folder)
        page.get_by_role("button", name="Settings", exact=True).click()
        page.get_by_text("checkpoints").first.wait_for()
        _save(page, args.folder / "settings.png")
    for file in sorted(args.folder.glob("*.png")):
        print(f"{file}  {file.stat().st_size / 1000:.0f} kB")
    return 0


def _answer(page: "Page", folder: Path) -> None:
    """The answer, the ledger below it, and a source's card."""
    _save(page, folder / "answer.png")
    page.get_by_role("heading", name="The evidence").evaluate("heading => heading.scrollIntoView()")
    _save(page, folder / "ledger.png")
    page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, 0)")
    page.get_by_role("button", name=re.compile(r"^\[\d+\]")).first.click()
    page.locator(".sm-source mark").first.wait_for()
    _save(page, folder / "source.png")
    page.keyboard.press("Escape")


def _phone(browser: "Browser", address: str, folder: Path) -> None:
    page = _window(browser, _PHONE, scale=2)
    page.goto(address, wait_until="commit")
    page.get_by_text("Download as Markdown").first.wait_for()
    _save(page, folder / "phone.png")
    page.context.close()


def _window(browser: "Browser", size: tuple[int, int], scale: int = 1) -> "Page":
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=scale)
    context.set_default_timeout(_PATIENCE)
    return context.new_page()


def _visit(page: "Page", server: PageServer) -> None:
    page.goto(server.url, wait_until="commit")
    page.get_by_label(_FIELD, exact=True).wait_for()


def _ask(page: "Page", question: str, *, deep: bool = False) -> None:
    if deep:  # so that there is something to see of a run that goes on
        page.get_by_role("button", name="Options").click()
        page.get_by_text("deep", exact=True).first.click()
        page.keyboard.press("Escape")
    page.get_by_label(_FIELD, exact=True).fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def _answered(page: "Page", server: PageServer, question: str) -> None:
    _visit(page, server)
    _ask(page, question)
    page.get_by_text("Download as Markdown").first.wait_for()


def _save(page: "Page", file: Path, *, still: bool = True) -> None:
    """A picture in few colours, which is a third of the size; `still`: once nothing moves any more."""
    from PIL import Image

    if still:
        page.wait_for_timeout(1200)
    size = page.viewport_size or {"width": 2, "height": 2}
    page.mouse.move(size["width"] - 2, size["height"] - 2)  # where it lights up nothing
    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
