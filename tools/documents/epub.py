"""Parses books (.epub): chapters in the book's order, without navigation."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from tools.documents.document import decode_text, document_of_blocks, file_title
from tools.documents.html_blocks import html_blocks, parse_html
from tools.documents.html_cleanup import drop_element, drop_note_mark, is_note_mark, remove_non_text
from tools.documents.office_zip import (
    Package,
    attribute,
    document_properties,
    find_child,
    local_name,
    open_package,
    resolve_target,
)
from tools.passages import Block, SourceDocument

_MIMETYPES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_LEFT_OUT = {"noteref": "note marks", "pagebreak": "page numbers", "toc": "navigation lists", "index": "indexes"}
_LEFT_OUT |= {"landmarks": "navigation lists", "page-list": "navigation lists", "loi": "navigation lists"}
_NOTES = frozenset("footnote endnote rearnote".split())


def read_epub(path: Path, name: str) -> Iterator[SourceDocument]:
    left_out: Counter[str] = Counter()
    with open_package(path, name, "a book in EPUB") as package:
        if package.has("META-INF/encryption.xml"):  # encrypted fonts do not matter
            locked = package.xml("META-INF/encryption.xml").iter()
            uris = [attribute(each, "URI").lower() for each in locked if local_name(each) == "CipherReference"]
            if any(uri.endswith((".xhtml", ".html", ".htm", ".xml")) for uri in uris):
                raise ValueError("its chapters are encrypted, save a copy without protection and ingest that")
        container = package.xml("META-INF/container.xml")
        book = next((attribute(each, "full-path") for each in container.iter() if local_name(each) == "rootfile"), "")
        root = package.xml(book)
        blocks: list[Block] = []
        for part in _chapters(root, str(PurePosixPath(book).parent), package, left_out):
            blocks += _chapter(package.read(part), left_out)
        properties = document_properties(root)
    yield document_of_blocks(name, blocks, {}, left_out, file_title(name), properties)


def _chapters(root: Any, folder: str, package: Package, left_out: Counter[str]) -> Iterator[str]:
    """Yields the parts with text, in the book's order."""
    manifest, spine = (find_child(root, name) for name in ("manifest", "spine"))
    if manifest is None or spine is None:
        raise ValueError("it does not say which parts it has and in which order")
    items = {attribute(item, "id"): item for item in manifest}
    for reference in spine:
        item = items.get(attribute(reference, "idref"))
        if item is None or attribute(item, "media-type") not in _MIMETYPES:
            left_out["parts without text"] += 1
        elif "nav" in attribute(item, "properties").split():
            left_out["navigation pages"] += 1
        else:
            yield resolve_target(folder, attribute(item, "href"))


def _chapter(data: bytes, left_out: Counter[str]) -> Iterator[Block]:
    root = parse_html(decode_text(data, markup=True).text)
    if root is None:
        return
    for element in list(root.iter()):
        kinds = f"{element.get('epub:type') or ''} {element.get('role') or ''}".replace("doc-", "").split()
        if left := next((_LEFT_OUT[kind] for kind in kinds if kind in _LEFT_OUT), ""):
            left_out[left] += 1
            drop_element(element)
        elif element.tag == "a" and "#" in (element.get("href") or "") and is_note_mark(element):
            left_out["note marks"] += 1
            drop_note_mark(element)
        elif not _NOTES.isdisjoint(kinds):
            element.set("role", "doc-footnote")
    left_out.update(remove_non_text(root))
    yield from html_blocks(root)
