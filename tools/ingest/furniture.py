"""Finds the part of a page that holds its text, and takes out what surrounds the text: navigation, forms, banners."""

import re
from typing import Any, NamedTuple

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
    r"(?:^|[\s_-])(nav(?:bar|igation|box|links?)?|menu|breadcrumbs?|side-?bar|cookies?|consent|newsletter|subscribe|share"
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


class _Words(NamedTuple):
    """How many words an element holds, how many of them in links, and how many links."""

    all: int
    linked: int
    links: int


def main_part(body: Any) -> Any:
    """The element that holds a page's text: the one that calls itself so and has most of the words, or else `body`."""
    counts = _counted(body)
    for path, share in _MAIN:
        words = {part: counts[part].all for part in body.xpath(path)}
        if not words:
            continue
        best = max(words, key=lambda part: words[part])
        # Parts in one another are counted once.
        others = sum(n for part, n in words.items() if best not in (part, *part.iterancestors()))
        if words[best] >= share * counts[body].all and words[best] >= _MOST_OF_THEM * (words[best] + others):
            return best
    return _without_lists_of_links(body, counts)


def without_furniture(body: Any) -> Any:
    """A page's body without its furniture; a name takes out nothing that holds much of the text, be it in many parts.

    What makes up most of the page is the page: the comments of a discussion, say. Links do not count for that.
    """
    counts = _counted(body)
    named: dict[str, list[Any]] = {}
    outermost: dict[str, int] = {}  # words by name, of parts that are in none of the same name
    names: dict[Any, frozenset[str]] = {body: frozenset()}  # of an element and those around it
    left = counts[body].all - counts[body].linked
    for element in list(body.iter("*")):
        around = names.get(element.getparent())
        if element is body or around is None:  # it went with what is around it
            continue
        said = counts[element].all - counts[element].linked
        if _is_furniture(element, counts[element].all):
            drop(element)
            left -= said
            continue
        name = _name(element)
        if name and counts[element].all <= _MOST_TAKEN * counts[body].all:
            named.setdefault(name, []).append(element)
            outermost[name] = outermost.get(name, 0) + (0 if name in around else said)
            around |= {name}
        names[element] = around
    for name, elements in named.items():
        if outermost[name] <= _MOST_TAKEN * left:
            for element in elements:
                drop(element)
    return body


def _without_lists_of_links(body: Any, counts: dict[Any, _Words]) -> Any:
    """A body that names no main part has its navigation in plain lists and boxes: those of nothing but links."""
    found = {
        box: counts[box].all
        for box in body.iter("ul", "ol", "div", "table", "p")
        if counts[box].links >= _FEWEST_LINKS and 0 < _MOSTLY_LINKS * counts[box].all <= counts[box].linked
    }
    outer = [box for box in found if found.keys().isdisjoint(box.iterancestors())]
    if sum(found[box] for box in outer) <= _MOST_TAKEN * counts[body].all:  # else the page is a list of links
        for box in outer:
            drop(box)
    return body


def _is_furniture(element: Any, words: int) -> bool:
    tag = element.tag
    if tag in _FURNITURE:
        # A form may be the frame of a whole page.
        return tag not in ("form", "dialog", "object") or words < 100
    if tag in _OUTER and next(element.iterancestors("article", "main", "section"), None) is None:
        told = f"{element.get('class') or ''} {element.get('role') or ''}"
        return not _KEPT_ASIDE.search(told) and element.find(".//h1") is None
    hidden = element.get("hidden") is not None or element.get("aria-hidden") == "true"
    return hidden or element.get("role") in _ROLES or bool(_HIDDEN.search(element.get("style") or ""))


def _name(element: Any) -> str:
    """What an element calls itself that only furniture is usually called, in the singular; or an empty text."""
    if element.tag in ("html", "body", "main", "article", "p", "h1", "h2", "h3", "h4", "h5", "h6", "code", "em"):
        return ""
    found = _NAMES.search(element.get("class") or "") or _NAMES.search(element.get("id") or "")
    return found[1].lower().removesuffix("s") if found else ""


def words_in(element: Any) -> int:
    return sum(len(text.split()) for text in element.itertext())


def _counted(root: Any) -> dict[Any, _Words]:
    """The words of all elements, counted in one go: what is nested deep is not read once for each level."""
    counts: dict[Any, _Words] = {}
    for element in reversed(list(root.iter())):  # those inside come before those around them
        own = (element.text or "") if isinstance(element.tag, str) else ""  # a comment has no words
        words, linked, links = len(own.split()), 0, 0
        for each in element:
            inside = counts[each]
            words += inside.all + len((each.tail or "").split())
            linked, links = linked + inside.linked, links + inside.links
        is_link = element.tag == "a" and bool(element.get("href"))
        counts[element] = _Words(words, words, links + 1) if is_link else _Words(words, linked, links)
    return counts
