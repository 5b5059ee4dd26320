"""Reads HTML: the main text of a page with its structure, without its furniture."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from tools.errors import SourceError
from tools.ingest.documents import document_of_blocks, read_decoded
from tools.ingest.furniture import main_part, without_furniture, words_in
from tools.ingest.html_tree import parse, shorten
from tools.ingest.markup import SILENT, blocks_of
from tools.ingest.packed import own_title
from tools.ingest.raised import write_raised
from tools.ingest.tidy import STRUCK, drop, tidied
from tools.passages import Block, SourceDocument

_FAR_LESS = 0.6  # of the words that stand in the page's main part: whatever took no more has missed its text
_AS_MUCH = 0.9  # of the words that the extraction found, in blocks that are taken in its place
_TELLING = 30  # characters of a block that is known again inside of another one
_HTML_OF = {"list": "ul", "item": "li", "row": "tr", "cell": "td", "quote": "blockquote", "lb": "br", "code": "pre"}
_SITE = re.compile(r"\s+[|•·–—-]\s+(?=[^|•·–—]*$)")  # before the name of the site in a page's title
_COUNTED = "words of navigation and furniture"


def read_html(path: Path, name: str) -> Iterator[SourceDocument]:
    """Whoever keeps a page means all of its text, so that no more is left out than what is plainly furniture."""
    import trafilatura

    text = read_decoded(path, name, markup=True)
    tree = _parsed(text.text, name)
    titles = _titles(tree)
    whole = _generous(tree)
    if not whole.words:
        raise _empty(name)
    shorten(tree)
    fields = _fields(trafilatura.extract_metadata(tree), "", titles)
    yield document_of_blocks(name, whole.blocks, fields, {**text.left_out, **whole.counts})


def html_document(html: Any, name: str, url: str = "") -> SourceDocument:
    """The main text of a page of the web; `html` is its source or the tree that lxml made of it, which is changed.

    What surrounds the text is rather left out than taken for it. Raises SourceError when there is none.
    """
    import trafilatura

    tree = _parsed(html, name) if isinstance(html, str) else html
    titles = _titles(tree)
    whole = _generous(tree)
    found = trafilatura.bare_extraction(
        tree, url=url or None, include_comments=False, favor_precision=True, with_metadata=True
    )
    chosen = whole if found is None or isinstance(found, dict) else _narrower(found.body, whole)
    if not chosen.words:
        raise _empty(name)
    return document_of_blocks(name, chosen.blocks, _fields(found, url, titles), chosen.counts)


def _parsed(html: str, name: str) -> Any:
    tree = parse(html)
    if tree is None:
        raise _empty(name)
    return tree


def _empty(name: str) -> SourceError:
    return SourceError(f"{name}: no readable text was found in this page.")


class _Titles(NamedTuple):
    """A page's highest headings, what its head calls it, and the name of the site after that."""

    headings: list[str]
    told: str
    site: str

    def better(self, found: str) -> str:
        """The title instead of one that is merely the first of several highest headings, or the site's."""
        if len(self.headings) < 2 or not self.told or found.lower() in self.told.lower():
            return found
        return self.told if found in (*self.headings, self.site) else found


def _titles(tree: Any) -> _Titles:
    headings = [" ".join(heading.text_content().split()) for heading in tree.iter("h1")]
    told, *site = _SITE.split(" ".join((tree.findtext(".//head/title") or "").split()))
    return _Titles([heading for heading in headings if heading], own_title(told), " ".join(site))


def _fields(found: Any, url: str, titles: _Titles) -> dict[str, Any]:
    if found is None or isinstance(found, dict):
        return {"url": url}
    return {
        "title": titles.better(own_title(found.title or "")),
        "url": found.url or url,
        "publisher": found.sitename,
        "date": found.date,
    }


class _Reading:
    """One way of reading a page: its blocks, how many words they have, and what was counted besides."""

    def __init__(self, blocks: Sequence[Block], counts: Counter[str]) -> None:
        self.blocks, self.counts = blocks, counts
        self.words = sum(len(b.text.split()) for b in blocks)


def _generous(tree: Any) -> _Reading:
    """All of the page's main part, in the order of the page."""
    from lxml.etree import strip_elements

    marks = write_raised(tree)
    body = tree.find(".//body")
    body = deepcopy(tree if body is None else body)
    strip_elements(body, *SILENT, with_tail=False)
    shown = words_in(body)
    main = main_part(without_furniture(body))
    around = shown - words_in(main)
    counts = tidied(main)
    counts += Counter({_COUNTED: around, "note marks": marks})
    return _Reading(list(blocks_of(main)), counts)


def _narrower(body: Any, whole: _Reading) -> _Reading:
    """The blocks of the page that the extraction took for its main text, with their headings.

    Where it took far less than the page's main part has, it missed the text, and the whole part is read.
    """
    for struck in list(body.iter(*STRUCK)):
        drop(struck)
    for element in body.iter():
        element.tag = (element.get("rend") or "h2") if element.tag == "head" else _HTML_OF.get(element.tag, element.tag)
    found = _Reading(list(blocks_of(body)), Counter(whole.counts))
    if found.words < _FAR_LESS * whole.words:
        return whole
    taken = _Reading(_taken(whole.blocks, found.blocks), Counter(whole.counts))
    chosen = taken if taken.words >= _AS_MUCH * found.words else found
    chosen.counts[_COUNTED] += max(0, whole.words - chosen.words)
    return chosen


def _taken(blocks: Sequence[Block], found: Sequence[Block]) -> list[Block]:
    """Those of the blocks that were found, and the headings right before them."""
    alone = {b.text for b in found}
    inside = "\n".join(b.text for b in found)
    kept: list[Block] = []
    follows = False
    for block in reversed(blocks):
        known = any(
            line in alone or (len(line) >= _TELLING and line in inside)
            for line in (block.text.split("\n") if block.form == "table" else (block.text,))
        )
        follows = known or (block.form == "heading" and follows)
        if follows:
            kept.append(block)
    return kept[::-1]
