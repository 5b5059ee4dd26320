"""Reads rows of JSON, and the rich text in them: a list of runs or a tree of blocks is one text."""

import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tools.documents.columns import TEXT_NAMES, Row, Table, fold_name
from tools.documents.json_threads import MAX_DEPTH, name_of, post_of, thread_rows
from tools.errors import SourceError

_DEEPEST = 40  # objects and lists in one another
_NONE = "no rows. They are the objects of an array, or one object a line."
_TEXTS = "plain_text text insert content value string caption label user_id".split()  # of a run, the best first
_LISTS = frozenset("blocks caption cells children content elements items ops rich_text tableRows tableCells".split())
_BLOCK = re.compile(
    r"p|h\d|li|pre|t[drh]|root|unstyled|callout|toggle|to_do"
    r"|\w*(?:block|cell|doc|head|item|list|para|quote|row|section|table)\w*"
)
_RUN = re.compile("text|rich_text|plain|bold|italic|span|link|insert")
_USER_ID = re.compile(r"[UW](?:0[A-Z0-9]{1,11}|(?=[A-Z]*\d)[A-Z0-9]{8,10})")
_PROSE = re.compile(r"(?:\S+\s+){4}\S[\s\S]*[.!?…][\"”’)]*(?:</\w+>){0,9}\s*\Z|[^\x00-\u2fff。！？]{6,500}[。！？]")
_ABOUT = {"summary": "title", "headline": "title", "subject": "title", "creator": "author"}
_ABOUT |= {name: name for name in ("title", "author", "created", "created_at", "date", "published")}
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
        people = _people(whole)
        raw = thread_rows(whole)
        if not (rows := [] if raw else _array(whole, name)) and whole != []:
            flat = _flat(whole)
            posts = max(raw, thread_rows(flat), key=len)
            if not (rows := [*_gathered(flat, beside=bool(posts)), *posts]):
                raise SourceError(f"{name}: {_NONE}")
        array = [_named(row, people) for row in rows]
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

    An object with a field that is called as texts are, or with a document of an editor, is a row itself; others, such
    as settings, are no rows. Of several arrays the one with texts is meant.
    """
    if isinstance(whole, list):
        return [{"text": whole}] if _is_document(whole) else whole
    said = [v for k, v in whole.items() if fold_name(k) in TEXT_NAMES and isinstance(v, str) and v.strip()]
    if said or any(map(_is_document, whole.values())):
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
        raise SourceError(f"{name}: several arrays of objects ({several}). Keep the one that is meant.")
    return []


class _Rich(str):
    """A text that was rich."""


def _flat(said: Any, depth: int = 0) -> Any:
    """The value with each rich text in it as one string."""
    lists = [v for k, v in said.items() if k in _LISTS] if isinstance(said, dict) else [said]
    whole = not isinstance(said, dict) or (len(lists) == 1 and _BLOCK.fullmatch(_kind(said)))
    if whole and depth < 13 and _is_rich(lists[0]):
        return _Rich(re.sub(r"\n{3,}", "\n\n", _text_of(lists[0])).strip())
    if isinstance(said, dict | list) and depth <= MAX_DEPTH:
        inner = said if isinstance(said, dict) else dict(enumerate(said))
        made = {k: _flat(v, depth + 1) if isinstance(v, dict | list) else v for k, v in inner.items()}
        if any(made[k] is not v for k, v in inner.items()):
            return made if isinstance(said, dict) else [*made.values()]
    return said


def _gathered(flat: Any, beside: bool = False) -> list[dict[str, Any]]:
    """All rich texts and sentences as one row, with what plainly is its title, author and date; `beside` the posts of
    a discussion, only what is rich or a description, and in none of them."""
    texts: list[str] = []
    about: dict[str, Any] = {}
    left = [("", flat, True)]
    while left:
        key, value, of_all = left.pop()  # what stands in a list is of a part
        plain = isinstance(value, str) and (not beside or key == "description")
        if isinstance(value, _Rich) or (plain and _PROSE.match(value)):
            texts.append(value)
        elif key in _ABOUT and value and isinstance(value, str | dict):
            said = name_of(value) if _ABOUT[key] == "author" else value
            if of_all and about.setdefault(_ABOUT[key], said) != said and _ABOUT[key] == "author":
                about["author"] = ""  # each of a part
        elif isinstance(value, list):
            left += [("", each, False) for each in reversed(value)]
        elif isinstance(value, dict) and not (beside and all(post_of(value))):
            left += [(key, inner, of_all) for key, inner in reversed(value.items())]
    return [{"text": "\n\n".join(texts), **about}] if texts else []


def _people(whole: dict[str, Any] | list[Any]) -> dict[str, str]:
    """The names of users by their ids, where a list beside the rows has them."""
    lists = [whole.get(key) for key in ("users", "members", "participants")] if isinstance(whole, dict) else []
    users = [
        user for each in lists if isinstance(each, list) for user in each if isinstance(user, dict) and "id" in user
    ]
    names = {str(user.get("id")): str(user.get("real_name") or user.get("name") or "") for user in users}
    return {key: name for key, name in names.items() if name}


def _named(row: Any, people: dict[str, str]) -> Any:
    """The row with names for the ids of users, an unknown one of Slack being none; who joins a channel says nothing."""
    told = row if isinstance(row, dict) else {}
    ids = {key: str(told.get(key)) for key in ("user", "from", "author", "sender")}
    named = {key: people.get(id_, "") for key, id_ in ids.items() if id_ in people or _USER_ID.fullmatch(id_)}
    joined = {"text": ""} if str(told.get("subtype")).startswith("channel_") else {}
    return {**told, **named, **joined} if named or joined else row


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
        named.setdefault(".".join(path), ("".join(texts),) if _is_spaced(texts) else tuple(texts))
    if "text" in named and _is_rich(said.get("blocks")):  # Slack: 'text' repeats the blocks with marks ('*not*')
        words = (re.sub(r"https?://[^\s|>]+|:[\w+-]+:", "", " ".join(named[n])) for n in ("text", "blocks"))
        if len({re.sub(r"[\W_]+", "", text) for text in words}) == 1:
            named["text"] = named.pop("blocks")
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
    """Whether a list is one text: its objects are runs or blocks of a known kind, or stand beside strings, and have no
    author or date as rows have."""
    nodes = [each for each in said if isinstance(each, dict)] if isinstance(said, list) else []
    if not nodes or not all(isinstance(each, str | dict) for each in said) or any(_OF_ROWS & set(n) for n in nodes):
        return False
    known = any(regex.fullmatch(_kind(node)) for node in nodes for regex in (_BLOCK, _RUN))
    beside = nodes != said and all(_kind(node) or _text_of(node) for node in nodes)
    return (known or beside) and any(map(_text_of, nodes))  # else their text is under a key that is not known here


def _is_document(said: Any) -> bool:
    """Whether a value is a text of an editor rather than rows: it has blocks, or runs with spaces at their ends."""
    return _is_rich(said) and _is_spaced([_text_of(each) for each in said])


def _is_spaced(texts: list[str]) -> bool:
    """Whether texts are runs of one: there mostly are spaces where one ends and the next begins."""
    spaced = [before[-1:].isspace() or after[:1].isspace() for before, after in pairwise(texts)]
    return 2 * sum(spaced) >= len(spaced) > 0


def _kind(node: dict[str, Any]) -> str:
    if isinstance(node.get("paragraph"), dict):  # of Google Docs
        return "paragraph"
    kinds = (node[key] for key in ("type", "_type", "nodeType", "tag") if isinstance(node.get(key), str))
    return fold_name(next(kinds, "insert" if "insert" in node else ""))


def _text_of(node: Any, depth: int = 0) -> str:
    """The text of a run, a block or a list of them; an empty line around each block; '…' for what lies too deep."""
    if depth > 4 * _DEEPEST:
        return "…"
    if isinstance(node, list):
        texts = [_text_of(each, depth + 1) for each in node]
        inline = any(isinstance(each, dict) for each in node) or _is_spaced(texts)
        return ("" if inline else "\n").join(texts)
    if not isinstance(node, dict):
        return node if isinstance(node, str) else ""
    kind, own = _kind(node), next((node[key] for key in _TEXTS if isinstance(node.get(key), str)), "")
    inner = [v for k, v in node.items() if (k in _LISTS and isinstance(v, list)) or (not own and isinstance(v, dict))]
    if text := own + "".join([_text_of(value, depth + 1) for value in inner]):
        return f"\n\n{text}\n\n" if _BLOCK.fullmatch(kind) else text
    return "\n" if "break" in kind else ""
