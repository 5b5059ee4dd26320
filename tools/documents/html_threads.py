"""Finds the author of each post on a page: an element with one author's name, next to elements with others'."""

import re
from collections import defaultdict
from itertools import groupby, islice, takewhile
from typing import Any

from tools.documents.html_blocks import SPEAKER_ATTRIBUTE
from tools.documents.html_cleanup import drop_element
from tools.language.person_names import is_person, is_surely_person, pattern
from tools.language.reported_speech import UNNAMED

_AUTHOR = re.compile(
    r"(?i)(?:\S*[_-])?(?:creator|commenter|poster|speaker|sender|nick(?:name)?|fn|hnuser|comment-?user"
    r"|(?:from|member|screen|display|full)[_-]?name)|(?!by)\S*(?:author|user[_-]?name)(?:[_-]*(?:name|link|text))?"
)
_HEAD = re.compile(r"(?i)name|user|who|from|by|h[2-6]|dt|b|strong|cite")  # classes and elements that may name a speaker
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
_HOME = re.compile(r"\s?,(?: (?:[A-Z][\w'’.-]*|of|on|the|in|upon)){1,5}\W*")  # 'Una Roe, Mill Lane'
_FRAMES = frozenset("form header footer nav aside table".split())
_Posts = dict[Any, tuple[str, list[Any]]]
_WIDEST = 30  # most words of a name line


def mark_post_speakers(body: Any) -> None:
    """Gives each post its speaker. Removes the name line, times and controls."""
    posts = _posts(body, sure=True) or _posts(body, sure=False)
    for post, (name, lines) in posts.items():
        _clean_post(post, name, lines)
    for each in {each for post in posts for each in (*post.iterancestors(), *post.iter("*"))}:  # posts are no furniture
        for attribute in {"class", "id", "role"} & set(each.attrib):
            del each.attrib[attribute]
        each.tag = "div" if each.tag in _FRAMES or (each in posts and each.tag not in ("li", "p")) else each.tag


def _posts(body: Any, sure: bool) -> _Posts:
    """Returns the posts, each with its author's name and with the elements that show the name."""
    titled = {body, *(up for title in body.iter("h1") for up in title.iterancestors())}
    authors = _authors(body, sure)
    runs = [list(run) for _, run in groupby(authors, key=lambda author: author[1])]
    found: _Posts = {}
    for before, run, after in zip([[], *runs], runs, [*runs[1:], []], strict=False):
        ends = titled.union(*(_lineage(element) for element, _ in (*before[-1:], *after[:1])))
        for element, name in run:
            for post in [*takewhile(lambda up: up not in ends, _lineage(element))][-1:]:  # noqa: B023
                found.setdefault(post, (name, []))[1].append(element)
    named = {up for element, _ in authors for up in _lineage(element)}
    again = len(runs) > len({name for _, name in authors})
    posts = {post: told for post, told in found.items() if not _is_article_teaser(post, told[0])}
    for post, (name, _) in list(posts.items()):
        classes, alone = set(_class_tag(post).split()), _only_name(name, post)
        nameless = takewhile(lambda more: more not in named, post.itersiblings())
        same = sure and len(classes) > 1
        more = [e for e in nameless if (again and alone) or (same and classes <= set(_class_tag(e).split()))]
        posts |= dict.fromkeys(more, (name, []))
        if alone and not more:
            del posts[post]
    return posts if len({name for name, _ in posts.values()}) > 1 else {}


def _authors(body: Any, sure: bool) -> list[tuple[Any, str]]:
    """Returns the elements that name a person. sure: their class says 'author'; else a heading's tag suffices, too."""
    kinds: defaultdict[Any, list[tuple[int, Any, str]]] = defaultdict(list)
    other = {element for element in body.iterdescendants("*") if _OTHER.search(_class_tag(element))}
    for place, element in enumerate(body.iter("*")):
        called = (element.get("class") or "").split() + ([] if sure else [element.tag])
        kind = [each for each in called if (_AUTHOR if sure else _HEAD).fullmatch(each)]
        kind += ["author"] if sure and "author" in (element.get("itemprop"), element.get("rel")) else []
        if kind and (name := _author_name(element)):
            whole = element.getparent() if element.tag in ("b", "strong") else element
            if (sure or (len(whole) < 5 and _only_name(name, whole))) and other.isdisjoint(_lineage(element)):
                kinds[element.tag, *kind].append((place, element, name))
    authors = []
    for found in kinds.values():
        names = {name for *_, name in found}
        people = sum(is_person(name.replace(",", "")) or is_surely_person(name) for name in names)
        speech = len(names) < len(found) or any(_SPEECH.search(_class_tag(up)) for up in _lineage(found[0][1])[:4])
        authors += found if len(names) > 1 and (sure or (speech and 2 * people >= len(names))) else []
    return [(element, name) for _, element, name in sorted(authors, key=lambda author: author[0])]


def _is_article_teaser(post: Any, name: str) -> bool:
    """Whether the element's heading links to an article. Links within the page or to the post's author do not count."""
    links = post.xpath(".//h2//a|.//h3//a|.//a[h2 or h3]")
    return any("#" not in link.get("href", "#") and _text(link) != name for link in links)


def _lineage(element: Any) -> tuple[Any, ...]:
    return element, *element.iterancestors()


def _class_tag(element: Any) -> str:
    return f"{element.get('class') or ''} {element.tag}"


def _text(element: Any) -> str:
    return " ".join(" ".join(element.itertext()).split())


def _is_short_line(element: Any) -> bool:
    return len(_text(element).split()) <= _WIDEST and next(element.iter("p", "blockquote"), element) is element


def _only_name(name: str, element: Any) -> bool:
    rest = re.sub(r"\([^()]*\)", "", _text(element).replace(name, "", 1))
    return not re.search(r"\w", rest) or bool(_HOME.fullmatch(rest))


def _author_name(element: Any) -> str:
    """Returns the first text of a name line, without additions such as 'posted by'."""
    name = next((name for text in element.itertext() if (name := _BESIDE.sub("", " ".join(text.split())))), "")
    return name if len(name) < 60 and len(_text(element).split()) <= _WIDEST else ""


def _clean_post(post: Any, name: str, lines: list[Any]) -> None:
    """Removes everything but a post's words. Marks the speakers of the post and of each quotation in the post."""
    post.set(SPEAKER_ATTRIBUTE, name)
    for line in lines:
        within = line.iterancestors() if line is not post else ()
        ups = takewhile(lambda up: up is not post and _is_short_line(up), within)
        _drop_in([line, *takewhile(lambda up: _META.search(_class_tag(up)) or _only_name(name, up), ups)][-1], post)
    left = len(_text(post))
    for each in list(post.iter("*")):
        meta = each.tag == "time" or _META.search(_class_tag(each))
        said = _text(each) if meta or not len(each) else ""
        told = meta or _LINE.fullmatch(said) or pattern("STAMP").fullmatch(said)
        first = each.getprevious() is None and not (each.getparent().text or "").strip()
        apart = first or next(each.iterancestors("p"), None) is None
        if told and apart and 0 < len(said) < left and _is_short_line(each):
            left -= len(said) + 1
            _drop_in(each, post)
    mark_quotation_speakers(post)


def mark_quotation_speakers(post: Any) -> None:
    """Gives each quotation in a post its speaker."""
    quotes, most = post.xpath(".//blockquote|.//aside|.//*[contains(@class, 'quote')]"), 0.9 * len(_text(post))
    for quote in reversed(quotes):
        told, length = quote.get("data-username") or quote.get("data-quote") or "", len(_text(quote))
        parts = ((e, said) for e in islice(quote.iter("*"), 1, 9) if 0 < len(said := _text(e)) < length)
        heads = (e for e, said in parts if e.tag == "cite" or _WROTE.fullmatch(said) or said.strip(": ") == told)
        head = next(heads, None)
        if head is not None and not any(inner.get(SPEAKER_ATTRIBUTE) for inner in quote.iter("*")):
            quote.set(SPEAKER_ATTRIBUTE, told or _author_name(head))
            _drop_in(head, post)
    for quote in quotes:
        around = (*quote.iter("*"), *takewhile(lambda up: up is not post, quote.iterancestors()))
        if len(_text(quote)) < most and not any(each.get(SPEAKER_ATTRIBUTE) for each in around):
            quote.set(SPEAKER_ATTRIBUTE, UNNAMED)


def _drop_in(element: Any, post: Any) -> None:
    """Removes an element and the separators after it, such as ' · '. Only empties the post itself."""
    element.tail = _TAIL.sub(" ", element.tail or "")
    if element is post:
        element[:], element.text = [], ""
    else:
        drop_element(element)
