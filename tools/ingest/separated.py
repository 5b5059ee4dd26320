"""Takes tables apart that are lines of cells: csv, with whatever stands between the cells."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from statistics import mode

from tools.errors import SourceError
from tools.ingest.columns import Columns, folded, is_known
from tools.ingest.quotation import Line, Lines, width_of
from tools.ingest.table import Row, Table

_SEPARATORS = (",", ";", "\t", "|")
_ONE_COLUMN = ("\x1f", csv.QUOTE_MINIMAL)  # a separator that does not occur
_TRIED = 200  # rows
_ABOVE = 6  # lines that may stand above the names of the columns
_STRAY = 0.05  # of the rows that have something in a last column, below which it is none: their own cells are at fault
_SEP_LINE = re.compile(r'"?sep=(.)"?\n')  # Excel's own word for the separator
_DATUM = re.compile(r"[+-]?\d[\d.,]*%?|https?://\S+|(?:\S+\s+){7,}\S*[.!]\W?")  # a number, an address, a sentence


def separated_table(text: str, name: str, given: Columns) -> Table:
    """The rows of a csv file; columns that its first line does not name are called 1, 2, 3 …

    Raises SourceError for a file without rows.
    """
    csv.field_size_limit(2**31 - 1)
    said = _SEP_LINE.match(text)
    body = list(io.StringIO(text[said.end() :] if said else text))
    form = (said[1], csv.QUOTE_MINIMAL) if said else _separator(body, name)
    whole = Lines(body, form, name, 1 if said else 0, _usual(_cells(body, form, name))[1])
    lines = iter(whole)
    first = list(islice(lines, _TRIED))
    above = _above([cells for _, cells in first])
    notes = [f"left out what stands above the names of its columns ({above} lines)"] if above else []
    first = first[above:]
    if not first:
        raise SourceError(f"{name}: the file has no rows.")
    if _names_columns([cells for _, cells in first], given):
        names = _unique(first.pop(0)[1])
    else:
        names = [str(i + 1) for i in range(mode(len(cells) for _, cells in first))]
        notes.append("its first line names no columns, so they are called 1, 2, 3 …")
    return Table(_rows(chain(first, lines), names, name), names, notes, whole.told)


def _separator(lines: Sequence[str], name: str) -> tuple[str, int]:
    """What stands between the cells, and how they are quoted: what gives most rows the same number of cells."""
    best, most = _ONE_COLUMN, (0.5, 1)
    for separator in _SEPARATORS:
        form = (separator, csv.QUOTE_MINIMAL)
        if separator == "\t" and any("\t" in line for line in lines[:_TRIED]) and _plain_marks(lines, name):
            form = (separator, csv.QUOTE_NONE)
        found = _usual(_cells(lines, form, name))
        if found[1] > 1 and found > most:
            best, most = form, found
    first = next(_cells(lines, _ONE_COLUMN, name), [""])
    return _ONE_COLUMN if is_known(first[0]) else best


def _plain_marks(lines: Sequence[str], name: str) -> bool:
    """Whether the quotation marks between tabs are just that: taken for quotes, they would join rows for nothing."""
    quoted, plain = (list(_cells(lines, ("\t", how), name, None)) for how in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE))
    return (_usual(plain)[0], len(plain)) > (_usual(quoted)[0], len(quoted))


def _cells(lines: Sequence[str], form: tuple[str, int], name: str, most: int | None = _TRIED) -> Iterator[list[str]]:
    return (cells for _, cells in islice(Lines(lines, form, name), most))


def _usual(rows: Iterable[Sequence[str]]) -> tuple[float, int]:
    """The share of the rows that have the usual number of cells, and that number.

    Empty cells at the end, past the last column that rows use, are none. Where rows only leave out cells at their end,
    the first one has all.
    """
    rows = list(rows)
    if not rows:
        return 0.0, 0
    reach = Counter(width_of(row, 1) for row in rows)
    used = max(reach)
    while used > 1 and sum(n for width, n in reach.items() if width >= used) < _STRAY * len(rows):
        used -= 1
    counts = [width_of(row, used) for row in rows]
    width, count = Counter(counts).most_common(1)[0]
    if count < len(counts) and all(1 < n <= counts[0] for n in counts):
        return 0.9, counts[0]
    return count / len(counts), width


def _above(rows: Sequence[Sequence[str]]) -> int:
    """How many lines stand above the names of the columns: those with too few cells, or with a title in their first."""
    width = _usual(rows)[1]
    wide = [i for i, cells in enumerate(rows[:_ABOVE]) if len(cells) >= width]
    titles = [i for i in wide if not any(cell.strip() for cell in rows[i][1:])]
    named = next((i for i in wide if any(map(is_known, rows[i]))), None)
    return named if named and all(i in titles for i in wide if i < named) else next(iter(wide), 0)


def _names_columns(rows: Sequence[Sequence[str]], given: Columns) -> bool:
    """Whether the first row names the columns: its cells are no data, and none of them is a value further down."""
    first = [cell.strip() for cell in rows[0]]
    asked = {folded(part) for name in given.named() for part in (name, *name.split(","))}
    if any(folded(cell) in asked for cell in first if cell):
        return True
    if any(name.isdecimal() and 0 < int(name) <= len(first) for name in asked):
        return False
    if first[-1] and first == [str(i) for i in range(len(first))]:
        return True  # what pandas calls columns that have no names
    below: list[set[str]] = [set() for _ in first]
    for row in rows[1:]:
        if list(row) != list(rows[0]):
            for values, cell in zip(below, row, strict=False):
                values.add(cell.strip())
    if any(cell and cell in values for cell, values in zip(first, below, strict=True)):
        return False
    return any(map(is_known, first)) or not any(map(_DATUM.fullmatch, first))


def _unique(names: Sequence[str]) -> list[str]:
    """The names of columns, each once: 'a', 'a (2)'."""
    seen: Counter[str] = Counter()
    found = []
    for name in (n.strip() for n in names):
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _rows(lines: Iterable[Line], names: Sequence[str], name: str) -> Iterator[Row | SourceError]:
    for number, (line, cells) in enumerate(lines, start=1):
        where = f"{name}, line {line}"
        if any(cell.strip() for cell in cells[len(names) :]):
            much = f"{len(cells)} cells, but {len(names)} columns"
            yield SourceError(f"{where}: {much}. A cell that holds the separator has to stand in quotation marks.")
        else:
            yield Row(number, where, dict(zip(names, cells, strict=False)))
