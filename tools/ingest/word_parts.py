"""Changes the parts of a Word document into what mammoth reads whole.

What it would lose is put where it looks for it; what is not shown is taken out and counted.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tools.ingest.packed import attr, child, local, newest, number
from tools.ingest.styles import form_of_name, is_contents
from tools.ingest.tidy import drop

NOTES = ("footnotes", "endnotes")
_COUNTED = {
    "altChunk": "embedded documents",
    "commentReference": "comments",
    "del": "deleted changes",
    "moveFrom": "deleted changes",
}
_DRAWN = ("drawing", "pict", "object")
_PICTURES = {"pic": "images", "imagedata": "images", "chart": "charts", "relIds": "diagrams", "OLEObject": "objects"}
_DROPPED = frozenset("rt bookmarkStart fldChar instrText proofErr".split())
_THROUGH = frozenset("fldSimple hyperlink dir bdo ruby rubyBase oMathPara".split())  # they only mark what is in them


class Styles:
    """What the styles of a document make of its paragraphs and runs, each with those that it is based on."""

    def __init__(self, root: Any) -> None:
        self._styles = {attr(each, "styleId"): each for each in root if local(each) == "style"}

    def form(self, properties: Any) -> str:
        """'h1' to 'h6', 'item', 'caption', 'contents' (a line of a list of headings) or 'p'.

        What is nearest to the paragraph says it: its own outline level, its style, the style which that is based on.
        """
        chain = list(self._chain(value(properties, "pStyle")))
        own = value(properties, "outlineLvl")
        form = _of_level(own) if own else next(filter(None, map(_of_style, chain)), "p")
        lists = (value(each, "numPr", "numId") for each in (properties, *(child(style, "pPr") for style in chain)))
        return "item" if form == "p" and number(next(filter(None, lists), "")) > 0 else form

    def hide(self, properties: Any, style: str) -> bool:
        """Whether these properties hide text, by themselves or by the style that they name."""
        own = [properties, *(child(each, "rPr") for each in self._chain(value(properties, style)))]
        found = (child(each, "vanish") for each in own if each is not None)
        return next((_is_on(each) for each in found if each is not None), False)

    def _chain(self, name: str) -> Iterator[Any]:
        seen: set[str] = set()
        while name in self._styles and name not in seen:
            seen.add(name)
            yield self._styles[name]
            name = value(self._styles[name], "basedOn")


def _of_style(style: Any) -> str:
    name, outline = value(style, "name"), value(style, "pPr", "outlineLvl")
    if is_contents(name):
        return "contents"
    if (form := form_of_name(name)) is not None:
        return f"h{min(form[1], 6)}" if form[0] == "heading" else form[0]
    return _of_level(outline) if outline else ""


def _of_level(outline: str) -> str:
    level = number(outline, 9)
    return f"h{min(level + 1, 6)}" if 0 <= level < 9 else "p"


def value(element: Any, *path: str) -> str:
    """The value of the element that a path leads to; empty where there is none."""
    found = child(element, *path) if element is not None else None
    return attr(found, "val") if found is not None else ""


def _is_on(element: Any) -> bool:
    return element is not None and attr(element, "val") not in ("0", "false", "off")


def prepare(root: Any, styles: Styles, notes: set[str], left_out: Counter[str]) -> None:
    """Changes a part. notes: the ids of those that there are, each with its part's name behind it."""
    prepared = _Prepared(root.tag.partition("}")[0] + "}", styles, notes, left_out)
    waiting = list(root)
    while waiting:
        each = waiting.pop()
        if prepared.keeps(each, local(each)):
            waiting += (inner for inner in each if local(inner) not in ("pPr", "rPr"))


class _Prepared:
    """`space`: that of the names of Word's own elements, in braces."""

    def __init__(self, space: str, styles: Styles, notes: set[str], left_out: Counter[str]) -> None:
        self._space, self._styles, self._notes, self._left_out = space, styles, notes, left_out

    def keeps(self, each: Any, name: str) -> bool:
        """Changes an element; whether it stays with what is in it."""
        properties = child(each, f"{name}Pr")
        if name == "p":
            return self._paragraph(each, properties) if len(each) else self._without(each)
        if name == "r" and properties is not None and self._styles.hide(properties, "rStyle"):
            return self._without(each, "hidden texts")
        if name == "sdt" and properties is not None and _is_on(child(properties, "showingPlcHdr")):
            return self._without(each, "prompts to fill in")
        if name == "AlternateContent":
            self._become(each, "smartTag", newest(each))
        elif name in _DRAWN:
            return self._drawn(each)
        elif name == "oMath":
            self._become(each, "r", [self._made("t", text="".join(each.itertext()))])
        elif name in ("cr", "ptab"):
            self._become(each, "tab", [])
        elif name in _THROUGH:
            self._become(each, "smartTag", list(each))
        elif name in _DROPPED or self._is_broken(each, name):
            return self._without(each)
        elif name in _COUNTED:
            return self._without(each, _COUNTED[name]) if local(each.getparent()) != "trPr" else True
        return True

    def _is_broken(self, each: Any, name: str) -> bool:
        """Whether it refers to no note that there is, or is no width of a cell."""
        if name.endswith("noteReference"):
            return attr(each, "id") + name.replace("Reference", "s") not in self._notes
        return name == "gridSpan" and number(attr(each, "val")) < 1

    def _paragraph(self, each: Any, properties: Any) -> bool:
        if properties is None:
            return True
        form = self._styles.form(properties)
        if form == "contents":
            return self._without(each, "lines of contents")
        if self._styles.hide(properties, "pStyle"):
            return self._without(each, "hidden texts")
        # What ends in a deleted mark, and a large first letter, go on in the next paragraph.
        frame = child(properties, "framePr")
        goes_on = frame is not None and attr(frame, "dropCap") not in ("", "none")
        goes_on = goes_on or child(properties, "rPr", "del") is not None
        properties[:] = [self._made("pStyle", {f"{self._space}val": form})]
        if goes_on:
            properties.append(self._made("rPr"))
            properties[-1].append(self._made("del"))
        return True

    def _drawn(self, each: Any) -> bool:
        """Of a drawing the text in its boxes stays."""
        boxes = list(each.iter(f"{self._space}txbxContent"))
        outer = [box for box in boxes if not any(up in boxes for up in box.iterancestors())]
        inside = {inner for box in outer for inner in box.iter()}
        self._left_out.update(_PICTURES[local(e)] for e in each.iter() if local(e) in _PICTURES and e not in inside)
        self._become(each, "pict", outer)
        return True

    def _become(self, each: Any, name: str, children: list[Any]) -> None:
        each.tag, each.text = f"{self._space}{name}", None
        each[:] = children

    def _made(self, name: str, attributes: dict[str, str] | None = None, text: str = "") -> Any:
        from lxml import etree

        made = etree.Element(f"{self._space}{name}", attributes or {})
        made.text = text
        return made

    def _without(self, each: Any, counted: str = "") -> bool:
        if counted:
            self._left_out[counted] += 1
        drop(each)
        return False
