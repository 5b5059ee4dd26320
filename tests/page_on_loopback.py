"""Streamlit's command line, with the page's web search at a scripted engine and every site on this machine.

Run as `python tests/page_on_loopback.py ENGINE run ui/app.py …`; ENGINE is the address of a SearchServer.
"""

import sys
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from tools.web import fetch, tavily  # noqa: E402  # needs the path above


async def resolve_here(host: str) -> list[str]:
    return ["127.0.0.1"]


def main() -> None:
    from streamlit.web.cli import main as streamlit

    engine = sys.argv.pop(1)
    here = partial(fetch.PageFetcher, permit=lambda ip: ip == "127.0.0.1", resolver=resolve_here, ports=range(1, 65536))
    tavily.Tavily = partial(tavily.Tavily, address=engine)  # type: ignore[assignment,misc]
    fetch.PageFetcher = here  # type: ignore[assignment,misc]
    streamlit()


if __name__ == "__main__":
    main()
