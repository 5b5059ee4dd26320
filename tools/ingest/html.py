"""Reads HTML: the main text of a page without its furniture."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.errors import SourceError
from tools.ingest.documents import document, read_text
from tools.passages import SourceDocument


def read_html(path: Path, name: str) -> Iterator[SourceDocument]:
    text = read_text(path, name)
    yield html_document(text, name)


def html_document(html: Any, name: str, url: str = "") -> SourceDocument:
    """The main text of a page without its furniture; `html` is its source or the tree that lxml made of it.

    Raises SourceError when there is none.
    """
    import trafilatura

    found = trafilatura.bare_extraction(
        html, url=url or None, include_comments=False, favor_precision=True, with_metadata=True
    )
    if found is None or isinstance(found, dict) or not (found.text or "").strip():
        raise SourceError(f"{name}: no readable text was found in this page.")
    fields = {"title": found.title, "url": found.url or url, "publisher": found.sitename, "date": found.date}
    return document(name, str(found.text), fields)
