"""What every reader shares: from bytes to text, and from text or blocks to a document."""

import codecs
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tools.errors import SourceError
from tools.passages import SOURCE_KINDS, Block, SourceDocument, SourceKind
from tools.text.sentences import clean

_FIELDS = ("title", "url", "publisher", "kind", "date")
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?![\d-])")


def read_text(path: Path, name: str) -> str:
    """The text of a file. Raises SourceError where it is none, OSError where it cannot be opened."""
    data = path.read_bytes()
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _plain_lines(data.decode("utf-16", errors="replace"))
    if b"\x00" in data[:4096] or data.startswith((b"%PDF", b"PK\x03\x04")):
        raise SourceError(f"{name}: this is not a text file, whatever its name says. Give it its right ending.")
    try:
        return _plain_lines(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        # What older Windows files are; every byte has a reading.
        return _plain_lines(data.decode("cp1252", errors="replace"))


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def document_of_blocks(
    external_id: str, blocks: Iterable[Block], fields: Mapping[str, Any], left_out: Mapping[str, int] | None = None
) -> SourceDocument:
    """A document with its structure; its text is what the blocks say, an empty line between them.

    A title that is missing among the fields is the first heading.
    """
    taken = tuple(b for b in blocks if b.text.strip())
    heading = next((b.text for b in taken if b.form == "heading"), "")
    made = document(
        external_id, "\n\n".join(b.text for b in taken), {**fields, "title": fields.get("title") or heading}
    )
    counts = {what: count for what, count in (left_out or {}).items() if count}
    return replace(made, blocks=taken, left_out=counts)


def document_of_file(
    name: str, blocks: Iterable[Block], title: str, date: str, left_out: Mapping[str, int]
) -> SourceDocument:
    """A document with its structure, called by its own title, its first heading or the file's name."""
    taken = tuple(blocks)
    heading = any(b.form == "heading" and b.text.strip() for b in taken)
    return document_of_blocks(
        name, taken, {"title": title or ("" if heading else title_of(name)), "date": date}, left_out
    )


def document(external_id: str, text: str, fields: Mapping[str, Any]) -> SourceDocument:
    """A document of plain text, its fields put in order; a field of no known value is left empty."""
    values = {k: clean(str(fields.get(k) or "")).strip() for k in _FIELDS}
    kind = values["kind"].lower()
    date = _DATE.match(values["date"])
    return SourceDocument(
        external_id=printable(external_id),
        text=clean(text).strip(),
        title=values["title"],
        url=values["url"],
        publisher=values["publisher"],
        kind=cast(SourceKind, kind) if kind in SOURCE_KINDS else "unknown",
        date=date[0] if date else "",
    )


def row_key(file: str, row: str) -> str:
    """What tells a row of a table from the rows of others that have the same id."""
    return printable(f"{file}#{row}")


def printable(name: str) -> str:
    """The name of a file that is not UTF-8 (or an id that is not Unicode) as text that can be stored and shown."""
    return name.encode("utf-8", "backslashreplace").decode()


def title_of(name: str) -> str:
    """What a file is called where it has no title of its own."""
    return re.sub(r"[_-]+", " ", Path(name).stem).strip()
