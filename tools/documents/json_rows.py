"""Reads rows of JSON: an object a line, an array of objects, or an object that holds one or is a row.

The rich text of chats and editors, a list of runs or a tree of blocks, is one text."""

import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tools.documents.columns import TEXT_NAMES, Row, Table, fold_name
from tools.errors import SourceError

_DEEPEST = 40  # objects and lists in one another
_NONE = "no rows. They are the objects of an array, or one object a line."
_TEXTS = ("plain_text", "text", "insert", "content", "value", "string", "caption")  # of a run, the best first
_LISTS = frozenset("blocks caption cells children content elements items ops rich_text tableCells tableRows".split())
_SHOWN = ("label", "shortName", "url", "name", "user_id")  # stands for a run that has no text
_KINDS = ("tagName", "type", "_type", "nodeType")  # or a key: in Quill's runs, and in Google's documents
_BLOCK = re.compile(
    r"p|h\d|li|pre|doc|root|unstyled|callout|toggle|to_do|t[drh]"
    r"|(?:\w+_)?(?:block|cell|document|head(?:er|ing)?|item|list|paragraph|quote|blockquote|row|section|table)(?:_\w+)?"
)
_RUN = re.compile("text|rich_text|text_run|plain|bold|italic|span|link|insert")
_OF_ROWS = frozenset("author from sender user username date created_at ts question field".split())


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

    An object with a field that is called as texts are, or with a rich text, is a row itself; others, such as settings,
    are no rows. Of several arrays the one with texts is meant.
    """
    if isinstance(whole, list):
        return [{"text": whole}] if _holds_blocks(whole) else whole
    named = [v for k, v in whole.items() if fold_name(k) in TEXT_NAMES]
    if any(_is_rich(v) or (isinstance(v, str) and v.strip()) for v in named):
        return [whole]
    arrays = {k: v for k, v in whole.items() if isinstance(v, list) and v and isinstance(v[0], dict)}
    texts = {k: v for k, v in arrays.items() if any(fold_name(key) in TEXT_NAMES for key in v[0])}
    if not arrays and len(whole) > 1 and all(isinstance(v, dict) for v in whole.values()):
        return [{"key": key, **row} for key, row in whole.items()]
    if _holds_blocks(whole):
        return [whole]
    if len(only := texts if len(texts) == 1 else arrays) == 1:
        return next(iter(only.values()))
    many = f"several arrays of objects ({', '.join(map(repr, arrays))}). Keep the one that is meant."
    raise SourceError(f"{name}: {many if arrays else _NONE}")


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
    for key in [key for key in said if isinstance(said.get("text"), str) and _is_rich(said[key])]:
        words = [re.findall(r"[^\W_]+", re.sub(r"https?://[^\s|>]+", "", t)) for t in (said["text"], named[key][0])]
        if words[0] == words[1]:  # the text of Slack has marks for what is bold, its runs have none
            named["text"] = named.pop(key)
    return Row(number, where, named)


def _leaves(said: Any, path: tuple[str, ...], depth: int = 0) -> Iterator[tuple[tuple[str, ...], str]]:
    """The texts of a value by their paths (`meta`, `title`), those of a list and of its objects one after another."""
    if not isinstance(said, dict | list):
        yield path, "" if said is None else str(said)
    elif _is_rich(said):
        yield path, re.sub(r"\n{3,}", "\n\n", _text_of(said)).strip()
    elif depth <= _DEEPEST:
        if said == []:
            yield path, ""
        for key, value in said.items() if isinstance(said, dict) else ((None, each) for each in said):
            yield from _leaves(value, path if key is None else (*path, key), depth + 1)


def _is_rich(said: Any) -> bool:
    """Whether a value is a list of runs or blocks: strings beside objects with a text, objects of a kind that is known
    and without an author or a date as rows have them, or strings with spaces at their ends."""
    if not isinstance(said, list) or not all(isinstance(each, str | dict) for each in said):
        return False
    nodes = [each for each in said if isinstance(each, dict)]
    if not nodes or any(_OF_ROWS & set(node) for node in nodes):
        return not nodes and _is_spaced(said)
    known = any(regex.fullmatch(_kind(node)) for node in nodes for regex in (_BLOCK, _RUN))
    return known or (nodes != said and all("text" in node for node in nodes))


def _is_spaced(texts: list[str]) -> bool:
    return any(before[-1:].isspace() or after[:1].isspace() for before, after in pairwise(texts))


def _holds_blocks(said: Any, depth: int = 0) -> bool:
    """Whether a value is a document of an editor, or an object with one."""
    if isinstance(said, dict):
        return depth < _DEEPEST and any(_holds_blocks(value, depth + 1) for value in said.values())
    kinds = [_kind(node) for node in said if isinstance(node, dict)] if _is_rich(said) else []
    return any(_BLOCK.fullmatch(kind) or kind == "insert" for kind in kinds)


def _kind(node: dict[str, Any]) -> str:
    named = [node[key] for key in _KINDS if isinstance(node.get(key), str)]
    return fold_name([*named, *(key for key in ("insert", "paragraph", "textRun", "table") if key in node), ""][0])


def _text_of(node: Any, depth: int = 0) -> str:
    """The text of a run, a block or a list of them; an empty line around each block; '…' for what lies too deep."""
    if not isinstance(node, list | dict) or depth > 4 * _DEEPEST:
        return node if isinstance(node, str) else "…" if depth > 4 * _DEEPEST else ""
    if isinstance(node, list):
        texts = [_text_of(each, depth + 1) for each in node]
        inline = any(isinstance(each, dict) for each in node) or _is_spaced(texts)
        return ("" if inline else "\n").join(texts)
    own = next((node[key] for key in _TEXTS if isinstance(node.get(key), str)), "")
    inner = [v for k, v in node.items() if (k in _LISTS and isinstance(v, list)) or (not own and isinstance(v, dict))]
    text, kind = own + "".join([_text_of(value, depth + 1) for value in inner]), _kind(node)
    if text or (not kind and "label" not in node):
        return f"\n\n{text}\n\n" if text and _BLOCK.fullmatch(kind) else text
    shown = next((node[key] for key in _SHOWN if isinstance(node.get(key), str)), "")
    return "\n" if "break" in kind else f":{shown}:" if kind == "emoji" else shown
