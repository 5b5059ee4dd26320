"""Opens documents that are zips of XML parts (Word, PowerPoint, OpenDocument, EPUB) within limits. Interprets style
names. Finds elements by local name, because 'strict' formats differ from the usual formats only in namespaces."""

import posixpath
import re
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tools.documents.document import title_unless_junk
from tools.errors import SourceError
from tools.passages import BlockForm

# Word stores English style names in any language. Other programs store localized names.
_HEADING = re.compile(
    r"(?:heading|header|überschrift|titre|título|titolo|kop|rubrik|overskrift|otsikko|nagłówek|nadpis|címsor|"
    r"заголовок|başlık|見出し|标题|標題|제목) ?([1-9])"
)
_CAPTIONS = {"caption", "beschriftung", "légende", "leyenda", "didascalia", "bijschrift", "legenda"}
HYPHENS = {0xAD: None, 0x2011: "-"}  # soft and non-breaking
_TITLES = {"title", "titel", "titre", "título", "titolo"}
_MOST_XML = 20_000_000  # unpacked bytes; for so many a library needs minutes, and forty times the memory
_MOST_MARKS = 750_000  # tags in a part; a library needs at least half a kilobyte of memory for each
_XML = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf", ".ncx")
_OLD_FORMAT = b"\xd0\xcf\x11\xe0"  # Office before 2007, and encrypted documents
# The dates of python-docx's and python-pptx's templates.
_TEMPLATE_DATES = ("2013-12-23T23:15:00Z", "2013-01-27T09:14:16Z", "2013-01-27T09:15:58Z")


class Package:
    """The parts of an opened document."""

    def __init__(self, zipped: zipfile.ZipFile, too_much: SourceError) -> None:
        self._zipped, self._too_much = zipped, too_much
        self._names = {name.lower(): name for name in zipped.namelist()}

    def has(self, part: str) -> bool:
        return part.lower() in self._names

    def read(self, part: str) -> bytes:
        """Returns a part's bytes. Raises KeyError for a missing part, SourceError for a part that is too long."""
        found = self._zipped.getinfo(self._names.get(part.lower(), part))
        if found.file_size > _MOST_XML:
            raise self._too_much
        data = self._zipped.read(found)
        if data.count(b"<") > _MOST_MARKS:
            raise self._too_much
        return data

    def xml(self, part: str) -> Any:
        """Returns a part's root element. Raises KeyError for a missing part, lxml's SyntaxError for a damaged part."""
        root = _parse_xml(self.read(part))
        unwrap_alternatives(root)
        return root

    def relations(self, part: str = "") -> list[tuple[str, str]]:
        """Returns the kind and name of each existing part that this part refers to. part: '' for the whole package."""
        folder, base = posixpath.split(part)
        listed = posixpath.join(folder, "_rels", f"{base}.rels")
        if not self.has(listed):
            return []
        found = []
        for each in self.xml(listed):
            target = resolve_target(folder, attribute(each, "Target"))
            if attribute(each, "TargetMode") != "External" and self.has(target):
                found.append((attribute(each, "Type").rpartition("/")[2], target))
        return found

    def properties(self) -> dict[str, str]:
        parts = [part for kind, part in self.relations() if kind == "core-properties"]
        return document_properties(self.xml(parts[0])) if parts else {}


@contextmanager
def open_package(path: Path, name: str, what: str, *errors: type[Exception]) -> Iterator[Package]:
    """Opens a zip. what: the format's name with article ('a Word document'). errors: what its library raises. Raises
    SourceError, at opening or during parsing, for a file that is no zip, damaged, or too long unpacked."""
    import lzma
    import zlib

    damaged: tuple[type[Exception], ...] = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError)
    damaged += (LookupError, ValueError, *errors)
    damaged += (SyntaxError, RuntimeError)  # lxml's errors are SyntaxErrors; a RuntimeError is a part with a password
    try:
        with path.open("rb") as file:
            if file.read(4) == _OLD_FORMAT:
                reason = "it has a password or an older format. Save it without a password in the format of its ending"
                raise SourceError(f"{name}: this is not {what} in a readable form: {reason}.")
        with zipfile.ZipFile(path) as zipped:
            much = f"more than {_MOST_XML:,} bytes of markup, or {_MOST_MARKS:,} tags in a part"
            too_much = SourceError(f"{name}: this is {what} with {much}. Split it.")
            if sum(part.file_size for part in zipped.infolist() if part.filename.lower().endswith(_XML)) > _MOST_XML:
                raise too_much
            yield Package(zipped, too_much)
    except damaged as exc:
        raise SourceError(f"{name}: this is not {what}, or a damaged one ({' '.join(str(exc).split())}).") from exc


def _parse_xml(data: bytes) -> Any:
    """Returns the root element. The parser expands no entities and fetches nothing."""
    from lxml import etree

    # Without `huge_tree` lxml refuses more than 256 nested levels. This limit bounds every walk over the tree.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    return etree.fromstring(data, parser)


def resolve_target(folder: str, target: str) -> str:
    """Returns the part that an address refers to. folder: the folder of the part that contains the address."""
    path = unquote(target.partition("#")[0]).replace("\\", "/")
    return posixpath.normpath(path[1:] if path.startswith("/") else posixpath.join(folder, path))


def document_properties(properties: Any) -> dict[str, str]:
    """Returns title, author and day from a document's properties, without template values. The day is empty if the file
    was created and saved on different days."""
    said: dict[str, str] = {}
    authors = [" ".join((each.text or "").split()) for each in properties.iter("{*}creator")]
    for each in properties.iter():
        name, first = local_name(each), said.get(local_name(each), "")
        published = attribute(each, "event") == "publication"  # a book has several dates
        said[name] = first if first and not published else " ".join((each.text or "").split())
    dates = [said[name] for name in ("modified", "date", "created", "creation-date") if said.get(name)]
    days = {date[:10] for date in dates if date not in _TEMPLATE_DATES}
    made, author = days.pop() if len(days) == 1 else "", "; ".join(authors) or said.get("initial-creator", "")
    title = title_unless_junk(said.get("title", ""))
    return {"place": "document properties", "title": title, "author": author, "made": made}


def local_name(element: Any) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """Returns the attribute with this local name, or ''."""
    for key, value in element.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return ""


def unwrap_alternatives(root: Any) -> None:
    """Replaces each `mc:AlternateContent` by its first alternative with text, else by its first alternative."""
    for each in list(root.iter("{*}AlternateContent")):
        with_text = (way for way in each if next(way.iter("{*}t"), None) is not None)
        for inner in list(next(with_text, each[0] if len(each) else ())):
            each.addprevious(inner)
        each.getparent().remove(each)


def find_child(element: Any, *path: str) -> Any:
    """Returns the element at this path of local names, or None."""
    for name in path:
        element = next((each for each in element if local_name(each) == name), None)
        if element is None:
            return None
    return element


def parse_number(text: str, otherwise: int = 0) -> int:
    """Returns a whole number, or `otherwise` for any other text."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else otherwise


def style_form(name: str) -> tuple[BlockForm, int] | None:
    """Returns the block form and heading level that a style's name means; None for an unknown name."""
    name = name.lower().strip()
    if name in _CAPTIONS:
        return "caption", 0
    if name in _TITLES:
        return "heading", 1
    if name.startswith(("list bullet", "list number")):
        return "item", 0
    match = _HEADING.fullmatch(name)
    return ("heading", int(match[1])) if match else None
