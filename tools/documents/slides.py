"""Parses PowerPoint presentations (.pptx). Slides become pages, titles headings, and speaker notes notes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.documents.document import document_of_blocks, file_title
from tools.documents.office_zip import find_child, local_name, open_package, unwrap_alternatives
from tools.passages import Block, BlockForm, SourceDocument

_STRICT = b"http://purl.oclc.org/ooxml/"  # namespaces that python-pptx cannot read
_FURNITURE = {"sldNum": "page numbers", "ftr": "running footers", "hdr": "running headers", "dt": "running footers"}


def read_pptx(path: Path, name: str) -> Iterator[SourceDocument]:
    from pptx import Presentation
    from pptx.exc import PythonPptxError

    left_out: Counter[str] = Counter()
    with open_package(path, name, "a PowerPoint presentation", PythonPptxError, AttributeError, TypeError) as package:
        if _STRICT in package.read("_rels/.rels"):
            raise ValueError("it is of the strict form, save it as a usual presentation and ingest that")
        blocks = list(_blocks(Presentation(str(path)), left_out))
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
    """Yields the blocks of the shapes of a slide or group, in order."""
    for shape in shapes:
        name = local_name(shape.element)
        if name == "grpSp":
            yield from _shapes(shape.shapes, left_out)
        elif name == "pic":
            left_out["images"] += 1
        elif name == "graphicFrame" and shape.has_table:
            yield from _table(shape.table)
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
    """Returns 'item' for a paragraph with a bullet. Placeholders for text have bullets unless a paragraph turns them
    off. Text boxes have bullets only if a paragraph sets one."""
    properties = find_child(paragraph._p, "pPr")
    said = {local_name(each) for each in properties} if properties is not None else set()
    bullets = said & {"buChar", "buAutoNum", "buBlip"} or (place in ("text", "body", "obj") and "buNone" not in said)
    return "item" if bullets else "paragraph"


def _table(table: Any) -> Iterator[Block]:
    above: dict[int, str] = {}  # the last cell of each column; repeats merged cells in each row
    rows: list[str] = []
    for row in table.rows:
        cells = [(at, cell) for at, cell in enumerate(row.cells) if not cell._tc.hMerge]
        above |= {at: " ".join(cell.text.split()) for at, cell in cells if not cell._tc.vMerge}
        rows.append(" | ".join(above.get(at, "") for at, _ in cells))
    yield Block("\n".join(row for row in rows if row.strip(" |")), "table")
