"""Reads rows of JSON: arrays, objects, lines, and discussions with nested replies."""

import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from html import unescape
from typing import Any

from tools.documents.table_columns import TEXT_NAMES, RowTable, TableRow, fold_name
from tools.errors import SourceError

_POST_TEXTS = [*TEXT_NAMES, "cooked", "selftext", "message"]
_AUTHORS = "author from account user username by".split()
_NAMES = "real_name display_name displayName name username login acct".split()
_DEEPEST_THREAD = 200  # nested objects and lists
_Path = tuple[str, ...]


def thread_posts(whole: Any) -> list[dict[str, Any]]:
    """Returns the posts of a discussion as rows in reading order. Returns none if all posts are objects of one array,
    because `_row_array` reads such an array."""
    paths = {path for path, _ in _nested_posts(whole, (), {})}
    nested = len(paths) > 1 or any(len(path) - path.count("") > 1 for path in paths)
    return [row for _, row in _nested_posts(whole, (), {})] if nested and any("" in path for path in paths) else []


def _nested_posts(node: Any, path: _Path, around: dict[str, Any]) -> Iterator[tuple[_Path, dict[str, Any]]]:
    """Yields objects with text and author, each after its path. A list item adds '' to the path."""
    if isinstance(node, dict):
        text, key = _post_fields(node)
        if text and key:
            plain = {key: value for key, value in node.items() if not isinstance(value, dict | list)}
            author = _author_name(node if key == "username" else node[key])
            yield path, {**around, **plain, "text": text if "<" in text else unescape(text), "author": author}
        else:
            around = {**around, **{key: node[key] for key in ("title", "url") if isinstance(node.get(key), str)}}
    if isinstance(node, dict | list) and len(path) < _DEEPEST_THREAD:
        for key, value in node.items() if isinstance(node, dict) else (("", each) for each in node):
            if isinstance(value, dict | list):
                yield from _nested_posts(value, (*path, key), around)


def _post_fields(node: dict[str, Any]) -> tuple[str, str]:
    """Returns the text of an object and the key of its author."""
    text = next((v for key in _POST_TEXTS if isinstance(v := node.get(key), str) and v.strip()), "")
    return text, next((key for key in _AUTHORS if key in node), "")


def _author_name(author: Any) -> str:
    if isinstance(author, dict):
        return next((name for key in _NAMES if isinstance(name := author.get(key), str) and name), "")
    return str(author or "")


_USER_ID = re.compile(r"[UW](?:0[A-Z0-9]{1,11}|(?=[A-Z]*\d)[A-Z0-9]{8,10})")  # Slack's id of a user; no name
_DEEPEST = 40  # nested objects and lists


def json_table(text: str, name: str, lines: bool) -> RowTable:
    """Returns the rows of a JSON file. lines: the file's ending promises one object a line; if the content differs, the
    content decides. Raises SourceError for a file without rows."""
    first = next((line for line in io.StringIO(text) if line.strip()), "")
    if not first:
        raise SourceError(f"{name}: the file has no rows.")
    by_line = isinstance(_parsed_json(first), dict | str)
    whole = None if lines and by_line else _parsed_json(text)
    if isinstance(whole, dict | list):
        if not (rows := thread_posts(whole) or _row_array(whole, name)) and whole != []:
            raise _without_rows(name)
        return RowTable(_row(said, n, f"{name}, row {n}") for n, said in enumerate(rows, start=1))
    if lines or by_line:
        return RowTable(_rows_by_line(text, name))
    raise _without_rows(name) if whole is not None else SourceError(f"{name}: not valid JSON.")


def _without_rows(name: str) -> SourceError:
    return SourceError(f"{name}: no rows. Rows are the objects of an array, or one object per line.")


def _parsed_json(text: str) -> Any:
    """Returns the parsed text, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _row_array(whole: dict[str, Any] | list[Any], name: str) -> list[Any]:
    """Returns the rows: the objects of the only array, or of the only array with texts; or the values of an object of
    objects, each with its key. An object with a text field is one row. Returns [] for other objects, such as
    settings."""
    if isinstance(whole, list):
        return whole
    if any(fold_name(k) in TEXT_NAMES and isinstance(v, str) and v.strip() for k, v in whole.items()):
        return [whole]
    arrays = {k: v for k, v in whole.items() if isinstance(v, list) and v and isinstance(v[0], dict)}
    named = {k: v for k, v in arrays.items() if any(fold_name(key) in TEXT_NAMES for key in v[0])}
    arrays = named or arrays
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    rows = {k: v for k, v in whole.items() if isinstance(v, dict)}
    if len(rows) == len(whole) > 1 and set.intersection(*map(set, rows.values())):
        return [{"key": key, **row} for key, row in rows.items()]
    if named:
        several = ", ".join(map(repr, named))
        raise SourceError(f"{name}: several arrays of objects ({several}). Keep one of them.")
    return []


def _rows_by_line(text: str, name: str) -> Iterator[TableRow | SourceError]:
    filled = ((at, line) for at, line in enumerate(io.StringIO(text), start=1) if line.strip())
    for number, (at, line) in enumerate(filled, start=1):
        where = f"{name}, line {at}"
        try:
            yield _row(json.loads(line), number, where)
        except (ValueError, RecursionError) as exc:
            yield SourceError(f"{where}: not valid JSON ({exc}). Write one object per line.")


def _row(said: Any, number: int, where: str) -> TableRow | SourceError:
    if isinstance(said, str):
        return TableRow(number, where, {"text": said})
    if not isinstance(said, dict):
        return SourceError(f"{where}: a row must be an object.")
    said |= dict.fromkeys((key for key in _AUTHORS if _USER_ID.fullmatch(str(said.get(key)))), "")
    said |= {"text": ""} if str(said.get("subtype")).startswith("channel_") else {}  # somebody joined a channel
    values: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, value in _leaves(said, ()):
        values[path].append(value)
    named: dict[str, tuple[str, ...]] = {}
    for path, texts in values.items():  # 'a.b' may come from two paths; the first keeps it
        named.setdefault(".".join(path), tuple(texts))
    return TableRow(number, where, named)


def _leaves(said: Any, path: tuple[str, ...], depth: int = 0) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yields each text in a JSON value after its path, such as ('meta', 'title')."""
    if not isinstance(said, dict | list):
        yield path, "" if said is None else str(said)
    elif _is_marked_text(said):
        yield path, "".join(each if isinstance(each, str) else each["text"] for each in said)
    elif depth <= _DEEPEST:
        if said == []:
            yield path, ""
        for key, value in said.items() if isinstance(said, dict) else ((None, each) for each in said):
            yield from _leaves(value, path if key is None else (*path, key), depth + 1)


def _is_marked_text(said: Any) -> bool:
    """Whether a list is one text: strings and, between them, objects for bold words and links, as in chats."""
    marked = [each for each in said if not isinstance(each, str)] if isinstance(said, list) else []
    return 0 < len(marked) < len(said) and all(isinstance(e, dict) and isinstance(e.get("text"), str) for e in marked)
