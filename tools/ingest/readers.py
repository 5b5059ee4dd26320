"""Reads files into documents: text, Markdown, HTML, PDF, Word, and rows of csv and jsonl."""

import codecs
import csv
import io
import json
import logging
import math
import re
import time
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from tools.errors import SourceError
from tools.passages import SOURCE_KINDS, SourceDocument, SourceKind
from tools.text.sentences import clean

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_MARKDOWN = re.compile(r"^(?:[-*_][ \t]*){3,}$|^#{1,6}\s+|^>[ \t]?|^[-*+]\s+|\*\*|__|`", re.MULTILINE)
_ADDRESS = r"\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)"
# What a bracket opens ends at the next one: a file of nothing but brackets would be searched to its end from each.
_IMAGE = re.compile(rf"!\[[^\[\]]*+\]{_ADDRESS}")
_LINK = re.compile(rf"\[([^\[\]]*+)\]{_ADDRESS}")
_HEADING = re.compile(r"^#{1,6}\s+(.+)$", re.MULTILINE)
_FIELDS = ("title", "url", "publisher", "kind", "date")
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?![\d-])")
_MOST_WRONG_ROWS = 20
_MOST_UNPACKED, _MOST_XML = 400_000_000, 20_000_000  # bytes; XML takes forty times its size while it is read
_PDF_SECONDS = 300.0


def read_file(path: Path, name: str, skip: Callable[[SourceError], None] | None = None) -> Iterator[SourceDocument]:
    """The documents in a file; `name` is the path as the user gave it, the document's id.

    Raises SourceError, naming the file (and the line, for rows), when it cannot be read as what its name says.
    A wrong row goes to `skip`, where that is given, and the rows after it are still read.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise SourceError(f"{name}: files ending in '{path.suffix}' cannot be read. These can: {', '.join(READERS)}.")
    try:
        wrong = 0
        for found in reader(path, name):
            if isinstance(found, SourceDocument):
                yield found
                continue
            wrong += 1
            if skip is None or wrong > _MOST_WRONG_ROWS:
                raise found
            skip(found)
    except OSError as exc:
        raise SourceError(f"{name}: cannot be opened ({exc.strerror or exc}).") from exc


def _text(path: Path, name: str) -> str:
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


def _read_text(path: Path, name: str) -> Iterator[SourceDocument]:
    yield _document(name, _text(path, name), {"title": _title_of(name)})


def _read_markdown(path: Path, name: str) -> Iterator[SourceDocument]:
    text = _text(path, name)
    fields: dict[str, Any] = {}
    if (match := _FRONT_MATTER.match(text)) and (found := _front_matter(match[1], name)) is not None:
        fields, text = found, text[match.end() :]
    heading = _HEADING.search(text)
    fields["title"] = fields.get("title") or (heading[1].strip() if heading else _title_of(name))
    yield _document(name, _MARKDOWN.sub("", _LINK.sub(r"\1", _IMAGE.sub("", text))), fields)


def _front_matter(block: str, name: str) -> dict[str, Any] | None:
    """The fields of the block; None for text that merely stands between two rules."""
    import yaml

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(block, Loader=yaml.SafeLoader)):
            raise SourceError(f"{name}: the block between the '---' lines has aliases (*). Write them out.")
        fields = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, RecursionError) as exc:  # a ValueError is a date that no calendar has
        raise SourceError(
            f"{name}: the block between the '---' lines is not valid YAML ({_folded(exc)}). Mend or remove it."
        ) from exc
    return fields if isinstance(fields, dict) else None


def _folded(exc: Exception) -> str:
    return " ".join(str(exc).split())


def _read_html(path: Path, name: str) -> Iterator[SourceDocument]:
    text = _text(path, name)
    yield html_document(text, name)


def html_document(html: Any, name: str, url: str = "") -> SourceDocument:
    """The main text of a page without its furniture; `html` is its source or the tree that lxml made of it.

    Raises SourceError when there is none.
    """
    import trafilatura

    found = trafilatura.bare_extraction(
        html, url=url or None, include_comments=False, favor_precision=True, with_metadata=True
    )
    if found is None or isinstance(found, dict) or not (found.text or "").strip():
        raise SourceError(f"{name}: no readable text was found in this page.")
    fields = {"title": found.title, "url": found.url or url, "publisher": found.sitename, "date": found.date}
    return _document(name, str(found.text), fields)


def _read_pdf(path: Path, name: str) -> Iterator[SourceDocument]:
    yield pdf_document(path, name, _title_of(name), seconds=_PDF_SECONDS)


def pdf_document(
    file: Path | BinaryIO, name: str, title: str = "", most_pages: int | None = None, seconds: float = math.inf
) -> SourceDocument:
    """The text of a PDF, or of its first pages; `title` counts where it has none of its own.

    Raises SourceError when it is encrypted, damaged or without text, or takes longer than `seconds` to read.
    """
    import struct
    import zlib

    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it makes of a damaged file is told below
    end = time.monotonic() + seconds

    def watch(*_: object) -> None:  # called before each drawing operation
        if time.monotonic() > end:
            raise SourceError(f"{name}: this PDF takes too long to read.")

    try:
        reader = PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            raise SourceError(f"{name}: this PDF is encrypted. Save a copy without a password and ingest that.")
        watcher = None if seconds == math.inf else watch
        pages = islice(reader.pages, most_pages)
        text = "\n\n".join(page.extract_text(visitor_operand_before=watcher) for page in pages)
        title = str((reader.metadata.title if reader.metadata else None) or title)
    except FileNotDecryptedError as exc:
        raise SourceError(f"{name}: this PDF is encrypted. Save a copy without a password and ingest that.") from exc
    except (
        *(PyPdfError, DependencyError, ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError),
        *(TypeError, ValueError, struct.error, zlib.error),
    ) as exc:
        # pypdf meets damaged files in many ways; each of them means the same for the reader.
        raise SourceError(f"{name}: this PDF is damaged and cannot be read ({exc}).") from exc
    if not text.strip():
        raise SourceError(f"{name}: this PDF holds no text, only images. Run text recognition on it first.")
    return _document(name, text, {"title": title})


def _read_docx(path: Path, name: str) -> Iterator[SourceDocument]:
    import zlib

    import docx
    from docx.opc.exceptions import PackageNotFoundError

    try:
        with zipfile.ZipFile(path) as packed:
            sizes = [(part.file_size, part.filename.endswith((".xml", ".rels"))) for part in packed.infolist()]
        if sum(size for size, _ in sizes) > _MOST_UNPACKED or sum(size for size, xml in sizes if xml) > _MOST_XML:
            most = f"{_MOST_XML:,} bytes of text and its marking, or {_MOST_UNPACKED:,} in all"
            raise SourceError(f"{name}: this Word document unpacks to more than {most}. Split it.")
        file = docx.Document(str(path))
        text = "\n".join(_docx_blocks(file))
        title = file.core_properties.title
    except (
        *(PackageNotFoundError, zipfile.BadZipFile, zlib.error, EOFError),
        # lxml's errors are SyntaxErrors; the others are python-docx's for a part that is missing or another one.
        *(SyntaxError, AttributeError, LookupError, NotImplementedError, ValueError),
    ) as exc:
        raise SourceError(f"{name}: this is not a Word document, or a damaged one ({exc}).") from exc
    # python-docx reads its own placeholder where a file has no title.
    yield _document(name, text, {"title": title if title not in ("", "Word Document") else _title_of(name)})


def _docx_blocks(file: Any) -> Iterator[str]:
    """Paragraphs and rows of tables, in the order of the document."""
    for block in file.iter_inner_content():
        if hasattr(block, "rows"):
            yield from (" ".join(dict.fromkeys(cell.text for cell in row.cells)) for row in block.rows)
        else:
            yield block.text


def _read_jsonl(path: Path, name: str) -> Iterator[SourceDocument | SourceError]:
    seen = 0
    for number, line in enumerate(io.StringIO(_text(path, name)), start=1):
        if not line.strip():
            continue
        seen += 1
        where = f"{name}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as exc:
            yield SourceError(f"{where}: not valid JSON ({exc}). A line is one object with 'id' and 'text'.")
            continue
        if not isinstance(row, dict):
            yield SourceError(f"{where}: a line has to be an object with 'id' and 'text'.")
            continue
        yield _row(row, where)
    if not seen:
        raise SourceError(f"{name}: the file has no rows.")


def _read_csv(path: Path, name: str) -> Iterator[SourceDocument | SourceError]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(io.StringIO(_text(path, name)))
    try:
        if not {"id", "text"} <= set(reader.fieldnames or ()):
            raise SourceError(f"{name}: the first line has to name the columns, 'id' and 'text' among them.")
        for row in reader:
            yield _row(row, f"{name}, line {reader.line_num}")
    except csv.Error as exc:
        raise SourceError(f"{name}, line {reader.line_num}: not valid csv ({exc}).") from exc


def _row(row: dict[str, Any], where: str) -> SourceDocument | SourceError:
    for field, kinds in (("id", (str, int)), ("text", (str,))):
        if row.get(field) in (None, ""):
            return SourceError(f"{where}: the field '{field}' is missing or empty.")
        if not isinstance(row[field], kinds):
            return SourceError(f"{where}: the field '{field}' has to be text.")
    return _document(str(row["id"]), row["text"], row)


def _document(external_id: str, text: str, fields: dict[str, Any]) -> SourceDocument:
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


def printable(name: str) -> str:
    """The name of a file that is not UTF-8 (or an id that is not Unicode) as text that can be stored and shown."""
    return name.encode("utf-8", "backslashreplace").decode()


def _title_of(name: str) -> str:
    return re.sub(r"[_-]+", " ", Path(name).stem).strip()


READERS: dict[str, Callable[[Path, str], Iterator[SourceDocument | SourceError]]] = {
    ".txt": _read_text,
    ".md": _read_markdown,
    ".markdown": _read_markdown,
    ".html": _read_html,
    ".htm": _read_html,
    ".pdf": _read_pdf,
    ".docx": _read_docx,
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
}
