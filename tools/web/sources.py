"""A fetched page as a source: its text with who published it, and what kind of source that is."""

import tempfile
from dataclasses import replace
from functools import partial

from tools.documents.apart import IsCancelled, ReaderPool
from tools.documents.limits import Limits
from tools.errors import SourceError
from tools.language.identification import language_of
from tools.passages import SourceDocument
from tools.web.domains import DomainLists
from tools.web.fetch import FetchedPage

_LIMITS = Limits(seconds=10.0, megabytes=1024, output=16 << 20, advice="")
PAGE_READERS = ReaderPool("tools.web.child", at_once=2)


async def read_source(page: FetchedPage, lists: DomainLists, title: str = "", date: str = "") -> SourceDocument:
    """The page's document; `title` and `date` are a search engine's, for pages that do not tell.

    It is read in a process of its own, which is ended where this is cancelled. Raises SourceError for a page that holds
    nothing to read, takes too long or too much memory, or ends its reader.
    """
    return await PAGE_READERS.run_cancellable(partial(_source, page, lists, title, date))


def _source(page: FetchedPage, lists: DomainLists, title: str, date: str, given_up: IsCancelled) -> SourceDocument:
    try:
        with tempfile.NamedTemporaryFile(prefix="steelman-page-") as file:
            file.write(page.data)
            file.flush()
            request = {"path": file.name, "name": page.url, "content_type": page.content_type, "charset": page.charset}
            found = list(PAGE_READERS.read(request, page.url, _LIMITS, given_up))
    except OSError as exc:
        why = exc.strerror or exc
        hint = "Make room in the folder for temporary files, or name another one with TMPDIR."
        raise SourceError(f"{page.url}: could not be put down for its reader ({why}).", hint=hint) from exc
    match found:
        case [SourceDocument(url=url) as document]:
            return replace(
                document,
                title=document.title or title,
                date=document.date or date,
                publisher=lists.publisher_of(url, document.publisher),
                owner=lists.owner_of(url),
                kind=lists.kind_of(url),
                language=document.language or language_of(document.text),
            )
    raise SourceError(f"{page.url}: its reader gave no document.")
