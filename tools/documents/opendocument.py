"""Parses OpenDocument texts (.odt) by renaming their elements to HTML elements."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.documents.document import document_of_blocks, file_title
from tools.documents.html_blocks import html_blocks
from tools.documents.html_cleanup import drop_element, repeat_merged_cells, write_superscript_elements
from tools.documents.office_zip import (
    attribute,
    document_properties,
    find_child,
    local_name,
    open_package,
    parse_number,
)
from tools.passages import SourceDocument

_TAGS = {"p": "p", "list": "ul", "list-item": "li", "list-header": "li", "table": "table", "table-row": "tr"}
_TAGS |= {"line-break": "br", "body": "body"}
_NOT_TOLD = ""
_DROPPED = {
    "": "entities",  # an entity is no element and has no name
    "image": "images",
    **dict.fromkeys(("object", "object-ole"), "embedded objects"),
    **dict.fromkeys(("hidden-text", "hidden-paragraph"), "hidden texts"),
    **dict.fromkeys(("note-citation", "forms", "sequence-decls", "ruby-text", "title", "desc"), _NOT_TOLD),
    **dict.fromkeys(("variable-decls", "user-field-decls", "covered-table-cell", "bookmark"), _NOT_TOLD),
    **dict.fromkeys(("table-of-content", "illustration-index", "table-index", "object-index"), "lists of contents"),
    **dict.fromkeys(("user-index", "alphabetical-index"), "lists of contents"),
    "annotation": "comments",
    "tracked-changes": "lists of changes",
}
_BLOCKS = frozenset("p h1 h2 h3 h4 h5 h6 figcaption table".split())
_ABOVE = re.compile(r"super|\+?[1-9]\d*%")  # the text positions of superscripts


def read_odt(path: Path, name: str) -> Iterator[SourceDocument]:
    with open_package(path, name, "an OpenDocument text") as package:
        if package.has("META-INF/manifest.xml"):
            listed = package.xml("META-INF/manifest.xml").iter()
            if any(local_name(each) == "encryption-data" for each in listed):
                raise ValueError("it has a password, save a copy without one and ingest that")
        root = package.xml("content.xml")
        body = find_child(root, "body", "text")
        if body is None:
            raise ValueError("it holds something else than a text")
        others = package.xml("styles.xml") if package.has("styles.xml") else root
        text = _OdtText(
            {attribute(e, "name"): e for each in (others, root) for e in each.iter() if local_name(e) == "style"}
        )
        text.rename(body)
        for kind in ("header", "footer"):
            shown = (each for each in others.iter() if local_name(each) == kind and "".join(each.itertext()).strip())
            text.left_out[f"running {kind}s"] += sum(1 for _ in shown)
        properties = document_properties(package.xml("meta.xml")) if package.has("meta.xml") else {}
    yield document_of_blocks(name, html_blocks(body), {}, text.left_out, file_title(name), properties)


class _OdtText:
    """Renames elements to HTML elements. Removes hidden elements and counts them in `left_out`."""

    def __init__(self, styles: dict[str, Any]) -> None:
        self.left_out: Counter[str] = Counter()
        self._styles = styles

    def rename(self, body: Any) -> None:
        waiting = [body]
        while waiting:
            each = waiting.pop()
            if self._keeps(each, local_name(each), body):
                waiting += reversed(each)
        for table in body.iter("table"):
            repeat_merged_cells(table)
        self.left_out["note marks"] += write_superscript_elements(body)
        del self.left_out[_NOT_TOLD]

    def _keeps(self, each: Any, name: str, body: Any) -> bool:
        """Renames an element. Returns whether the element stays."""
        chain = list(self._chain(attribute(each, "style-name")))
        hidden = attribute(each, "display") == "none" or any(_property(style, "display") == "none" for style in chain)
        if name in _DROPPED or hidden:
            self.left_out[_DROPPED.get(name, "hidden texts")] += 1
            drop_element(each)
            return False
        if name in ("note", "text-box"):
            self._aside(each, name, body)
        elif name == "table-cell":
            each.tag = "td"
            each.set("rowspan", str(parse_number(attribute(each, "number-rows-spanned"), 1)))
            each.set("colspan", str(max(parse_number(attribute(each, "number-columns-spanned"), 1), 1)))
        elif name in ("s", "tab"):
            each.tag, each.text = "span", " "
        elif name == "span" and any(_ABOVE.match(_property(style, "text-position")) for style in chain):
            each.tag = "sup"
        elif name in ("p", "h"):
            names = [(attribute(style, "display-name") or attribute(style, "name")).lower() for style in chain]
            outline = min(max(parse_number(attribute(each, "outline-level"), 1), 1), 6)
            level = outline if name == "h" else int("title" in names)
            each.tag = f"h{level}" if level else "figcaption" if "caption" in names else "p"
        else:
            each.tag = _TAGS.get(name, "span")
        return True

    def _chain(self, name: str) -> Iterator[Any]:
        """Yields the style of this name and its parents."""
        seen: set[str] = set()
        while name in self._styles and name not in seen:
            seen.add(name)
            yield self._styles[name]
            name = attribute(self._styles[name], "parent-style-name")

    def _aside(self, each: Any, name: str, body: Any) -> None:
        """Moves boxes behind the paragraph or table that contains them. Moves notes to the end."""
        outer = [up for up in each.iterancestors() if up.tag in _BLOCKS]
        drop_element(each)
        each.tag = "div"
        if name == "note":
            each.set("role", "doc-footnote")
        if name == "note" or not outer:
            body.append(each)
        else:
            place = outer[-1]
            while (following := place.getnext()) is not None and following.tag == "div" and not following.get("role"):
                place = following
            place.addnext(each)


def _property(style: Any, name: str) -> str:
    found = find_child(style, "text-properties")
    return attribute(found, name) if found is not None else ""
