"""Reads PowerPoint presentations (.pptx): slides as pages, titles as headings, speaker notes as notes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.documents.document import document_of_blocks, file_title
from tools.documents.office_zip import find_child, local_name, open_package, unwrap_alternatives
from tools.passages import Block, BlockForm, SourceDocument

_FURNITURE = {"sldNum": "page numbers", "ftr": "running footers", "hdr": "running headers", "dt": "running footers"}


def read_pptx(path: Path, name: str) -> Iterator[SourceDocument]:
    from pptx import Presentation
    from pptx.exc import PythonPptxError

    left_out: Counter[str] = Counter()
    with open_package(path, name, "a PowerPoint presentation") as package:
        try:
            blocks = list(_blocks(Presentation(str(path)), left_out))
        except (PythonPptxError, AttributeError, TypeError) as exc:  # unexpected by python-pptx
            raise ValueError(str(exc)) from exc
        properties = package.properties()
    yield document_of_blocks(name, blocks, {}, left_out, file_title(name), properties)


def _blocks(presentation: Any, left_out: Counter[str]) -> Iterator[Block]:
    for page, slide in enumerate(presentation.slides, start=1):
        if slide.element.get("show") in ("0", "false"):
            left_out["hidden slides"] += 1
            continue
        left_out["comments"] += sum(each.reltype.endswith("/comments") for each in slide.part.rels.values())
        unwrap_alternatives(slide.element)
        found = list(_shapes(slide.shapes, left_out))
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        found += [Block(" ".join(notes.text.split()), "note")] if notes is not None else []
        yield from (replace(block, page=page, last_page=page) for block in found)


def _shapes(shapes: Iterable[Any], left_out: Counter[str]) -> Iterator[Block]:
    """Yields the blocks of a slide's or group's shapes in their order."""
    for shape in shapes:
        name = local_name(shape.element)
        if name == "grpSp":
            yield from _shapes(shape.shapes, left_out)
        elif name == "pic":
            left_out["images"] += 1
        elif name == "graphicFrame" and shape.has_table:
            rows = [[" ".join(c.text.split()) for c in row.cells if not c.is_spanned] for row in shape.table.rows]
            yield Block("\n".join(" | ".join(row) for row in rows if any(row)), "table")
        elif name == "graphicFrame":
            left_out["charts" if shape.has_chart else "embedded objects and diagrams"] += 1
        elif shape.has_text_frame:
            yield from _text(shape, left_out)


def _text(shape: Any, left_out: Counter[str]) -> Iterator[Block]:
    place = shape.element.ph.get("type", "text") if shape.is_placeholder else ""
    lines = [" ".join(paragraph.text.split()) for paragraph in shape.text_frame.paragraphs]
    if place in _FURNITURE:
        left_out[_FURNITURE[place]] += 1
    elif place in ("title", "ctrTitle"):
        yield Block(" ".join(filter(None, lines)), "heading", 1)
    else:
        for paragraph, line in zip(shape.text_frame.paragraphs, lines, strict=True):
            yield Block(line, _form(paragraph, place))


def _form(paragraph: Any, place: str) -> BlockForm:
    """Text placeholders have bullets unless a paragraph says otherwise; text boxes have none."""
    properties = find_child(paragraph._p, "pPr")
    said = {local_name(each) for each in properties} if properties is not None else set()
    bullets = said & {"buChar", "buAutoNum", "buBlip"} or (place in ("text", "body", "obj") and "buNone" not in said)
    return "item" if bullets else "paragraph"
