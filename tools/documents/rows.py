"""Reads tables of rows, each a document: csv, with whatever stands between the cells, and JSON, which is an object a
line, an array of objects, or an object that holds one or is a row."""

import csv
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from statistics import mode
from typing import Any

from tools.dates import date_of_cell
from tools.documents.columns import ALL_NAMES, TEXT_NAMES, ColumnChoice, Row, Table, choose_columns, fold_name, value_of
from tools.documents.document import GUESS_ALL, Columns, Note, ReaderOutput, document_of_text, printable, read_decoded
from tools.errors import SourceError
from tools.passages import SourceDocument

_LOOKED_AT = 1000
"""Rows from which the columns are chosen."""
_DEEPEST = 40  # objects and lists in one another
_NONE = "no rows. They are the objects of an array, or one object a line."

_Line = tuple[int, list[str]]
"""The number of the line that a row begins on, and its cells."""

_SEPARATORS = (",", ";", "\t", "|")
_ONE_COLUMN = "\x1f"  # a separator that does not occur
_TRIED, _TRIED_LINES = 200, 20_000  # rows, and the lines in which they are looked for
_READ_ANEW = 5  # times the lines of a file; what more is to be read anew is read without quotation marks
_ABOVE = 6  # lines that may stand above the names of the columns
_SEP_LINE = re.compile(r'\A"?sep=(.)"?\n')  # Excel's own word for the separator
_DATUM = re.compile(r"[+-]?\d[\d.,]*%?|https?://\S+|(?:\S+\s+){7,}\S*[.!]\W?")  # a number, an address, a sentence


def read_rows(path: Path, name: str, given: Columns = GUESS_ALL) -> Iterator[ReaderOutput]:
    """A document a row, an error for each that is none; first and last what is to be told of the whole file."""
    text, ending = read_decoded(path, name).text, path.suffix.lower()
    separated = ending in (".csv", ".tsv")
    table = _separated_table(text, name, given) if separated else _json_table(text, name, lines=ending != ".json")
    first = list(islice(table.rows, _LOOKED_AT))
    rows = [row.values for row in first if isinstance(row, Row)]
    if not first:
        raise SourceError(f"{name}: the file has no rows.")
    if not rows:
        yield from (row for row in first if isinstance(row, SourceError))
        return
    choice = choose_columns(
        name, rows, table.names or list(dict.fromkeys(column for row in rows for column in row)), given
    )
    before = [*table.notes, *filter(None, [choice.note])]
    table.notes.clear()
    if before:
        yield Note(f"{name}: {'; '.join(before)}.")
    seen: dict[str, tuple[str, int]] = {}  # id to where it stood, and the hash of its text
    counts: Counter[str] = Counter()
    for row in chain(first, table.rows):
        found = _document(row, name, choice, seen, counts) if isinstance(row, Row) else row
        if found is not None:
            yield found
    if after := [*table.notes, *(f"{count:,} {what}" for what, count in counts.items())]:
        yield Note(f"{name}: {'; '.join(after)}.")


def _document(
    row: Row, name: str, choice: ColumnChoice, seen: dict[str, tuple[str, int]], counts: Counter[str]
) -> SourceDocument | SourceError | None:
    """The row's document; None, and counted, where it has no text, or says again what an earlier one of its id says."""
    text = "\n\n".join(filter(None, (value_of(row.values.get(c)) for c in choice.text)))
    if not text:
        counts["rows without text"] += 1
        return None
    of = {field: value_of(row.values.get(column), ", ") for field, column in choice.fields.items()}
    if "id" in of and not of["id"]:
        return SourceError(f"{row.where}: the column '{choice.fields['id']}' is empty.")
    id_ = of.get("id") or str(row.number)
    where, said = seen.setdefault(id_, (row.where, hash(text)))
    if where != row.where:
        if said == hash(text):
            counts["rows that say again what an earlier one of their id says"] += 1
            return None
        first = where.removeprefix(f"{name}, ")
        return SourceError(f"{row.where}: the id '{id_}' stands in {first} already; only that one was taken.")
    date = date_of_cell(of.get("date", ""))
    counts.update(["dates that are not plain"] if of.get("date") and not date else [])
    # A mere number names nothing, and every file has the same ones.
    shown = id_ if "id" in of else f"{name}, row {id_}"
    return replace(document_of_text(shown, text, of | {"date": date}), key=printable(f"{name}#{id_}"))


def _separated_table(text: str, name: str, given: Columns) -> Table:
    """The rows of a csv file; columns that its first line does not name are called 1, 2, 3 …

    Raises SourceError for a file without rows.
    """
    csv.field_size_limit(2**31 - 1)
    said = _SEP_LINE.match(text)
    lines = list(io.StringIO(_SEP_LINE.sub("\n", text, count=1)))
    separator, quoted = (said[1], True) if said else _dialect(lines)
    notes: list[str] = []
    rows = _lines(lines, separator, quoted, notes)
    first = list(islice(rows, _TRIED))
    width = _usual_width([cells for _, cells in first])[1]
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
    return Table(_filled_rows(chain(first, rows), names, name), names, notes)


def _dialect(lines: Sequence[str]) -> tuple[str, bool]:
    """What stands between the cells, and whether quotation marks are: what gives most rows the same number of cells."""
    best, most = (_ONE_COLUMN, True), (0.5, 1, 0)
    lines = lines[:_TRIED_LINES]
    for separator, quoted in ((s, q) for s in _SEPARATORS for q in ((True, False) if s == "\t" else (True,))):
        rows = [cells for _, cells in islice(_lines(lines, separator, quoted), _TRIED)]
        found = (*_usual_width(rows), len(rows))
        if found[1] > 1 and found > most:
            best, most = (separator, quoted), found
    alone = next((cells for _, cells in _lines(lines, _ONE_COLUMN, True)), [""])
    return (_ONE_COLUMN, True) if fold_name(alone[0]) in ALL_NAMES else best


def _lines(lines: Sequence[str], separator: str, quoted: bool, notes: list[str] | None = None) -> Iterator[_Line]:
    """The rows that say something; quoted: whether quotation marks may stand around a cell.

    Where there are `notes`, a mark that opens a cell of several lines and is not closed as it should be is a plain
    sign, and they are told: it would swallow the rows below it.
    """
    plain: list[str] = []
    begin = anew = 0
    while (first := begin) < len(lines):
        quoted = quoted and anew <= _READ_ANEW * len(lines)
        left = (lines[i] for i in range(first, len(lines)))
        reader = csv.reader(left, delimiter=separator, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
        for cells in reader:
            end = first + reader.line_num
            opened = notes is not None and end - begin > 1 and not _is_closed(lines[begin:end], separator)
            if opened:
                plain.append(str(begin + 1))
                cells = next(csv.reader([lines[begin]], delimiter=separator, quoting=csv.QUOTE_NONE))
                anew, end = anew + end - begin, begin + 1
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


def _width(cells: Sequence[str]) -> int:
    """The number of a row's cells, without empty ones at its end: programs that write tables put a separator after the
    last cell of some rows."""
    return max((at for at, cell in enumerate(cells, start=1) if cell.strip()), default=1)


def _usual_width(rows: Sequence[Sequence[str]]) -> tuple[float, int]:
    """The share of the rows that have the usual number of cells, and that number; empty cells at the end are none.

    Where rows only leave out cells at their end, the first one has all.
    """
    if not rows:
        return 0.0, 0
    counts = [_width(row) for row in rows]
    width, count = Counter(counts).most_common(1)[0]
    if count < len(counts) and all(1 < n <= counts[0] for n in counts):
        return 0.9, counts[0]
    return count / len(counts), width


def _names_columns(rows: Sequence[Sequence[str]], given: Columns) -> bool:
    """Whether the first row names the columns: its cells are no data, and none of them is a value further down."""
    first = [cell.strip() for cell in rows[0]]
    asked = {fold_name(part) for name in given.named() for part in (name, *name.split(","))}
    if any(fold_name(cell) in asked for cell in first if cell):
        return True
    if any(name.isdecimal() and 0 < int(name) <= len(first) for name in asked):
        return False
    below = [{row[i].strip() for row in rows[1:] if i < len(row)} for i in range(len(first))]
    if any(cell and cell in values for cell, values in zip(first, below, strict=True)):
        return False
    return any(fold_name(cell) in ALL_NAMES for cell in first) or not any(map(_DATUM.fullmatch, first))


def _filled_rows(lines: Iterable[_Line], names: Sequence[str], name: str) -> Iterator[Row | SourceError]:
    for number, (line, cells) in enumerate(lines, start=1):
        where = f"{name}, line {line}"
        if any(cell.strip() for cell in cells[len(names) :]):
            much = f"{len(cells)} cells, but {len(names)} columns"
            yield SourceError(f"{where}: {much}. A cell that holds the separator has to stand in quotation marks.")
        else:
            yield Row(number, where, dict(zip(names, cells, strict=False)))


def _json_table(text: str, name: str, lines: bool) -> Table:
    """The rows of a JSON file; `lines`: whether its name says that each line is one.

    The file's own word counts: many a .json has an object a line, and some .jsonl are arrays.
    Raises SourceError for a file without rows.
    """
    first = next((line for line in io.StringIO(text) if line.strip()), "")
    if not first:
        raise SourceError(f"{name}: the file has no rows.")
    by_line = isinstance(_loaded(first), dict | str)
    whole = None if lines and by_line else _loaded(text)
    if isinstance(whole, dict | list):
        array = _array(whole, name)
        return Table(_row(said, n, f"{name}, row {n}") for n, said in enumerate(array, start=1))
    if lines or by_line:
        return Table(_rows_by_line(text, name))
    raise SourceError(f"{name}: {_NONE if whole is not None else 'not valid JSON.'}")


def _loaded(text: str) -> Any:
    """What the text says in JSON; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _array(whole: dict[str, Any] | list[Any], name: str) -> list[Any]:
    """The one array of rows; an object whose values are all objects is a table too, each row under its key.

    An object with a field that is called as texts are is a row itself; others, such as settings, are no rows.
    """
    if isinstance(whole, list):
        return whole
    if any(isinstance(v, str) and v.strip() and fold_name(k) in TEXT_NAMES for k, v in whole.items()):
        return [whole]
    arrays = {k: v for k, v in whole.items() if isinstance(v, list) and v and isinstance(v[0], dict)}
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    if not arrays and len(whole) > 1 and all(isinstance(v, dict) for v in whole.values()):
        return [{"key": key, **row} for key, row in whole.items()]
    many = ", ".join(map(repr, arrays))
    raise SourceError(
        f"{name}: " + (f"several arrays of objects ({many}). Keep the one that is meant." if many else _NONE)
    )


def _rows_by_line(text: str, name: str) -> Iterator[Row | SourceError]:
    filled = ((at, line) for at, line in enumerate(io.StringIO(text), start=1) if line.strip())
    for number, (at, line) in enumerate(filled, start=1):
        where = f"{name}, line {at}"
        try:
            yield _row(json.loads(line), number, where)
        except (ValueError, RecursionError) as exc:
            yield SourceError(f"{where}: not valid JSON ({exc}). A line is one object.")


def _row(said: Any, number: int, where: str) -> Row | SourceError:
    if isinstance(said, str):
        return Row(number, where, {"text": said})
    if not isinstance(said, dict):
        return SourceError(f"{where}: a row has to be an object.")
    values: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, value in _leaves(said, ()):
        values[path].append(value)
    named: dict[str, tuple[str, ...]] = {}
    for path, texts in values.items():  # of 'a.b' and a 'b' within 'a' the first has the name
        named.setdefault(".".join(path), tuple(texts))
    return Row(number, where, named)


def _leaves(said: Any, path: tuple[str, ...], depth: int = 0) -> Iterator[tuple[tuple[str, ...], str]]:
    """The texts of a value by their paths (`meta`, `title`), those of a list and of its objects one after another."""
    if not isinstance(said, dict | list):
        yield path, "" if said is None else str(said)
    elif depth <= _DEEPEST:
        if said == []:
            yield path, ""
        for key, value in said.items() if isinstance(said, dict) else ((None, each) for each in said):
            yield from _leaves(value, path if key is None else (*path, key), depth + 1)
