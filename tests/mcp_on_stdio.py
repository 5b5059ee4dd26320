"""`python -m api mcp` over instant providers, each search of which waits so many seconds.

Run as `python tests/mcp_on_stdio.py SECONDS`; the data folder is the one that STEELMAN_DATA_DIR names.
"""

import sys
import time
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from providers import build  # noqa: E402  # needs the path above, as do the next ones

from agent.runs.service import Runs  # noqa: E402
from agent.settings import load_settings  # noqa: E402
from api import service  # noqa: E402
from api.__main__ import main  # noqa: E402


def door(seconds: float) -> Runs:
    settings = load_settings()

    def before(_: str) -> None:
        print("a line that a library prints, and that is none of the protocol's")
        time.sleep(seconds)

    return Runs(settings, build(before_search=before), max_concurrent=settings.api_runs)


if __name__ == "__main__":
    service.open_service = partial(service.open_service, opening=partial(door, float(sys.argv[1])))
    sys.exit(main(["mcp"]))
