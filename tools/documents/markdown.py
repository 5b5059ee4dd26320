"""Reads Markdown as a parser for it does, with the fields of its front matter."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tools.documents.document import FIELDS, Note, ReaderOutput, add_fields, document_of_blocks, read_decoded, title_of
from tools.documents.markup import blocks_of, parse
from tools.documents.plain import part_head_and_signature, part_records
from tools.documents.tidy import remove_non_text
from tools.passages import SourceDocument

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_LONGEST_FRONT = 64_000  # characters; a longer block between two rules is text
_MOST_BRACKETS = 2_000  # in one paragraph; the time that a parser takes grows with their square
# A line of front matter: its field and value, unless a template's placeholder stands there that nobody filled in.
_FIELD_LINE = re.compile(r"([\w-]+)[ \t]*:(?:[ \t]+(?:.*(?:\{\{|<%|\[\[).*|(.*)))?|[ \t-].*")
# What Obsidian writes beside Markdown. Code stays as it is; what is hidden or embedded is left out.
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
_RAW = frozenset("script style title textarea iframe noframes noscript".split())  # a stray one would swallow the rest
_OPENED = re.compile(r"[\[\]<`*_~(!]")


def read_markdown(path: Path, name: str) -> Iterator[ReaderOutput]:
    found = read_decoded(path, name)
    document, problem = markdown_document(found.text, name, found.left_out)
    if problem:
        yield Note(problem)
    yield document


def markdown_document(text: str, name: str, left_out: Mapping[str, int] | None = None) -> tuple[SourceDocument, str]:
    """The document of a Markdown text, and the fault of its front matter; empty if it has none."""
    fields: dict[str, Any] = {}
    problem = ""
    if match := _FRONT_MATTER.match(text, 0, _LONGEST_FRONT):
        fields, problem = _front_matter(match[1], name)
        text = text[match.end() :] if fields else text
    counts = Counter(left_out or {})
    fields = _with_authors(fields)
    counts["fields of front matter"] += len(fields.keys() - {*FIELDS, "provenance"})
    html = _parser().render(_bounded(part_records(_without_obsidian(part_head_and_signature(text), counts))))
    blocks = []
    if html.strip():
        body = parse(f"<html><body>{html}</body></html>")
        counts += remove_non_text(body)
        blocks = list(blocks_of(body))
    return document_of_blocks(name, blocks, fields, counts, title_of(name)), problem


def _without_obsidian(text: str, left_out: Counter[str]) -> str:
    """The text with the words alone of Obsidian's links, highlights and callouts."""

    def words_of(match: re.Match[str]) -> str:
        found = match.groupdict()
        left_out["hidden comments"] += found["comment"] is not None
        left_out["embedded notes and files"] += found["embed"] is not None
        if found["callout"] is not None:  # its name is a paragraph
            return f"{found['callout']}{found['name']}\n{found['callout']}"
        page = (found["page"] or "").replace("#", " > ").strip(" >")
        return found["code"] or found["words"] or page or found["marked"] or ""

    return _OBSIDIAN.sub(words_of, text)


def _with_authors(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, author and date by either of their names; authors may be a list, of objects too."""
    told = {str(name).lower(): value for name, value in fields.items()}
    for field, other in (("author", "authors"), ("date", "published")):
        values = [told.pop(name, "") for name in (field, other)]
        several = next((value for value in values if isinstance(value, list)), values)
        texts = [str(one.get("name", "") if isinstance(one, dict) else one) for one in several]
        add_fields(told, "front matter", **{field: ", ".join(filter(None, texts)).strip("[]'")})
    return told


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


def _front_matter(block: str, name: str) -> tuple[dict[str, Any], str]:
    """The fields of the block, and what is wrong with it. There are none where it is text between two rules.

    Of a block that is not YAML, such as `title: Phones: a report`, the fields that a line holds are read.
    """
    import yaml

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(block, Loader=yaml.SafeLoader)):
            raise ValueError("it has aliases (*)")  # a few lines of them make gigabytes
        fields = yaml.safe_load(block)
        return (fields if isinstance(fields, dict) else {}), ""
    except (yaml.YAMLError, ValueError, RecursionError) as exc:  # a ValueError is a date that no calendar has
        lines = [line for line in block.split("\n") if line.strip()]
        found = [match for match in map(_FIELD_LINE.fullmatch, lines) if match]
        mark, why = getattr(exc, "problem_mark", None), getattr(exc, "problem", None) or exc
        where = f"line {mark.line + 2}: " if mark else ""
        told = f"{name}: the block between the '---' lines is not valid YAML ({where}{why})"
        if len(found) < len(lines) or not any(match[1] for match in found):
            return {}, f"{told}, so it was read as text."
        plain = {match[1].lower(): match[2].strip(" \t'\"") for match in found if match[2]}
        fields = {field: plain[field] for field in FIELDS[1:] if plain.get(field)}
        read = f"of it only this was read: {', '.join(fields)}" if fields else "it was left out"
        return {"title": "", **fields}, f"{told}; {read}."
