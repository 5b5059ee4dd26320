"""Takes tables apart that are lines of cells: csv, with whatever stands between the cells."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from statistics import mode

from tools.documents.columns import KNOWN, Row, Table, folded
from tools.documents.document import Columns
from tools.errors import SourceError

Line = tuple[int, list[str]]
"""The number of the line that a row begins on, and its cells."""

_SEPARATORS = (",", ";", "\t", "|")
_ONE_COLUMN = "\x1f"  # a separator that does not occur
_TRIED = 200  # rows
_ABOVE = 6  # lines that may stand above the names of the columns
_SEP_LINE = re.compile(r'"?sep=(.)"?\n')  # Excel's own word for the separator
_DATUM = re.compile(r"[+-]?\d[\d.,]*%?|https?://\S+|(?:\S+\s+){7,}\S*[.!]\W?")  # a number, an address, a sentence


def separated_table(text: str, name: str, given: Columns) -> Table:
    """The rows of a csv file; columns that its first line does not name are called 1, 2, 3 …

    Raises SourceError for a file without rows.
    """
    csv.field_size_limit(2**31 - 1)
    said = _SEP_LINE.match(text)
    lines = list(io.StringIO(text))
    start = 1 if said else 0
    separator, quoted = (said[1], True) if said else _form(lines)
    notes: list[str] = []
    rows = _lines(lines, separator, quoted, start, notes)
    first = list(islice(rows, _TRIED))
    width = _usual([cells for _, cells in first])[1]
    wide = (i for i, (_, cells) in enumerate(first[:_ABOVE]) if len(cells) >= width)
    # A title is in the first cell alone.
    above = next((i for i in wide if width <= 1 or any(map(str.strip, first[i][1][1:]))), 0)
    notes += [f"left out what stands above the names of its columns ({above} lines)"] if above else []
    first = first[above:]
    if not first:
        raise SourceError(f"{name}: the file has no rows.")
    if _names_columns([cells for _, cells in first], given):
        names = [cell.strip() for cell in first.pop(0)[1]]
    else:
        names = [str(i + 1) for i in range(mode(len(cells) for _, cells in first))]
        notes.append("its first line names no columns, so they are called 1, 2, 3 …")
    return Table(_rows(chain(first, rows), names, name), names, notes)


def _form(lines: Sequence[str]) -> tuple[str, bool]:
    """What stands between the cells, and whether quotation marks are: what gives most rows the same number of cells."""
    best, most = (_ONE_COLUMN, True), (0.5, 1, 0)
    for separator, quoted in ((s, q) for s in _SEPARATORS for q in ((True, False) if s == "\t" else (True,))):
        rows = [cells for _, cells in islice(_lines(lines, separator, quoted), _TRIED)]
        found = (*_usual(rows), len(rows))
        if found[1] > 1 and found > most:
            best, most = (separator, quoted), found
    alone = next((cells for _, cells in _lines(lines, _ONE_COLUMN, True)), [""])
    return (_ONE_COLUMN, True) if folded(alone[0]) in KNOWN else best


def _lines(
    lines: Sequence[str], separator: str, quoted: bool, start: int = 0, notes: list[str] | None = None
) -> Iterator[Line]:
    """The rows that say something; quoted: whether quotation marks may stand around a cell.

    Where there are `notes`, a mark that opens a cell of several lines and is not closed as it should be is a plain
    sign, and they are told: it would swallow the rows below it.
    """
    plain: list[str] = []
    begin = start
    while (first := begin) < len(lines):
        left = (lines[i] for i in range(first, len(lines)))
        reader = csv.reader(left, delimiter=separator, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
        for cells in reader:
            end = first + reader.line_num
            opened = notes is not None and end - begin > 1 and not _is_closed(lines[begin:end], separator)
            if opened:
                plain.append(str(begin + 1))
                cells = next(csv.reader([lines[begin]], delimiter=separator, quoting=csv.QUOTE_NONE))
                end = begin + 1
            if any(cell.strip() for cell in cells):
                yield begin + 1, cells
            begin = end
            if opened:  # the lines below are read anew
                break
    if notes is not None and plain:
        shown = ", ".join(plain[:10]) + (" …" if len(plain) > 10 else "")
        notes.append(f"a quotation mark that opens a cell and is not closed was taken for a plain sign (line {shown})")


def _is_closed(taken: Sequence[str], separator: str) -> bool:
    """Whether each quotation ends where its cell does."""
    try:
        list(csv.reader(taken, delimiter=separator, strict=True))
    except csv.Error:
        return False
    return True


def _width(cells: Sequence[str], usual: int) -> int:
    """The number of a row's cells, without empty ones at its end past the usual number: programs that write tables put
    a separator after the last cell of some rows."""
    width = len(cells)
    while width > usual and not cells[width - 1].strip():
        width -= 1
    return width


def _usual(rows: Sequence[Sequence[str]]) -> tuple[float, int]:
    """The share of the rows that have the usual number of cells, and that number; empty cells at the end are none.

    Where rows only leave out cells at their end, the first one has all.
    """
    if not rows:
        return 0.0, 0
    counts = [_width(row, 1) for row in rows]
    width, count = Counter(counts).most_common(1)[0]
    if count < len(counts) and all(1 < n <= counts[0] for n in counts):
        return 0.9, counts[0]
    return count / len(counts), width


def _names_columns(rows: Sequence[Sequence[str]], given: Columns) -> bool:
    """Whether the first row names the columns: its cells are no data, and none of them is a value further down."""
    first = [cell.strip() for cell in rows[0]]
    asked = {folded(part) for name in given.named() for part in (name, *name.split(","))}
    if any(folded(cell) in asked for cell in first if cell):
        return True
    if any(name.isdecimal() and 0 < int(name) <= len(first) for name in asked):
        return False
    below = [{row[i].strip() for row in rows[1:] if i < len(row)} for i in range(len(first))]
    if any(cell and cell in values for cell, values in zip(first, below, strict=True)):
        return False
    return any(folded(cell) in KNOWN for cell in first) or not any(map(_DATUM.fullmatch, first))


def _rows(lines: Iterable[Line], names: Sequence[str], name: str) -> Iterator[Row | SourceError]:
    for number, (line, cells) in enumerate(lines, start=1):
        where = f"{name}, line {line}"
        if any(cell.strip() for cell in cells[len(names) :]):
            much = f"{len(cells)} cells, but {len(names)} columns"
            yield SourceError(f"{where}: {much}. A cell that holds the separator has to stand in quotation marks.")
        else:
            yield Row(number, where, dict(zip(names, cells, strict=False)))
