"""Parses Word documents (.docx) in both formats, transitional and strict. mammoth converts the visible text to HTML."""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from tools.documents.document import document_of_blocks, file_title
from tools.documents.html_blocks import html_blocks, parse_html
from tools.documents.html_cleanup import drop_element, remove_non_text, repeat_merged_cells
from tools.documents.office_zip import (
    HYPHENS,
    attribute,
    find_child,
    local_name,
    open_package,
    parse_number,
    style_form,
)
from tools.passages import Block, SourceDocument

_NOTES = ("footnotes", "endnotes")
# Styles of the lines in tables of contents and indexes.
_CONTENTS = re.compile(r"toc ?\d|(?:toc|contents) heading|table of (?:figures|authorities)|index ?\d|contents ?\d")
_PARTS = ("styles", "numbering", "comments", *_NOTES)
_MARKED = re.compile("\ue021([^\ue021]*)\ue021 ?(.*)")  # a comment's author, then the comment's paragraph
_NOBODY = ("", "Author", "Microsoft Office User")  # Word's placeholders for an unknown or removed author
_DROPPED = {
    **dict.fromkeys(("del", "moveFrom"), "deleted changes"),
    **dict.fromkeys(("pic", "imagedata"), "images"),
    "altChunk": "embedded documents",
    "chart": "charts",
    "OLEObject": "objects",
    "relIds": "diagrams",
    "oMath": "formulas",
}


def read_docx(path: Path, name: str) -> Iterator[SourceDocument]:
    left_out: Counter[str] = Counter()
    with open_package(path, name, "a Word document", TypeError, AttributeError, ExpatError) as package:
        main = dict(reversed(package.relations())).get("officeDocument", "word/document.xml")
        root = package.xml(main)
        if local_name(root) != "document":
            raise ValueError("its main part is something else")
        related = package.relations(main)
        parts = {kind: package.xml(part) for kind, part in related if kind in _PARTS}
        for kind, part in dict.fromkeys(each for each in related if each[0] in ("header", "footer")):
            left_out[f"running {kind}s"] += any(local_name(e) == "t" and e.text for e in package.xml(part).iter())
        blocks = _blocks(_html({"document": root, **parts}, left_out), left_out)
        properties = package.properties()
    yield document_of_blocks(name, blocks, {}, left_out, file_title(name), properties)


def _html(parts: dict[str, Any], left_out: Counter[str]) -> str:
    """Converts with mammoth, which gets only text, notes and styles, rewritten so that it follows no link."""
    import mammoth
    from lxml import etree

    notes = {attribute(note, "id") + kind for kind in _NOTES for note in parts.get(kind, ())}
    for where in ("document", "comments", *_NOTES):
        if where in parts:
            _drop_hidden(parts[where], notes, left_out)
    comments = {attribute(each, "id"): _comment_paragraphs(each) for each in parts.pop("comments", ())}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for where, part in parts.items():
            _lift_boxes_and_comments(part, comments)
            archive.writestr(f"word/{where}.xml", etree.tostring(part, encoding="utf-8"))
    left_out["comments"] += len(comments)
    made = mammoth.convert_to_html(file, style_map="\n".join(_style_map(parts.get("styles", ()))))
    return str(made.value).translate(HYPHENS)


def _style_map(styles: Any) -> Iterator[str]:
    """Yields mammoth's rules for paragraphs, by style name and outline level."""
    for style in styles:
        name = _value_of_child(style, "name")
        form, outline = style_form(name), parse_number(_value_of_child(style, "pPr", "outlineLvl"), 9)
        level = form[1] if form and form[0] == "heading" else outline + 1 if 0 <= outline < 9 else 0
        quoted = name.replace("\\", "\\\\").replace("'", "\\'")
        if _CONTENTS.fullmatch(name.lower().strip()):
            yield f"p[style-name='{quoted}'] => !"
        elif level:
            yield f"p[style-name='{quoted}'] => h{min(level, 6)}:fresh"
        elif form and form[0] == "caption":
            yield f"p[style-name='{quoted}'] => figcaption:fresh"


def _value_of_child(element: Any, *path: str) -> str:
    found = find_child(element, *path)
    return attribute(found, "val") if found is not None else ""


def _drop_hidden(root: Any, notes: set[str], left_out: Counter[str]) -> None:
    """Removes invisible content, and references to parts that mammoth does not receive."""
    for each in list(root.iter()):
        name = local_name(each)
        properties = find_child(each, f"{name}Pr")
        counted = _DROPPED.get(name, "")
        if name == "r" and properties is not None and _is_on(find_child(properties, "vanish")):
            counted = "hidden texts"
        elif name == "sdt" and properties is not None and _is_on(find_child(properties, "showingPlcHdr")):
            counted = "prompts to fill in"
        elif name == "hyperlink":
            each.attrib.clear()
        elif name.endswith("noteReference") and attribute(each, "id") + name.replace("Reference", "s") not in notes:
            drop_element(each)
        if counted and local_name(each.getparent()) not in ("trPr", "rPr"):
            left_out[counted] += 1
            drop_element(each)


def _comment_paragraphs(comment: Any) -> list[Any]:
    """Returns the paragraphs of a comment, each after its author's name."""
    paragraphs, name = list(comment.iter("{*}p")), " ".join(attribute(comment, "author").split())
    for each in paragraphs:
        run, text = (each.makeelement(each.tag[:-1] + part) for part in "rt")
        text.text = f"\ue021{'unnamed commenter' if name in _NOBODY else name}\ue021"
        run.append(text)
        each.insert(int(len(each) > 0 and local_name(each[0]) == "pPr"), run)
    return paragraphs


def _lift_boxes_and_comments(root: Any, comments: dict[str, list[Any]]) -> None:
    """Moves text boxes and comments, which mammoth cannot convert in place, behind the outermost block around."""
    hanging = root.iter("{*}txbxContent", "{*}commentReference", "{*}commentRangeEnd")
    for each in reversed(list(hanging)):  # keeps the order within a paragraph
        place = next(reversed(list(each.iterancestors("{*}p", "{*}tbl"))), None)
        if place is None:
            continue
        while find_child(place, "pPr", "rPr", "del") is not None and place.getnext() is not None:
            place = place.getnext()  # the next paragraph continues a paragraph whose end is deleted
        box = local_name(each) == "txbxContent"
        for paragraph in reversed(list(each) if box else comments.pop(attribute(each, "id"), [])):
            place.addnext(paragraph)


def _is_on(element: Any) -> bool:
    return element is not None and attribute(element, "val") not in ("0", "false", "off")


def _blocks(html: str, left_out: Counter[str]) -> list[Block]:
    if not html.strip():
        return []
    body = parse_html(f"<html><body>{html}</body></html>")
    left_out.update(remove_non_text(body))
    for table in body.iter("table"):
        repeat_merged_cells(table)
    pairs = ((block, _MARKED.fullmatch(block.text)) for block in html_blocks(body))
    return [Block(comment[2], "note", speaker=comment[1]) if comment else block for block, comment in pairs]
