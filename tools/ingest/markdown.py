"""Reads Markdown as a parser for it does, with the fields of its front matter."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tools.errors import SourceError
from tools.ingest.documents import document_of_blocks, read_decoded, title_of
from tools.ingest.html_tree import parse
from tools.ingest.markup import blocks_of
from tools.ingest.plain import prose
from tools.ingest.raised import write_raised
from tools.ingest.tidy import tidied
from tools.passages import SourceDocument

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_MOST_BRACKETS = 2_000  # in one paragraph; the time that a parser takes grows with their square
_OPENED = re.compile(r"[\[\]<`*_~(!]")
# Elements whose content is no markup: a stray start of one would swallow all that follows.
_RAW = frozenset("script style title textarea xmp iframe plaintext noembed noframes noscript template".split())
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)")
_DIALECTS = (
    (re.compile(r"^:::.*$", re.MULTILINE), ""),  # the fences of a boxed note, whose words stay
    (re.compile(r"^(!!!|\?\?\?\+?) +\w+(?: +\"([^\"\n]*)\")? *$", re.MULTILINE), r"\2"),
    (re.compile(r"^([ >]*)\[!\w+\][+-]?(.*)$", re.MULTILINE), r"\1\2"),
    (re.compile(r"!\[\[[^\[\]\n]*\]\]"), ""),
    (re.compile(r"\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]"), r"\1"),  # a wiki's links
    (re.compile(r"[ \t]*\{:?[ \t]*[.#][^{}\n]*\}[ \t]*$|^\{:[^{}\n]*\}$", re.MULTILINE), ""),
    (re.compile(r"^\[(?:TOC|\[_TOC_\])\]$", re.MULTILINE), ""),
)


def read_markdown(path: Path, name: str) -> Iterator[SourceDocument]:
    found = read_decoded(path, name)
    yield markdown_document(found.text, name, found.left_out)


def markdown_document(text: str, name: str, left_out: Mapping[str, int] | None = None) -> SourceDocument:
    """The document that a text in Markdown makes. Raises SourceError for front matter that is not valid YAML."""
    fields: dict[str, Any] = {}
    if (match := _FRONT_MATTER.match(text)) and (found := _front_matter(match[1], name)) is not None:
        fields, text = found, text[match.end() :]
    listings: list[int] = []
    html = _parser().render(_plainer(text), {"listings": listings})
    counts = Counter(left_out or {})
    blocks = []
    if html.strip():
        body = parse(f"<html><body>{html}</body></html>")
        counts += tidied(body)
        counts["note marks"] += write_raised(body)
        blocks = list(blocks_of(body))
    counts["code blocks"] += len(listings)
    if not any(b.form == "heading" for b in blocks):
        fields["title"] = fields.get("title") or title_of(name)
    return document_of_blocks(name, blocks, fields, counts)


def _plainer(text: str) -> str:
    """Without what only some dialects have, and which a common parser would take for words.

    Of a paragraph of nothing but brackets the marks are words: to parse it would take hours.
    """
    parts = re.split(r"(^ {0,3}(?:```|~~~)[\s\S]*?(?:^ {0,3}(?:```|~~~)[ \t]*$|\Z))", text, flags=re.MULTILINE)
    for i in range(0, len(parts), 2):  # every other part is a listing
        for pattern, kept in _DIALECTS:
            parts[i] = pattern.sub(kept, parts[i])
    whole = re.split(r"(\n[ \t]*\n)", "".join(parts))
    return "".join(_escaped(p) if len(_OPENED.findall(p)) > _MOST_BRACKETS else p for p in whole)


def _escaped(paragraph: str) -> str:
    return _OPENED.sub(" ", paragraph)


@cache
def _parser() -> Any:
    """CommonMark with tables, footnotes, lists of definitions and tasks."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin
    from mdit_py_plugins.tasklists import tasklists_plugin

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.use(footnote_plugin, inline=False).use(deflist_plugin).use(tasklists_plugin)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _indented)
    parser.add_render_rule("html_inline", _inline)
    return parser


def _fence(_: Any, tokens: Sequence[Any], index: int, __: Any, env: Any) -> str:
    """A listing is left out; a directive such as ```{note} has words."""
    token = tokens[index]
    if re.match(r"\{(?:note|warning|tip|important|caution|hint|admonition|epigraph|seealso)\}", token.info):
        return str(_parser().render(token.content, {"listings": env["listings"]}))
    env["listings"].append(token.map[0] if token.map else 0)
    return ""


def _indented(_: Any, tokens: Sequence[Any], index: int, __: Any, env: Any) -> str:
    """Four spaces make a listing; some people indent their paragraphs or quotations so."""
    from html import escape

    content = tokens[index].content
    if prose(content):
        return "".join(f"<p>{escape(chunk)}</p>" for chunk in re.split(r"\n\s*\n", content))
    return _fence(_, tokens, index, __, env)


def _inline(_: Any, tokens: Sequence[Any], index: int, __: Any, ___: Any) -> str:
    """What looks like a tag and is none of HTML's, as in `<your name>`, are words."""
    from html import escape

    from lxml.html.defs import tags

    content = str(tokens[index].content)
    tag = _TAG.match(content)
    known = tag is None or (tag[1].lower() in tags and tag[1].lower() not in _RAW) or "-" in tag[1]
    return content if known else escape(content)


def _front_matter(block: str, name: str) -> dict[str, Any] | None:
    """The fields of the block; None for text that merely stands between two rules."""
    import yaml

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(block, Loader=yaml.SafeLoader)):
            raise SourceError(f"{name}: the block between the '---' lines has aliases (*). Write them out.")
        fields = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, RecursionError) as exc:  # a ValueError is a date that no calendar has
        raise SourceError(
            f"{name}: the block between the '---' lines is not valid YAML ({_folded(exc)}). Mend or remove it."
        ) from exc
    return fields if isinstance(fields, dict) else None


def _folded(exc: Exception) -> str:
    return " ".join(str(exc).split())
