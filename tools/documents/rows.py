"""Reads tables of rows, each a document: csv, with whatever stands between the cells, and JSON, which is an object a
line, an array of objects, or an object that holds one or is a row."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, takewhile
from pathlib import Path
from statistics import mode

from tools.dates import date_of_cell
from tools.documents.columns import ALL_NAMES, ColumnChoice, Row, Table, choose_columns, fold_name, read_head, value_of
from tools.documents.document import GUESS_ALL, Columns, Note, ReaderOutput, document_of_text, printable, read_decoded
from tools.documents.html_threads import mark_quotes
from tools.documents.json_rows import json_table
from tools.documents.markup import blocks_of, parse
from tools.errors import SourceError
from tools.language.sentences import clean
from tools.passages import Block, SourceDocument

_LOOKED_AT = 1000
"""Rows from which the columns are chosen."""

_Line = tuple[int, list[str]]
"""The number of the line that a row begins on, and its cells."""

_SEPARATORS = (",", ";", "\t", "|")
_ONE_COLUMN = "\x1f"  # a separator that does not occur
_TRIED, _TRIED_LINES = 200, 20_000  # rows, and the lines in which they are looked for
_READ_ANEW = 5  # times the lines of a file; what more is to be read anew is read without quotation marks
_ABOVE = 6  # lines that may stand above the names of the columns
_SEP_LINE = re.compile(r'\A"?sep=(.)"?\n')  # Excel's own word for the separator
_HTML = re.compile(r"\s*<(?:p|div|aside|span|h\d|[uo]l|blockquote|b|i|a|em|strong)\b[^<>]{0,999}>", re.IGNORECASE)
_REPLY = re.compile(r"(.*\b(?:officer|council|authority|agency|department|staff|owner))\W?s? (?:response|reply)", re.I)
# Lines above the time series of statistics offices: 'Unit,Thousands'.
_ABOUT = "title cdid pre_unit unit source source_dataset_id release_date next_release important_notes notes".split()
_WIDEST, _MOST_FIGURES = 80, 10_000  # words of a row in one block, wider ones have several; rows of a table of figures


def read_rows(path: Path, name: str, given: Columns = GUESS_ALL) -> Iterator[ReaderOutput]:
    """A document a row, an error for each that is none; first and last what is to be told of the whole file."""
    text, ending = read_decoded(path, name).text, path.suffix.lower()
    separated = ending in (".csv", ".tsv")
    table = _separated_table(text, name, given) if separated else json_table(text, name, lines=ending != ".json")
    first = list(islice(table.rows, _LOOKED_AT))
    rows = [row.values for row in first if isinstance(row, Row)]
    if not first:
        raise SourceError(f"{name}: the file has no rows.")
    if not rows:
        yield from (row for row in first if isinstance(row, SourceError))
        return
    names = table.names or list(dict.fromkeys(column for row in rows for column in row))
    choice = choose_columns(name, rows, names, given)
    if before := [*table.notes, *filter(None, [choice.note])]:
        yield Note(f"{name}: {'; '.join(before)}.")
    table.notes.clear()
    if not choice.text:
        yield from _figures(chain(first, table.rows), table.above, name)
        return
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
    texts = {column: text for column in choice.text if (text := value_of(row.values.get(column)))}
    if not (text := "\n\n".join(texts.values())):
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
    author = " ".join(filter(None, map(of.get, ("author", "surname")))) or (of.get("role") and of.get("id"))
    of["author"] = ", ".join(filter(None, (author, of.get("role"), of.get("organisation"))))
    date = date_of_cell(of.get("date", ""))
    counts.update(["dates that are not plain"] if of.get("date") and not date else [])
    # A mere number names nothing, and every file has the same ones.
    shown = id_ if "id" in of else f"{name}, row {id_}"
    made = replace(document_of_text(shown, text, of | {"date": date}), key=printable(f"{name}#{id_}"))
    blocks = _answers(texts) if choice.answers else _html_blocks(text) if _HTML.match(text) else ()
    return _with_blocks(made, blocks) if blocks else made


def _html_blocks(text: str) -> Iterator[Block]:
    tree = parse(text)
    mark_quotes(tree)
    return blocks_of(tree)


def _with_blocks(document: SourceDocument, blocks: Iterable[Block]) -> SourceDocument:
    told = tuple(replace(block, text=said) for block in blocks if (said := clean(block.text).strip()))
    return replace(document, text="\n\n".join(block.text for block in told), blocks=told)


def _answers(texts: Mapping[str, str]) -> Iterator[Block]:
    """Each answer below its question. What an officer or a council answers is not the author's."""
    for question, text in texts.items():
        yield Block(question, "heading", 1)
        replied = _REPLY.fullmatch(question)
        yield from (Block(line, speaker=replied[1] if replied else "") for line in text.split("\n") if line.strip())


def _figures(rows: Iterable[Row | SourceError], above: Sequence[str], name: str) -> Iterator[ReaderOutput]:
    """A table of figures as one document: each row is a block that names its cells; a line of one cell is text."""
    blocks = [Block(line) for line in above[1:]]
    for row in rows:
        if isinstance(row, SourceError):
            yield row
            continue
        values = [" ".join((v if isinstance(v, str) else ", ".join(v)).split()) for v in row.values.values()] or [""]
        told = [f"{column}: {cell}" for column, cell in zip([*row.values][1:], values[1:], strict=True) if cell]
        if not (told and values[0]):
            blocks += [Block(values[0] or "; ".join(told))]
            continue
        if blocks and blocks[-1].form == "paragraph" and not blocks[-1].text.endswith("."):  # of the rows below it
            blocks[-1] = Block(blocks[-1].text, "heading", 1)
        step = max(1, _WIDEST // max(len(cell.split()) for cell in told))
        parts = (told[at : at + step] for at in range(0, len(told), step))
        blocks += [Block("; ".join([values[0], *part]), "table") for part in parts]
        if len(blocks) > _MOST_FIGURES:
            raise SourceError(f"{name}: more than {_MOST_FIGURES:,} rows of figures. Keep those that say something.")
    title = above[0] if above else Path(name).stem.replace("_", " ")
    yield _with_blocks(document_of_text(name, "", {"title": title}), blocks)


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
    width, about = _usual_width([cells for _, cells in first])[1], _count_about([cells for _, cells in first])
    wide = (i for i, (_, cells) in enumerate(first[: about + _ABOVE]) if i >= about and len(cells) >= width)
    # A title is in the first cell alone.
    above = next((i for i in wide if width <= 1 or any(map(str.strip, first[i][1][1:]))), about)
    notes += [f"what stands above the names of its columns is no document ({above} lines)"] if above else []
    between = ": " if about else " "
    title = [between.join(filter(None, map(str.strip, cells))) for _, cells in first[:above]]
    title = [title[0].partition(": ")[2], *(line for line in title[1:] if ": " in line)] if about else title
    first = first[above:]
    if not first:
        raise SourceError(f"{name}: the file has no rows.")
    names, of_head = read_head([cells for _, cells in first], given)
    first = first[of_head:]
    if not names and about and width == 2:
        names = ["", title[0]]
    elif not names:
        names = [str(i + 1) for i in range(mode(len(cells) for _, cells in first))]
        notes.append("its first line names no columns, so they are called 1, 2, 3 …")
    first_at = {name: at for at, name in reversed([*enumerate(names, start=1)])}
    names = [name if first_at[name] == at else f"{name} ({at})" for at, name in enumerate(names, start=1)]
    return Table(_filled_rows(chain(first, rows), names, name), names, notes, title)


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


def _count_about(rows: Sequence[Sequence[str]]) -> int:
    """How many lines above a table tell of it, each by a known name and one cell."""
    told = list(takewhile(lambda row: _width(row) <= 2 and fold_name(row[0]) in _ABOUT, rows))
    return len(told) if len(told) > 1 and fold_name(told[0][0]) == "title" else 0


def _usual_width(rows: Sequence[Sequence[str]]) -> tuple[float, int]:
    """The share of the rows that have the usual number of cells, and that number; empty cells at the end are none.

    Where rows only leave out cells at their end, the first one has all.
    """
    if not rows:
        return 0.0, 0
    # What stands above a table, or between its parts, is in the first cell.
    counts = [_width(row) for row in rows[_count_about(rows) :] if len(row) == 1 or any(map(str.strip, row[1:]))] or [1]
    width, count = Counter(counts).most_common(1)[0]
    if count < len(counts) and all(1 < n <= counts[0] for n in counts):
        return 0.9, counts[0]
    return count / len(counts), width


def _filled_rows(lines: Iterable[_Line], names: Sequence[str], name: str) -> Iterator[Row | SourceError]:
    for number, (line, cells) in enumerate(lines, start=1):
        where = f"{name}, line {line}"
        if any(cell.strip() for cell in cells[len(names) :]):
            much = f"{len(cells)} cells, but {len(names)} columns"
            yield SourceError(f"{where}: {much}. A cell that holds the separator has to stand in quotation marks.")
        else:
            yield Row(number, where, dict(zip(names, cells, strict=False)))
