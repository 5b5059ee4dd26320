"""The road of one question: the functions of `agent/` in the order of their first calls, told on stderr, one a line."""

import sys
import threading
from pathlib import Path
from types import FrameType

import agent
from agent.__main__ import main

_HOUSE = str(Path(agent.__file__).parent)
_FUNCTION = 1  # of a code object's flags: neither a module's nor a class's body


def walk(question: str) -> list[str]:
    """Asks the question on the command line, and gives 'agent/MODULE.py function' for each as it is reached."""
    road: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & _FUNCTION and code.co_filename.startswith(_HOUSE):
            road.setdefault(f"agent{code.co_filename.removeprefix(_HOUSE)} {code.co_qualname}")

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        main(["ask", question, "--no-web"])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(road)


if __name__ == "__main__":
    print(*walk(sys.argv[1]), sep="\n", file=sys.stderr)
