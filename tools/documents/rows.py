"""Reads tables of rows, each a document: csv with any separator, and JSON."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from tools.dates import plain_date
from tools.documents.columns import Choice, Row, choose, value_of
from tools.documents.document import GUESSED, Columns, Found, Note, document, printable, read_text
from tools.documents.json_rows import json_table
from tools.documents.separated import separated_table
from tools.errors import SourceError
from tools.passages import SourceDocument

_LOOKED_AT = 1000
"""Rows from which the columns are chosen."""


def read_rows(path: Path, name: str, given: Columns = GUESSED) -> Iterator[Found]:
    """A document a row, an error for each that is none; first and last what is to be told of the whole file."""
    text, ending = read_text(path, name), path.suffix.lower()
    separated = ending in (".csv", ".tsv")
    table = separated_table(text, name, given) if separated else json_table(text, name, lines=ending != ".json")
    first = list(islice(table.rows, _LOOKED_AT))
    rows = [row.values for row in first if isinstance(row, Row)]
    if not first:
        raise SourceError(f"{name}: the file has no rows.")
    if not rows:
        yield from (row for row in first if isinstance(row, SourceError))
        return
    choice = choose(name, rows, table.names or list(dict.fromkeys(column for row in rows for column in row)), given)
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
    row: Row, name: str, choice: Choice, seen: dict[str, tuple[str, int]], counts: Counter[str]
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
    date = plain_date(of.get("date", ""))
    counts.update(["dates that are not plain"] if of.get("date") and not date else [])
    # A mere number names nothing, and every file has the same ones.
    shown = id_ if "id" in of else f"{name}, row {id_}"
    return replace(document(shown, text, of | {"date": date}), key=printable(f"{name}#{id_}"))
