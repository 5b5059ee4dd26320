"""Reads reStructuredText (.rst), also that of Sphinx, whose directives and roles docutils does not know."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

from tools.errors import SourceError
from tools.ingest.documents import document_of_file, read_text
from tools.ingest.tables import TableLines
from tools.passages import Block, BlockForm, SourceDocument

_MOST, _LONGEST_LINE = 2_000_000, 100_000  # characters; docutils takes a second for some fifty thousand
_DEEPEST = 10  # directives within directives that docutils does not know
_SETTINGS = {
    "file_insertion_enabled": False,  # no directive may put other files of this machine into the text
    "raw_enabled": False,
    "halt_level": 5,
    "report_level": 5,
    "warning_stream": False,
    "line_length_limit": _LONGEST_LINE,
    "syntax_highlight": "none",
    "_disable_config": True,
}
_SILENT = {
    "literal_block": "code blocks",
    "doctest_block": "code blocks",
    "math_block": "formulas",
    "image": "images",
    "comment": "comments",
}
_UNSEEN = frozenset("target substitution_definition pending meta field_name label decoration raw".split())
_FORMS: dict[str, BlockForm] = {"list_item": "item", "definition": "item", "caption": "caption", "legend": "caption"}
_LINES = frozenset("paragraph term line_block attribution rubric subtitle title caption".split())
# What Sphinx and its extensions add: directives around text, those whose argument is text too, those that describe what
# their argument names, and code.
_TEXT = frozenset(
    "seealso versionadded versionchanged versionremoved deprecated glossary centered hlist only note tip warning "
    "important hint caution danger error attention admonition tab tabs tab-set tab-item group-tab grid card dropdown "
    "epigraph todo topic container".split()
)
_SPOKEN = frozenset(
    "centered admonition tab tab-item group-tab card dropdown versionadded versionchanged deprecated".split()
)
_DESCRIBING = frozenset(
    "function method class attribute property data exception module classmethod staticmethod decorator describe object "
    "option envvar cmdoption program macro type member var struct confval setting directive role opcode".split()
)
_CODE = frozenset(
    "code code-block sourcecode prompt literalinclude testcode testoutput testsetup ipython parsed-literal".split()
)
_DIRECTIVE = re.compile(r"\.\.[ ]+([\w:.+-]+?)[ ]?::(?:[ ]+([^\n]*))?(?:\n(.*))?\Z", re.DOTALL)
_OPTIONS = re.compile(r"\A(?:[ \t]*:[\w-]+:[^\n]*(?:\n|\Z))+")
# Marking within a link, which the format does not have, but other programs write.
_MARKED_LINK = re.compile(r"`([^`<>]{1,300}) <[^<>`\s]+>`__?")
_EXPLICIT = re.compile(r"(.*?)\s*<[^<>]*>", re.DOTALL)


def read_rst(path: Path, name: str) -> Iterator[SourceDocument]:
    text = read_text(path, name)
    if len(text) > _MOST or max(map(len, text.split("\n"))) > _LONGEST_LINE:
        most = f"{_MOST:,} characters, or a line of {_LONGEST_LINE:,}"
        raise SourceError(f"{name}: this reStructuredText is longer than {most}. Split it.")
    left_out: Counter[str] = Counter()
    try:
        tree = _tree(text)
        blocks = list(_RstText(tree, left_out).blocks(tree))
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError) as exc:
        # docutils meets what it cannot read in many ways; nesting without end is one.
        raise SourceError(
            f"{name}: this is not reStructuredText that can be read ({type(exc).__name__}: {exc})."
        ) from exc
    yield document_of_file(name, blocks, "", _date(tree), left_out)


class _UnreadableError(ValueError):
    """Text that docutils stumbles over."""


def _tree(text: str) -> Any:
    """What docutils makes of the text. Nothing is transformed, so that what it does not know stays where it stood."""
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser, states
    from docutils.utils import new_document

    inliner: Any = states.Inliner()
    inliner.interpreted = _words_of_role  # not by a class of its own: docutils reads patterns from the class
    parser = Parser(inliner=inliner)
    settings = get_default_settings(parser)
    for setting, value in _SETTINGS.items():
        setattr(settings, setting, value)
    found = new_document("", settings)
    try:
        parser.parse(text, found)
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError) as exc:
        raise _UnreadableError(f"{type(exc).__name__}: {exc}") from exc
    return found


def _words_of_role(rawsource: str, text: str, role: str, lineno: int) -> tuple[list[Any], list[Any]]:
    """The words of a role, whoever defines it."""
    from docutils import nodes

    plain = text.replace("\x00", "")  # docutils' mark of an escaped sign
    explicit = _EXPLICIT.fullmatch(plain) if role else None
    shown = "" if role.startswith("raw") else explicit[1] if explicit else plain
    return [nodes.inline(rawsource, "", nodes.Text(shown.lstrip("~!")))], []


def _date(tree: Any) -> str:
    """The date among the fields that stand before the text."""
    fields = next(iter(tree.findall(lambda node: node.tagname == "field_list")), ())
    return next((each[1].astext() for each in fields if each[0].astext().lower() == "date"), "")


class _RstText:
    """A walk over a tree of docutils; `depth`: how many unknown directives are around it."""

    def __init__(self, tree: Any, left_out: Counter[str], level: int = 0, depth: int = 0) -> None:
        self._defined = {name: str(node.astext()) for name, node in tree.substitution_defs.items()}
        self._left_out = left_out
        self._outer = level
        self._depth = depth

    def blocks(self, node: Any, level: int = 0, form: BlockForm = "paragraph") -> Iterator[Block]:
        for each in node:
            name = each.tagname
            if name in _SILENT:
                self._left_out[_SILENT[name]] += 1
            elif name == "section":
                yield from self.blocks(each, level + 1)
            elif name == "title" and node.tagname == "section":
                yield Block(self._text(each), "heading", self._outer + level)
            elif name in _LINES:
                yield Block(self._text(each), _FORMS.get(name, form))
            elif name in ("footnote", "citation"):
                yield Block(" ".join(block.text for block in self.blocks(each, level)), "note")
            elif name == "table":
                yield from self._table(each)
            elif name == "system_message":
                yield from self._unknown(each, level, form)
            elif name in ("field", "option_list_item"):
                yield from self._named(each)
            elif name == "field_list" and _is_of_document(each):
                self._left_out["fields"] += len(each)
            elif name not in _UNSEEN and "contents" not in each.get("classes", ()):
                yield from self.blocks(each, level, _FORMS.get(name, form))

    def _named(self, node: Any) -> Iterator[Block]:
        """A field or an option with what is said of it."""
        name, said = self._text(node[0]), list(self.blocks(node[1])) if len(node) > 1 else []
        first = said[0].text if said and said[0].form == "paragraph" else ""
        yield Block(f"{name}: {first}" if first else name, "item")
        yield from said[1 if first else 0 :]

    def _text(self, node: Any) -> str:
        return _MARKED_LINK.sub(r"\1", " ".join(self._inside(node).split()))

    def _inside(self, node: Any) -> str:
        name = node.tagname
        if name == "#text":
            return str(node)
        if name in ("system_message", "raw"):
            return ""
        if name == "image":
            self._left_out["images"] += 1
            return ""
        if name == "substitution_reference":
            return self._defined.get(node.get("refname", ""), str(node.astext()))
        text = ""
        for each in node:
            # The mark of a note needs a space before it, which is not of the text.
            mark = each.tagname in ("footnote_reference", "citation_reference")
            text = text.rstrip() if mark else text + self._inside(each)
        return f"{text} " if name in ("line", "paragraph", "option") else text

    def _table(self, table: Any) -> Iterator[Block]:
        lines = TableLines()
        after: list[Block] = []
        spans: dict[int, tuple[int, int]] = {}  # by column: rows below that a cell covers yet, and its columns
        yield from (Block(self._text(each), "caption") for each in table if each.tagname == "title")
        for row in table.findall(lambda node: node.tagname == "row" and _around(node) is table):
            column = 0
            for entry in [*row, None]:
                while spans.get(column, (0, 0))[0]:
                    rows, columns = spans[column]
                    spans[column] = rows - 1, columns
                    lines.cell("", columns, goes_on=True)
                    column += columns
                if entry is None:
                    break
                said = list(self.blocks(entry))
                columns = entry.get("morecols", 0) + 1
                spans[column] = entry.get("morerows", 0), columns
                lines.cell(" ".join(block.text for block in said if block.form != "table"), columns)
                after += (block for block in said if block.form == "table")
                column += columns
            lines.end_row()
        yield from lines.blocks()
        yield from after

    def _unknown(self, message: Any, level: int, form: BlockForm) -> Iterator[Block]:
        """A directive that docutils does not know or may not follow, whose text it gives back as it stood."""
        match = next((m for part in message if (m := _DIRECTIVE.match(part.astext().strip()))), None)
        if match is None:
            return
        name, argument, content = match[1].rpartition(":")[2].lower(), match[2] or "", dedent(match[3] or "")
        if name in _CODE:
            self._left_out["code blocks"] += 1
        elif self._depth >= _DEEPEST or name not in _TEXT | _DESCRIBING:
            self._left_out["directives"] += 1
        else:
            if name in _DESCRIBING and argument:
                yield Block(argument.replace("\\", ""), "heading", self._outer + level + 1)
            spoken = argument if name in _SPOKEN or not _DESCRIBING & {name} else ""
            if name.startswith(("version", "deprecated")):
                spoken = argument.partition(" ")[2]
            tree = _tree(f"{spoken}\n\n{_OPTIONS.sub('', content)}")
            inner = _RstText(tree, self._left_out, self._outer + level + 1, self._depth + 1)
            yield from inner.blocks(tree, 0, form)


def _is_of_document(fields: Any) -> bool:
    """Whether the fields stand before the text, and say who wrote it and when."""
    parent = fields.parent
    first = parent.tagname == "document" or (parent.tagname == "section" and parent.parent.tagname == "document")
    return first and all(each.tagname in ("title", "comment", "target") for each in parent[: parent.index(fields)])


def _around(row: Any) -> Any:
    """The table that a row belongs to."""
    while row.tagname != "table":
        row = row.parent
    return row
