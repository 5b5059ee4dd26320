"""Reads HTML: the main text of a page with its structure, without its furniture."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from tools.documents.document import document_of_blocks, read_decoded, title_unless_junk
from tools.documents.html_threads import mark_posts
from tools.documents.markup import SILENT, blocks_of, parse, shorten
from tools.documents.tidy import drop, remove_non_text
from tools.errors import SourceError
from tools.passages import Block, SourceDocument

_FURNITURE = frozenset(
    "nav form script style template noscript iframe object embed button select dialog input menu".split()
)
_OUTER = frozenset("header footer aside".split())  # furniture of the page, but parts of an article within one
_ROLES = frozenset("navigation banner contentinfo search complementary menu menubar dialog alertdialog toolbar".split())
_NAMES = re.compile(
    r"(?:^|[\s_-])(nav(?:bar|igation|box|links?)?|menu|breadcrumbs?|side-?bar|cookies?|consent|newsletter|subscribe|share"
    r"|sharing|social|related|recommended|promo|advert(?:isement)?|ads?|toc|table-of-contents|pagination|pager|skip-?link"
    r"|comments?|disqus|noprint|sr-only|visually-hidden|toolbar|headerlink|mw-editsection|catlinks|jump-to-nav)(?:$|[\s_-])",
    re.IGNORECASE,
)
_TEXTS = frozenset("html body main article p h1 h2 h3 h4 h5 h6 code em".split())  # whatever they call themselves
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_FRAME = 100  # words in a form that is the frame of a page
_MOST_TAKEN = 0.5  # of the words, that a mere name such as 'related' may take with it
_FAR_LESS = 0.6  # of the words of the page without its furniture: whatever took no more has missed its text
_HTML_OF = {"list": "ul", "item": "li", "row": "tr", "cell": "td", "quote": "blockquote", "lb": "br", "code": "pre"}
_COUNTED = "words of navigation and furniture"


def read_html(path: Path, name: str) -> Iterator[SourceDocument]:
    """Whoever keeps a page means all of its text, so that no more is left out than what is plainly furniture."""
    import trafilatura

    text = read_decoded(path, name, markup=True)
    tree = _parsed(text.text, name)
    whole = whole_page(tree)
    if not whole.words:
        raise _empty(name)
    shorten(tree)
    whole.counts.update(text.left_out)
    yield _document(name, whole, trafilatura.extract_metadata(tree, extensive=False), _written(tree))


def html_document(html: Any, name: str, url: str = "") -> SourceDocument:
    """The main text of a page of the web; `html` is its source or the tree that lxml made of it, which is changed.

    What surrounds the text is rather left out than taken for it. Raises SourceError when there is none.
    """
    import trafilatura

    tree = _parsed(html, name) if isinstance(html, str) else html
    whole, written = whole_page(tree), _written(tree)
    found = trafilatura.bare_extraction(
        tree, url=url or None, include_comments=False, favor_precision=True, with_metadata=True
    )
    discussed = 2 * sum(len(b.text.split()) for b in whole.blocks if b.speaker) > whole.words
    chosen = whole if discussed or found is None or isinstance(found, dict) else _narrower(found.body, whole)
    if not chosen.words:
        raise _empty(name)
    return _document(name, chosen, found, written, url)


def _parsed(html: str, name: str) -> Any:
    tree = parse(html)
    if tree is None:
        raise _empty(name)
    return tree


def _empty(name: str) -> SourceError:
    return SourceError(f"{name}: no readable text was found in this page.")


def _document(name: str, read: "_Reading", found: Any, written: str, url: str = "") -> SourceDocument:
    """The document with what trafilatura says of the page. A date that `written` does not hold was guessed."""
    if found is None or isinstance(found, dict):
        return document_of_blocks(name, read.blocks, {"url": url}, read.counts)
    fields = {"title": title_unless_junk(found.title or ""), "url": found.url or url, "publisher": found.sitename}
    date = found.date if found.date and found.date in written else ""
    properties = {"place": "page metadata", "author": found.author or "", "date": date}
    return document_of_blocks(name, read.blocks, fields, read.counts, properties=properties)


def _written(tree: Any) -> str:
    """Where a page's metadata may hold its date."""
    return " ".join(tree.xpath("//meta/@content | //time/@datetime | //script[@type='application/ld+json']/text()"))


class _Reading:
    """One way of reading a page: its blocks, how many words they have, and what was counted besides."""

    def __init__(self, blocks: Sequence[Block], counts: Counter[str]) -> None:
        self.blocks, self.counts = blocks, counts
        self.words = sum(len(b.text.split()) for b in blocks)


def whole_page(tree: Any) -> _Reading:
    """All of the page but its furniture, in its order; `tree` is changed: marks of notes and listings go."""
    from lxml.etree import strip_elements

    counts = remove_non_text(tree)
    body = tree.find(".//body")
    body = deepcopy(tree if body is None else body)
    strip_elements(body, *SILENT, with_tail=False)
    shown = _words_in(body)
    mark_posts(body)
    counts[_COUNTED] = shown - _words_in(_without_furniture(body))
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


def _without_furniture(body: Any) -> Any:
    """A page's body without its furniture; a name takes out nothing that holds much of the text, be it in many parts.

    What makes up most of the page is the page: the comments of a discussion, say. Links do not count for that.
    """
    for element in [each for each in body.iter("*") if each is not body and _is_furniture(each)]:
        drop(element)
    named: defaultdict[str, list[Any]] = defaultdict(list)
    for element in body.iter("*"):
        if (name := _name(element)) and element is not body:
            named[name].append(element)
    said = _said(body)
    for elements in named.values():
        if sum(map(_said, elements)) <= _MOST_TAKEN * said:
            for element in elements:
                drop(element)
    return body


def _is_furniture(element: Any) -> bool:
    tag = element.tag
    if tag in ("form", "dialog", "object"):
        return _words_in(element) < _FRAME
    if tag in _FURNITURE or element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    if tag in _OUTER and next(element.iterancestors("article", "main", "section"), None) is None:
        return True
    return element.get("role") in _ROLES or bool(_HIDDEN.search(element.get("style") or ""))


def _name(element: Any) -> str:
    """What an element calls itself that only furniture is usually called, in the singular; or an empty text."""
    if element.tag in _TEXTS:
        return ""
    found = _NAMES.search(element.get("class") or "") or _NAMES.search(element.get("id") or "")
    return found[1].lower().removesuffix("s") if found else ""


def _words_in(element: Any) -> int:
    return sum(len(text.split()) for text in element.itertext())


def _said(element: Any) -> int:
    """The words that are no links."""
    return _words_in(element) - sum(map(_words_in, element.iter("a")))
