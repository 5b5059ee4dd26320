"""Paragraphs and tables of an RTF document, as its control words end them."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from tools.ingest.raised import written
from tools.ingest.tables import TableLines
from tools.passages import Block, BlockForm

_BULLET = re.compile(r"\s*(?:[•·▪\uf0b7]\s+|\(?[0-9a-zA-Z]{1,4}[.)]\t)")  # typed, with the tab that lists have after it


@dataclass(frozen=True, slots=True)
class Paragraph:
    """The properties of a paragraph; `outline`: its level as a heading, or None where its style says that."""

    style: int = 0
    outline: int | None = None
    listed: bool = False
    table: int = 0  # how many tables it is in


Form = Callable[[Paragraph], tuple[str, int]]


@dataclass(slots=True)
class _Table:
    lines: TableLines = field(default_factory=TableLines)
    said: list[str] = field(default_factory=list)  # in the cell
    cells: list[str] = field(default_factory=list)  # of the row
    merges: list[str] = field(default_factory=list)  # of the row's cells: '', 'beside' or 'above'
    merge: str = ""  # of the cell that is being described


class Story:
    """Paragraphs that follow each other: the document, a note, a text box; `kind` says which of them.

    `form` tells what a paragraph is and its level as a heading, 'contents' being a line of a list of headings.
    """

    def __init__(self, form: Form, kind: str = "") -> None:
        self.kind = kind
        self.contents = 0
        self.marks = 0  # of notes, left out
        self.marked = False  # a bullet or a number stands before the paragraph
        self.beside: list[Block] = []  # notes and text boxes of the paragraph
        self._form = form
        self._blocks: list[Block] = []
        self._pieces: list[str] = []
        self._tables: list[_Table] = []
        self._inner: list[Block] = []  # what stands in cells beside text, for after the outermost table

    def add(self, text: str) -> None:
        self._pieces.append(text)

    def end_paragraph(self, paragraph: Paragraph) -> None:
        text, marks = written("".join(self._pieces))
        self.marks += marks
        self._pieces = []
        if paragraph.table:
            self._table(paragraph.table).said.append(_folded(text))
            self._inner += self.beside
            self.beside = []
        else:
            self._end_tables(0)
            self._end_text(text, paragraph)
        self.marked = False

    def _end_text(self, text: str, paragraph: Paragraph) -> None:
        form, level = self._form(paragraph)
        if form == "contents":
            self.contents += bool(text.strip())
        elif form == "paragraph" and (self.marked or paragraph.listed or _BULLET.match(text)):
            self._blocks.append(Block(_folded(_BULLET.sub("", text, count=1)), "item"))
        elif text.strip():
            self._blocks.append(Block(_folded(text), cast(BlockForm, form), level))
        self._blocks += self.beside
        self.beside = []

    def end_cell(self, depth: int) -> None:
        self.end_paragraph(Paragraph(table=depth))
        table = self._table(depth)
        table.cells.append(" ".join(table.said))
        table.said = []

    def begin_row(self, depth: int) -> None:
        """The description of the row's cells follows."""
        self._table(depth).merges = []

    def merged(self, depth: int, how: str) -> None:
        self._table(depth).merge = how

    def cell_described(self, depth: int) -> None:
        table = self._table(depth)
        table.merges.append(table.merge)
        table.merge = ""

    def end_row(self, depth: int) -> None:
        self._end_tables(depth)
        table = self._table(depth)
        for place, text in enumerate(table.cells):
            merge = table.merges[place] if place < len(table.merges) else ""
            if merge == "beside":
                table.lines.skip(1)
            else:
                table.lines.cell(text, goes_on=merge == "above")
        table.lines.end_row()
        table.cells = []

    def blocks(self, paragraph: Paragraph) -> list[Block]:
        """All that was said, whose last paragraph is this one."""
        self.end_paragraph(paragraph)
        self._end_tables(0)
        return self._blocks + self.beside

    def _table(self, depth: int) -> _Table:
        while len(self._tables) < depth:
            self._tables.append(_Table())
        return self._tables[depth - 1]

    def _end_tables(self, depth: int) -> None:
        """Ends the tables that are deeper than this; those in cells come after the one around them."""
        for table in reversed(self._tables[depth:]):
            left = " ".join([*table.cells, *table.said])  # of a row without its end
            found = [*table.lines.blocks(), *([Block(left)] if left.strip() else [])]
            self._inner = found + self._inner
        del self._tables[depth:]
        if not self._tables:
            self._blocks += self._inner
            self._inner = []


def _folded(text: str) -> str:
    return " ".join(text.split())
