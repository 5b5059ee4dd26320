"""Extracts the main text of an HTML page with its structure, without menus, adverts and share buttons."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from tools.documents.document import document_of_blocks, read_decoded, title_unless_junk
from tools.documents.html_blocks import SILENT_TAGS, html_blocks, limit_tree, parse_html
from tools.documents.html_cleanup import drop_element, remove_non_text
from tools.documents.html_threads import mark_post_speakers
from tools.errors import SourceError
from tools.language.person_names import is_organisation
from tools.passages import Block, SourceDocument

_FURNITURE = frozenset(
    "nav form script style template noscript iframe object embed button select dialog input menu".split()
)
_PAGE_FURNITURE = frozenset("header footer aside".split())  # these are furniture only outside of an article
_ROLES = frozenset("navigation banner contentinfo search complementary menu menubar dialog alertdialog toolbar".split())
_NAMES = re.compile(
    r"(?:^|[\s_-])(nav(?:bar|igation|box|links?)?|menu|breadcrumbs?|side-?bar|cookies?|consent|newsletter|subscribe|share"
    r"|sharing|social|related|recommended|promo|advert(?:isement)?|ads?|toc|table-of-contents|pagination|pager|skip-?link"
    r"|comments?|disqus|noprint|sr-only|visually-hidden|toolbar|headerlink|mw-editsection|catlinks|jump-to-nav)(?:$|[\s_-])",
    re.IGNORECASE,
)
_TEXTS = frozenset("html body main article p h1 h2 h3 h4 h5 h6 code em".split())  # kept, whatever their class is
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_FRAME_WORDS = 100  # least words of a form that frames a whole page
_MOST_DROPPED = 0.5  # share of words that a class such as 'related' may remove
_LEAST_EXTRACTED = 0.6  # share of the page's words; less means that the extraction missed the text
_HTML_OF = {"list": "ul", "item": "li", "row": "tr", "cell": "td", "quote": "blockquote", "lb": "br", "code": "pre"}
_FURNITURE_WORDS = "words of navigation and furniture"


class _PageBlocks:
    """The blocks of a page, their number of words, and counts of removed parts."""

    def __init__(self, blocks: Sequence[Block], counts: Counter[str]) -> None:
        self.blocks, self.counts = blocks, counts
        self.words = sum(len(b.text.split()) for b in blocks)


def read_html(path: Path, name: str) -> Iterator[SourceDocument]:
    """Parses a saved page. Removes only obvious furniture, because the user chose the whole page."""
    import trafilatura

    text = read_decoded(path, name, markup=True)
    tree = parse_html(text.text)
    whole = _PageBlocks([], Counter()) if tree is None else read_whole_page(tree)
    if not whole.words:
        raise _empty(name)
    limit_tree(tree)
    whole.counts.update(text.left_out)
    found, site = trafilatura.extract_metadata(tree, extensive=False), _site_of_title(tree)
    yield _document(name, whole, found, _written(tree), of=site)


def html_document(tree: Any, name: str, url: str = "") -> SourceDocument:
    """Returns the main text of a web page. Unlike `read_html`, also removes text that may be furniture. Raises
    SourceError if no text remains. tree: of `parse_html`; this function changes it."""
    import trafilatura
    from trafilatura.settings import Document

    whole, written, site = read_whole_page(tree), _written(tree), _site_of_title(tree)
    found: Any = trafilatura.bare_extraction(
        tree, url=url or None, include_comments=False, favor_precision=True, with_metadata=True
    )
    discussed = 2 * sum(len(b.text.split()) for b in whole.blocks if b.speaker) > whole.words
    chosen = whole if discussed or found is None else _main_text(found.body, whole)
    if not chosen.words:
        raise _empty(name)
    return _document(name, chosen, found or Document(), written, url, site)


def _empty(name: str) -> SourceError:
    return SourceError(f"{name}: no readable text was found in this page.")


def _document(
    name: str, read: _PageBlocks, found: Any, written: str, url: str = "", of: tuple[str, bool] = ("", False)
) -> SourceDocument:
    """Builds the document with trafilatura's metadata. Drops a date that `written` lacks, because trafilatura guessed
    such a date. of: the output of `_site_of_title`; the site is never the author."""
    site, owned = of
    names_site = site and (owned or site == found.author or is_organisation(site))
    fields = {"title": title_unless_junk(found.title or ""), "url": found.url or url}
    fields["publisher"] = found.sitename or (site if names_site else "")
    date = found.date if found.date and found.date in written else ""
    properties = {"place": "page metadata", "author": "" if found.author == site else found.author or "", "date": date}
    return document_of_blocks(name, read.blocks, fields, read.counts, properties=properties)


def _site_of_title(tree: Any) -> tuple[str, bool]:
    """Returns the words after the last separator of a page's title ('The Courier' for 'Bridge closed | The Courier'),
    and whether the page's foot or logo has them."""
    title = " ".join((tree.findtext(".//title") or "").split())
    site = parts[-1] if len(parts := re.split(r" [|–—·-] ", title)) > 1 else ""
    signs = tree.xpath("//footer | //*[contains(@class, 'logo') or contains(@class, 'copyright')]")
    return site, any(site in sign.text_content() for sign in signs)


def _written(tree: Any) -> str:
    return " ".join(tree.xpath("//meta/@content | //time/@datetime | //script[@type='application/ld+json']/text()"))


def read_whole_page(tree: Any) -> _PageBlocks:
    """Returns all blocks of the page except furniture. Removes non-text, such as images and note marks, from `tree`."""
    from lxml.etree import strip_elements

    counts = remove_non_text(tree)
    body = tree.find(".//body")
    body = deepcopy(tree if body is None else body)
    strip_elements(body, *SILENT_TAGS, with_tail=False)
    shown = _words_in(body)
    mark_post_speakers(body)
    counts[_FURNITURE_WORDS] = shown - _words_in(_without_furniture(body))
    return _PageBlocks(list(html_blocks(body)), counts)


def _main_text(body: Any, whole: _PageBlocks) -> _PageBlocks:
    """Returns the blocks of the extracted main text, or the whole page if the extraction missed much of it."""
    for element in body.iter():
        element.tag = (element.get("rend") or "h2") if element.tag == "head" else _HTML_OF.get(element.tag, element.tag)
    found = _PageBlocks(list(html_blocks(body)), Counter(whole.counts))
    if found.words < _LEAST_EXTRACTED * whole.words:
        return whole
    found.counts[_FURNITURE_WORDS] += whole.words - min(found.words, whole.words)
    return found


def _without_furniture(body: Any) -> Any:
    """Removes furniture from a page's body. A furniture name is a class or id such as 'comments'. The elements of one
    name stay if together they contain more than half of the text, as in a discussion. Links do not count as text."""
    for element in [each for each in body.iter("*") if each is not body and _is_furniture(each)]:
        drop_element(element)
    named: defaultdict[str, list[Any]] = defaultdict(list)
    for element in body.iter("*"):
        if (name := _furniture_name(element)) and element is not body:
            named[name].append(element)
    said = _words_outside_links(body)
    for elements in named.values():
        if sum(map(_words_outside_links, elements)) <= _MOST_DROPPED * said:
            for element in elements:
                drop_element(element)
    return body


def _is_furniture(element: Any) -> bool:
    tag = element.tag
    if tag in ("form", "dialog", "object"):
        return _words_in(element) < _FRAME_WORDS
    if tag in _FURNITURE or element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    if tag in _PAGE_FURNITURE and next(element.iterancestors("article", "main", "section"), None) is None:
        return True
    return element.get("role") in _ROLES or bool(_HIDDEN.search(element.get("style") or ""))


def _furniture_name(element: Any) -> str:
    """Returns the furniture name in an element's class or id, in the singular; '' if there is none."""
    if element.tag in _TEXTS:
        return ""
    found = _NAMES.search(element.get("class") or "") or _NAMES.search(element.get("id") or "")
    return found[1].lower().removesuffix("s") if found else ""


def _words_in(element: Any) -> int:
    return sum(len(text.split()) for text in element.itertext())


def _words_outside_links(element: Any) -> int:
    return _words_in(element) - sum(map(_words_in, element.iter("a")))
