"""Converts an HTML tree to blocks in reading order. Web pages use this module, and so do all formats that a library
converts to HTML (Word, Markdown, EPUB). `limit_tree` bounds the tree, because text extraction takes quadratic time in
the number of elements (under 1 s for 15,000), in attribute lengths and in metadata."""

import json
import operator
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Any

from tools.documents.plain_text import text_blocks
from tools.language.person_names import pattern
from tools.passages import Block, BlockForm

_MOST_ELEMENTS = 15_000
_DEEPEST = 80  # levels
_MOST_CHARACTERS = 1_000_000
_LONGEST_ATTRIBUTE = 2_000
_LONGEST_TITLE = 500
_MOST_META = 200
_MOST_METADATA = 200_000
_DEEPEST_METADATA = 12
_FURNITURE = tuple("script style svg math template iframe object embed canvas video audio map".split())

_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)\b[^<>]*>")
_KEPT = frozenset("html head title meta link body script style h1 h2 h3 h4 h5 h6 p br hr".split())
_INLINE = frozenset("a abbr b bdi cite code del em font i ins kbd mark q s small span strong sub sup u var".split())

_INVALID = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# libxml2 reads these characters, but lxml refuses to write them.
_INVALID_REFERENCE = re.compile(
    r"&#(?:0*(?:[0-8]|1[124-9]|2\d|3[01]|6553[45])(?!\d)|x0*(?:[0-8bcef]|1[\da-f]|fff[ef])(?![\da-f]));?", re.IGNORECASE
)
_FORMS: dict[str, BlockForm] = {"figcaption": "caption", "caption": "caption", "li": "item", "dd": "item"}
_INHERITING = frozenset("p div blockquote section aside".split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 "
    "h4 h5 h6 header hr html legend li main nav ol p pre section summary table tbody td tfoot th thead tr ul".split()
)
SILENT_TAGS = frozenset("script style template noscript head title".split())  # invisible elements
SPEAKER_ATTRIBUTE = "{steelman}speaker"  # holds an element's speaker; no page can have this attribute
_ALL_SILENT = SILENT_TAGS | {"svg", "math"}
_LONGEST_VALUE = 60  # words
_LONGEST_LINE = 80  # characters of a line in a signature
_NOTES = frozenset("doc-footnote doc-endnote footnote endnote rearnote".split())
_BREAK = "\x1e"  # a line break; no text has this character
_BOLD, _BOLD_END = "\ue002", "\ue003"  # around bold text
_LEAD = re.compile(f"{_BOLD}([^{_BOLD_END}]*){_BOLD_END}")
_MARKS = str.maketrans("", "", _BOLD + _BOLD_END)
# Two breaks end a paragraph. Before a speaker's tag, one line end suffices.
_TURN = rf"{_BOLD}?(?:{pattern('TURN').pattern})\S*(?: \S+){{2}}"
_BREAKS = re.compile(rf"{_BREAK}[ \t\n\r]*{_BREAK}|(?:{_BREAK}|(?<=[.!?…”\"')])\n)[ \t\n\r]*(?={_TURN})")


def parse_html(html: str) -> Any:
    """Returns the tree of `lxml.html`, at most 256 levels deep; None for a page without elements. Removes characters
    that XML forbids, because lxml refuses to write them. The parser would drop deeper levels, so this function flattens
    a deeper page: all text stays, but only titles, headings and paragraphs remain separate."""
    valid = _INVALID_REFERENCE.sub("", _INVALID.sub("", html.replace("\x0c", " ")))
    tree, whole = _parse(valid)
    return tree if whole else _parse(_TAG.sub(_flat_tag, valid))[0]


def _parse(html: str) -> tuple[Any, bool]:
    """Returns the tree, and whether the parser reached the page's end."""
    from lxml.etree import ErrorTypes, ParserError
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False)
    try:
        tree = document_fromstring(html.encode(), parser=parser)
    except ParserError:
        return None, True
    return tree, all(error.type != ErrorTypes.ERR_RESOURCE_LIMIT for error in parser.error_log)


def _flat_tag(tag: "re.Match[str]") -> str:
    name = tag[2].lower()
    if name in _KEPT:
        return tag[0]
    return "" if name in _INLINE else f"<{tag[1]}p>"


def limit_tree(tree: Any) -> list[dict[str, Any]]:
    """Removes invisible parts and parts beyond the limits. Returns the page's JSON-LD, shortened."""
    items = schema_items(tree)
    for element in list(tree.iter(*_FURNITURE)):
        element.clear(keep_tail=True)
    left = _MOST_CHARACTERS
    depths: dict[Any, int] = {}
    for number, element in enumerate(list(tree.iter())):
        depths[element] = depths.get(element.getparent(), 0) + 1
        if number >= _MOST_ELEMENTS or left <= 0 or depths[element] > _DEEPEST:
            if (parent := element.getparent()) is not None:
                parent.remove(element)
            continue
        element.text, element.tail = (element.text or "")[:left], (element.tail or "")[:left]
        left -= len(element.text) + len(element.tail)
        for name, value in element.items():
            if len(value) > (_LONGEST_TITLE if element.tag == "meta" else _LONGEST_ATTRIBUTE):
                element.set(name, "")
    for title in tree.iter("title"):
        title.text = (title.text or "")[:_LONGEST_TITLE]
    for meta in list(tree.iter("meta"))[_MOST_META:]:
        meta.attrib.clear()
    script = tree.makeelement("script", type="application/ld+json")
    script.text = json.dumps(items)
    tree.insert(0, script)
    return items


def schema_items(tree: Any) -> list[dict[str, Any]]:
    """Returns the JSON-LD objects of a page, without long texts. Skips invalid JSON."""
    left = _MOST_METADATA
    found: list[dict[str, Any]] = []
    for script in tree.xpath("//script[@type='application/ld+json']"):
        text = script.text or ""
        left -= len(text)
        if left < 0:
            break
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            continue
        for item in data if isinstance(data, list) else [data]:
            graph = item.get("@graph") if isinstance(item, dict) else None
            found += [_abridged(i) for i in (item, *(graph if isinstance(graph, list) else ())) if isinstance(i, dict)]
    return found


def _abridged(value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST_METADATA or (isinstance(value, str) and len(value) > _LONGEST_TITLE):
        return ""
    if isinstance(value, dict):
        return {k: _abridged(v, depth + 1) for k, v in value.items() if k != "@graph" and len(k) < 100}
    return [_abridged(v, depth + 1) for v in value] if isinstance(value, list) else value


def html_blocks(element: Any, form: BlockForm = "paragraph") -> Iterator[Block]:
    """Yields the blocks of an element and of the block elements inside. Text between block elements becomes a block of
    form `form`. A child's speaker applies to the child's blocks, unless an inner element names another speaker."""
    inline: list[str] = [element.text or ""]
    for child in element:
        tag = _tag_name(child)
        if tag in _BLOCKS or (tag not in _ALL_SILENT and len(child) and next(child.iter(*_BLOCKS), None) is not None):
            yield from _text_blocks("".join(inline), form)
            inline = []
            who = child.get(SPEAKER_ATTRIBUTE, "")
            quoted = tag == "blockquote"
            for block in _element_blocks(child, tag, form):
                yield replace(block, speaker=block.speaker or who, quoted=block.quoted or quoted)
        else:
            inline.append(_marked_text(child))
        inline.append(child.tail or "")
    yield from _text_blocks("".join(inline), form)


def _element_blocks(element: Any, tag: str, outer: BlockForm) -> Iterator[Block]:
    told = f"{element.get('role') or ''} {element.get('{http://www.idpf.org/2007/ops}type') or ''}"
    if not _NOTES.isdisjoint(told.split()):
        yield from (
            Block(b.text, "note") if b.form in ("item", "paragraph") else b for b in html_blocks(element, "note")
        )
    elif tag in _HEADINGS:
        yield from _text_blocks(_marked_text(element), "heading", _HEADINGS[tag])
    elif tag == "table":
        yield from _table_blocks(element)
    elif tag == "pre":  # preformatted text
        typed = text_blocks(_marked_text(element).replace(_BREAK, "\n"), Counter())
        yield from (Block(b.text, outer) if b.form == "paragraph" else b for b in typed)
    else:
        inherits = tag in _INHERITING or tag not in _BLOCKS
        yield from html_blocks(element, _FORMS.get(tag, outer if inherits else "paragraph"))


def _table_blocks(table: Any) -> Iterator[Block]:
    """Yields the caption, then the rows, then the tables inside cells. A table with one column is layout: its cells
    yield blocks, not rows."""
    for caption in table.iterchildren("caption"):
        yield from _text_blocks(_marked_text(caption), "caption")
    rows = list(_own_descendants(table, "tr"))
    cells = [list(row.iterchildren("td", "th")) for row in rows]
    if max(map(len, cells), default=0) <= 1 or any(_is_layout_cell(cell) for row in cells for cell in row):
        for cell in (cell for row in cells for cell in row):
            yield from html_blocks(cell)
        return
    lines = [" | ".join(_plain_line(_marked_text(cell, tables=False)) for cell in row) for row in cells]
    if said := [line for line in lines if line.strip(" |")]:
        yield Block("\n".join(said), "table")
    for inner in _own_descendants(table, "table"):
        yield from _table_blocks(inner)


def _own_descendants(table: Any, tag: str) -> Iterator[Any]:
    """Returns the elements with this name in a table. Elements of inner tables do not count."""
    return (e for e in table.iter(tag) if e is not table and next(e.iterancestors("table")) is table)


def _is_layout_cell(cell: Any) -> bool:
    """Whether a cell is a page column with headings or paragraphs instead of a value."""
    inside = cell.iter("h1", "h2", "h3", "p")
    if sum(1 for e in inside if _tag_name(e) != "p" or len(_marked_text(e).split()) > 25) > 1:
        return True
    parted = len(list(cell.iter("br"))) > 1 or next(cell.iter("table"), None) is not None
    return parted and len(_marked_text(cell, tables=False).split()) > _LONGEST_VALUE


def _marked_text(element: Any, tables: bool = True) -> str:
    """Returns an element's text, with spaces around blocks, and with marks for line breaks and for bold text."""
    tag = _tag_name(element)
    if tag == "br":
        return _BREAK
    if not isinstance(element.tag, str) or tag in _ALL_SILENT or (not tables and tag == "table"):
        return ""
    inside = (element.text or "") + "".join(_marked_text(child, tables) + (child.tail or "") for child in element)
    if inside.strip() and (tag in ("b", "strong") or (tag == "hi" and element.get("rend") == "#b")):
        return f"{_BOLD}{inside}{_BOLD_END}"
    return f" {inside} " if tag in _BLOCKS else inside


def _text_blocks(text: str, form: BlockForm, level: int = 0) -> Iterator[Block]:
    """Yields a block. If breaks divide the text into paragraphs, yields a block for each paragraph."""
    parts = [text] if form == "heading" else [line for part in _BREAKS.split(text) for line in _signed_lines(part)]
    for part in parts:
        if said := _plain_line(part):
            lead = _LEAD.match(" ".join(part.split()))
            yield Block(said, form, level, bold=len(lead[1].strip()) if lead else 0)


def _signed_lines(text: str) -> list[str]:
    """Divides a paragraph that ends with a signature: a name or closing, and below it only short lines."""
    lines = [line for line in map(str.strip, re.split(rf"[\n{_BREAK}]", text)) if line]
    ended = [pattern("SENTENCE").search(_plain_line(line)) or len(line) > _LONGEST_LINE for line in lines]
    begin = len(lines) - len(list(takewhile(operator.not_, reversed(ended))))
    first = _plain_line("".join(lines[begin:][:1]))
    apart = not begin or pattern("SENTENCE").search(_plain_line(lines[begin - 1]))
    signed = apart and any(pattern(name).fullmatch(first) for name in ("SIGNED", "CLOSING"))
    return ["\n".join(lines[:begin]), *lines[begin:]] if signed else [text]


def _plain_line(text: str) -> str:
    return " ".join(text.replace(_BREAK, " ").translate(_MARKS).split())


def _tag_name(element: Any) -> str:
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else "!"
