"""Times of the page in a browser, beside those of another checkout:
`PYTHONPATH=. python tests/page_times.py [OTHER CHECKOUT] [ROUNDS]`.

Each round starts a server on an empty data folder, opens the page and asks two questions on the samples. `wall` is the
time that a visitor waits. `cpu` is the server's processor time, which depends less on what else runs on the machine.
The checkouts take turns; the table has medians. The page itself looks for what is awaited, in every frame: Playwright's
own waiting looks twice a second, so that every time would be a multiple of half a second."""

import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from page_server import ROOT, PageServer, chromium
from playwright.sync_api import Browser

_FIELD = re.compile("^(Ask something that people disagree on|Follow up, or ask something new)$")
_FIELD_DRAWN = "() => document.querySelector('.stTextInput input')"
_STAGES_DRAWN = "() => document.querySelector('.sm-stages')"
_ANSWER_DRAWN = "() => [...document.querySelectorAll('button')].some(button => button.textContent.includes('Export'))"
_QUESTIONS = ("Should schools ban smartphones?", "Should voting be compulsory?")


def processor_seconds(pid: int) -> float:
    """Processor seconds of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def rest(pid: int) -> None:
    """Waits until the process has nothing to do."""
    before = -1.0
    while (now := processor_seconds(pid)) - before > 0.1:
        before = now
        time.sleep(1)


def one_round(browser: Browser, checkout: Path) -> dict[str, float]:
    """Seconds of each step, by its name."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as home, PageServer(Path(home), PYTHONPATH=str(checkout)) as server:
        figures["server up, cpu"] = processor_seconds(server.pid)
        page = browser.new_context(viewport={"width": 1200, "height": 860}).new_page()
        page.set_default_timeout(120_000)
        field = page.get_by_label(_FIELD)

        def timed(name: str, step: Callable[[], object]) -> None:
            wall, cpu = time.perf_counter(), processor_seconds(server.pid)
            step()
            figures[f"{name}, wall"] = time.perf_counter() - wall
            figures[f"{name}, cpu"] = processor_seconds(server.pid) - cpu

        def open_page() -> None:
            page.goto(server.url, wait_until="commit")
            page.wait_for_function(_FIELD_DRAWN)

        timed("first paint", open_page)
        rest(server.pid)  # a person reads; a server on an empty folder indexes the samples meanwhile
        for place, question in zip(("first", "second"), _QUESTIONS, strict=True):
            open_page()
            field.fill(question)
            begun = time.perf_counter()
            cpu = processor_seconds(server.pid)
            page.get_by_role("button", name="Ask", exact=True).click()
            timed(f"{place} stages", partial(page.wait_for_function, _STAGES_DRAWN))
            page.wait_for_function(_ANSWER_DRAWN)
            figures[f"{place} answer, wall"] = time.perf_counter() - begun
            figures[f"{place} answer, cpu"] = processor_seconds(server.pid) - cpu
    return figures


def main(other: str = "", rounds: str = "5") -> None:
    checkouts = {"this": ROOT} | ({"other": Path(other).resolve()} if other else {})
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in checkouts}
    with chromium() as browser:
        for number in range(int(rounds)):
            for name, checkout in checkouts.items():
                seen[name].append(one_round(browser, checkout))
                print(f"round {number + 1}, {name}", file=sys.stderr)
    print(f"{'seconds, medians':24}" + "".join(f"{name:>8}" for name in checkouts))
    for step in seen["this"][0]:
        medians = (statistics.median(found[step] for found in rounds_of) for rounds_of in seen.values())
        print(f"{step:24}" + "".join(f"{median:8.2f}" for median in medians))


if __name__ == "__main__":
    main(*sys.argv[1:])
