"""Reads tables whose rows are documents: csv with any separator, and JSON."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from statistics import mode

from tools.dates import date_of_cell
from tools.documents.document import (
    GUESSED_COLUMNS,
    ColumnNames,
    ReaderOutput,
    document_of_text,
    normalized_name,
    read_decoded,
)
from tools.documents.html_blocks import html_blocks, parse_html
from tools.documents.html_threads import mark_quotation_speakers
from tools.documents.json_rows import json_table
from tools.documents.table_columns import (
    ALL_NAMES,
    ColumnChoice,
    RowTable,
    TableRow,
    cell_text,
    choose_columns,
    fold_name,
    is_figure,
    is_free_text,
    read_column_names,
)
from tools.errors import SourceError
from tools.language.demands import tick_sentence
from tools.language.person_names import pattern
from tools.language.sentences import clean_text
from tools.passages import Block, SourceDocument

_SAMPLED_ROWS = 1000  # rows from which the columns are chosen

_CsvRow = tuple[int, list[str]]  # line number and cells

_SEPARATORS = (",", ";", "\t", "|")
_ONE_COLUMN = "\x1f"  # a separator that no file has
_DIALECT_ROWS, _DIALECT_LINES = 200, 20_000  # most rows to compare; most lines to search for them
_MOST_REREADS = 5  # factor of a file's lines; after rereading more, quotation marks count as text
_MOST_LINES_ABOVE = 6  # above the names of the columns
_SEP_LINE = re.compile(r'\A"?sep=(.)"?\n')  # Excel's line that names the separator
_HTML = re.compile(r"\s*<(?:p|div|aside|span|h\d|[uo]l|blockquote|b|i|a|em|strong)\b[^<>]{0,999}>", re.IGNORECASE)
_STAFF_REPLY = re.compile(
    r"(.*\b(?:officer|council|authority|agency|department|staff|owner))\W?s? (?:response|reply)", re.I
)


def read_rows(path: Path, name: str, given: ColumnNames = GUESSED_COLUMNS) -> Iterator[ReaderOutput]:
    """Yields a note on the file, then a document or an error for each row, then another note."""
    text, ending = read_decoded(path, name).text, path.suffix.lower()
    separated = ending in (".csv", ".tsv")
    table = _separated_table(text, name, given) if separated else json_table(text, name, lines=ending != ".json")
    first = list(islice(table.rows, _SAMPLED_ROWS))
    rows = [row.values for row in first if isinstance(row, TableRow)]
    if not first:
        raise SourceError(f"{name}: the file has no rows.")
    if not rows:
        yield from (row for row in first if isinstance(row, SourceError))
        return
    names = table.names or list(dict.fromkeys(column for row in rows for column in row))
    choice = choose_columns(name, rows, names, given)
    if before := [*table.notes, *filter(None, [choice.note])]:
        yield f"{name}: {'; '.join(before)}."
    table.notes.clear()
    seen: dict[str, tuple[str, int]] = {}  # place and text's hash of each id's first row
    counts: Counter[str] = Counter()
    for row in chain(first, table.rows):
        found = _row_document(row, name, choice, seen, counts) if isinstance(row, TableRow) else row
        if found is not None:
            yield found
    if after := [*table.notes, *(f"{count:,} {what}" for what, count in counts.items())]:
        yield f"{name}: {'; '.join(after)}."


def _row_document(
    row: TableRow, name: str, choice: ColumnChoice, seen: dict[str, tuple[str, int]], counts: Counter[str]
) -> SourceDocument | SourceError | None:
    """Returns the row's document; None, counted, for a row without text or a repeated one."""
    texts = {column: text for column in choice.text if (text := cell_text(row.values.get(column)))}
    if not (text := _joined_texts(texts, choice)):
        counts["rows without text"] += 1
        return None
    ticks = ((column, cell_text(row.values.get(column), ", ")) for column in choice.ticked)
    ticked = " ".join(tick_sentence(column, said) for column, said in ticks if said)
    of = {field: cell_text(row.values.get(column), ", ") for field, column in choice.fields.items()}
    if "id" in of and not of["id"]:
        return SourceError(f"{row.where}: the column '{choice.fields['id']}' is empty.")
    id_ = of.get("id") or str(row.number)
    where, said = seen.setdefault(id_, (row.where, hash(text)))
    if where != row.where:
        if said == hash(text):
            counts["repeated rows with an earlier row's id"] += 1
            return None
        first = where.removeprefix(f"{name}, ")
        return SourceError(f"{row.where}: {first} already has the id '{id_}'; this row was skipped.")
    named = " ".join(filter(None, map(of.get, ("author", "surname"))))
    # 'R12, resident' names a respondent. '12, resident' does not.
    respondent = "" if of.get("id", "").isdigit() else of.get("role") and of.get("id")
    author = "" if pattern("NO_ANSWER").fullmatch(named) else named or respondent
    of["author"] = ", ".join(filter(None, (author, of.get("role"), of.get("organisation"))))
    date = date_of_cell(of.get("date", ""))
    counts.update(["unreadable dates"] if of.get("date") and not date else [])
    # A row number identifies a row only together with the file.
    shown = id_ if "id" in of else f"{name}, row {id_}"
    if not (of.get("title") or of["author"]) and (label := _row_label(texts, choice)):
        of["title"] = ", ".join(filter(None, (label, date)))
    blocks = [*(_survey_answer_blocks(texts) if choice.answers else _html_blocks(text) if _HTML.match(text) else ())]
    if ticked:
        text = f"{ticked}\n\n{text}"
        blocks[choice.answers : choice.answers] = [Block(ticked)] * bool(blocks)  # below the first answer's question
    made = replace(document_of_text(shown, text, of | {"date": date}), key=normalized_name(f"{name}#{id_}"))
    return _with_blocks(made, blocks) if blocks else made


def _joined_texts(texts: Mapping[str, str], choice: ColumnChoice) -> str:
    """Joins the texts of a row. If there are several text columns, the column's name precedes each value that is no
    sentence: 'Stop: Mill Lane; Taxis: 19'."""
    parts: list[tuple[bool, str]] = []
    for column, text in texts.items():
        short = len(choice.text) > 1 and not (choice.answers or is_free_text(text))
        said = f"{column}: {text}" if short else text
        if short and parts and parts[-1][0]:
            parts[-1] = (True, f"{parts[-1][1]}; {said}")
        else:
            parts.append((short, said))
    return "\n\n".join(said for _, said in parts)


def _row_label(texts: Mapping[str, str], choice: ColumnChoice) -> str:
    """Returns the first short value with words, if the row's text also has figures; else ''."""
    if len(choice.text) < 2 or choice.answers or not any(map(is_figure, texts.values())):
        return ""
    short = [text for text in texts.values() if not is_free_text(text) and not date_of_cell(text)]
    named = [text for text in short if any(map(str.isalpha, text)) and not is_figure(text)]
    return next(iter(named), "")


def _html_blocks(text: str) -> Iterator[Block]:
    tree = parse_html(text)
    mark_quotation_speakers(tree)
    return html_blocks(tree)


def _with_blocks(document: SourceDocument, blocks: Iterable[Block]) -> SourceDocument:
    told = tuple(replace(block, text=said) for block in blocks if (said := clean_text(block.text).strip()))
    return replace(document, text="\n\n".join(block.text for block in told), blocks=told)


def _survey_answer_blocks(texts: Mapping[str, str]) -> Iterator[Block]:
    """Yields each answer below its question. In a column such as 'Council response', the speaker is 'Council'."""
    for question, text in texts.items():
        yield Block(question, "heading", 1)
        replied = _STAFF_REPLY.fullmatch(question)
        yield from (Block(line, speaker=replied[1] if replied else "") for line in text.split("\n") if line.strip())


def _separated_table(text: str, name: str, given: ColumnNames) -> RowTable:
    """Returns the rows of a csv file. Unnamed columns are called 1, 2, 3 … Raises SourceError without rows."""
    csv.field_size_limit(2**31 - 1)
    said = _SEP_LINE.match(text)
    lines = list(io.StringIO(_SEP_LINE.sub("\n", text, count=1)))
    separator, quoted = (said[1], True) if said else _dialect(lines)
    notes: list[str] = []
    rows = _csv_rows(lines, separator, quoted, notes)
    first = list(islice(rows, _DIALECT_ROWS))
    width = _usual_width([cells for _, cells in first])[1]
    wide = (i for i, (_, cells) in enumerate(first[:_MOST_LINES_ABOVE]) if len(cells) >= width)
    # A title fills only the first cell of its row.
    above = next((i for i in wide if width <= 1 or any(map(str.strip, first[i][1][1:]))), 0)
    notes += [f"skipped {above} lines above the column names"] if above else []
    first = first[above:]
    if not first:
        raise SourceError(f"{name}: the file has no rows.")
    names, of_head = read_column_names([cells for _, cells in first], given)
    first = first[of_head:]
    if not names:
        names = [str(i + 1) for i in range(mode(len(cells) for _, cells in first))]
        notes.append("the first line names no columns; they are called 1, 2, 3 …")
    first_at = {name: at for at, name in reversed([*enumerate(names, start=1)])}
    names = [name if first_at[name] == at else f"{name} ({at})" for at, name in enumerate(names, start=1)]
    return RowTable(_table_rows(chain(first, rows), names, name), names, notes)


def _dialect(lines: Sequence[str]) -> tuple[str, bool]:
    """Returns the separator, and whether cells are quoted, with which most rows have the same number of cells."""
    best, most = (_ONE_COLUMN, True), (0.5, 1, 0)
    lines = lines[:_DIALECT_LINES]
    for separator, quoted in ((s, q) for s in _SEPARATORS for q in ((True, False) if s == "\t" else (True,))):
        rows = [cells for _, cells in islice(_csv_rows(lines, separator, quoted), _DIALECT_ROWS)]
        found = (*_usual_width(rows), len(rows))
        if found[1] > 1 and found > most:
            best, most = (separator, quoted), found
    alone = next((cells for _, cells in _csv_rows(lines, _ONE_COLUMN, True)), [""])
    return (_ONE_COLUMN, True) if fold_name(alone[0]) in ALL_NAMES else best


def _csv_rows(lines: Sequence[str], separator: str, quoted: bool, notes: list[str] | None = None) -> Iterator[_CsvRow]:
    """Yields non-empty rows. quoted: quotation marks may enclose cells. If `notes` is given, reads an opening quotation
    mark without proper closing as text, because the mark would swallow the rows below, and adds a note."""
    plain, begin, reread = list[str](), 0, 0
    while begin < len(lines):
        quoted = quoted and reread <= _MOST_REREADS * len(lines)
        left = map(lines.__getitem__, range(begin, len(lines)))
        reader = csv.reader(left, delimiter=separator, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
        cells, taken = next(reader), reader.line_num
        if notes is not None and taken > 1 and not _is_closed(lines[begin : begin + taken], separator):
            plain.append(str(begin + 1))
            cells = next(csv.reader([lines[begin]], delimiter=separator, quoting=csv.QUOTE_NONE))
            reread, taken = reread + taken, 1
        if any(cell.strip() for cell in cells):
            yield begin + 1, cells
        begin += taken
    if notes is not None and plain:
        shown = ", ".join(plain[:10]) + (" …" if len(plain) > 10 else "")
        notes.append(f"an opening quotation mark that is not closed was read as text (line {shown})")


def _is_closed(taken: Sequence[str], separator: str) -> bool:
    """Whether each quotation is closed at the end of its cell."""
    try:
        list(csv.reader(taken, delimiter=separator, strict=True))
    except csv.Error:
        return False
    return True


def _width(cells: Sequence[str]) -> int:
    """Returns the number of cells without trailing empty ones."""
    return max((at for at, cell in enumerate(cells, start=1) if cell.strip()), default=1)


def _usual_width(rows: Sequence[Sequence[str]]) -> tuple[float, int]:
    """Returns the share of rows with the most frequent width, and that width. If other rows only lack trailing cells,
    returns 0.9 and the first row's width."""
    if not rows:
        return 0.0, 0
    # Titles above a table or between its parts are in the first cell.
    counts = [_width(row) for row in rows if len(row) == 1 or any(map(str.strip, row[1:]))] or [1]
    width, count = Counter(counts).most_common(1)[0]
    if count < len(counts) and all(1 < n <= counts[0] for n in counts):
        return 0.9, counts[0]
    return count / len(counts), width


def _table_rows(lines: Iterable[_CsvRow], names: Sequence[str], name: str) -> Iterator[TableRow | SourceError]:
    for number, (line, cells) in enumerate(lines, start=1):
        where = f"{name}, line {line}"
        if any(cell.strip() for cell in cells[len(names) :]):
            much = f"{len(cells)} cells, but {len(names)} columns"
            yield SourceError(f"{where}: {much}. Put cells that hold the separator in quotation marks.")
        else:
            yield TableRow(number, where, dict(zip(names, cells, strict=False)))
