"""Reads files into documents: text, Markdown, HTML, PDF, Word, and rows of csv and jsonl."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from tools.errors import SourceError
from tools.passages import SOURCE_KINDS, SourceDocument, SourceKind

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*\n", re.DOTALL)
_MARKDOWN = re.compile(r"^#{1,6}\s+|^>\s?|^[-*+]\s+|\*\*|__|`|!\[[^\]]*\]\([^)]*\)", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_HEADING = re.compile(r"^#{1,6}\s+(.+)$", re.MULTILINE)
_FIELDS = ("title", "url", "publisher", "kind", "date")


def read_file(path: Path, name: str) -> Iterator[SourceDocument]:
    """The documents in a file; `name` is the path as the user gave it, the document's id.

    Raises SourceError, naming the file (and the line, for rows), when it cannot be read as what its name says.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise SourceError(f"{name}: files ending in '{path.suffix}' cannot be read. These can: {', '.join(READERS)}.")
    try:
        yield from reader(path, name)
    except OSError as exc:
        raise SourceError(f"{name}: cannot be opened ({exc.strerror or exc}).") from exc


def _text(path: Path, name: str) -> str:
    data = path.read_bytes()
    if b"\x00" in data[:4096] or data.startswith((b"%PDF", b"PK\x03\x04")):
        raise SourceError(f"{name}: this is not a text file, whatever its name says. Give it its right ending.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")  # what older Windows files are; every byte has a reading


def _read_text(path: Path, name: str) -> Iterator[SourceDocument]:
    yield _document(name, _text(path, name), {"title": _title_of(path)})


def _read_markdown(path: Path, name: str) -> Iterator[SourceDocument]:
    text = _text(path, name)
    fields: dict[str, Any] = {}
    if match := _FRONT_MATTER.match(text):
        fields = _front_matter(match[1], name)
        text = text[match.end() :]
    heading = _HEADING.search(text)
    fields.setdefault("title", heading[1].strip() if heading else _title_of(path))
    yield _document(name, _MARKDOWN.sub("", _LINK.sub(r"\1", text)), fields)


def _front_matter(block: str, name: str) -> dict[str, Any]:
    import yaml

    try:
        fields = yaml.safe_load(block)
    except yaml.YAMLError as exc:
        raise SourceError(
            f"{name}: the block between the '---' lines is not valid YAML ({exc}). Mend or remove it."
        ) from exc
    return fields if isinstance(fields, dict) else {}


def _read_html(path: Path, name: str) -> Iterator[SourceDocument]:
    text = _text(path, name)
    yield html_document(text, name)


def html_document(html: str, name: str, url: str = "") -> SourceDocument:
    """The main text of a page without its furniture; raises SourceError when there is none."""
    import trafilatura

    found = trafilatura.bare_extraction(
        html, url=url or None, include_comments=False, favor_precision=True, with_metadata=True
    )
    if found is None or isinstance(found, dict) or not (found.text or "").strip():
        raise SourceError(f"{name}: no readable text was found in this page.")
    fields = {"title": found.title, "url": found.url or url, "publisher": found.sitename, "date": found.date}
    return _document(name, str(found.text), fields)


def _read_pdf(path: Path, name: str) -> Iterator[SourceDocument]:
    from pypdf import PdfReader
    from pypdf.errors import FileNotDecryptedError, PyPdfError

    try:
        reader = PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise SourceError(f"{name}: this PDF is encrypted. Save a copy without a password and ingest that.")
        text = "\n\n".join(page.extract_text() for page in reader.pages)
        title = str((reader.metadata.title if reader.metadata else None) or _title_of(path))
    except FileNotDecryptedError as exc:
        raise SourceError(f"{name}: this PDF is encrypted. Save a copy without a password and ingest that.") from exc
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        # pypdf meets damaged files in many ways; each of them means the same for the reader.
        raise SourceError(f"{name}: this PDF is damaged and cannot be read ({exc}).") from exc
    if not text.strip():
        raise SourceError(f"{name}: this PDF holds no text, only images. Run text recognition on it first.")
    yield _document(name, text, {"title": title})


def _read_docx(path: Path, name: str) -> Iterator[SourceDocument]:
    import docx
    from docx.opc.exceptions import PackageNotFoundError

    try:
        file = docx.Document(str(path))
    except (PackageNotFoundError, zipfile.BadZipFile, KeyError, ValueError) as exc:
        raise SourceError(f"{name}: this is not a Word document, or a damaged one ({exc}).") from exc
    blocks = [p.text for p in file.paragraphs]
    blocks += [" ".join(dict.fromkeys(c.text for c in row.cells)) for table in file.tables for row in table.rows]
    yield _document(name, "\n".join(blocks), {"title": file.core_properties.title or _title_of(path)})


def _read_jsonl(path: Path, name: str) -> Iterator[SourceDocument]:
    seen = 0
    for number, line in enumerate(io.StringIO(_text(path, name)), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as exc:
            raise SourceError(
                f"{name}, line {number}: not valid JSON ({exc.msg}). A line is one object with 'id' and 'text'."
            ) from exc
        if not isinstance(row, dict):
            raise SourceError(f"{name}, line {number}: a line has to be an object with 'id' and 'text'.")
        yield _row(row, f"{name}, line {number}")
        seen += 1
    if not seen:
        raise SourceError(f"{name}: the file has no rows.")


def _read_csv(path: Path, name: str) -> Iterator[SourceDocument]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(io.StringIO(_text(path, name)))
    if not {"id", "text"} <= set(reader.fieldnames or ()):
        raise SourceError(f"{name}: the first line has to name the columns, 'id' and 'text' among them.")
    try:
        for row in reader:
            yield _row(row, f"{name}, line {reader.line_num}")
    except csv.Error as exc:
        raise SourceError(f"{name}, line {reader.line_num}: not valid csv ({exc}).") from exc


def _row(row: dict[str, Any], where: str) -> SourceDocument:
    for field in ("id", "text"):
        if row.get(field) in (None, ""):
            raise SourceError(f"{where}: the field '{field}' is missing or empty.")
    return _document(str(row["id"]), str(row["text"]), row)


def _document(external_id: str, text: str, fields: dict[str, Any]) -> SourceDocument:
    values = {k: str(fields.get(k) or "").strip() for k in _FIELDS}
    kind = values["kind"].lower()
    return SourceDocument(
        external_id=external_id,
        text=text.strip(),
        title=values["title"],
        url=values["url"],
        publisher=values["publisher"],
        kind=cast(SourceKind, kind) if kind in SOURCE_KINDS else "unknown",
        date=values["date"],
    )


def _title_of(path: Path) -> str:
    return re.sub(r"[_-]+", " ", path.stem).strip()


READERS: dict[str, Callable[[Path, str], Iterator[SourceDocument]]] = {
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
