"""Takes tables apart that are JSON: an object a line, an array of objects, an object that holds one or is a row."""

import io
import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tools.documents.columns import TEXTS, Row, Table, folded
from tools.errors import SourceError

_DEEPEST = 40  # objects and lists in one another
_NONE = "no rows. They are the objects of an array, or one object a line."


def json_table(text: str, name: str, lines: bool) -> Table:
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

    An object with a field that is called as texts are is a row itself.
    """
    if isinstance(whole, list):
        return whole
    if any(isinstance(v, str) and v.strip() and folded(k) in TEXTS for k, v in whole.items()):
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
