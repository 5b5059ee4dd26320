"""What the styles of a Word document make of a paragraph or a run, each style with those that it is based on."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tools.ingest.packed import attr, child, local, number

# Word keeps the English names of its own styles whatever its language; other programs write what their users see.
_HEADING = re.compile(
    r"(?:heading|header|überschrift|titre|título|titolo|kop|rubrik|overskrift|otsikko|nagłówek|nadpis|címsor|"
    r"заголовок|başlık|見出し|标题|標題|제목) ?([1-9])"
)
_CAPTIONS = {"caption", "beschriftung", "légende", "leyenda", "didascalia", "bijschrift", "legenda"}
_CONTENTS = re.compile(r"toc ?\d|(?:toc|contents) heading|table of (?:figures|authorities)|index ?\d|contents ?\d")
_TITLES = {"title", "titel", "titre", "título", "titolo"}


@dataclass(frozen=True, slots=True)
class _Style:
    name: str
    base: str
    properties: Any
    run: Any


class Styles:
    """`root`: the part with the styles, or None where the document has none."""

    def __init__(self, root: Any) -> None:
        self._styles: dict[str, _Style] = {}
        for each in root if root is not None else ():
            if local(each) == "style":
                name, base = (
                    attr(found, "val") if found is not None else "" for found in _both(each, "name", "basedOn")
                )
                self._styles[attr(each, "styleId")] = _Style(name.lower().strip(), base, *_both(each, "pPr", "rPr"))

    def form(self, properties: Any) -> tuple[str, int]:
        """What a paragraph with these properties is, and its level as a heading.

        'contents' is a line of a list of headings. What is nearest to the paragraph says it: its own outline level, its
        style, the style which that is based on.
        """
        chain = list(self._chain(_named(properties, "pStyle")))
        if (level := _outline(properties)) is None:
            found = (form_of_name(style.name) or _as_heading(_outline(style.properties)) for style in chain)
            form = next((form for form in found if form), ("paragraph", 0))
        else:
            form = _as_heading(level) or ("paragraph", 0)
        return ("item", 0) if form[0] == "paragraph" and self._is_item(properties, chain) else form

    def hides(self, run: Any, paragraph: Any) -> bool:
        """Whether a run with these properties is hidden text."""
        own = switch(run, "vanish")
        if own is None:
            chains = (_named(run, "rStyle"), _named(paragraph, "pStyle"))
            said = (switch(style.run, "vanish") for name in chains for style in self._chain(name))
            own = next((found for found in said if found is not None), False)
        return own

    def raises(self, run: Any) -> bool:
        """Whether a run with these properties stands above its line."""
        chain = (style.run for style in self._chain(_named(run, "rStyle")))
        found = (child(each, "vertAlign") for each in (run, *chain) if each is not None)
        return next((attr(each, "val") == "superscript" for each in found if each is not None), False)

    def _is_item(self, properties: Any, chain: list[_Style]) -> bool:
        for each in (properties, *(style.properties for style in chain)):
            if each is not None and (found := child(each, "numPr", "numId")) is not None:
                return number(attr(found, "val")) > 0
        return any(style.name.startswith(("list bullet", "list number")) for style in chain)

    def _chain(self, name: str) -> Iterator[_Style]:
        seen: set[str] = set()
        while name in self._styles and name not in seen:
            seen.add(name)
            yield self._styles[name]
            name = self._styles[name].base


def form_of_name(name: str) -> tuple[str, int] | None:
    """What the name of a style says that its paragraphs are; None where it says nothing."""
    name = name.lower().strip()
    if _CONTENTS.fullmatch(name):
        return "contents", 0
    if name in _CAPTIONS:
        return "caption", 0
    if name in _TITLES:
        return "heading", 1
    match = _HEADING.fullmatch(name)
    return ("heading", int(match[1])) if match else None


def _outline(properties: Any) -> int | None:
    """The outline level that properties name, 1 for the highest and 0 for plain text."""
    found = child(properties, "outlineLvl") if properties is not None else None
    level = number(attr(found, "val"), 9) if found is not None else None
    return level + 1 if level is not None and 0 <= level < 9 else None if level is None else 0


def _as_heading(level: int | None) -> tuple[str, int] | None:
    return None if level is None else ("heading", level) if level else ("paragraph", 0)


def _both(element: Any, first: str, second: str) -> tuple[Any, Any]:
    return child(element, first), child(element, second)


def _named(properties: Any, kind: str) -> str:
    found = child(properties, kind) if properties is not None else None
    return attr(found, "val") if found is not None else ""


def switch(properties: Any, name: str) -> bool | None:
    found = child(properties, name) if properties is not None else None
    return None if found is None else attr(found, "val") not in ("0", "false", "off")
