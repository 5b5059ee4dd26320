"""Reads HTML: the main text of a page with its structure, without its furniture."""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from tools.errors import SourceError
from tools.ingest.documents import document_of_blocks, read_decoded
from tools.ingest.furniture import without_furniture, words_in
from tools.ingest.html_tree import parse, shorten
from tools.ingest.markup import SILENT, blocks_of
from tools.ingest.packed import own_title
from tools.ingest.raised import write_raised
from tools.ingest.tidy import tidied
from tools.passages import Block, SourceDocument

_FAR_LESS = 0.6  # of the words of the page without its furniture: whatever took no more has missed its text
_HTML_OF = {"list": "ul", "item": "li", "row": "tr", "cell": "td", "quote": "blockquote", "lb": "br", "code": "pre"}
_COUNTED = "words of navigation and furniture"


def read_html(path: Path, name: str) -> Iterator[SourceDocument]:
    """Whoever keeps a page means all of its text, so that no more is left out than what is plainly furniture."""
    import trafilatura

    text = read_decoded(path, name, markup=True)
    tree = _parsed(text.text, name)
    whole = _generous(tree)
    if not whole.words:
        raise _empty(name)
    shorten(tree)
    fields = _fields(trafilatura.extract_metadata(tree), "")
    yield document_of_blocks(name, whole.blocks, fields, {**text.left_out, **whole.counts})


def html_document(html: Any, name: str, url: str = "") -> SourceDocument:
    """The main text of a page of the web; `html` is its source or the tree that lxml made of it, which is changed.

    What surrounds the text is rather left out than taken for it. Raises SourceError when there is none.
    """
    import trafilatura

    tree = _parsed(html, name) if isinstance(html, str) else html
    whole = _generous(tree)
    found = trafilatura.bare_extraction(
        tree, url=url or None, include_comments=False, favor_precision=True, with_metadata=True
    )
    chosen = whole if found is None or isinstance(found, dict) else _narrower(found.body, whole)
    if not chosen.words:
        raise _empty(name)
    return document_of_blocks(name, chosen.blocks, _fields(found, url), chosen.counts)


def _parsed(html: str, name: str) -> Any:
    tree = parse(html)
    if tree is None:
        raise _empty(name)
    return tree


def _empty(name: str) -> SourceError:
    return SourceError(f"{name}: no readable text was found in this page.")


def _fields(found: Any, url: str) -> dict[str, Any]:
    if found is None or isinstance(found, dict):
        return {"url": url}
    title = own_title(found.title or "")
    return {"title": title, "url": found.url or url, "publisher": found.sitename, "date": found.date}


class _Reading:
    """One way of reading a page: its blocks, how many words they have, and what was counted besides."""

    def __init__(self, blocks: Sequence[Block], counts: Counter[str]) -> None:
        self.blocks, self.counts = blocks, counts
        self.words = sum(len(b.text.split()) for b in blocks)


def _generous(tree: Any) -> _Reading:
    """All of the page but its furniture, in its order; `tree` is changed: marks of notes and listings go."""
    from lxml.etree import strip_elements

    counts = Counter({"note marks": write_raised(tree)}) + tidied(tree)
    body = tree.find(".//body")
    body = deepcopy(tree if body is None else body)
    strip_elements(body, *SILENT, with_tail=False)
    shown = words_in(body)
    counts[_COUNTED] = shown - words_in(without_furniture(body))
    return _Reading(list(blocks_of(body)), counts)


def _narrower(body: Any, whole: _Reading) -> _Reading:
    """The blocks of the page that the extraction took for its main text, with their headings.

    Where it took far less than the page has, it missed the text, and the whole page is read.
    """
    for element in body.iter():
        element.tag = (element.get("rend") or "h2") if element.tag == "head" else _HTML_OF.get(element.tag, element.tag)
    found = _Reading(list(blocks_of(body)), Counter(whole.counts))
    if found.words < _FAR_LESS * whole.words:
        return whole
    found.counts[_COUNTED] += whole.words - min(found.words, whole.words)
    return found
