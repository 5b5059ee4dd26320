"""From HTML to the blocks of a document: headings, paragraphs, items, tables, captions and notes, in reading order.

Web pages come this way, and so does every format that a library turns into HTML (Word, Markdown, EPUB). A tree is
decoded as browsers do and bounded: what the extraction of the text does with it takes time in the square of the number
of elements (under 1 s for 15,000) and of the length of some attributes and metadata. So whatever exceeds what honest
pages have is left out.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tools.documents.plain import text_blocks
from tools.language.names import pattern
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
# What libxml2 reads and lxml then refuses to write.
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
SILENT = frozenset("script style template noscript head title".split())
"""What no reader sees."""
SPEAKER = "{steelman}speaker"
"""Who says what an element holds; a page cannot have an attribute of this name."""
_SILENT = SILENT | {"svg", "math"}
_LONGEST_VALUE = 60  # words
_NOTES = frozenset("doc-footnote doc-endnote footnote endnote rearnote".split())
_BREAK = "\x1e"  # where a line was broken on purpose; no text has this character
_BOLD, _BOLD_END = "\ue002", "\ue003"  # around what is bold
_LEAD = re.compile(f"{_BOLD}([^{_BOLD_END}]*){_BOLD_END}")
_MARKS = str.maketrans("", "", _BOLD + _BOLD_END)
# Two breaks end a paragraph, and so does one line end before a speaker's tag.
_TURN = rf"{_BOLD}?(?:{pattern('TURN').pattern})\S*(?: \S+){{2}}"
_BREAKS = re.compile(rf"{_BREAK}[ \t\n\r]*{_BREAK}|(?:{_BREAK}|(?<=[.!?…”\"')])\n)[ \t\n\r]*(?={_TURN})")


def parse(html: str) -> Any:
    """The page's tree as `lxml.html` has it, which is at most 256 levels deep; None for a page without any element.

    What no XML may hold is left out, since lxml refuses to write it when the tree is changed; a form feed is a space.
    Of a page that is deeper, as one whose elements nobody closes, only titles, headings and paragraphs are kept apart:
    the parser stops where it is too deep, and the rest of the text would be lost without a word.
    """
    valid = _INVALID_REFERENCE.sub("", _INVALID.sub("", html.replace("\x0c", " ")))
    tree, whole = _tree_of(valid)
    return tree if whole else _tree_of(_TAG.sub(_flat, valid))[0]


def _tree_of(html: str) -> tuple[Any, bool]:
    """The tree, and whether it was read to its end."""
    from lxml.etree import ErrorTypes, ParserError
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False)
    try:
        tree = document_fromstring(html.encode(), parser=parser)
    except ParserError:
        return None, True
    return tree, all(error.type != ErrorTypes.ERR_RESOURCE_LIMIT for error in parser.error_log)


def _flat(tag: "re.Match[str]") -> str:
    name = tag[2].lower()
    if name in _KEPT:
        return tag[0]
    return "" if name in _INLINE else f"<{tag[1]}p>"


def shorten(tree: Any) -> list[dict[str, Any]]:
    """Takes out what no reader sees, and what exceeds the limits of this module: what follows the last element that
    is read, what lies too deep, and texts that no attribute needs. The page's JSON-LD stays, and is given, in brief."""
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
    """The objects of a page's JSON-LD that describe it, without their long texts; what is no JSON is left out."""
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
            found += [_brief(i) for i in (item, *(graph if isinstance(graph, list) else ())) if isinstance(i, dict)]
    return found


def _brief(value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST_METADATA or (isinstance(value, str) and len(value) > _LONGEST_TITLE):
        return ""
    if isinstance(value, dict):
        return {k: _brief(v, depth + 1) for k, v in value.items() if k != "@graph" and len(k) < 100}
    return [_brief(v, depth + 1) for v in value] if isinstance(value, list) else value


def blocks_of(root: Any) -> Iterator[Block]:
    """The blocks under an element of an lxml tree; text outside of any paragraph makes a paragraph."""
    yield from _walk(root, "paragraph")


def _walk(element: Any, form: BlockForm) -> Iterator[Block]:
    """Blocks of an element that may hold others: what stands between those is a block of its own, of this form."""
    inline: list[str] = [element.text or ""]
    for child in element:
        tag = _tag(child)
        if tag in _BLOCKS or (tag not in _SILENT and len(child) and next(child.iter(*_BLOCKS), None) is not None):
            yield from _block("".join(inline), form)
            inline = []
            yield from _of(child, tag, form)
        else:
            inline.append(_text(child))
        inline.append(child.tail or "")
    yield from _block("".join(inline), form)


def _of(element: Any, tag: str, outer: BlockForm) -> Iterator[Block]:
    """The blocks of an element; what it holds is said by its speaker, or by one within it."""
    who = element.get(SPEAKER, "")
    yield from (replace(b, speaker=b.speaker or who) for b in _formed(element, tag, outer))


def _formed(element: Any, tag: str, outer: BlockForm) -> Iterator[Block]:
    told = f"{element.get('role') or ''} {element.get('{http://www.idpf.org/2007/ops}type') or ''}"
    if not _NOTES.isdisjoint(told.split()):
        yield from (Block(b.text, "note") if b.form in ("item", "paragraph") else b for b in _walk(element, "note"))
    elif tag in _HEADINGS:
        yield from _block(_text(element), "heading", _HEADINGS[tag])
    elif tag == "table":
        yield from _table(element)
    elif tag == "pre":  # text that is set as it was typed
        typed = text_blocks(_text(element).replace(_BREAK, "\n"), Counter())
        yield from (Block(b.text, outer) if b.form == "paragraph" else b for b in typed)
    else:
        inherits = tag in _INHERITING or tag not in _BLOCKS
        yield from _walk(element, _FORMS.get(tag, outer if inherits else "paragraph"))


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
    return (e for e in table.iter(tag) if e is not table and next(e.iterancestors("table")) is table)


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
    if inside.strip() and (tag in ("b", "strong") or (tag == "hi" and element.get("rend") == "#b")):
        return f"{_BOLD}{inside}{_BOLD_END}"
    return f" {inside} " if tag in _BLOCKS else inside


def _block(text: str, form: BlockForm, level: int = 0) -> Iterator[Block]:
    """A block, or one for each paragraph that breaks make of the text."""
    for part in [text] if form == "heading" else _BREAKS.split(text):
        if said := _folded(part):
            lead = _LEAD.match(" ".join(part.split()))
            yield Block(said, form, level, bold=len(lead[1].strip()) if lead else 0)


def _folded(text: str) -> str:
    return " ".join(text.replace(_BREAK, " ").translate(_MARKS).split())


def _tag(element: Any) -> str:
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else "!"
