"""Steelman for other programs: `ask` runs the installed command and returns its answer.

The folders `agent`, `tools` and so on lie in this one. A command puts it first on the path of its own process; a
program that imports `steelman` keeps its path as it is.
"""

import os
import sys
from collections.abc import Iterator

TYPE_CHECKING = False  # a command may be started where somebody's file is called `typing.py`
if TYPE_CHECKING:
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH120, PTH100  # nor is pathlib imported yet
FOLDER = _HERE if os.path.isdir(f"{_HERE}/agent") else os.path.dirname(_HERE)  # noqa: PTH112, PTH120  # in a checkout
"""Where `agent`, `tools` and so on lie."""
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from agent.__main__ import main; sys.exit(main())"


class SteelmanError(Exception):
    """The command gave no answer. The text is its line; `status` is its exit status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def ask(question: str, **options: "Any") -> "dict[str, Any]":
    """Answers a question in a process of its own, with the environment's settings. Raises SteelmanError.

    Returns what `steelman ask --json` prints (`docs/answer.schema.json`), also where nothing was found or a provider
    was replaced, which `outcome` and `notes` say. Warnings go to the logger `steelman`.

    options: those of `steelman ask --help` by their long names, such as `collection="mine"` (or a list of names),
    `deadline=20`, `only=["gov.uk"]`, `out="answer.html"`; besides these `depth="quick"` or `"deep"`, and `web=False`.
    """
    import json
    import logging
    import subprocess

    typed = [sys.executable, "-P", "-c", _START, FOLDER, "ask", "--json", *_typed(**options), "--", question]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    try:
        done = subprocess.run(
            typed, env=environment, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace"
        )
    except (OSError, ValueError) as exc:  # longer than a command may be, or with a zero byte
        raise SteelmanError(f"the command could not be started: {exc}.", 2) from exc
    said = done.stderr.strip().splitlines()
    if done.returncode not in (0, 3, 4):
        raise SteelmanError(said[-1].removeprefix("steelman: ") if said else "it was ended.", done.returncode)
    for line in said:
        logging.getLogger("steelman").warning("%s", line.removeprefix("steelman: "))
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError as exc:
        raise SteelmanError("the command printed no answer; these options have it do something else.", 2) from exc
    return answer


def _typed(depth: str = "normal", web: bool = True, **named: "Any") -> Iterator[str]:
    """The options as the command line has them."""
    if depth != "normal":
        yield f"--{depth}"
    if not web:
        yield "--no-web"
    for name, value in named.items():
        option = f"--{name.replace('_', '-')}"
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is not None and each is not False:
                yield option if each is True else f"{option}={each}"
