"""Reads PowerPoint presentations (.pptx): a slide counts as a page, its title as a heading, its notes as notes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.ingest.documents import document_of_file
from tools.ingest.packed import Package, Relation, attr, child, local, opened
from tools.ingest.tables import TableLines
from tools.passages import Block, BlockForm, SourceDocument

_FURNITURE = {"sldNum": "page numbers", "ftr": "running footers", "hdr": "running headers", "dt": "running footers"}
_COUNTED = {"pic": "images", "chart": "charts", "oleObj": "embedded objects"}


def read_pptx(path: Path, name: str) -> Iterator[SourceDocument]:
    left_out: Counter[str] = Counter()
    with opened(path, name, "a PowerPoint presentation") as package:
        found = package.relations()
        main = next((each.part for each in found if each.kind == "officeDocument"), "ppt/presentation.xml")
        root = package.xml(main)
        if local(root) != "presentation":
            raise ValueError("its main part is something else")
        parts = {each.id: each.part for each in package.relations(main) if each.kind == "slide"}
        listed = child(root, "sldIdLst")
        ids = [_relation_id(each) for each in listed] if listed is not None else []
        blocks: list[Block] = []
        for page, part in enumerate((parts[each] for each in ids if each in parts), start=1):
            blocks += (replace(b, page=page, last_page=page) for b in _slide(package, part, left_out))
        title, date = package.title_and_date()
    yield document_of_file(name, blocks, title, date, left_out)


def _relation_id(element: Any) -> str:
    """The id that is a reference: another attribute of the same local name counts the slides."""
    return next((str(v) for k, v in element.items() if k.startswith("{") and k.endswith("}id")), "")


def _slide(package: Package, part: str, left_out: Counter[str]) -> Iterator[Block]:
    root = package.xml(part)
    if attr(root, "show") in ("0", "false"):
        left_out["hidden slides"] += 1
        return
    relations = package.relations(part)
    shapes = child(root, "cSld", "spTree")
    yield from _Slide(package, relations, left_out).blocks(shapes if shapes is not None else ())
    left_out["comments"] += sum(each.kind == "comments" for each in relations)
    for each in relations:
        if each.kind == "notesSlide":
            notes = (e for e in package.xml(each.part).iter() if local(e) == "sp" and _place(e) == "body")
            text = " ".join(line for shape in notes for p in _paragraphs(shape) if (line := _text(p)))
            yield Block(text, "note")


class _Slide:
    """The shapes of one slide, in the order in which they lie there."""

    def __init__(self, package: Package, relations: Iterable[Relation], left_out: Counter[str]) -> None:
        self._package = package
        self._parts = {each.id: each.part for each in relations}
        self._left_out = left_out

    def blocks(self, shapes: Iterable[Any]) -> Iterator[Block]:
        for shape in shapes:
            name = local(shape)
            if name == "sp":
                yield from self._shape(shape)
            elif name == "tbl":
                yield from _table(shape)
            elif name == "relIds":
                yield from self._diagram(shape)
            elif name in _COUNTED:
                self._left_out[_COUNTED[name]] += 1
            elif name == "AlternateContent":
                yield from self.blocks(list(shape)[:1])
            else:
                yield from self.blocks(shape)

    def _shape(self, shape: Any) -> Iterator[Block]:
        place = _place(shape)
        if place in _FURNITURE:
            self._left_out[_FURNITURE[place]] += 1
        elif place in ("title", "ctrTitle"):
            yield Block(" ".join(filter(None, map(_text, _paragraphs(shape)))), "heading", 1)
        else:
            for paragraph in _paragraphs(shape):
                yield Block(_text(paragraph), _form(paragraph, place))

    def _diagram(self, element: Any) -> Iterator[Block]:
        """What stands in the boxes of a drawn diagram (SmartArt)."""
        part = self._parts.get(attr(element, "dm"))
        for point in self._package.xml(part).iter() if part else ():
            if local(point) == "pt":
                yield Block(" ".join(filter(None, map(_text, _paragraphs(point)))), "item")


def _place(shape: Any) -> str:
    """Which of the layout's places a shape fills; '' for one of its own, 'text' for the usual place of text."""
    found = next((e for e in shape[0].iter() if local(e) == "ph"), None) if len(shape) else None
    return "" if found is None else attr(found, "type") or "text"


def _paragraphs(shape: Any) -> Iterator[Any]:
    return (each for each in shape.iter() if local(each) == "p")


def _form(paragraph: Any, place: str) -> BlockForm:
    """The places of text have bullets unless a paragraph says otherwise; a box of its own has none."""
    properties = child(paragraph, "pPr")
    said = {local(each) for each in properties} if properties is not None else set()
    bullets = said & {"buChar", "buAutoNum", "buBlip"} or (place in ("text", "body", "obj") and "buNone" not in said)
    return "item" if bullets else "paragraph"


def _text(paragraph: Any) -> str:
    words = ((e.text or "") if local(e) == "t" else " " for e in paragraph.iter() if local(e) in ("t", "br", "tab"))
    return " ".join("".join(words).split())


def _table(table: Any) -> Iterator[Block]:
    lines = TableLines()
    for row in table:
        for cell in row if local(row) == "tr" else ():
            if local(cell) != "tc":
                continue
            if attr(cell, "hMerge") in ("1", "true"):
                lines.skip(1)
                continue
            text = " ".join(map(_text, _paragraphs(cell)))
            lines.cell(text, 1, attr(cell, "vMerge") in ("1", "true"))
        lines.end_row()
    yield from lines.blocks()
