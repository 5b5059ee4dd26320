"""From the pieces on a page to its lines and tables in reading order: rows, columns, and what stands across them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tools.ingest.pdf_columns import Row, Strip, strip_of
from tools.ingest.pdf_pages import Piece
from tools.ingest.pdf_tables import table_parts, table_rows
from tools.ingest.raised import LOWERED, NOTE_MARK, RAISED, raised, written

_MARKER = re.compile(
    r"[•◦▪‣●○■□–—*·∙-]|\(?(?:\d{1,2}(?:\.\d{1,3})*|[A-Za-z]|[ivxIVX]{2,5})[.)]?|\(?\d{3}[.)]|\[\w{1,8}\]"
)
_LONG_PIECE = 18  # characters; after a shorter one a bullet or number is no marker but a cell
_SPACE, _CELL_GAP, _MARKER_GAP = 0.12, 0.8, 3.5  # of the size


@dataclass(slots=True)
class Line:
    """A line of text as it is read, or a row of a table with its cells parted by ` | `.

    marks: of notes, which were left out of the text. note: whether it begins with one, as a footnote does.
    """

    text: str
    left: float
    right: float
    base: float
    size: float
    bold: bool = False
    marks: int = 0
    note: bool = False


@dataclass(slots=True)
class Region:
    """Lines of one column, or the rows of a table."""

    lines: list[Line]
    table: bool = False


def rows_of(pieces: Sequence[Piece]) -> list[Row]:
    """The pieces by baseline, from the top; raised or lowered pieces join their line."""
    rows: list[Row] = []
    small: list[Piece] = []
    usual = median(p.size for p in pieces) if pieces else 0.0
    for piece in sorted(pieces, key=lambda p: p.base):
        if len(piece.text) <= 4 and piece.size < 0.82 * usual:
            small.append(piece)
        elif rows and abs(piece.base - rows[-1][0].base) <= 0.25 * min(piece.size, rows[-1][0].size):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    for piece in small:
        _attach(piece, rows)
    rows.sort(key=lambda row: row[0].base)
    return [sorted(row, key=lambda p: p.left) for row in rows]


def _attach(piece: Piece, rows: list[Row]) -> None:
    """A small piece goes to the line that it touches, or is a line."""
    near = [row for row in rows if -0.35 < (row[0].base - piece.base) / row[0].size < 0.75]
    touched = [row for row in near if any(piece.left - p.right < 0.5 * p.size > p.left - piece.right for p in row)]
    if not touched:
        rows.append([piece])
        return
    row = min(touched, key=lambda row: abs(row[0].base - piece.base))
    if row[0].base - piece.base > 0.12 * row[0].size:
        piece.text = raised(piece.text)
    piece.base = row[0].base
    row.append(piece)


def joined(row: Row) -> Row:
    """The row with what is only parted by a space, or by the gap after a bullet or a number, put together."""
    made: Row = [row[0]]
    for piece in row[1:]:
        last = made[-1]
        gap, size = piece.left - last.right, min(last.size, piece.size)
        marker = gap < _MARKER_GAP * size and len(piece.text) > _LONG_PIECE and _MARKER.fullmatch(last.text)
        if gap > _CELL_GAP * size and not marker:
            made.append(piece)
            continue
        main = last if len(last.text) >= len(piece.text) else piece
        text = last.text + (" " if gap > _SPACE * size else "") + piece.text
        made[-1] = Piece(text, last.left, max(last.right, piece.right), main.base, main.size, last.bold and piece.bold)
    return made


def regions(rows: Sequence[Row], known: Mapping[float, float], strip: Strip | None) -> list[Region]:
    """What stands on a page, in reading order; known: where columns begin, with their gutters. strip: the page's.

    A strip without bands parts nothing.
    """
    if strip is None or not strip.bands:
        return _leaf(rows)
    found: list[Region] = []
    at = 0
    for start, end in strip.bands:
        first, second = _split(rows[start:end], strip.edge)
        for part in (rows[at:start], first, second):
            found += regions(part, known, strip_of(part, known)) if part else []
        at = end
    return found + (regions(rows[at:], known, strip_of(rows[at:], known)) if rows[at:] else [])


def _split(rows: Sequence[Row], edge: float) -> tuple[list[Row], list[Row]]:
    """The rows left of the edge, and those right of it."""
    sides: tuple[list[Row], list[Row]] = [], []
    for row in rows:
        cut = [part for piece in row for part in _cut(piece, edge)]
        for side, chosen in zip(sides, (False, True), strict=True):
            part = [p for p in cut if (p.left >= edge) == chosen]
            side += [part] if part else []
    return sides


def _cut(piece: Piece, edge: float) -> list[Piece]:
    """The piece, in two where words of it stand on both sides of the edge."""
    at = sum(left < edge for left, _ in piece.spans)
    if not 0 < at < len(piece.spans):
        return [piece]
    words = piece.text.split(" ")
    return [
        Piece(" ".join(words[part]), spans[0][0], spans[-1][1], piece.base, piece.size, piece.bold, spans)
        for part in (slice(0, at), slice(at, None))
        for spans in [piece.spans[part]]
    ]


def _leaf(rows: Sequence[Row]) -> list[Region]:
    found: list[Region] = []
    for part, is_table in table_parts([joined(row) for row in rows]):
        found.append(_table(part) if is_table else Region([_line(row) for row in part]))
    return found


def _table(rows: Sequence[Row]) -> Region:
    lines = []
    for row, cells in table_rows(rows):
        line = _line(row)
        line.text = " | ".join(_line([cell]).text if cell else "" for cell in cells)
        lines.append(line)
    return Region(lines, table=True)


def _line(row: Row) -> Line:
    """A line of pieces; raised marks of notes are left out and counted."""
    text = " ".join(p.text for p in row)
    main = max(row, key=lambda p: len(p.text))
    note = bool(text.startswith(RAISED) and NOTE_MARK.match(text[1:]))
    text, marks = written(text.partition(LOWERED)[2] if note else text)
    text = " ".join(text.split())
    bold = sum(len(p.text) for p in row if p.bold) * 2 > sum(len(p.text) for p in row)
    return Line(text, row[0].left, max(p.right for p in row), main.base, main.size, bold, marks, note)
