"""The chat page as a process of its own, and Chromium to visit it with: for its tests and its pictures."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from loopback import free_port

from tools.errors import ModelError, SettingsError

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[1]
INSTALL = "Install one (Debian: apt-get install chromium fonts-liberation), or name it by STEELMAN_CHROMIUM."
_UP_WITHIN = 60.0
_ENDS_WITHIN = 10.0
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run", "--disable-dev-shm-usage"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # what a page asks of others gets no further
)


def find_chromium() -> Path | None:
    """The browser that STEELMAN_CHROMIUM names, or the first of the usual ones on the path."""
    named = os.environ.get("STEELMAN_CHROMIUM")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, _NAMES)), None)
    return Path(found) if found else None


@contextmanager
def chromium() -> Iterator["Browser"]:
    """A browser that reaches this machine only. Raises SettingsError where there is none, or no Playwright."""
    browser = find_chromium()
    if browser is None:
        raise SettingsError(f"there is no Chromium here. {INSTALL}")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as exc:
        raise SettingsError("Playwright is not installed. Install requirements-dev.lock, as `make test` does.") from exc
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=browser, args=_ARGUMENTS)
        try:
            yield running
        finally:
            running.close()


class PageServer:
    """The page, served by a process that knows nothing of this one's environment, while the context is open.

    home: its data, its log and its home folder; variables: more of its environment. Raises ModelError with what it said
    where it does not come up.
    """

    def __init__(self, home: Path, **variables: str) -> None:
        self.home, self._variables = home, variables
        self.data = home / "data"
        self.log = home / "page.log"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "PageServer":
        told = {"HOME": str(self.home), "STEELMAN_DATA_DIR": str(self.data), "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ui", "--port", str(self.port)],
                cwd=self.home,  # without a .env
                env={name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
                | told
                | self._variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            self._wait()
        except ModelError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(_ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def _wait(self) -> None:
        opener = build_opener(ProxyHandler({}))
        until = time.monotonic() + _UP_WITHIN
        while time.monotonic() < until and self._process.poll() is None:
            try:
                with opener.open(f"{self.url}/_stcore/health", timeout=1) as reply:
                    reply.read()
                return
            except (URLError, ConnectionError, TimeoutError):
                time.sleep(0.05)
        raise ModelError(f"the page did not come up. It said:\n{self.said()[-2000:]}")


if __name__ == "__main__":  # the browser that is used
    print(find_chromium() or INSTALL)
    sys.exit(find_chromium() is None)
