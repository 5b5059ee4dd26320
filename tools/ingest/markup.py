"""From HTML to the blocks of a document: headings, paragraphs, items, tables, captions and notes, in reading order.

Web pages come this way, and so does every format that a library turns into HTML (Word, Markdown, EPUB).
"""

from collections.abc import Iterator
from typing import Any

from tools.passages import Block, BlockForm

_FORMS: dict[str, BlockForm] = {"figcaption": "caption", "caption": "caption", "li": "item", "dd": "item"}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 "
    "h4 h5 h6 header hr html legend li main nav ol p pre section summary table tbody td tfoot th thead tr ul".split()
)
_SILENT = frozenset("script style template noscript svg math head title".split())


def blocks_of(root: Any) -> Iterator[Block]:
    """The blocks under an element of an lxml tree; text outside of any paragraph makes a paragraph."""
    yield from _walk(root, "paragraph")


def _walk(element: Any, form: BlockForm) -> Iterator[Block]:
    """Blocks of an element that may hold others: what stands between those is a block of its own, of this form."""
    inline: list[str] = [element.text or ""]
    for child in element:
        tag = _tag(child)
        if tag not in _BLOCKS:
            inline += [] if tag in _SILENT else [_text(child)]
        else:
            yield from _block("".join(inline), form)
            inline = []
            yield from _of(child, tag, form)
        inline.append(child.tail or "")
    yield from _block("".join(inline), form)


def _of(element: Any, tag: str, outer: BlockForm) -> Iterator[Block]:
    if tag in _HEADINGS:
        yield from _block(_text(element), "heading", _HEADINGS[tag])
    elif tag == "table":
        yield from _table(element)
    else:
        yield from _walk(element, _FORMS.get(tag, outer if tag in ("p", "div", "blockquote") else "paragraph"))


def _table(table: Any) -> Iterator[Block]:
    """The caption, then the rows; the tables inside its cells come after it, each a block of its own."""
    for caption in table.iterchildren("caption"):
        yield from _block(_text(caption), "caption")
    rows = [row for row in table.iter("tr") if next(row.iterancestors("table")) is table]
    lines = [" | ".join(_folded(_text(cell, tables=False)) for cell in row.iterchildren("td", "th")) for row in rows]
    if said := [line for line in lines if line.strip(" |")]:
        yield Block("\n".join(said), "table")
    for inner in table.iter("table"):
        if inner is not table and next(inner.iterancestors("table")) is table:
            yield from _table(inner)


def _text(element: Any, tables: bool = True) -> str:
    """All text inside, a space where a line or a block ends; `tables`: with that of tables."""
    if not isinstance(element.tag, str) or _tag(element) in _SILENT or (not tables and _tag(element) == "table"):
        return ""
    inside = (element.text or "") + "".join(_text(child, tables) + (child.tail or "") for child in element)
    return f" {inside} " if _tag(element) in _BLOCKS or _tag(element) == "br" else inside


def _block(text: str, form: BlockForm, level: int = 0) -> Iterator[Block]:
    if folded := _folded(text):
        yield Block(folded, form, level)


def _folded(text: str) -> str:
    return " ".join(text.split())


def _tag(element: Any) -> str:
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else "!"
