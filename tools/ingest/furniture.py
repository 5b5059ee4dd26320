"""Takes out of a page what surrounds its text: navigation, forms, banners."""

import re
from collections import defaultdict
from typing import Any

from tools.ingest.tidy import drop

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


def without_furniture(body: Any) -> Any:
    """A page's body without its furniture; a name takes out nothing that holds much of the text, be it in many parts.

    What makes up most of the page is the page: the comments of a discussion, say. Links do not count for that.
    """
    for element in [each for each in body.iter("*") if each is not body and _is_furniture(each)]:
        drop(element)
    named: defaultdict[str, list[Any]] = defaultdict(list)
    names: dict[Any, frozenset[str]] = {}  # of an element and those around it
    for element in body.iter("*"):
        around = names.get(element.getparent(), frozenset())
        name = _name(element)
        names[element] = around | {name} if name else around
        if name and name not in around and element is not body:
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
        return words_in(element) < _FRAME
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


def words_in(element: Any) -> int:
    return sum(len(text.split()) for text in element.itertext())


def _said(element: Any) -> int:
    """The words that are no links."""
    return words_in(element) - sum(map(words_in, element.iter("a")))
