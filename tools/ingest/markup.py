"""From HTML to the blocks of a document: headings, paragraphs, items, tables, captions and notes, in reading order.

Web pages come this way, and so does every format that a library turns into HTML (Word, Markdown, EPUB).
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tools.ingest.plain import text_blocks
from tools.passages import Block, BlockForm

_FORMS: dict[str, BlockForm] = {"figcaption": "caption", "caption": "caption", "li": "item", "dd": "item"}
_INHERITING = frozenset("p div blockquote section aside".split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 "
    "h4 h5 h6 header hr html legend li main nav ol p pre section summary table tbody td tfoot th thead tr ul".split()
)
SILENT = frozenset("script style template noscript head title".split())
"""What no reader sees."""
_SILENT = SILENT | {"svg", "math"}
_LONGEST_VALUE = 60  # words
_NOTES = frozenset("doc-footnote doc-endnote footnote endnote rearnote".split())
_BREAK = "\x1e"  # where a line was broken on purpose; no text has this character
_BREAKS = re.compile(f"{_BREAK}[ \\t\\n\\r]*{_BREAK}")


def blocks_of(root: Any) -> Iterator[Block]:
    """The blocks under an element of an lxml tree; text outside of any paragraph makes a paragraph."""
    yield from _walk(root, "paragraph")


def _walk(element: Any, form: BlockForm) -> Iterator[Block]:
    """Blocks of an element that may hold others: what stands between those is a block of its own, of this form."""
    inline: list[str] = [element.text or ""]
    for child in element:
        tag = _tag(child)
        if tag in _BLOCKS or (tag not in _SILENT and _holds_blocks(child)):
            yield from _block("".join(inline), form)
            inline = []
            yield from _of(child, tag, form)
        else:
            inline.append(_text(child))
        inline.append(child.tail or "")
    yield from _block("".join(inline), form)


def _holds_blocks(element: Any) -> bool:
    return len(element) > 0 and next(element.iter(*_BLOCKS), None) is not None


def _of(element: Any, tag: str, outer: BlockForm) -> Iterator[Block]:
    if _is_note(element):
        yield from (Block(b.text, "note") if b.form in ("item", "paragraph") else b for b in _walk(element, "note"))
    elif tag in _HEADINGS:
        yield from _block(_text(element), "heading", _HEADINGS[tag])
    elif tag == "table":
        yield from _table(element)
    elif tag == "pre":
        yield from _preformatted(element, outer)
    else:
        inherits = tag in _INHERITING or tag not in _BLOCKS
        yield from _walk(element, _FORMS.get(tag, outer if inherits else "paragraph"))


def _is_note(element: Any) -> bool:
    told = f"{element.get('role') or ''} {element.get('{http://www.idpf.org/2007/ops}type') or ''}"
    return not _NOTES.isdisjoint(told.split())


def _preformatted(element: Any, form: BlockForm) -> Iterator[Block]:
    """Text that is set as it was typed."""
    for block in text_blocks(_text(element).replace(_BREAK, "\n"), Counter()):
        yield Block(block.text, form) if block.form == "paragraph" else block


def _table(table: Any) -> Iterator[Block]:
    """The caption, then the rows; the tables inside its cells come after it, each a block of its own.

    A table of one column is no table but a frame around what it holds.
    """
    for caption in table.iterchildren("caption"):
        yield from _block(_text(caption), "caption")
    rows = list(_own(table, "tr"))
    cells = [list(row.iterchildren("td", "th")) for row in rows]
    if max(map(len, cells), default=0) <= 1 or any(_holds_text(cell) for row in cells for cell in row):
        for cell in (cell for row in cells for cell in row):
            yield from _walk(cell, "paragraph")
        return
    lines = [" | ".join(_folded(_text(cell, tables=False)) for cell in row) for row in cells]
    if said := [line for line in lines if line.strip(" |")]:
        yield Block("\n".join(said), "table")
    for inner in _own(table, "table"):
        yield from _table(inner)


def _own(table: Any, tag: str) -> Iterator[Any]:
    """The elements of this name in a table that are in no table within it."""
    for child in table:
        if child.tag == tag:
            yield child
        if child.tag != "table":
            yield from _own(child, tag)


def _holds_text(cell: Any) -> bool:
    """Whether a cell is a column of a page, with headings or paragraphs of its own, and not a value."""
    inside = cell.iter("h1", "h2", "h3", "p")
    if sum(1 for e in inside if _tag(e) != "p" or len(_text(e).split()) > 25) > 1:
        return True
    parted = len(list(cell.iter("br"))) > 1 or next(cell.iter("table"), None) is not None
    return parted and len(_text(cell, tables=False).split()) > _LONGEST_VALUE


def _text(element: Any, tables: bool = True) -> str:
    """All text inside, a space where a block ends and a mark where a line does; `tables`: with that of tables."""
    tag = _tag(element)
    if tag == "br":
        return _BREAK
    if not isinstance(element.tag, str) or tag in _SILENT or (not tables and tag == "table"):
        return ""
    inside = (element.text or "") + "".join(_text(child, tables) + (child.tail or "") for child in element)
    return f" {inside} " if tag in _BLOCKS else inside


def _block(text: str, form: BlockForm, level: int = 0) -> Iterator[Block]:
    """A block, or one for each paragraph that breaks make of the text."""
    for part in [text] if form == "heading" else _BREAKS.split(text):
        if said := _folded(part):
            yield Block(said, form, level)


def _folded(text: str) -> str:
    return " ".join(text.replace(_BREAK, " ").split())


def _tag(element: Any) -> str:
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else "!"
