"""Finds the part of a page that holds its text, and takes out what surrounds the text: navigation, forms, banners."""

import re
from typing import Any

from tools.ingest.tidy import drop

# What calls itself the main part of a page, and the share of the page's words that it needs to be believed.
_MAIN = (
    ("//main | //*[@role='main']", 0.1),
    ("//article | //*[@itemprop='articleBody']", 0.4),
    ("//div[@id='mw-content-text' or @id='bodyContent' or @id='content' or @id='main' or @id='main-content']", 0.6),
    ("//div[contains(concat(' ', @class, ' '), ' body ') or contains(concat(' ', @class, ' '), ' document ')]", 0.6),
)
_MOST_OF_THEM = 0.8  # of the words of all parts of that name, in the one that is taken
_FURNITURE = frozenset(
    "nav form script style template noscript iframe object embed button select dialog input menu".split()
)
_OUTER = frozenset("header footer aside".split())  # furniture of the page, but parts of an article within one
_ROLES = frozenset("navigation banner contentinfo search complementary menu menubar dialog alertdialog toolbar".split())
_NAMES = re.compile(
    r"(?:^|[\s_-])(?:nav(?:bar|igation|box|links?)?|menu|breadcrumbs?|side-?bar|cookies?|consent|newsletter|subscribe|share"
    r"|sharing|social|related|recommended|promo|advert(?:isement)?|ads?|toc|table-of-contents|pagination|pager|skip-?link"
    r"|comments?|disqus|print-only|noprint|sr-only|visually-hidden|screen-reader-text|toolbar|sphinxsidebar\w*|headerlink"
    r"|mw-editsection|catlinks|printfooter|jump-to-nav|rst-versions)(?:$|[\s_-])",
    re.IGNORECASE,
)
_KEPT_ASIDE = re.compile(r"note|admonition|callout|warning|tip|caution|important|citation|quote|example", re.IGNORECASE)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_FEWEST_LINKS = 4
_MOSTLY_LINKS = 0.8  # of the words of a box that is there to lead elsewhere
_MOST_TAKEN = 0.5  # of the words, that a mere name such as 'related' may take with it


def main_part(body: Any) -> Any:
    """The element that holds a page's text: the one that calls itself so and has most of the words, or else `body`."""
    all_words = words_in(body)
    for path, share in _MAIN:
        words = {part: words_in(part) for part in body.xpath(path)}
        if not words:
            continue
        best = max(words, key=lambda part: words[part])
        # Parts in one another are counted once.
        others = sum(n for part, n in words.items() if best not in (part, *part.iterancestors()))
        if words[best] >= share * all_words and words[best] >= _MOST_OF_THEM * (words[best] + others):
            return best
    return _without_lists_of_links(body)


def without_furniture(body: Any) -> Any:
    """A page's body without its furniture; a name alone takes out nothing that holds much of the text."""
    all_words = words_in(body)
    for element in list(body.iter("*")):
        if element is body or element.getparent() is None:
            continue
        if _is_furniture(element) or (_is_named(element) and words_in(element) <= _MOST_TAKEN * all_words):
            drop(element)
    return body


def _without_lists_of_links(body: Any) -> Any:
    """A body that names no main part has its navigation in plain lists and boxes: those of nothing but links."""
    all_words = words_in(body)
    boxes = []
    for box in body.iter("ul", "ol", "div", "table", "p"):
        links = [link for link in box.iter("a") if link.get("href")]
        words = words_in(box) if len(links) >= _FEWEST_LINKS else 0
        if words and sum(map(words_in, links)) >= _MOSTLY_LINKS * words:
            boxes.append((box, words))
    found = {box for box, _ in boxes}
    outer = [(box, words) for box, words in boxes if found.isdisjoint(box.iterancestors())]
    if sum(words for _, words in outer) <= _MOST_TAKEN * all_words:  # else the page is a list of links
        for box, _ in outer:
            drop(box)
    return body


def _is_furniture(element: Any) -> bool:
    tag = element.tag
    if tag in _FURNITURE:
        # A form may be the frame of a whole page.
        return tag not in ("form", "dialog", "object") or words_in(element) < 100
    if tag in _OUTER and next(element.iterancestors("article", "main", "section"), None) is None:
        told = f"{element.get('class') or ''} {element.get('role') or ''}"
        return not _KEPT_ASIDE.search(told) and element.find(".//h1") is None
    hidden = element.get("hidden") is not None or element.get("aria-hidden") == "true"
    return hidden or element.get("role") in _ROLES or bool(_HIDDEN.search(element.get("style") or ""))


def _is_named(element: Any) -> bool:
    if element.tag in ("html", "body", "main", "article", "p", "h1", "h2", "h3", "h4", "h5", "h6", "code", "em"):
        return False
    return bool(_NAMES.search(element.get("class") or "") or _NAMES.search(element.get("id") or ""))


def words_in(element: Any) -> int:
    return sum(len(text.split()) for text in element.itertext())
