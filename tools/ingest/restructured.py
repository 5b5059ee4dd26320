"""Reads reStructuredText (.rst) as plain text, without the marking that is no text."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tools.ingest.documents import read_decoded
from tools.ingest.plain import text_document
from tools.passages import SourceDocument

_EXPLICIT = re.compile(r"( *)\.\.(?: +(?:([\w:.+-]+) ?::|\[([^\]\s]+)\])?(.*))?$")
_OPTION = re.compile(r"\s*:[\w -]+:(?: |$)")
# Directives that hold no text to read, by what is counted; of all others the content is text.
_SILENT = {
    **dict.fromkeys("code code-block sourcecode prompt literalinclude testcode doctest ipython".split(), "code blocks"),
    **dict.fromkeys(
        "toctree contents include raw index meta role default-role sectnum highlight".split(), "directives"
    ),
    "image": "images",
    "math": "formulas",
}
# Those that are given a text on their own line.
_SPOKEN = frozenset(
    "note tip warning important hint caution danger error attention admonition seealso topic sidebar rubric epigraph "
    "pull-quote centered versionadded versionchanged deprecated todo tab tab-item card dropdown".split()
)
_REPLACED = re.compile(r"^ *\.\. \|([^|\n]{1,60})\| +replace:: +(.+)$", re.MULTILINE)
_DATE = re.compile(r"^:date: *(\d{4}(?:-\d\d){0,2})", re.MULTILINE | re.IGNORECASE)
_INLINE = (
    (re.compile(r"\s?\[[\w#*.-]{1,40}\]_(?!\w)"), ""),  # the mark of a note, with the space that it needs before it
    (re.compile(r"``([^`]{1,500})``"), r"\1"),
    (re.compile(r"(?::[\w:.+-]{1,40}:)?`[~!]?([^`<>]{1,300}?)(?:\s*<[^<>`]{1,500}>)?`_{0,2}"), r"\1"),
    (re.compile(r"(?<![\w*])\*{1,2}(?=\S)([^*]{1,500}?)(?<=\S)\*{1,2}(?![\w*])"), r"\1"),
    (re.compile(r"(?<=\w)(?<!_)__?(?=[\s.,;:!?)]|$)", re.MULTILINE), ""),
    (re.compile(r"\\([^\w\s])"), r"\1"),
)
_SUBSTITUTED = re.compile(r"(?<![\w|])\|([^|\s](?:[^|\n]{0,58}[^|\s])?)\|_{0,2}(?![\w|])")
_UNDERLINE = re.compile(r"([=~^\"'`#*+.:_-])\1{2,}\s*$")
_TABLE_RULE = re.compile(r"^ *(?:[=-]+(?: +[=-]+)+|\+[-=+]{3,}\+) *$")


def read_rst(path: Path, name: str) -> Iterator[SourceDocument]:
    found = read_decoded(path, name)
    left_out: Counter[str] = Counter()
    words: dict[str, str] = dict(_REPLACED.findall(found.text))
    text = "\n".join(_lines(found.text.expandtabs(8).split("\n"), left_out))
    text = _SUBSTITUTED.sub(lambda match: words.get(match[1]) or str(match[1]), text)
    for marking, kept in _INLINE:
        text = marking.sub(kept, text)
    date = _DATE.search(found.text)
    document = text_document(text, name, {**found.left_out, **left_out})
    yield replace(document, date=date[1]) if date else document


def _lines(lines: list[str], left_out: Counter[str]) -> Iterator[str]:
    """The lines of the text, those of a directive's content among them where they are text."""
    silent = -1  # the indentation of what holds the lines at hand and is no text; -1: they are text
    options = True  # whether fields at this place belong to a directive or to the whole document
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if not line.strip() or indent > silent >= 0:
            yield ""
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
        elif not _TABLE_RULE.match(line):
            options = bool(_UNDERLINE.match(line))
            if line.rstrip().endswith("::"):
                silent = indent
                left_out["code blocks"] += 1
            yield line.rstrip().removesuffix("::") + (":" if silent >= 0 and line.strip() != "::" else "")


def _said(match: "re.Match[str]") -> tuple[str, str]:
    """What a line of explicit marking says, and what is left out with the lines below it, or nothing."""
    name, note, rest = (match[2] or "").rpartition(":")[2].lower(), match[3], (match[4] or "").strip()
    if note or name in _SPOKEN:
        return match[1] + (rest.partition(" ")[2] if name.startswith(("version", "deprecated")) else rest), ""
    return "", _SILENT.get(name, "") if name else "comments"
