"""Reads Markdown as a parser for it does, with the fields of its front matter."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tools.documents.document import date_at_top, document_of_blocks, read_decoded, title_of
from tools.documents.markup import blocks_of, parse
from tools.documents.tidy import remove_non_text
from tools.errors import SourceError
from tools.passages import SourceDocument

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_LONGEST_FRONT = 64_000  # characters; a longer block between two rules is text
_MOST_BRACKETS = 2_000  # in one paragraph; the time that a parser takes grows with their square
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)")
_RAW = frozenset("script style title textarea iframe noframes noscript".split())  # a stray one would swallow the rest
_OPENED = re.compile(r"[\[\]<`*_~(!]")


def read_markdown(path: Path, name: str) -> Iterator[SourceDocument]:
    found = read_decoded(path, name)
    yield markdown_document(found.text, name, found.left_out)


def markdown_document(text: str, name: str, left_out: Mapping[str, int] | None = None) -> SourceDocument:
    """The document that a text in Markdown makes. Raises SourceError for front matter that is not valid YAML."""
    fields: dict[str, Any] = {}
    match = _FRONT_MATTER.match(text, 0, _LONGEST_FRONT)
    if match and (found := _front_matter(match[1], name)) is not None:
        fields, text = found, text[match.end() :]
    fields["date"] = fields.get("date") or date_at_top(text)
    html = _parser().render(_bounded(text))
    counts = Counter(left_out or {})
    blocks = []
    if html.strip():
        body = parse(f"<html><body>{html}</body></html>")
        counts += remove_non_text(body)
        blocks = list(blocks_of(body))
    return document_of_blocks(name, blocks, fields, counts, title_of(name))


def _bounded(text: str) -> str:
    """Of a paragraph of nothing but brackets the marks are words: to parse it would take hours."""
    parts = re.split(r"(\n[ \t]*\n)", text)
    return "".join(_OPENED.sub(" ", p) if len(_OPENED.findall(p)) > _MOST_BRACKETS else p for p in parts)


@cache
def _parser() -> Any:
    """CommonMark with tables, footnotes, lists of definitions and tasks; indented lines are paragraphs."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin
    from mdit_py_plugins.tasklists import tasklists_plugin

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).disable("code")
    parser.use(footnote_plugin, inline=False).use(deflist_plugin).use(tasklists_plugin)
    parser.add_render_rule("html_inline", _inline)
    return parser


def _inline(_: Any, tokens: Sequence[Any], index: int, *__: Any) -> str:
    """What looks like a tag and is none of a text's, as `<your name>` or a stray `<script>`, are words."""
    from html import escape

    from lxml.html.defs import tags

    content = str(tokens[index].content)
    named = _TAG.match(content)
    return escape(content) if named and named[1].lower() not in tags - _RAW else content


def _front_matter(block: str, name: str) -> dict[str, Any] | None:
    """The fields of the block; None for text that merely stands between two rules."""
    import yaml

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(block, Loader=yaml.SafeLoader)):
            raise SourceError(f"{name}: the block between the '---' lines has aliases (*). Write them out.")
        fields = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, RecursionError) as exc:  # a ValueError is a date that no calendar has
        what = f"is not valid YAML ({' '.join(str(exc).split())}). Mend or remove it."
        raise SourceError(f"{name}: the block between the '---' lines {what}") from exc
    return fields if isinstance(fields, dict) else None
