"""The process that reads fetched pages: `python -m tools.web.child`, started by `tools.web.sources`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trafilatura  # noqa: F401  # takes longest to load, and most pages need it

from tools.ingest.child import serve
from tools.ingest.documents import Found, Note
from tools.web.fetch import FetchedPage
from tools.web.pages import hint_of, read_page


def _read(request: dict[str, Any]) -> Iterator[Found]:
    """The page's document, and a note of what the page says that it is."""
    data = Path(request["path"]).read_bytes()
    page = FetchedPage(request["name"], request["content_type"], data, request["charset"])
    yield read_page(page)
    yield Note(hint_of(page))


if __name__ == "__main__":
    serve(_read)
