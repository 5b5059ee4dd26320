"""Finds who wrote each post of a page: what holds one name of an author, beside others that hold another's."""

import re
from collections import defaultdict
from itertools import groupby, islice, takewhile
from typing import Any

from tools.documents.markup import SPEAKER
from tools.documents.tidy import drop
from tools.language.names import is_entitled, is_person, pattern
from tools.language.speech import UNNAMED

_AUTHOR = re.compile(
    r"(?i)(?:\S*[_-])?(?:creator|commenter|poster|speaker|sender|nick(?:name)?|fn|hnuser|comment-?user"
    r"|(?:from|member|screen|display|full)[_-]?name)|(?!by)\S*(?:author|user[_-]?name)(?:[_-]*(?:name|link|text))?"
)
_HEAD = re.compile(r"(?i)name|user|who|from|by|h[2-6]|dt|b|strong|cite")  # may name who speaks: a class, an element
_SPEECH = re.compile(r"(?i)comment|post|message|repl(?:y|ies)|speech|debate|contribution|statement|utterance")
_OTHER, _META = (
    re.compile(rf"(?i)(?:^|[\s_-])(?:{words})(?:$|[\s_-])")
    for words in (
        r"related|recommended|recent\w*|promo|side-?bar|bio|references?|citations?|\w*quot\w*|mention|nav|aside",
        r"date|time(?:stamp)?|likes?|score|points|buttons?|actions?|sig(?:nature)?|avatar|userpic|initials|permalink"
        r"|rank|badge|user-?(?:info|name|title)|post-?profile|tagline|byline|meta|infos?|header|comhead|vcard|(?<![_-])author(?!\S)",
    )
)
_LINE = re.compile(
    r"(?i)(?:\W*(?:says|wrote|said|reply|with|report|quote|share|like|permalink|edit|delete|follow|flag|link)\b)+\W*"
    r"|(?:joined|posts|in reply to):? .{0,60}|\W*[\d.,]+k? (?:points?|likes?|votes?|repl(?:y|ies)|comments?)(?: by)?\W*"
)
_BESIDE = re.compile(r"(?i)^(?:(?:originally |posted |written ){0,2}by\b[ :]*)+| (?:wrote|says|said)\b.*|[ :,·»•|-]+$")
_WROTE = re.compile(r"(?i)(?:originally )?posted by .{1,60}|.{1,60} (?:wrote|said)\W*")
_TAIL = re.compile(r"(?i)^[\s·|»:,–—•-]*(?:(?:wrote|says|said|commented)\b[\s:]*)?")
_FRAMES = frozenset("form header footer nav aside table".split())
_Posts = dict[Any, tuple[str, list[Any]]]
_WIDEST = 30  # words of the line with a name


def mark_posts(body: Any) -> None:
    """Gives each post of a page its speaker, and takes out the line that names it, times and what can be clicked."""
    posts = _posts(body, sure=True) or _posts(body, sure=False)
    for post, (name, lines) in posts.items():
        _tidy(post, name, lines)
    for each in {each for post in posts for each in (*post.iterancestors(), *post.iter("*"))}:  # no furniture any more
        for attribute in {"class", "id", "role"} & set(each.attrib):
            del each.attrib[attribute]
        each.tag = "div" if each.tag in _FRAMES or (each in posts and each.tag not in ("li", "p")) else each.tag


def _posts(body: Any, sure: bool) -> _Posts:
    """What holds the words of one author, with the name and the elements that it stands in."""
    titled = {body, *(up for title in body.iter("h1") for up in title.iterancestors())}
    authors = _authors(body, sure)
    runs = [list(run) for _, run in groupby(authors, key=lambda author: author[1])]
    found: _Posts = {}
    for before, run, after in zip([[], *runs], runs, [*runs[1:], []], strict=False):
        ends = titled.union(*(_up(element) for element, _ in (*before[-1:], *after[:1])))
        for element, name in run:
            for post in [*takewhile(lambda up: up not in ends, _up(element))][-1:]:  # noqa: B023
                found.setdefault(post, (name, []))[1].append(element)
    named = {up for element, _ in authors for up in _up(element)}
    again = len(runs) > len({name for _, name in authors})
    posts = {post: told for post, told in found.items() if not _is_card(post, told[0])}
    for post, (name, _) in list(posts.items()):
        classes, alone = set(_called(post).split()), _is_all(name, post)
        nameless = takewhile(lambda more: more not in named, post.itersiblings())
        same = sure and len(classes) > 1
        more = [e for e in nameless if (again and alone) or (same and classes <= set(_called(e).split()))]
        posts |= dict.fromkeys(more, (name, []))
        if alone and not more:
            del posts[post]
    return posts if len({name for name, _ in posts.values()}) > 1 else {}


def _authors(body: Any, sure: bool) -> list[tuple[Any, str]]:
    """The elements that name somebody by what they are called; not `sure`: by where they stand, as a heading does."""
    kinds: defaultdict[Any, list[tuple[int, Any, str]]] = defaultdict(list)
    other = {element for element in body.iterdescendants("*") if _OTHER.search(_called(element))}
    for place, element in enumerate(body.iter("*")):
        called = (element.get("class") or "").split() + ([] if sure else [element.tag])
        kind = [each for each in called if (_AUTHOR if sure else _HEAD).fullmatch(each)]
        kind += ["author"] if sure and "author" in (element.get("itemprop"), element.get("rel")) else []
        if kind and (name := _name(element)):
            whole = element.getparent() if element.tag in ("b", "strong") else element
            if (sure or (len(whole) < 5 and _is_all(name, whole))) and other.isdisjoint(_up(element)):
                kinds[element.tag, *kind].append((place, element, name))
    authors = []
    for found in kinds.values():
        names = {name for *_, name in found}
        people = sum(is_person(name.replace(",", "")) or is_entitled(name) for name in names)
        speech = len(names) < len(found) or any(_SPEECH.search(_called(up)) for up in _up(found[0][1])[:4])
        authors += found if len(names) > 1 and (sure or (speech and 2 * people >= len(names))) else []
    return [(element, name) for _, element, name in sorted(authors, key=lambda author: author[0])]


def _is_card(post: Any, name: str) -> bool:
    """Whether its heading leads to an article, and neither to a place on the page nor to its author."""
    links = post.xpath(".//h2//a|.//h3//a|.//a[h2 or h3]")
    return any("#" not in link.get("href", "#") and _said(link) != name for link in links)


def _up(element: Any) -> tuple[Any, ...]:
    return element, *element.iterancestors()


def _called(element: Any) -> str:
    return f"{element.get('class') or ''} {element.tag}"


def _said(element: Any) -> str:
    return " ".join(" ".join(element.itertext()).split())


def _is_small(element: Any) -> bool:
    return len(_said(element).split()) <= _WIDEST and next(element.iter("p", "blockquote"), element) is element


def _is_all(name: str, element: Any) -> bool:
    return not re.search(r"\w", re.sub(r"\([^()]*\)", "", _said(element).replace(name, "", 1)))


def _name(element: Any) -> str:
    """The first text of the line with a name, without what stands around names."""
    name = next((name for text in element.itertext() if (name := _BESIDE.sub("", " ".join(text.split())))), "")
    return name if len(name) < 60 and len(_said(element).split()) <= _WIDEST else ""


def _tidy(post: Any, name: str, lines: list[Any]) -> None:
    """Leaves the words of a post under its speaker, and each quotation in it under who is quoted."""
    post.set(SPEAKER, name)
    for line in lines:
        within = line.iterancestors() if line is not post else ()
        ups = takewhile(lambda up: up is not post and _is_small(up), within)
        _drop([line, *takewhile(lambda up: _META.search(_called(up)) or _is_all(name, up), ups)][-1], post)
    left = len(_said(post))
    for each in list(post.iter("*")):
        said = _said(each) if each.tag == "time" or not len(each) or _META.search(_called(each)) else ""
        told = (
            each.tag == "time"
            or _META.search(_called(each))
            or _LINE.fullmatch(said)
            or pattern("STAMP").fullmatch(said)
        )
        first = each.getprevious() is None and not (each.getparent().text or "").strip()
        if 0 < len(said) < left and told and _is_small(each) and (first or next(each.iterancestors("p"), None) is None):
            left -= len(said) + 1
            _drop(each, post)
    mark_quotes(post)


def mark_quotes(post: Any) -> None:
    """Gives each quotation in a post who is quoted."""
    quotes, most = post.xpath(".//blockquote|.//aside|.//*[contains(@class, 'quote')]"), 0.9 * len(_said(post))
    for quote in reversed(quotes):
        told, length = quote.get("data-username") or quote.get("data-quote") or "", len(_said(quote))
        parts = ((e, said) for e in islice(quote.iter("*"), 1, 9) if 0 < len(said := _said(e)) < length)
        heads = (e for e, said in parts if e.tag == "cite" or _WROTE.fullmatch(said) or said.strip(": ") == told)
        head = next(heads, None)
        if head is not None and not any(inner.get(SPEAKER) for inner in quote.iter("*")):
            quote.set(SPEAKER, told or _name(head))
            _drop(head, post)
    for quote in quotes:
        around = (*quote.iter("*"), *takewhile(lambda up: up is not post, quote.iterancestors()))
        if len(_said(quote)) < most and not any(each.get(SPEAKER) for each in around):
            quote.set(SPEAKER, UNNAMED)


def _drop(element: Any, post: Any) -> None:
    """Takes out an element in a post and the signs behind it; of a post that is all name, its words."""
    element.tail = _TAIL.sub(" ", element.tail or "")
    if element is post:
        element[:], element.text = [], ""
    else:
        drop(element)
