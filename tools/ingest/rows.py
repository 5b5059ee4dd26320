"""Reads tables of rows, each a document: csv and jsonl."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.errors import SourceError
from tools.ingest.documents import document, read_text, row_key
from tools.passages import SourceDocument


def read_jsonl(path: Path, name: str) -> Iterator[SourceDocument | SourceError]:
    seen = 0
    for number, line in enumerate(io.StringIO(read_text(path, name)), start=1):
        if not line.strip():
            continue
        seen += 1
        where = f"{name}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as exc:
            yield SourceError(f"{where}: not valid JSON ({exc}). A line is one object with 'id' and 'text'.")
            continue
        if not isinstance(row, dict):
            yield SourceError(f"{where}: a line has to be an object with 'id' and 'text'.")
            continue
        yield _row(row, name, where)
    if not seen:
        raise SourceError(f"{name}: the file has no rows.")


def read_csv(path: Path, name: str) -> Iterator[SourceDocument | SourceError]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(io.StringIO(read_text(path, name)))
    try:
        if not {"id", "text"} <= set(reader.fieldnames or ()):
            raise SourceError(f"{name}: the first line has to name the columns, 'id' and 'text' among them.")
        for row in reader:
            yield _row(row, name, f"{name}, line {reader.line_num}")
    except csv.Error as exc:
        raise SourceError(f"{name}, line {reader.line_num}: not valid csv ({exc}).") from exc


def _row(row: dict[str, Any], name: str, where: str) -> SourceDocument | SourceError:
    for field, kinds in (("id", (str, int)), ("text", (str,))):
        if row.get(field) in (None, ""):
            return SourceError(f"{where}: the field '{field}' is missing or empty.")
        if not isinstance(row[field], kinds):
            return SourceError(f"{where}: the field '{field}' has to be text.")
    return replace(document(str(row["id"]), row["text"], row), key=row_key(name, str(row["id"])))
