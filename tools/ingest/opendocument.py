"""Reads OpenDocument texts (.odt), as LibreOffice writes them."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tools.ingest.documents import document_of_file
from tools.ingest.packed import Package, attr, child, local, number, opened, own_title
from tools.ingest.raised import raised, written
from tools.ingest.tables import TableLines
from tools.passages import Block, BlockForm, SourceDocument

_COUNTED = {
    "image": "images",
    "object": "embedded objects",
    "object-ole": "embedded objects",
    "annotation": "comments",
    "changed-region": "deleted changes",
    "hidden-text": "hidden texts",
    "hidden-paragraph": "hidden texts",
}
_LISTS = frozenset("table-of-content illustration-index table-index object-index user-index alphabetical-index".split())
_SILENT = frozenset("note-citation forms sequence-decls variable-decls user-field-decls ruby-text title desc".split())
_MOST_REPEATED, _LONGEST_REPEATED = 50, 200  # times, and characters, of a cell that stands for several
_ABOVE = re.compile(r"super|\+?[1-9]\d*%")  # a text's position


def read_odt(path: Path, name: str) -> Iterator[SourceDocument]:
    with opened(path, name, "an OpenDocument text") as package:
        if package.has("META-INF/manifest.xml"):
            listed = package.xml("META-INF/manifest.xml").iter()
            if any(local(each) == "encryption-data" for each in listed):
                raise ValueError("it has a password, save a copy without one and ingest that")
        root = package.xml("content.xml")
        body = child(root, "body", "text")
        if body is None:
            raise ValueError("it holds something else than a text")
        styles = [root, package.xml("styles.xml")] if package.has("styles.xml") else [root]
        text = _OdtText(_styles(styles))
        blocks = [*text.blocks(body), *text.endnotes]
        for kind, what in (("header", "running headers"), ("footer", "running footers")):
            text.left_out[what] += sum(
                local(e) == kind and any(inner.text for inner in e.iter()) for e in styles[-1].iter() if len(styles) > 1
            )
        title, date = _said(package)
    yield document_of_file(name, blocks, title, date, text.left_out)


def _said(package: Package) -> tuple[str, str]:
    found = {local(e): e.text or "" for e in package.xml("meta.xml").iter()} if package.has("meta.xml") else {}
    return own_title(found.get("title", "")), found.get("date") or found.get("creation-date") or ""


class _Style(NamedTuple):
    """A style: its name as people see it, the style it is based on, and whether it hides or raises its text."""

    shown: str
    base: str
    hides: bool
    raises: bool


def _styles(roots: list[Any]) -> dict[str, _Style]:
    found = {}
    for root in roots:
        for style in (each for each in root.iter() if local(each) == "style"):
            properties = child(style, "text-properties")
            hides = properties is not None and attr(properties, "display") == "none"
            raises = properties is not None and bool(_ABOVE.match(attr(properties, "text-position")))
            shown = attr(style, "display-name") or attr(style, "name")
            found[attr(style, "name")] = _Style(shown.lower(), attr(style, "parent-style-name"), hides, raises)
    return found


class _OdtText:
    """A walk over the body; what it does not take is counted in `left_out`."""

    def __init__(self, styles: dict[str, _Style]) -> None:
        self.left_out: Counter[str] = Counter()
        self.endnotes: list[Block] = []
        self._styles = styles
        self._after: list[Block] = []  # footnotes and text boxes, which come after the paragraph that they hang on

    def blocks(self, element: Any, form: BlockForm = "paragraph") -> Iterator[Block]:
        for each in element:
            name = local(each)
            if name in ("p", "h"):
                yield from self._paragraph(each, name, form)
                yield from self._taken()
            elif name == "table":
                yield from self._table(each)
            elif name in ("list-item", "list-header"):
                yield from self.blocks(each, "item")
            elif name in _LISTS:
                self.left_out["lists of contents"] += 1
            elif name == "section" and attr(each, "display") == "none":
                self.left_out["hidden texts"] += 1
            elif name in _COUNTED:
                self._count(each, name)
            elif name not in _SILENT:
                yield from self.blocks(each, form)

    def _taken(self) -> list[Block]:
        after, self._after = self._after, []
        return after

    def _count(self, element: Any, name: str) -> None:
        if name != "changed-region" or any(local(each) == "deletion" for each in element):
            self.left_out[_COUNTED[name]] += 1

    def _paragraph(self, paragraph: Any, name: str, form: BlockForm) -> Iterator[Block]:
        chain = self._chain(attr(paragraph, "style-name"))
        text = self._written(self._text(paragraph))
        if any(style.hides for style in chain):
            self.left_out["hidden texts"] += 1
            return
        names = [style.shown for style in chain]
        if name == "h":
            yield Block(_folded(text), "heading", max(number(attr(paragraph, "outline-level"), 1), 1))
        elif "title" in names:
            yield Block(_folded(text), "heading", 1)
        else:
            yield Block(_folded(text), "caption" if "caption" in names else form)

    def _written(self, text: str) -> str:
        text, marks = written(text)
        self.left_out["note marks"] += marks
        return text

    def _chain(self, name: str) -> list[_Style]:
        found: dict[str, _Style] = {}
        while name in self._styles and name not in found:
            found[name] = self._styles[name]
            name = self._styles[name].base
        return list(found.values())

    def _text(self, element: Any) -> str:
        pieces = [element.text or ""]
        for each in element:
            name = local(each)
            if name in ("s", "tab", "line-break"):
                pieces.append(" ")
            elif name == "note":
                self._note(each)
            elif name == "text-box":
                self._after += self._apart(each)
            elif name in _COUNTED:
                self._count(each, name)
            elif name not in _SILENT:
                pieces.append(self._span(each))
            pieces.append(each.tail or "")
        return "".join(pieces)

    def _span(self, element: Any) -> str:
        text = self._text(element)
        chain = self._chain(attr(element, "style-name"))
        if text.strip() and any(style.hides for style in chain):
            self.left_out["hidden texts"] += 1
            return ""
        return raised(text) if any(style.raises for style in chain) else text

    def _note(self, note: Any) -> None:
        body = child(note, "note-body")
        text = " ".join(block.text for block in self._apart(body)) if body is not None else ""
        if text.strip():
            (self.endnotes if attr(note, "note-class") == "endnote" else self._after).append(Block(text, "note"))

    def _apart(self, element: Any) -> list[Block]:
        """The blocks of what stands beside the text."""
        outer, self._after = self._after, []
        found = list(self.blocks(element))
        self._after = outer
        return found

    def _table(self, table: Any) -> Iterator[Block]:
        lines, after = TableLines(), []
        rows = list(_inside(table, "table-row"))
        if sum(1 for row in rows for cell in row if local(cell) == "table-cell") == 1:
            yield from self.blocks(next(cell for row in rows for cell in row if local(cell) == "table-cell"))
            return
        spans: dict[int, int] = {}  # by column: how many rows below still belong to the cell above
        for row in rows:
            after += self._row(row, lines, spans)
            lines.end_row()
        yield from lines.blocks()
        yield from after

    def _row(self, row: Any, lines: TableLines, spans: dict[int, int]) -> list[Block]:
        after: list[Block] = []
        column = 0
        for cell in row:
            times = max(number(attr(cell, "number-columns-repeated"), 1), 1)
            if local(cell) == "table-cell":
                blocks = self._apart(cell)
                text = " ".join(block.text for block in blocks if block.form not in ("table", "note"))
                after += (block for block in blocks if block.form in ("table", "note"))
                spans[column] = number(attr(cell, "number-rows-spanned"), 1) - 1
                said = min(times, _MOST_REPEATED) if 0 < len(text) <= _LONGEST_REPEATED else 1
                for _ in range(said):
                    lines.cell(text)
                lines.skip(times - said)
            elif spans.get(column, 0) > 0:
                spans[column] -= 1
                lines.cell("", times, goes_on=True)
            else:
                lines.skip(times)
            column += times
        return after


def _inside(table: Any, name: str) -> Iterator[Any]:
    """The rows of a table, through the groups around them."""
    for each in table:
        if local(each) == name:
            yield each
        elif local(each) in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _inside(each, name)


def _folded(text: str) -> str:
    return " ".join(text.split())
