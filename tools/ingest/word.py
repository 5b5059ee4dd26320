"""Reads Word documents (.docx), of the usual and of the strict form: mammoth makes HTML of what a reader would see."""

import io
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.ingest.documents import document_of_file
from tools.ingest.html_tree import parse
from tools.ingest.markup import blocks_of
from tools.ingest.packed import Package, attr, local, opened
from tools.ingest.raised import write_raised
from tools.ingest.styles import HYPHENS
from tools.ingest.tables import repeat_merged
from tools.ingest.tidy import tidied
from tools.ingest.word_parts import NOTES, Styles, prepare
from tools.passages import Block, SourceDocument

_MAP = [f"p.h{level} => h{level}:fresh" for level in range(1, 7)]
_MAP += ["p.item => ul > li:fresh", "p.caption => figcaption:fresh"]


def read_docx(path: Path, name: str) -> Iterator[SourceDocument]:
    left_out: Counter[str] = Counter()
    with opened(path, name, "a Word document") as package:
        main = next((each.part for each in package.relations() if each.kind == "officeDocument"), "word/document.xml")
        root = package.xml(main)
        if local(root) != "document":
            raise ValueError("its main part is something else")
        parts = {
            each.kind: package.xml(each.part) for each in package.relations(main) if each.kind in ("styles", *NOTES)
        }
        _count_running(package, main, left_out)
        try:
            html = _html(root, Styles(parts.pop("styles", ())), parts, left_out)
        except (TypeError, AttributeError) as exc:  # what mammoth does not foresee
            raise ValueError(str(exc)) from exc
        title, date = package.title_and_date()
    yield document_of_file(name, _blocks(html, left_out), title, date, left_out)


def _count_running(package: Package, main: str, left_out: Counter[str]) -> None:
    for part, kind in {(each.part, each.kind) for each in package.relations(main)}:
        if kind in ("header", "footer"):
            left_out[f"running {kind}s"] += any(local(e) == "t" and e.text for e in package.xml(part).iter())


def _html(root: Any, styles: Styles, notes: dict[str, Any], left_out: Counter[str]) -> str:
    """mammoth gets the text and its notes alone, parsed and written anew: nothing that it would follow or unfold."""
    import mammoth
    from lxml import etree

    known = {attr(note, "id") + kind for kind, part in notes.items() for note in part}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for where, part in {"document": root, **notes}.items():
            prepare(part, styles, known, left_out)
            archive.writestr(f"word/{where}.xml", etree.tostring(part, encoding="utf-8"))
    made = mammoth.convert_to_html(
        file, style_map="\n".join(_MAP), include_default_style_map=False, include_embedded_style_map=False
    )
    return str(made.value).translate(HYPHENS)


def _blocks(html: str, left_out: Counter[str]) -> list[Block]:
    if not html.strip():
        return []
    body = parse(f"<html><body>{html}</body></html>")
    left_out.update(tidied(body))
    left_out["note marks"] += write_raised(body)
    for table in body.iter("table"):
        repeat_merged(table)
    return list(blocks_of(body))
