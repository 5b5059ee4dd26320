"""Reads rows of JSON: arrays, objects, lines, discussions with nested replies, and rich text as plain text."""

import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from html import unescape
from itertools import pairwise
from typing import Any

from tools.documents.table_columns import TEXT_NAMES, RowTable, TableRow, fold_name
from tools.errors import SourceError

_POST_TEXTS = [*TEXT_NAMES, "cooked", "selftext", "message"]
_AUTHORS = "author from account user username by".split()
_NAMES = "real_name display_name displayName name username login acct".split()
_DEEPEST_THREAD = 200  # objects and lists in one another
_Path = tuple[str, ...]


def thread_posts(whole: Any) -> list[dict[str, Any]]:
    """Returns the posts of a discussion as rows in reading order; empty if they are one array's objects."""
    paths = {path for path, _ in _nested_posts(whole, (), {})}
    nested = len(paths) > 1 or any(len(path) - path.count("") > 1 for path in paths)
    return [row for _, row in _nested_posts(whole, (), {})] if nested and any("" in path for path in paths) else []


def _nested_posts(node: Any, path: _Path, around: dict[str, Any]) -> Iterator[tuple[_Path, dict[str, Any]]]:
    """Yields objects with text and author, each with its path. List items add no key to the path."""
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


_DEEPEST = 40  # objects and lists in one another
_NO_ROWS = "no rows. Rows are the objects of an array, or one object per line."
_TEXTS = "plain_text text insert content value string caption label user_id".split()  # of a run, the best first
_LISTS = frozenset("blocks caption cells children content elements items ops rich_text tableRows tableCells".split())
_BLOCK = re.compile(
    r"p|h\d|li|pre|t[drh]|root|unstyled|callout|toggle|to_do"
    r"|\w*(?:block|cell|doc|head|item|list|para|quote|row|section|table)\w*"
)
_RUN = re.compile("text|rich_text|plain|bold|italic|span|link|insert")
_USER_ID = re.compile(r"[UW](?:0[A-Z0-9]{1,11}|(?=[A-Z]*\d)[A-Z0-9]{8,10})")
_PROSE = re.compile(r"(?:\S+\s+){4}\S[\s\S]*[.!?…][\"”’)]*(?:</\w+>){0,9}\s*\Z|[^\x00-\u2fff。！？]{6,500}[。！？]")
_ABOUT_FIELDS = {"summary": "title", "headline": "title", "subject": "title", "creator": "author"}
_ABOUT_FIELDS |= {name: name for name in ("title", "author", "created", "created_at", "date", "published")}
_ROW_FIELDS = frozenset("author from sender user username date created_at ts question field".split())


def json_table(text: str, name: str, lines: bool) -> RowTable:
    """Returns the rows of a JSON file. lines: the ending says one object a line; the content decides. Raises
    SourceError for a file without rows."""
    first = next((line for line in io.StringIO(text) if line.strip()), "")
    if not first:
        raise SourceError(f"{name}: the file has no rows.")
    by_line = isinstance(_parsed_json(first), dict | str)
    whole = None if lines and by_line else _parsed_json(text)
    if isinstance(whole, dict | list):
        people = _user_names(whole)
        raw = thread_posts(whole)
        if not (rows := [] if raw else _row_array(whole, name)) and whole != []:
            flat = _with_plain_texts(whole)
            posts = max(raw, thread_posts(flat), key=len)
            if not (rows := [*_document_row(flat, beside=bool(posts)), *posts]):
                raise SourceError(f"{name}: {_NO_ROWS}")
        array = [_with_user_names(row, people) for row in rows]
        return RowTable(_row(said, n, f"{name}, row {n}") for n, said in enumerate(array, start=1))
    if lines or by_line:
        return RowTable(_rows_by_line(text, name))
    raise SourceError(f"{name}: {_NO_ROWS if whole is not None else 'not valid JSON.'}")


def _parsed_json(text: str) -> Any:
    """Returns the parsed text, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _row_array(whole: dict[str, Any] | list[Any], name: str) -> list[Any]:
    """Returns the array of rows: the only array with texts, or an object of objects, each with its key. An object
    with a text field or an editor's document is one row. Empty for other objects, such as settings."""
    if isinstance(whole, list):
        return [{"text": whole}] if _is_editor_document(whole) else whole
    said = [v for k, v in whole.items() if fold_name(k) in TEXT_NAMES and isinstance(v, str) and v.strip()]
    if said or any(map(_is_editor_document, whole.values())):
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


class _RichText(str):
    """Plain text that was rich text."""


def _with_plain_texts(said: Any, depth: int = 0) -> Any:
    """Returns the value with each rich text as one string."""
    lists = [v for k, v in said.items() if k in _LISTS] if isinstance(said, dict) else [said]
    whole = not isinstance(said, dict) or (len(lists) == 1 and _BLOCK.fullmatch(_node_kind(said)))
    if whole and depth < 13 and _is_rich_text(lists[0]):
        return _RichText(re.sub(r"\n{3,}", "\n\n", _rich_text(lists[0])).strip())
    if isinstance(said, dict | list) and depth <= _DEEPEST_THREAD:
        inner = said if isinstance(said, dict) else dict(enumerate(said))
        made = {k: _with_plain_texts(v, depth + 1) if isinstance(v, dict | list) else v for k, v in inner.items()}
        if any(made[k] is not v for k, v in inner.items()):
            return made if isinstance(said, dict) else [*made.values()]
    return said


def _document_row(flat: Any, beside: bool = False) -> list[dict[str, Any]]:
    """Returns all rich texts and sentences as one row, with title, author and date. beside: the file has posts too;
    then only rich texts and descriptions outside of posts."""
    texts: list[str] = []
    about: dict[str, Any] = {}
    left = [("", flat, True)]
    while left:
        key, value, of_all = left.pop()  # list items belong to a part
        plain = isinstance(value, str) and (not beside or key == "description")
        if isinstance(value, _RichText) or (plain and _PROSE.match(value)):
            texts.append(value)
        elif key in _ABOUT_FIELDS and value and isinstance(value, str | dict):
            said = _author_name(value) if _ABOUT_FIELDS[key] == "author" else value
            if of_all and about.setdefault(_ABOUT_FIELDS[key], said) != said and _ABOUT_FIELDS[key] == "author":
                about["author"] = ""  # each of a part
        elif isinstance(value, list):
            left += [("", each, False) for each in reversed(value)]
        elif isinstance(value, dict) and not (beside and all(_post_fields(value))):
            left += [(key, inner, of_all) for key, inner in reversed(value.items())]
    return [{"text": "\n\n".join(texts), **about}] if texts else []


def _user_names(whole: dict[str, Any] | list[Any]) -> dict[str, str]:
    """Returns names of users by id, from a list beside the rows."""
    lists = [whole.get(key) for key in ("users", "members", "participants")] if isinstance(whole, dict) else []
    users = [
        user for each in lists if isinstance(each, list) for user in each if isinstance(user, dict) and "id" in user
    ]
    names = {str(user.get("id")): str(user.get("real_name") or user.get("name") or "") for user in users}
    return {key: name for key, name in names.items() if name}


def _with_user_names(row: Any, people: dict[str, str]) -> Any:
    """Replaces user ids by names, and unknown Slack ids by ''. Empties messages about joining a channel."""
    told = row if isinstance(row, dict) else {}
    ids = {key: str(told.get(key)) for key in ("user", "from", "author", "sender")}
    named = {key: people.get(id_, "") for key, id_ in ids.items() if id_ in people or _USER_ID.fullmatch(id_)}
    joined = {"text": ""} if str(told.get("subtype")).startswith("channel_") else {}
    return {**told, **named, **joined} if named or joined else row


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
    values: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, value in _leaves(said, ()):
        values[path].append(value)
    named: dict[str, tuple[str, ...]] = {}
    for path, texts in values.items():  # 'a.b' and 'b' within 'a': the first keeps the name
        named.setdefault(".".join(path), ("".join(texts),) if _is_spaced(texts) else tuple(texts))
    if "text" in named and _is_rich_text(said.get("blocks")):  # Slack: 'text' repeats the blocks with marks ('*not*')
        words = (re.sub(r"https?://[^\s|>]+|:[\w+-]+:", "", " ".join(named[n])) for n in ("text", "blocks"))
        if len({re.sub(r"[\W_]+", "", text) for text in words}) == 1:
            named["text"] = named.pop("blocks")
    return TableRow(number, where, named)


def _leaves(said: Any, path: tuple[str, ...], depth: int = 0) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yields the texts of a value with their paths (`meta`, `title`)."""
    if not isinstance(said, dict | list):
        yield path, "" if said is None else str(said)
    elif _is_rich_text(said):
        yield path, re.sub(r"\n{3,}", "\n\n", _rich_text(said)).strip()
    elif depth <= _DEEPEST:
        if said == []:
            yield path, ""
        for key, value in said.items() if isinstance(said, dict) else ((None, each) for each in said):
            yield from _leaves(value, path if key is None else (*path, key), depth + 1)


def _is_rich_text(said: Any) -> bool:
    """Whether a list is one text: runs or blocks of a known kind or beside strings, without author or date."""
    nodes = [each for each in said if isinstance(each, dict)] if isinstance(said, list) else []
    if not nodes or not all(isinstance(each, str | dict) for each in said) or any(_ROW_FIELDS & set(n) for n in nodes):
        return False
    known = any(regex.fullmatch(_node_kind(node)) for node in nodes for regex in (_BLOCK, _RUN))
    beside = nodes != said and all(_node_kind(node) or _rich_text(node) for node in nodes)
    return (known or beside) and any(map(_rich_text, nodes))  # else the text has an unknown key


def _is_editor_document(said: Any) -> bool:
    """Whether a value is an editor's text rather than rows."""
    return _is_rich_text(said) and _is_spaced([_rich_text(each) for each in said])


def _is_spaced(texts: list[str]) -> bool:
    """Whether the texts are runs of one text: most have spaces between them."""
    spaced = [before[-1:].isspace() or after[:1].isspace() for before, after in pairwise(texts)]
    return 2 * sum(spaced) >= len(spaced) > 0


def _node_kind(node: dict[str, Any]) -> str:
    if isinstance(node.get("paragraph"), dict):  # of Google Docs
        return "paragraph"
    kinds = (node[key] for key in ("type", "_type", "nodeType", "tag") if isinstance(node.get(key), str))
    return fold_name(next(kinds, "insert" if "insert" in node else ""))


def _rich_text(node: Any, depth: int = 0) -> str:
    """Returns the text of a run, a block or a list, with empty lines around blocks and '…' below the deepest level."""
    if depth > 4 * _DEEPEST:
        return "…"
    if isinstance(node, list):
        texts = [_rich_text(each, depth + 1) for each in node]
        inline = any(isinstance(each, dict) for each in node) or _is_spaced(texts)
        return ("" if inline else "\n").join(texts)
    if not isinstance(node, dict):
        return node if isinstance(node, str) else ""
    kind, own = _node_kind(node), next((node[key] for key in _TEXTS if isinstance(node.get(key), str)), "")
    inner = [v for k, v in node.items() if (k in _LISTS and isinstance(v, list)) or (not own and isinstance(v, dict))]
    if text := own + "".join([_rich_text(value, depth + 1) for value in inner]):
        return f"\n\n{text}\n\n" if _BLOCK.fullmatch(kind) else text
    return "\n" if "break" in kind else ""
