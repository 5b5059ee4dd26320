"""Reads data files line by line. Errors name file, line and field."""

import csv
import gzip
import hashlib
import json
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tools.errors import InputError
from tools.passages import SourceDocument

GOLD = Path(__file__).parents[1] / "gold"
"""The project's own gold data."""
_T = TypeVar("_T")
_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(part) for name, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


Loose = Annotated[str, Field(coerce_numbers_to_str=True)]
"""Text, or a number."""
Text = Annotated[Loose, AfterValidator(_not_blank)]
"""Text that is not blank."""


class Shape(BaseModel):
    """The fields of a line. Numbers count as text, and other fields have no effect."""

    model_config = ConfigDict(coerce_numbers_to_str=True, frozen=True)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a data file. number: from 1."""

    file: Path
    number: int
    values: dict[str, Any]

    def wrong(self, what: str) -> InputError:
        """Returns an error that names file and line."""
        return InputError(f"{self.file} line {self.number}: {what}")

    def read(self, shape: type[_T], **more: object) -> _T:
        """Parses the line as this model or dataclass. A null counts as missing. more: fields that are added to the
        line. Raises InputError."""
        try:
            found: _T = _adapter(shape).validate_python(_without_nulls(self.values) | more)
        except ValidationError as exc:
            raise self.wrong(problem(exc)) from exc
        return found

    def once(self, field: str, value: str, seen: dict[str, int]) -> None:
        """Raises InputError if an earlier row has the same value in the field. seen: maps a value to its line."""
        if (first := seen.setdefault(value, self.number)) != self.number:
            raise self.wrong(f"'{field}' is '{value}', as in line {first}. Remove one of them.")


def problem(exc: ValidationError) -> str:
    """Describes the first error of a validation: "'perspectives' item 2 'gold': field required"."""
    first = exc.errors()[0]
    places = (f"item {part + 1}" if isinstance(part, int) else f"'{part}'" for part in first["loc"])
    said = re.sub("(?i)frozenset|tuple", "list", first["msg"].removeprefix("Value error, "))  # JSON has no tuples
    return f"{' '.join(places)}: {said}".removeprefix(": ")


def read_json(kind: type[_T], content: bytes, where: object) -> _T:
    """Parses a JSON file as this type. Raises InputError."""
    try:
        return TypeAdapter(kind).validate_json(content)
    except ValidationError as exc:
        raise InputError(f"{where}: {problem(exc)}. Correct it, or name another file.") from exc


def digest(path: Path) -> str:
    """Returns the first twelve digits of a file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def fingerprint(documents: Sequence[SourceDocument]) -> str:
    """Returns a hash of the documents."""
    whole = hashlib.sha256()
    for document in documents:
        whole.update("\x1f".join((document.external_id, document.title, document.text, "\x1e")).encode())
    return whole.hexdigest()[:12]


def whole_text(path: Path) -> str:
    """Reads the text of a file, plain or .gz. Raises InputError."""
    return "".join(line for _, line in _lines(path))


def json_rows(path: Path) -> Iterator[Row]:
    """Yields the objects of a `.jsonl` or `.jsonl.gz` file and skips empty lines. Raises InputError."""
    for number, line in _lines(path):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except ValueError as exc:
            cut = "" if line.endswith("\n") else " It is the last line; perhaps it was cut off."
            raise InputError(f"{path} line {number}: no JSON ({exc}). A line is one complete object.{cut}") from exc
        if not isinstance(values, dict):
            raise InputError(f"{path} line {number}: each line must be an object.")
        yield Row(path, number, values)


class Asked(Shape):
    """A line with a question."""

    question: Text


def read_questions(path: Path) -> list[str]:
    """Reads the `question` of each line. Raises InputError, for example for duplicates and for an empty file."""
    return list(read_by(path, "question", Asked, "questions"))


def read_by(path: Path, field: str, shape: type[_T], what: str) -> dict[str, _T]:
    """Reads each line as this model or dataclass, by the value of a field. what: names the lines in an error. Raises
    InputError, for example for a value in two lines and for an empty file."""
    found, seen = dict[str, _T](), dict[str, int]()
    for row in json_rows(path):
        one = row.read(shape)
        row.once(field, value := str(row.values[field]), seen)
        found[value] = one
    if not found:
        raise InputError(f"{path} has no {what}.")
    return found


def tsv_rows(path: Path, names: list[str]) -> Iterator[Row]:
    """Yields the rows of a tab-separated file, with these names by position, and skips empty lines. A missing column
    is None. Raises InputError."""
    reader = csv.DictReader((line for _, line in _lines(path)), names, restkey="", delimiter="\t")
    try:
        for cells in reader:
            yield Row(path, reader.line_num, cells)
    except csv.Error as exc:
        raise InputError(f"{path} line {reader.line_num + 1}: cannot be read ({exc}).") from exc


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yields numbered lines. Each line is decoded separately, so that an error can name the line."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as exc:
        raise InputError(f"{path} cannot be read ({exc}).") from exc
    for number, line in enumerate(BytesIO(content.removeprefix(BOM_UTF8)), start=1):
        try:
            yield number, line.decode()
        except UnicodeDecodeError as exc:
            raise InputError(f"{path} line {number}: cannot be read ({exc}).") from exc
