"""Reads reStructuredText (.rst) as plain text, without the marking that is no text."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tools.ingest.documents import read_decoded
from tools.ingest.plain import text_document
from tools.passages import SourceDocument

_EXPLICIT = re.compile(r"( *)\.\.(?: +(?:([\w:.+-]+) ?::|\[([^\]\s]+)\])?(.*))?$")
_OPTION = re.compile(r"\s*:[\w -]+:(?: |$)")
# Directives around text, of which those of the second kind are given a text on their own line too.
_AROUND = frozenset("figure table container compound only glossary parsed-literal list-table highlights".split())
_SPOKEN = frozenset(
    "note tip warning important hint caution danger error attention admonition seealso topic sidebar rubric epigraph "
    "pull-quote centered versionadded versionchanged deprecated todo tab tab-item card dropdown".split()
)
_CODE = frozenset("code code-block sourcecode prompt literalinclude testcode doctest ipython".split())
_INLINE = (
    (re.compile(r"(?<!\S)\[[\w#*.-]{1,40}\]_"), ""),  # the mark of a note, with the space that it needs before it
    (re.compile(r"``([^`]{1,500})``"), r"\1"),
    (re.compile(r"(?::[\w:.+-]{1,40}:)?`[~!]?([^`<>]{1,300}?)(?:\s*<[^<>`]{1,500}>)?`_{0,2}"), r"\1"),
    (re.compile(r"(?<![\w*])\*{1,2}(?=\S)([^*]{1,500}?)(?<=\S)\*{1,2}(?![\w*])"), r"\1"),
    (re.compile(r"(?<![\w|])\|([^|\n]{1,60})\|_{0,2}(?!\w)"), r"\1"),
    (re.compile(r"(?<=\w)(?<!_)__?(?=[\s.,;:!?)]|$)", re.MULTILINE), ""),
    (re.compile(r"\\([^\w\s])"), r"\1"),
)
_RULE = re.compile(r"^ *(?:[=-]+(?: +[=-]+)+|\+[-=+]{3,}\+) *$")  # of a table


def read_rst(path: Path, name: str) -> Iterator[SourceDocument]:
    found = read_decoded(path, name)
    left_out: Counter[str] = Counter()
    text = "\n".join(_lines(found.text.expandtabs(8).split("\n"), left_out))
    for marking, kept in _INLINE:
        text = marking.sub(kept, text)
    yield text_document(text, name, {**found.left_out, **left_out})


def _lines(lines: list[str], left_out: Counter[str]) -> Iterator[str]:
    """The lines of the text, those of a directive's content among them where they are text."""
    silent = -1  # the indentation of what holds the lines at hand and is no text; -1: they are text
    options = True  # whether fields at this place belong to the directive or the whole document above
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if not line.strip() or (silent >= 0 and indent > silent):
            yield ""
            options = options and bool(line.strip())
            continue
        silent = -1
        if options and _OPTION.match(line):
            left_out["fields"] += 1
        elif match := _EXPLICIT.match(line):
            said, what = _said(match)
            options = True
            if what:
                left_out[what] += 1
                silent = indent
            yield said
        elif not _RULE.match(line):
            options = False
            if line.rstrip().endswith("::"):
                silent = indent
                left_out["code blocks"] += 1
            yield line.rstrip().removesuffix("::") + (":" if silent >= 0 and line.strip() != "::" else "")


def _said(match: "re.Match[str]") -> tuple[str, str]:
    """What a line of explicit marking says, and what is left out with the lines below it, or nothing."""
    name, note, rest = (match[2] or "").rpartition(":")[2].lower(), match[3], (match[4] or "").strip()
    if note or name in _SPOKEN:
        return match[1] + rest, ""
    if name in _AROUND:
        return "", ""
    what = "code blocks" if name in _CODE else "images" if name == "image" else "directives" if name else "comments"
    return "", what
