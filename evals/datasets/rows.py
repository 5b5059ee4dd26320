"""Data files read line by line; what is wrong with one is said with its file, line and field."""

import csv
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tools.errors import InputError


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a data file. `number` counts from 1."""

    file: Path
    number: int
    values: dict[str, Any]

    def wrong(self, what: str) -> InputError:
        """The error to raise: file, line, what is wrong."""
        return InputError(f"{self.file} line {self.number}: {what}")

    def text(self, field: str, default: str | None = None) -> str:
        """A field's text; numbers count as text. Raises InputError where it is missing or empty, without a default."""
        value = self.values.get(field)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if value is not None and not isinstance(value, str):
            raise self.wrong(f"'{field}' has to be text, not {_kind(value)}.")
        if value and value.strip():
            return value
        if default is None:
            raise self.wrong(f"'{field}' is {'missing' if field not in self.values else 'empty'}.")
        return default

    def items(self, field: str) -> list[Any]:
        """A field's list, which has to hold something. Raises InputError."""
        value = self.values.get(field)
        if field not in self.values or not isinstance(value, list):
            raise self.wrong(f"'{field}' {'is missing' if field not in self.values else 'has to be a list'}.")
        if not value:
            raise self.wrong(f"'{field}' is empty.")
        return value

    def expect(self, fields: Mapping[str, tuple[type, ...]]) -> None:
        """Raises InputError for the first field that is missing, or holds something of no type that is named for it."""
        for field, types in fields.items():
            if field not in self.values:
                raise self.wrong(f"'{field}' is missing.")
            value = self.values[field]
            if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                raise self.wrong(f"'{field}' has to be {_kind_of(types[0])}, not {_kind(value)}.")

    def part(self, field: str, index: int, value: Any) -> "Row":
        """An object inside this row's list, as a row whose errors name the place."""
        if not isinstance(value, dict):
            raise self.wrong(f"'{field}' item {index + 1} has to be an object, not {_kind(value)}.")
        return _Part(self.file, self.number, value, f"'{field}' item {index + 1}: ")


@dataclass(frozen=True, slots=True)
class _Part(Row):
    place: str = ""

    def wrong(self, what: str) -> InputError:
        return InputError(f"{self.file} line {self.number}: {self.place}{what}")


def json_rows(path: Path) -> Iterator[Row]:
    """The objects of a `.jsonl` or `.jsonl.gz` file; empty lines are skipped. Raises InputError."""
    with _opened(path) as lines:
        for number, line in _numbered(path, lines):
            if not line.strip():
                continue
            try:
                values = json.loads(line)
            except ValueError as exc:
                cut = "" if line.endswith("\n") else " It is the last line; perhaps it was cut off."
                raise InputError(f"{path} line {number}: no JSON ({exc}).{cut}") from exc
            if not isinstance(values, dict):
                raise InputError(f"{path} line {number}: an object is needed, not {_kind(values)}.")
            yield Row(path, number, values)


def tsv_rows(path: Path, names: list[str]) -> Iterator[Row]:
    """A tab-separated file as rows with these names by position; empty lines are skipped. Raises InputError."""
    with _opened(path) as lines:
        reader = csv.reader((line for _, line in _numbered(path, lines)), delimiter="\t")
        try:
            for cells in reader:
                if not cells:
                    continue
                if len(cells) < len(names):
                    missing = names[len(cells)]
                    raise InputError(f"{path} line {reader.line_num}: '{missing}' is missing: {len(cells)} columns.")
                yield Row(path, reader.line_num, dict(zip(names, cells, strict=False)))
        except csv.Error as exc:
            raise InputError(f"{path} line {reader.line_num + 1}: cannot be read ({exc}).") from exc


def _opened(path: Path) -> "gzip.GzipFile | IO[bytes]":
    try:
        return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")
    except OSError as exc:
        raise InputError(f"{path} cannot be opened ({exc.strerror or exc}).") from exc


def _numbered(path: Path, lines: "gzip.GzipFile | IO[bytes]") -> Iterator[tuple[int, str]]:
    """The lines, each decoded by itself, so that what cannot be read is named by its own number."""
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            yield number, line.decode()
    except UnicodeDecodeError as exc:
        raise InputError(f"{path} line {number}: cannot be read ({exc}).") from exc
    except (OSError, EOFError) as exc:
        raise InputError(f"{path} line {number + 1}: cannot be read ({exc}).") from exc


def _kind(value: Any) -> str:
    return _kind_of(type(value))


def _kind_of(type_: type) -> str:
    return {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}.get(
        type_, "a number"
    )
