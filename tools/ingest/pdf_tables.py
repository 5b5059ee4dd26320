"""Tables on the pages of a PDF: rows whose pieces stand below each other and are short, as cells are."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from tools.ingest.pdf_pages import Piece
from tools.language.lexicon import is_word

_Row = list[Piece]

_CELL = 20  # characters, the middle of a column; lines of text have more
_FEWEST_ROWS, _FEWEST_WIDE = 3, 2  # rows of two cells, and of more
_NEAR = 2.2  # lines; what stands further apart is not one table
_GROWN = 1.15  # times a line's step; from one row of a table to the next there is more
_REACH, _REGULAR, _SAME = 3, 0.6, 0.2  # rows; of the cells of a row; of the size
_FEW, _SHARE = 4, 0.3  # rows; of the rows
_NUMERAL, _PART = re.compile(r"\d[\d.,]*"), 2  # a number that a cell may break; characters of its rest
_NUMBER = 14  # characters, the longest
_WRAPPED, _HEADS = 3, 2  # lines of one cell, and of the heads of columns


def table_parts(rows: Sequence[_Row]) -> list[tuple[list[_Row], bool]]:
    """The rows of a column in parts, each with whether it is a table."""
    parts: list[tuple[list[_Row], bool]] = []
    regular = [_is_regular(rows, i) for i in range(len(rows))]
    at = 0
    while at < len(rows):
        start, end = _extent(rows, regular, at)
        if end > start and _is_table(rows[start:end]):
            if start > at:
                _add(parts, rows[at:start])
            parts.append((list(rows[start:end]), True))
        else:
            end = max(end, at + 1)
            _add(parts, rows[at:end])
        at = end
    return parts


def _add(parts: list[tuple[list[_Row], bool]], rows: Sequence[_Row]) -> None:
    if not parts or parts[-1][1]:
        parts.append(([], False))
    parts[-1][0].extend(rows)


def _is_regular(rows: Sequence[_Row], i: int) -> bool:
    """Whether the cells of a row stand below or above those of rows near it, as gaps in a line of text do not."""
    row, aligned = rows[i], 0
    if len(row) < 2:
        return False
    near = [other for other in rows[max(0, i - _REACH) : i + _REACH + 1] if len(other) > 1 and other is not row]
    for cell in row[1:]:
        aligned += any(_aligned(cell, below) for other in near for below in other[1:])
    return aligned >= _REGULAR * (len(row) - 1)


def _aligned(cell: Piece, other: Piece) -> bool:
    """Whether both begin at one place, have one centre, or end at one place, as numbers do and justified lines too."""
    room = _SAME * cell.size
    if abs(cell.left - other.left) <= room or abs(cell.left + cell.right - other.left - other.right) <= room:
        return True
    number = any(c.isdigit() for c in cell.text) and len(cell.text) <= _NUMBER
    return number and abs(cell.right - other.right) <= room


def _extent(rows: Sequence[_Row], regular: Sequence[bool], start: int) -> tuple[int, int]:
    """The first rows from here on that may be a table; all up to its end if there is none."""
    first = next((i for i in range(start, len(rows)) if regular[i]), len(rows))
    if first == len(rows):
        return first, first
    at = end = first
    while at < len(rows) and (at == first or _close(rows[at - 1], rows[at])):
        if regular[at]:
            end = at + 1
        elif at - end >= _WRAPPED or _is_long(rows[at]) or not _fits(rows[at], _columns(rows[first:end])):
            break
        at += 1
    columns = _columns(rows[first:end])
    for _ in range(_HEADS):
        if first == start or len(rows[first - 1]) < 2 or not _close(rows[first - 1], rows[first]):
            break
        first -= _fits(rows[first - 1], columns)
    while end < len(rows) and _close(rows[end - 1], rows[end], 1.3) and _is_wrapped(rows[end], columns):
        end += 1
    return first, end


def _close(above: _Row, below: _Row, lines: float = _NEAR * 1.2) -> bool:
    return below[0].base - above[0].base < lines * below[0].size


def _fits(row: _Row, columns: Sequence[tuple[float, float]]) -> bool:
    """Whether no cell of the row stands in two columns, and no column has two."""
    places = [[i for i, (left, right) in enumerate(columns) if cell.left < right and cell.right > left] for cell in row]
    one = [place for found in places for place in found]
    return all(len(found) <= 1 for found in places) and len(set(one)) == len(one)


def _is_long(row: _Row) -> bool:
    return len(row) == 1 and len(row[0].text) > 2 * _CELL


def _is_wrapped(row: _Row, columns: Sequence[tuple[float, float]]) -> bool:
    return _fits(row, columns) and row[0].left > columns[0][1]


def _is_table(rows: Sequence[_Row]) -> bool:
    wide = [row for row in rows if len(row) > 1]
    if len(wide) < (_FEWEST_WIDE if max(map(len, wide), default=0) > 2 else _FEWEST_ROWS):
        return False
    columns = _columns(rows)
    cells = [cell for row in rows for cell in row]
    told = sum(any(c.isalnum() for c in cell.text) for cell in cells)
    # Of formulas, and of single lines that stand among wide ones, no table is made.
    single = 0.4 if len(columns) == 2 else 0.6
    if len(columns) < 2 or told < 0.8 * len(cells) or len(wide) < (1 - single) * len(rows):
        return False
    inner = [cell for row in wide for cell in row[1:]]
    if len(columns) > 2 and len(wide) <= _FEW and sum(cell.text[:1].islower() for cell in inner) > 0.5 * len(inner):
        return False  # two lines of text with wide spaces, which stand in line by chance
    return min(median(len(cell.text) for cell in column) for column in _by_column(rows, columns) if column) <= _CELL


def _columns(rows: Sequence[_Row]) -> list[tuple[float, float]]:
    """Left and right edge of each column: what the cells of the fullest rows cover, unless such are few."""
    counts = Counter(len(row) for row in rows if len(row) > 1)
    count = max((n for n in counts if counts[n] >= _SHARE * counts.total()), default=min(counts))
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
    limit = _row_step(steps)
    for i, row in enumerate(rows):
        cells: list[Piece | None] = [None] * len(columns)
        for cell in row:
            place = _place(cell, columns)
            cells[place] = _after(cells[place], cell)
        if made and None in cells and steps[i - 1] < limit:
            above = made[-1]
            joined = [_after(a, b) if b else a for a, b in zip(above[1], cells, strict=True)]
            made[-1] = (above[0] + row, joined)
        else:
            made.append((row, cells))
    return made


def _row_step(steps: Sequence[float]) -> float:
    """The step that lines of one row fall short of: where the steps, in their order, grow most."""
    ordered = sorted(steps)
    grown = [(high / max(low, 0.1), high) for low, high in pairwise(ordered)]
    most, high = max(grown, default=(0.0, 0.0))
    return high - 0.1 if most > _GROWN else 0.0


def _after(first: Piece | None, second: Piece) -> Piece:
    """A cell with its next line; a word that a narrow cell breaks is put together."""
    if first is None:
        return second
    right = max(first.right, second.right)
    broken = _NUMERAL.fullmatch(first.text) is not None or first.text.isalpha()
    broken = broken and second.text.isalnum() and first.base < second.base
    if broken and first.text.isalpha():
        end = second.text
        broken = end.islower() and is_word(first.text + end) and (len(end) <= _PART or not is_word(end))
    elif broken:
        broken = second.text.isdigit() and len(second.text) <= _PART
    return Piece(
        f"{first.text}{'' if broken else ' '}{second.text}", first.left, right, first.base, first.size, first.bold
    )
