"""Reads PowerPoint presentations (.pptx): a slide counts as a page, its title as a heading, its notes as notes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.ingest.documents import document_of_file
from tools.ingest.packed import child, local, newest, opened, parsed
from tools.passages import Block, BlockForm, SourceDocument

_STRICT = b"http://purl.oclc.org/ooxml/"  # the names of a form that python-pptx does not read
_FURNITURE = {"sldNum": "page numbers", "ftr": "running footers", "hdr": "running headers", "dt": "running footers"}


def read_pptx(path: Path, name: str) -> Iterator[SourceDocument]:
    from pptx import Presentation
    from pptx.exc import PythonPptxError

    left_out: Counter[str] = Counter()
    with opened(path, name, "a PowerPoint presentation") as package:
        if _STRICT in package.read("_rels/.rels"):
            raise ValueError("it is of the strict form, save it as a usual presentation and ingest that")
        try:
            blocks = list(_blocks(Presentation(str(path)), left_out))
        except (PythonPptxError, AttributeError, TypeError) as exc:  # what python-pptx does not foresee
            raise ValueError(str(exc)) from exc
        title, date = package.title_and_date()
    yield document_of_file(name, blocks, title, date, left_out)


def _blocks(presentation: Any, left_out: Counter[str]) -> Iterator[Block]:
    for page, slide in enumerate(presentation.slides, start=1):
        if slide.element.get("show") in ("0", "false"):
            left_out["hidden slides"] += 1
            continue
        left_out["comments"] += sum(each.reltype.endswith("/comments") for each in slide.part.rels.values())
        for way in [each for each in slide.element.iter() if local(each) == "AlternateContent"]:
            for shown in newest(way):
                way.addprevious(shown)
            way.getparent().remove(way)
        found = list(_shapes(slide.shapes, left_out))
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        found += [Block(" ".join(notes.text.split()), "note")] if notes is not None else []
        yield from (replace(block, page=page, last_page=page) for block in found)


def _shapes(shapes: Iterable[Any], left_out: Counter[str]) -> Iterator[Block]:
    """The shapes of a slide or a group, in the order in which they lie there."""
    for shape in shapes:
        name = local(shape.element)
        if name == "grpSp":
            yield from _shapes(shape.shapes, left_out)
        elif name == "pic":
            left_out["images"] += 1
        elif name == "graphicFrame" and shape.has_table:
            yield from _table(shape.table)
        elif name == "graphicFrame" and shape.has_chart:
            yield from _chart(parsed(shape.chart_part.blob))
        elif name == "graphicFrame":
            yield from _diagram(shape, left_out)
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
    """The places of text have bullets unless a paragraph says otherwise; a box of its own has none."""
    properties = child(paragraph._p, "pPr")
    said = {local(each) for each in properties} if properties is not None else set()
    bullets = said & {"buChar", "buAutoNum", "buBlip"} or (place in ("text", "body", "obj") and "buNone" not in said)
    return "item" if bullets else "paragraph"


def _table(table: Any) -> Iterator[Block]:
    above: dict[int, str] = {}  # by column: a merged cell stands in each row that it covers
    rows = []
    for row in table.rows:
        cells = [(at, cell) for at, cell in enumerate(row.cells) if not cell._tc.hMerge]
        above |= {at: " ".join(cell.text.split()) for at, cell in cells if not cell._tc.vMerge}
        rows.append([above.get(at, "") for at, _ in cells])
    yield from _rows(rows)


def _rows(rows: Iterable[Sequence[str]]) -> Iterator[Block]:
    if said := [" | ".join(row) for row in rows if any(row)]:
        yield Block("\n".join(said), "table")


def _chart(chart: Any) -> Iterator[Block]:
    """The title, and the values by category; what a series says of how many values it has is not asked."""
    title = next((each for each in chart.iter() if local(each) == "title"), ())
    yield Block(" ".join(each.text or "" for each in _named(title, "t")), "caption")
    series = [each for each in chart.iter() if local(each) == "ser"]
    heads = [" ".join(each.text or "" for each in _named(child(one, "tx"), "v")) for one in series]
    columns = [_points(one, "val", "yVal") for one in series]
    categories = {at: said for one in reversed(series) for at, said in _points(one, "cat", "xVal").items()}
    values = ([said, *(column.get(at, "") for column in columns)] for at, said in categories.items())
    yield from _rows([["", *heads], *values])


def _points(series: Any, *names: str) -> dict[str, str]:
    found = next((each for each in series if local(each) in names), None)
    return {
        point.get("idx", ""): _rounded(each.text or "") for point in _named(found, "pt") for each in _named(point, "v")
    }


def _rounded(value: str) -> str:
    try:
        return f"{float(value):.10g}"
    except ValueError:
        return value


def _named(element: Any, name: str) -> list[Any]:
    return [each for each in element.iter() if local(each) == name] if element is not None and len(element) else []


def _diagram(frame: Any, left_out: Counter[str]) -> Iterator[Block]:
    """What stands in the boxes of a drawn diagram (SmartArt)."""
    ids = next((each for each in frame.element.iter() if local(each) == "relIds"), None)
    if ids is None:
        left_out["embedded objects"] += 1
        return
    data = next(value for key, value in ids.items() if key.endswith("}dm"))
    for point in _named(parsed(frame.part.related_part(data).blob), "pt"):
        yield Block(" ".join(each.text or "" for each in _named(point, "t")), "item")
