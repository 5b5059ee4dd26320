"""A fetched page as a source: its text with who published it, and what kind of source that is."""

import tempfile
from dataclasses import replace

from tools.errors import SourceError
from tools.ingest.apart import Readers
from tools.ingest.documents import Note
from tools.ingest.limits import Limits
from tools.language.identification import language_of
from tools.passages import SourceDocument
from tools.web.domains import DomainLists
from tools.web.fetch import FetchedPage

_LIMITS = Limits(seconds=10.0, megabytes=1024, output=16 << 20, advice="")
PAGES = Readers("tools.web.child", at_once=2)


def read_source(page: FetchedPage, lists: DomainLists, title: str = "", date: str = "") -> SourceDocument:
    """The page's document; `title` and `date` are a search engine's, for pages that do not tell.

    It is read in a process of its own: call it in a thread, which waits for that. Raises SourceError for a page that
    holds nothing to read, takes too long or too much memory, or ends its reader.
    """
    document, hint = _read(page)
    return replace(
        document,
        title=document.title or title,
        date=document.date or date,
        publisher=lists.publisher_of(document.url, document.publisher),
        owner=lists.owner_of(document.url),
        kind=lists.kind_of(document.url, hint),
        language=document.language or language_of(document.text),
    )


def _read(page: FetchedPage) -> tuple[SourceDocument, str]:
    """The page's document, and what it says that it is."""
    with tempfile.NamedTemporaryFile(prefix="steelman-page-") as file:
        file.write(page.data)
        file.flush()
        request = {"path": file.name, "url": page.url, "content_type": page.content_type, "charset": page.charset}
        found = list(PAGES.read(request, page.url, _LIMITS))
    match found:
        case [SourceDocument() as document, Note(text=hint)]:
            return document, hint
    raise SourceError(f"{page.url}: its reader gave no document.")
