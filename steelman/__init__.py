"""Steelman for other programs: `ask` runs the installed command and returns its answer.

This folder contains `agent`, `tools` and the other packages. A command puts this folder first on the path of its own
process. A program that imports `steelman` keeps its path.
"""

import os
import sys
from collections.abc import Iterator

TYPE_CHECKING = False  # the current folder may contain a `typing.py`
if TYPE_CHECKING:
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH120, PTH100  # nor pathlib.py
FOLDER = _HERE if os.path.isdir(f"{_HERE}/agent") else os.path.dirname(_HERE)  # noqa: PTH112, PTH120  # in a checkout
"""The folder of `agent`, `tools` and the other packages."""
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from agent.__main__ import main; sys.exit(main())"


class SteelmanError(Exception):
    """The command returned no answer. The text is the command's message, and `status` is its exit status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def ask(question: str, **options: "Any") -> "dict[str, Any]":
    """Answers a question in a separate process with the environment's settings. Raises SteelmanError.

    Returns the output of `steelman ask --json` (`docs/answer.schema.json`). `outcome` says if nothing was found, and
    `notes` if a provider was replaced. Warnings go to the logger `steelman`.

    options: the long names of `steelman ask --help`, such as `collection="mine"` (or a list of names), `deadline=20`,
    `only=["gov.uk"]`, `out="answer.html"`; also `depth="quick"` or `"deep"`, and `web=False`.
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
    except (OSError, ValueError) as exc:  # the question is too long for a command or has a zero byte
        raise SteelmanError(f"the command could not be started: {exc}.", 2) from exc
    messages = done.stderr.strip().splitlines()
    if done.returncode not in (0, 3, 4):
        raise SteelmanError(messages[-1].removeprefix("steelman: ") if messages else "it was ended.", done.returncode)
    for line in messages:
        logging.getLogger("steelman").warning("%s", line.removeprefix("steelman: "))
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError as exc:
        raise SteelmanError("the command printed no answer, because an option asks for something else.", 2) from exc
    return answer


def _typed(depth: str = "normal", web: bool = True, **named: "Any") -> Iterator[str]:
    """Converts the options to arguments of the command line."""
    if depth != "normal":
        yield f"--{depth}"
    if not web:
        yield "--no-web"
    for name, value in named.items():
        option = f"--{name.replace('_', '-')}"
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is not None and each is not False:
                yield option if each is True else f"{option}={each}"
