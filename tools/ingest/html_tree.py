"""The tree of an HTML page, decoded as browsers do and bounded, so that reading it takes bounded time.

What the extraction of the text does with the tree takes time in the square of the number of elements (under 1 s for
15,000) and of the length of some attributes and metadata. So whatever exceeds what honest pages have is left out.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

_MOST_ELEMENTS = 15_000
_DEEPEST = 80  # levels
_MOST_CHARACTERS = 1_000_000
_LONGEST_ATTRIBUTE = 2_000
_LONGEST_TITLE = 500
_MOST_META = 200
_MOST_METADATA = 200_000
_DEEPEST_METADATA = 12
_FURNITURE = tuple("script style svg math template iframe object embed canvas video audio map".split())

_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)\b[^<>]*>")
_KEPT = frozenset("html head title meta link body script style h1 h2 h3 h4 h5 h6 p br hr".split())
_INLINE = frozenset("a abbr b bdi cite code del em font i ins kbd mark q s small span strong sub sup u var".split())

_INVALID = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# What libxml2 reads and lxml then refuses to write.
_INVALID_REFERENCE = re.compile(
    r"&#(?:0*(?:[0-8]|1[124-9]|2\d|3[01]|6553[45])(?!\d)|x0*(?:[0-8bcef]|1[\da-f]|fff[ef])(?![\da-f]));?", re.IGNORECASE
)


def parse(html: str) -> Any:
    """The page's tree as `lxml.html` has it, which is at most 256 levels deep; None for a page without any element.

    What no XML may hold is left out, since lxml refuses to write it when the tree is changed; a form feed is a space.
    Of a page that is deeper, as one whose elements nobody closes, only titles, headings and paragraphs are kept apart:
    the parser stops where it is too deep, and the rest of the text would be lost without a word.
    """
    valid = _INVALID_REFERENCE.sub("", _INVALID.sub("", html.replace("\x0c", " ")))
    tree, whole = _tree_of(valid)
    return tree if whole else _tree_of(_TAG.sub(_flat, valid))[0]


def _tree_of(html: str) -> tuple[Any, bool]:
    """The tree, and whether it was read to its end."""
    from lxml.etree import ErrorTypes, ParserError
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False)
    try:
        tree = document_fromstring(html.encode(), parser=parser)
    except ParserError:
        return None, True
    return tree, all(error.type != ErrorTypes.ERR_RESOURCE_LIMIT for error in parser.error_log)


def _flat(tag: "re.Match[str]") -> str:
    name = tag[2].lower()
    if name in _KEPT:
        return tag[0]
    return "" if name in _INLINE else f"<{tag[1]}p>"


def shorten(tree: Any) -> None:
    """Takes out what no reader sees, and what exceeds the limits of this module: what follows the last element that
    is read, what lies too deep, and texts that no attribute needs."""
    for element in list(tree.iter(*_FURNITURE)):
        element.clear(keep_tail=True)
    left = _MOST_CHARACTERS
    depths: dict[Any, int] = {}
    for number, element in enumerate(list(tree.iter())):
        depths[element] = depths.get(element.getparent(), 0) + 1
        if number >= _MOST_ELEMENTS or left <= 0 or depths[element] > _DEEPEST:
            if (parent := element.getparent()) is not None:
                parent.remove(element)
            continue
        element.text, element.tail = (element.text or "")[:left], (element.tail or "")[:left]
        left -= len(element.text) + len(element.tail)
        for name, value in element.items():
            if len(value) > (_LONGEST_TITLE if element.tag == "meta" else _LONGEST_ATTRIBUTE):
                element.set(name, "")
    for title in tree.iter("title"):
        title.text = (title.text or "")[:_LONGEST_TITLE]
    for meta in list(tree.iter("meta"))[_MOST_META:]:
        meta.attrib.clear()


def schema_items(tree: Any) -> list[dict[str, Any]]:
    """The objects of a page's JSON-LD that describe it, without their long texts; what is no JSON is left out."""
    left = _MOST_METADATA
    found: list[dict[str, Any]] = []
    for script in tree.xpath("//script[@type='application/ld+json']"):
        text = script.text or ""
        left -= len(text)
        if left < 0:
            break
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            continue
        for item in data if isinstance(data, list) else [data]:
            graph = item.get("@graph") if isinstance(item, dict) else None
            found += [_brief(i) for i in (item, *(graph if isinstance(graph, list) else ())) if isinstance(i, dict)]
    return found


def _brief(value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST_METADATA or (isinstance(value, str) and len(value) > _LONGEST_TITLE):
        return ""
    if isinstance(value, dict):
        return {k: _brief(v, depth + 1) for k, v in value.items() if k != "@graph" and len(k) < 100}
    return [_brief(v, depth + 1) for v in value] if isinstance(value, list) else value


def schema_types(tree: Any, items: list[dict[str, Any]]) -> Iterator[str]:
    """The types of schema.org that a page gives itself, in JSON-LD and in its elements."""
    for item in items:
        told = item.get("@type")
        yield from (t.rpartition("/")[2] for t in (told if isinstance(told, list) else [told]) if isinstance(t, str))
    yield from (str(t).rstrip("/").rpartition("/")[2] for t in tree.xpath("//@itemtype")[:50])
