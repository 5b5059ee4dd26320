"""A fetched page as a source: its text with who published it, and what kind of source that is."""

from dataclasses import replace

from tools.language.identification import language_of
from tools.passages import SourceDocument
from tools.web.domains import DomainLists
from tools.web.fetch import FetchedPage
from tools.web.pages import hint_of, read_page


def read_source(page: FetchedPage, lists: DomainLists, title: str = "", date: str = "") -> SourceDocument:
    """The page's document; `title` and `date` are a search engine's, for pages that do not tell.

    CPU work of up to some seconds. Raises SourceError for a page that holds nothing to read.
    """
    document = read_page(page)
    return replace(
        document,
        title=document.title or title,
        date=document.date or date,
        publisher=lists.publisher_of(document.url, document.publisher),
        owner=lists.owner_of(document.url),
        kind=lists.kind_of(document.url, hint_of(page)),
        language=document.language or language_of(document.text),
    )
