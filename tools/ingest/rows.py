"""Reads tables of rows, each a document: csv with any separator, and JSON."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from tools.errors import SourceError
from tools.ingest.columns import GUESSED, Choice, Columns, choose, value_of
from tools.ingest.dates import iso_date
from tools.ingest.documents import Note, document, read_text, row_key
from tools.ingest.json_rows import json_table
from tools.ingest.separated import separated_table
from tools.ingest.table import Row, Table
from tools.passages import SourceDocument

_LOOKED_AT = 1000
"""Rows from which the columns are chosen."""


def read_csv(path: Path, name: str, columns: Columns = GUESSED) -> Iterator[SourceDocument | SourceError | Note]:
    yield from _documents(separated_table(read_text(path, name), name, columns), name, columns)


def read_jsonl(path: Path, name: str, columns: Columns = GUESSED) -> Iterator[SourceDocument | SourceError | Note]:
    yield from _documents(json_table(read_text(path, name), name, lines=True), name, columns)


def read_json(path: Path, name: str, columns: Columns = GUESSED) -> Iterator[SourceDocument | SourceError | Note]:
    yield from _documents(json_table(read_text(path, name), name, lines=False), name, columns)


def _documents(table: Table, name: str, given: Columns) -> Iterator[SourceDocument | SourceError | Note]:
    """A document a row, an error for each that is none; first and last what is to be told of the whole file."""
    first = list(islice(table.rows, _LOOKED_AT))
    rows = [row.values for row in first if isinstance(row, Row)]
    if not first:
        raise SourceError(f"{name}: the file has no rows.")
    if not rows:
        yield from (row for row in first if isinstance(row, SourceError))
        return
    names = table.names or list(dict.fromkeys(column for row in rows for column in row))
    choice = choose(name, rows, names, given)
    if told := "; ".join(filter(None, [*table.notes, choice.note])):
        yield Note(f"{name}: {told}.")
    reading = _Reading(name, choice)
    for row in chain(first, table.rows):
        found = reading.document(row) if isinstance(row, Row) else row
        if found is not None:
            yield found
    if told := "; ".join(filter(None, [*table.after(), reading.told()])):
        yield Note(f"{name}: {told}.")


@dataclass
class _Reading:
    """Makes documents of a file's rows, and keeps count of those that make none."""

    name: str
    choice: Choice

    def __post_init__(self) -> None:
        self._seen: dict[str, tuple[str, int]] = {}  # id to where it stood, and the hash of its text
        self._silent = self._repeated = self._undated = 0

    def document(self, row: Row) -> SourceDocument | SourceError | None:
        """The row's document; None where it has no text, or says again what an earlier one of its id says."""
        text = "\n\n".join(filter(None, (value_of(row.values.get(c)) for c in self.choice.text)))
        if not text:
            self._silent += 1
            return None
        of = {f: value_of(row.values.get(c), ", ") for f, c in self.choice.fields.items()}
        if "id" in of and not of["id"]:
            return SourceError(f"{row.where}: the column '{self.choice.fields['id']}' is empty.")
        id_ = of.get("id") or str(row.number)
        before = self._seen.setdefault(id_, (row.where, hash(text)))
        if before[0] != row.where:
            if before[1] == hash(text):
                self._repeated += 1
                return None
            first = before[0].removeprefix(f"{self.name}, ")
            return SourceError(f"{row.where}: the id '{id_}' stands in {first} already; only that one was taken.")
        return self._made(id_, text, of)

    def _made(self, id_: str, text: str, of: dict[str, str]) -> SourceDocument:
        date = iso_date(of.get("date", ""))
        self._undated += bool(of.get("date") and not date)
        # A mere number names nothing, and every file has the same ones.
        shown = id_ if "id" in of else f"{self.name}, row {id_}"
        return replace(document(shown, text, of | {"date": date}), key=row_key(self.name, id_))

    def told(self) -> str:
        """What was not taken over, and how often."""
        counts = {
            "rows without text": self._silent,
            "rows that say again what an earlier one of their id says": self._repeated,
            "dates that are not plain": self._undated,
        }
        return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
