"""The process that reads fetched pages: `python -m tools.web.child`, started by `tools.web.domains`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trafilatura  # noqa: F401  # slowest import, needed by most pages

from tools.documents.document import ReaderOutput
from tools.documents.reader_process import serve
from tools.web.fetch import FetchedPage
from tools.web.pages import read_page


def _read(request: dict[str, Any]) -> Iterator[ReaderOutput]:
    data = Path(request["path"]).read_bytes()
    yield read_page(FetchedPage(request["name"], request["content_type"], data, request["charset"]))


if __name__ == "__main__":
    serve(_read)
