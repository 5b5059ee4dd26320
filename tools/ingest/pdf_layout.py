"""From the pieces on a page to its lines and tables in reading order: rows, columns, and what stands across them.

Columns are found by the strips of white between them, band by band: a line that stands across the strip (a title, a
wide figure's caption) ends a band of columns, and the next one begins below it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from tools.ingest.pdf_pages import Piece
from tools.ingest.pdf_tables import table_parts, table_rows

Row = list[Piece]
"""Pieces on one baseline, from left to right."""

RAISED, LOWERED = "\ue000", "\ue001"
"""Around a small piece that stands above its line; what the file itself has of such characters was left out before."""

_MARKER = re.compile(r"[•◦▪‣●○■□–—*·∙-]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxIVX]{2,5})[.)]?|\[\w{1,8}\]")
_RAISED = re.compile(f"{RAISED}([^{LOWERED}]*){LOWERED}")
_NOTE_MARK = re.compile(r"(?:\d{1,3}|[*†‡§¶∗]{1,3})(?:\s?,\s?\d{1,3})*")
_LONG_PIECE = 18  # characters; after a shorter one a bullet or number is no marker but a cell
_NARROW = 20  # characters; a line of a column has more
_FEWEST_LINES = 3  # of a column
_SPACE, _GUTTER, _MARKER_GAP = 0.12, 0.7, 3.5  # of the size


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
    """The pieces by baseline, from the top; what touches is one piece, and raised or lowered pieces join their line."""
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
    return [_joined(sorted(row, key=lambda p: p.left)) for row in rows]


def _attach(piece: Piece, rows: list[Row]) -> None:
    """A small piece goes to the line that it touches, or is a line."""
    near = [row for row in rows if -0.35 < (row[0].base - piece.base) / row[0].size < 0.75]
    touched = [row for row in near if any(piece.left - p.right < 0.5 * p.size > p.left - piece.right for p in row)]
    if not touched:
        rows.append([piece])
        return
    row = min(touched, key=lambda row: abs(row[0].base - piece.base))
    if row[0].base - piece.base > 0.12 * row[0].size:
        piece.text = f"{RAISED}{piece.text}{LOWERED}"
    piece.base = row[0].base
    row.append(piece)


def _joined(row: Row) -> Row:
    """The row with what is only parted by a space, or by the gap after a bullet or a number, put together."""
    made: Row = [row[0]]
    for piece in row[1:]:
        last = made[-1]
        gap, size = piece.left - last.right, min(last.size, piece.size)
        marker = gap < _MARKER_GAP * size and len(piece.text) > _LONG_PIECE and _MARKER.fullmatch(last.text)
        if gap > 0.8 * size and not marker:
            made.append(piece)
            continue
        main = last if len(last.text) >= len(piece.text) else piece
        text = last.text + (" " if gap > _SPACE * size else "") + piece.text
        made[-1] = Piece(text, last.left, max(last.right, piece.right), main.base, main.size, last.bold and piece.bold)
    return made


def regions(rows: Sequence[Row]) -> list[Region]:
    """What stands on a page, in reading order."""
    found: list[Region] = []
    for part, is_table in table_parts(rows, across=True):
        found += [_table(part)] if is_table else _columns(part)
    return found


def _columns(rows: Sequence[Row]) -> list[Region]:
    """The regions of rows that may stand in columns."""
    strip = _strip([piece for row in rows for piece in row])
    if strip is None:
        return _leaf(rows)
    left, bands = strip
    found: list[Region] = []
    rest = list(rows)
    for top, bottom in bands:
        above, rest = _split(rest, "base", top)
        band, rest = _split(rest, "base", bottom + 0.01)
        first, second = _split(band, "left", left)
        for part in (above, first, second):
            found += _columns(part) if part else []
    return found + (_columns(rest) if rest else [])


def _split(rows: Sequence[Row], what: Literal["base", "left"], limit: float) -> tuple[list[Row], list[Row]]:
    """The rows with the pieces whose base or left edge is below the limit, and with the others."""
    chosen = [[p for p in row if getattr(p, what) < limit] for row in rows]
    others = [[p for p in row if getattr(p, what) >= limit] for row in rows]
    return [row for row in chosen if row], [row for row in others if row]


def _strip(pieces: Sequence[Piece]) -> tuple[float, list[tuple[float, float]]] | None:
    """The best strip of white: where the column right of it begins, and the bands (top, bottom) that it parts."""
    if len(pieces) < 2 * _FEWEST_LINES:
        return None
    size = median(p.size for p in pieces)
    best: tuple[int, float, list[tuple[float, float]]] = (0, 0.0, [])
    for edge in _edges([p.left for p in pieces]):
        score, bands = _bands(pieces, edge - 1.0, _GUTTER * size)
        if score > best[0]:
            best = score, edge - 1.0, bands
    return best[1:] if best[0] else None


def _edges(lefts: Sequence[float]) -> list[float]:
    """Where several pieces begin, one above the other."""
    found: list[list[float]] = []
    for left in sorted(lefts):
        if found and left - found[-1][0] < 2.0:
            found[-1].append(left)
        else:
            found.append([left])
    return [group[0] for group in found if len(group) >= _FEWEST_LINES]


def _bands(pieces: Sequence[Piece], edge: float, gutter: float) -> tuple[int, list[tuple[float, float]]]:
    """The bands in which nothing stands across the strip that ends at `edge`, with how many lines they part."""
    score, bands = 0, []
    left: Row = []
    right: Row = []
    across: Piece | None = None
    for piece in [*sorted(pieces, key=lambda p: p.base), None]:
        beside = piece is not None and (piece.left >= edge or piece.right <= edge - gutter)
        if piece is not None and beside and not (across and not (left or right) and _goes_on(across, piece)):
            (right if piece.left >= edge else left).append(piece)
            continue
        across = piece
        if _two_columns(left, right):
            score += min(len(left), len(right))
            bases = [p.base for p in left + right]
            bands.append((min(bases), max(bases)))
        left, right = [], []
    return score, bands


def _goes_on(across: Piece, piece: Piece) -> bool:
    """Whether a short piece is the last line of the paragraph that stands across the columns above it."""
    same = abs(piece.size - across.size) <= 0.08 * across.size and abs(piece.left - across.left) <= 2.0
    return same and piece.base - across.base < 1.5 * across.size


def _two_columns(left: Row, right: Row) -> bool:
    """Whether both are lines of text that stand beside each other, and not cells of a table."""
    if min(len(left), len(right)) < _FEWEST_LINES:
        return False
    if any(median(len(p.text) for p in side) < _NARROW for side in (left, right)):
        return False
    shared = min(left[-1].base, right[-1].base) - max(left[0].base, right[0].base)
    shorter = min(side[-1].base - side[0].base for side in (left, right))
    return shared > 0.4 * shorter


def _leaf(rows: Sequence[Row]) -> list[Region]:
    found: list[Region] = []
    for part, is_table in table_parts(rows, across=False):
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
    note = bool(text.startswith(RAISED) and _NOTE_MARK.match(text[1:]))
    marks = 0

    def told(match: re.Match[str]) -> str:
        nonlocal marks
        before = text[: match.start()].rstrip()
        # After a word or the end of a sentence it is the mark of a note; after 'x' or 'km' it is a power.
        if note and match.start() == 0:
            return ""
        if _NOTE_MARK.fullmatch(match[1].strip()) and re.search(r"(?:[^\W\d_]{3,}|[.,;:!?)\]\"'”’])$", before):
            marks += 1
            return ""
        return match[1]

    text = " ".join(_RAISED.sub(told, text).split())
    bold = sum(len(p.text) for p in row if p.bold) * 2 > sum(len(p.text) for p in row)
    return Line(text, row[0].left, max(p.right for p in row), main.base, main.size, bold, marks, note)
