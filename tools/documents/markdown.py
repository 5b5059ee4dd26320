"""Parses Markdown with a CommonMark parser, and parses its front matter."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tools.documents.document import (
    COLUMN_FIELDS,
    ReaderOutput,
    add_fields,
    document_of_blocks,
    file_title,
    read_decoded,
)
from tools.documents.html_blocks import html_blocks, parse_html
from tools.documents.html_cleanup import remove_non_text
from tools.documents.plain_text import part_quotations, separate_bylines, separate_records
from tools.passages import SourceDocument

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_LONGEST_FRONT = 64_000  # characters; a longer block is text, not front matter
_MOST_BRACKETS = 2_000  # most brackets in a paragraph, because parsing takes quadratic time
# A line of front matter: field and value; an unfilled template placeholder has no value.
_FIELD_LINE = re.compile(r"([\w-]+)[ \t]*:(?:[ \t]+(?:.*(?:\{\{|<%|\[\[).*|(.*)))?|[ \t-].*")
# Obsidian's additions to Markdown. Code stays, but hidden and embedded parts are removed.
_OBSIDIAN = re.compile(
    r"(?P<code>^(?:```|~~~).*?^(?:```|~~~)|`[^`\n]+`)"
    r"|(?<!\w)%%(?P<comment>.*?)%%"
    r"|(?P<embed>!\[\[[^\[\]\n]{1,300}\]\])"
    r"|\[\[(?P<page>[^\[\]|\n]{1,300}?)(?:\\?\|(?P<words>[^\[\]\n]{1,300}))?\]\](?!\()"
    r"|==(?P<marked>[^\s=](?:[^=\n]{0,1000}[^\s=])?)=="
    r"|(?:^|[ \t])\^[\w-]{1,60}[ \t]*$"
    r"|^(?P<callout>[ \t]*(?:>[ \t]?)+)\[![\w|-]{1,40}\][+-]?[ \t]*(?P<name>[^\n]*)$",
    re.DOTALL | re.MULTILINE,
)
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)")
_RAW = frozenset(
    "script style title textarea iframe noframes noscript".split()
)  # an unclosed element of this kind would swallow the rest
_OPENED = re.compile(r"[\[\]<`*_~(!]")


def read_markdown(path: Path, name: str) -> Iterator[ReaderOutput]:
    found = read_decoded(path, name)
    document, problem = markdown_document(found.text, name, found.left_out)
    if problem:
        yield problem
    yield document


def markdown_document(text: str, name: str, left_out: Mapping[str, int] | None = None) -> tuple[SourceDocument, str]:
    """Returns the document of a Markdown text, and a message on invalid front matter ('' if valid)."""
    fields: dict[str, Any] = {}
    problem = ""
    if match := _FRONT_MATTER.match(text, 0, _LONGEST_FRONT):
        fields, problem = _front_matter(match[1], name)
        text = text[match.end() :] if fields else text
    counts = Counter(left_out or {})
    fields = _with_author_and_date(fields)
    counts["fields of front matter"] += len(fields.keys() - {*COLUMN_FIELDS, "provenance"})
    text = part_quotations(separate_records(_plain_obsidian(separate_bylines(text), counts)))
    html = _parser().render(_bounded(text))
    blocks = []
    if html.strip():
        body = parse_html(f"<html><body>{html}</body></html>")
        counts += remove_non_text(body)
        blocks = list(html_blocks(body))
    return document_of_blocks(name, blocks, fields, counts, file_title(name)), problem


def _plain_obsidian(text: str, left_out: Counter[str]) -> str:
    """Reduces Obsidian's links, highlights and callouts to their words."""

    def words_of(match: re.Match[str]) -> str:
        found = match.groupdict()
        left_out["hidden comments"] += found["comment"] is not None
        left_out["embedded notes and files"] += found["embed"] is not None
        if found["callout"] is not None:  # the callout's name becomes a paragraph
            return f"{found['callout']}{found['name']}\n{found['callout']}"
        page = (found["page"] or "").replace("#", " > ").strip(" >")
        return found["code"] or found["words"] or page or found["marked"] or ""

    return _OBSIDIAN.sub(words_of, text)


def _with_author_and_date(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Merges 'authors', 'published' and 'publication' into 'author', 'date' and 'publisher'. Each may be a list."""
    told = {str(name).lower(): value for name, value in fields.items()}
    for field, other in (("author", "authors"), ("date", "published"), ("publisher", "publication")):
        values = [told.pop(name, "") for name in (field, other)]
        several = next((value for value in values if isinstance(value, list)), values)
        texts = [str(one.get("name", "") if isinstance(one, dict) else one) for one in several]
        add_fields(told, "front matter", **{field: ", ".join(filter(None, texts)).strip("[]'")})
    return told


def _bounded(text: str) -> str:
    """Blanks all markup characters of a paragraph that has too many of them, because parsing it would take hours."""
    parts = re.split(r"(\n[ \t]*\n)", text)
    return "".join(_OPENED.sub(" ", p) if len(_OPENED.findall(p)) > _MOST_BRACKETS else p for p in parts)


@cache
def _parser() -> Any:
    """Returns a parser of CommonMark with tables, footnotes and lists of other kinds, but without indented code."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin
    from mdit_py_plugins.tasklists import tasklists_plugin

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).disable("code")
    parser.use(footnote_plugin, inline=False).use(deflist_plugin).use(tasklists_plugin)
    parser.add_render_rule("html_inline", _render_inline_html)
    return parser


def _render_inline_html(_: Any, tokens: Sequence[Any], index: int, *__: Any) -> str:
    """Escapes text that only looks like a tag, such as `<your name>` or a stray `<script>`."""
    from html import escape

    from lxml.html.defs import tags

    content = str(tokens[index].content)
    named = _TAG.match(content)
    return escape(content) if named and named[1].lower() not in tags - _RAW else content


def _front_matter(block: str, name: str) -> tuple[dict[str, Any], str]:
    """Returns the block's fields, and a message on invalid YAML ('' if valid). Parses invalid YAML, such as `title:
    Phones: a report`, line by line. Returns no fields for text between two horizontal rules."""
    import yaml

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(block, Loader=yaml.SafeLoader)):
            raise ValueError("it has aliases (*)")  # a few lines of aliases expand to gigabytes
        fields = yaml.safe_load(block)
        return (fields if isinstance(fields, dict) else {}), ""
    except (yaml.YAMLError, ValueError, RecursionError) as exc:  # ValueError: aliases, or a date such as 30 February
        lines = [line for line in block.split("\n") if line.strip()]
        found = [match for match in map(_FIELD_LINE.fullmatch, lines) if match]
        mark, why = getattr(exc, "problem_mark", None), getattr(exc, "problem", None) or exc
        where = f"line {mark.line + 2}: " if mark else ""
        told = f"{name}: the block between the '---' lines is not valid YAML ({where}{why})"
        if len(found) < len(lines) or not any(match[1] for match in found):
            return {}, f"{told}, so it was read as text."
        plain = {match[1].lower(): match[2].strip(" \t'\"") for match in found if match[2]}
        fields = {field: plain[field] for field in COLUMN_FIELDS[1:] if plain.get(field)}
        read = f"of it only this was read: {', '.join(fields)}" if fields else "it was left out"
        return {"title": "", **fields}, f"{told}; {read}."
