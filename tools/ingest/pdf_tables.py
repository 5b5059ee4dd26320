"""Tables on the pages of a PDF: rows whose pieces stand below each other and are short, as cells are."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from tools.ingest.pdf_pages import Piece

_Row = list[Piece]

_CELL = 20  # characters, the middle of a column; lines of text have more
_FEWEST_ROWS, _FEWEST_WIDE = 3, 2  # rows of two cells, and of more
_NEAR = 2.2  # lines; what stands further apart is not one table


def table_parts(rows: Sequence[_Row], across: bool) -> list[tuple[list[_Row], bool]]:
    """The rows in parts, each with whether it is a table.

    across: whether there may be columns of text among the rows; a table then has three cells a row, and all short.
    """
    parts: list[tuple[list[_Row], bool]] = []
    at = 0
    while at < len(rows):
        end = _end(rows, at, 3 if across else 2)
        if end > at and _is_table(rows[at:end], across):
            parts.append((list(rows[at:end]), True))
        else:
            end = max(end, at + 1)
            if not parts or parts[-1][1]:
                parts.append(([], False))
            parts[-1][0].extend(rows[at:end])
        at = end
    return parts


def _end(rows: Sequence[_Row], start: int, cells: int) -> int:
    """Where the run of rows of so many cells ends; a row of a single one may be a wrapped cell among them."""
    at = end = start
    while at < len(rows) and (at == start or rows[at][0].base - rows[at - 1][0].base < _NEAR * 1.2 * rows[at][0].size):
        if len(rows[at]) >= cells:
            end = at + 1
        elif at == start or at - end >= 1 or (len(rows[at]) == 1 and len(rows[at][0].text) > 2 * _CELL):
            break
        at += 1
    return end


def _is_table(rows: Sequence[_Row], across: bool) -> bool:
    wide = [row for row in rows if len(row) > 1]
    if len(wide) < (_FEWEST_WIDE if max(map(len, wide), default=0) > 2 else _FEWEST_ROWS):
        return False
    columns = _columns(rows)
    cells = [cell for row in rows for cell in row]
    told = sum(any(c.isalnum() for c in cell.text) for cell in cells)
    # Of formulas, and of single lines that stand among wide ones, no table is made.
    if len(columns) < (3 if across else 2) or told < 0.8 * len(cells) or len(wide) < 0.6 * len(rows):
        return False
    lengths = [median(len(cell.text) for cell in column) for column in _by_column(rows, columns) if column]
    if across:
        return max(lengths) <= _CELL
    return min(lengths) <= _CELL


def _columns(rows: Sequence[_Row]) -> list[tuple[float, float]]:
    """Left and right edge of each column: what the cells of the usual rows cover."""
    count = round(median(len(row) for row in rows if len(row) > 1))
    spans = sorted((cell.left, cell.right) for row in rows if len(row) == count for cell in row)
    columns: list[tuple[float, float]] = []
    for left, right in spans:
        if columns and left < columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], right))
        else:
            columns.append((left, right))
    return columns


def _by_column(rows: Sequence[_Row], columns: Sequence[tuple[float, float]]) -> list[list[Piece]]:
    found: list[list[Piece]] = [[] for _ in columns]
    for row in rows:
        for cell in row:
            found[_place(cell, columns)].append(cell)
    return found


def _place(cell: Piece, columns: Sequence[tuple[float, float]]) -> int:
    """The column that a cell shares most with, or else the nearest."""
    shared = [min(cell.right, right) - max(cell.left, left) for left, right in columns]
    return max(range(len(columns)), key=shared.__getitem__)


def table_rows(rows: Sequence[_Row]) -> list[tuple[_Row, list[Piece | None]]]:
    """Each row with a cell for each column; a wrapped line of cells goes on in the row above."""
    columns = _columns(rows)
    made: list[tuple[_Row, list[Piece | None]]] = []
    steps = [b[0].base - a[0].base for a, b in pairwise(rows)]
    usual = median(steps) if steps else 0.0
    for i, row in enumerate(rows):
        cells: list[Piece | None] = [None] * len(columns)
        for cell in row:
            place = _place(cell, columns)
            cells[place] = _after(cells[place], cell)
        wrapped = made and cells[0] is None and i and steps[i - 1] < 0.9 * usual
        if wrapped:
            above = made[-1]
            joined = [_after(a, b) if b else a for a, b in zip(above[1], cells, strict=True)]
            made[-1] = (above[0] + row, joined)
        else:
            made.append((row, cells))
    return made


def _after(first: Piece | None, second: Piece) -> Piece:
    if first is None:
        return second
    right = max(first.right, second.right)
    return Piece(f"{first.text} {second.text}", first.left, right, first.base, first.size, first.bold)
