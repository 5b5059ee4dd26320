"""Finds the posts of a discussion in JSON, however deep the replies lie."""

from collections.abc import Iterator
from html import unescape
from typing import Any

from tools.documents.columns import TEXT_NAMES

_TEXTS = [*TEXT_NAMES, "cooked", "selftext", "message"]
_AUTHORS = "author from account user username by".split()
_NAMES = "real_name display_name displayName name username login acct".split()
MAX_DEPTH = 200  # objects and lists in one another
_Path = tuple[str, ...]


def thread_rows(whole: Any) -> list[dict[str, Any]]:
    """The posts as rows, in reading order; none where they are the objects of one array."""
    paths = {path for path, _ in _posts(whole, (), {})}
    nested = len(paths) > 1 or any(len(path) - path.count("") > 1 for path in paths)
    return [row for _, row in _posts(whole, (), {})] if nested and any("" in path for path in paths) else []


def _posts(node: Any, path: _Path, around: dict[str, Any]) -> Iterator[tuple[_Path, dict[str, Any]]]:
    """The objects with a text and an author, each as a row below the path to it; an object in a list has no key."""
    if isinstance(node, dict):
        text, key = post_of(node)
        if text and key:
            plain = {key: value for key, value in node.items() if not isinstance(value, dict | list)}
            author = name_of(node if key == "username" else node[key])
            yield path, {**around, **plain, "text": text if "<" in text else unescape(text), "author": author}
        else:
            around = {**around, **{key: node[key] for key in ("title", "url") if isinstance(node.get(key), str)}}
    if isinstance(node, dict | list) and len(path) < MAX_DEPTH:
        for key, value in node.items() if isinstance(node, dict) else (("", each) for each in node):
            if isinstance(value, dict | list):
                yield from _posts(value, (*path, key), around)


def post_of(node: dict[str, Any]) -> tuple[str, str]:
    """The text of an object and the key of its author; a post has both."""
    text = next((v for key in _TEXTS if isinstance(v := node.get(key), str) and v.strip()), "")
    return text, next((key for key in _AUTHORS if key in node), "")


def name_of(author: Any) -> str:
    if isinstance(author, dict):
        return next((name for key in _NAMES if isinstance(name := author.get(key), str) and name), "")
    return str(author or "")
