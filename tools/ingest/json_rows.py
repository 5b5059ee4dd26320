"""Takes tables apart that are JSON: an object a line, an array of objects, an object that holds one or is a row."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tools.errors import SourceError
from tools.ingest.columns import is_text
from tools.ingest.table import Row, Table, Value

_DEEPEST = 20


def json_table(text: str, name: str, lines: bool) -> Table:
    """The rows of a JSON file; `lines`: whether its name says that each line is one.

    The file's own word counts: many a .json has an object a line, and some .jsonl are arrays.
    Raises SourceError for a file without rows.
    """
    first = next((line for line in io.StringIO(text) if line.strip()), "")
    if not first:
        raise SourceError(f"{name}: the file has no rows.")
    alone, whole = _loaded(first), None
    if not lines or not isinstance(alone, dict | str):
        whole = _loaded(text)
    if isinstance(whole, dict | list):
        return Table(_rows_of(_array(whole, name), name))
    if lines or isinstance(alone, dict | str):
        return Table(_rows_by_line(text, name))
    try:
        json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise SourceError(f"{name}: not valid JSON ({exc}).") from exc
    raise SourceError(f"{name}: no rows. They are the objects of an array, or one object a line.")


def _loaded(text: str) -> Any:
    """What the text says in JSON; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _array(whole: dict[str, Any] | list[Any], name: str) -> list[Any]:
    """The one array of rows; an object whose values are all objects is a table too, each row under its key.

    An object with a field that is called as texts are is a row itself.
    """
    if isinstance(whole, list):
        return whole
    if any(isinstance(v, str) and v.strip() and is_text(k) for k, v in whole.items()):
        return [whole]
    arrays = {k: v for k, v in whole.items() if isinstance(v, list) and v and isinstance(v[0], dict)}
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    if arrays:
        many = ", ".join(map(repr, arrays))
        raise SourceError(f"{name}: several arrays of objects ({many}). Keep only the one that is meant.")
    if len(whole) > 1 and all(isinstance(v, dict) for v in whole.values()):
        return [{"key": key, **row} for key, row in whole.items()]
    raise SourceError(f"{name}: no rows. They are the objects of an array, or one object a line.")


def _rows_of(array: list[Any], name: str) -> Iterator[Row | SourceError]:
    for number, said in enumerate(array, start=1):
        yield _row(said, number, f"{name}, row {number}")


def _rows_by_line(text: str, name: str) -> Iterator[Row | SourceError]:
    number = 0
    for line_number, line in enumerate(io.StringIO(text), start=1):
        if not line.strip():
            continue
        number += 1
        where = f"{name}, line {line_number}"
        try:
            said = json.loads(line)
        except (ValueError, RecursionError) as exc:
            yield SourceError(f"{where}: not valid JSON ({exc}). A line is one object.")
            continue
        yield _row(said, number, where)


def _row(said: Any, number: int, where: str) -> Row | SourceError:
    if isinstance(said, str):
        return Row(number, where, {"text": said})
    if not isinstance(said, dict):
        return SourceError(f"{where}: a row has to be an object.")
    values: dict[str, Value] = {}
    for path, value in _leaves(said, "", 0):
        values.setdefault(path, value)
    return Row(number, where, values)


def _leaves(said: Mapping[str, Any], before: str, depth: int) -> Iterator[tuple[str, Value]]:
    """The values of an object by their paths (`meta.title`); those inside a list's objects make a list."""
    for key, value in said.items():
        path = f"{before}{key}"
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _leaves(value, f"{path}.", depth + 1)
        elif isinstance(value, list) and any(isinstance(v, dict) for v in value) and depth < _DEEPEST:
            inside: dict[str, list[Value]] = {}
            for item in (v for v in value if isinstance(v, dict)):
                for name, leaf in _leaves(item, f"{path}.", depth + 1):
                    inside.setdefault(name, []).append(leaf)
            yield from ((name, tuple(_flat(found))) for name, found in inside.items())
        elif isinstance(value, list):
            yield path, tuple(_flat(value))
        elif not isinstance(value, dict):
            yield path, "" if value is None else str(value)


def _flat(values: Iterable[Any], depth: int = 0) -> Iterator[str]:
    """The texts of a list and of the lists in it."""
    for value in values:
        if isinstance(value, list | tuple):
            if depth < _DEEPEST:
                yield from _flat(value, depth + 1)
        elif value is not None and not isinstance(value, dict):
            yield str(value)
