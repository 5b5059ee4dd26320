"""Reads PDF: the text of its pages as blocks in reading order, without what only the pages brought."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from tools.errors import SourceError
from tools.ingest.documents import document_of_blocks, title_of
from tools.ingest.pdf_pages import Sheet, sheets_of
from tools.ingest.pdf_text import blocks_of
from tools.passages import SourceDocument

_JUNK_TITLE = re.compile(
    r"(?:untitled|no title|title|document|presentation|slide|page|layout|template|report|word document)?[\s\d_.-]*"
    r"|(?:microsoft \w+|powerpoint|adobe \w+)(?: ?-)? .*|\w:\\.*|https?:\S*|.*\btemplate\b.*|\W*"
    r"|.*\.(?:pdf|docx?|pptx?|xlsx?|indd|qxd|p65|tex|dvi|ps|rtf|odt|html?|txt)",
    re.IGNORECASE,
)


def read_pdf(path: Path, name: str) -> Iterator[SourceDocument]:
    yield pdf_document(path, name, title_of(name))


def pdf_document(file: Path | bytes, name: str, title: str = "", most_pages: int | None = None) -> SourceDocument:
    """A PDF, or its first pages; `title` counts where it has none of its own, nor a heading.

    Raises SourceError when it is encrypted, damaged or without text. Nothing bounds the time that it takes: PDFium
    cannot be stopped.
    """
    sheets, count, said = sheets_of(file, name, most_pages)
    own_title = " ".join(said.split())
    left_out = Counter({"pages after the last that is read": count - len(sheets)})
    readable = [sheet for sheet in sheets if sheet.is_readable]
    if not readable:
        raise SourceError(f"{name}: {_no_text(sheets)}. Run text recognition on it first.")
    blocks, counts = blocks_of(readable)
    left_out += counts + Counter(
        {
            "scanned pages": sum(sheet.pictures > 0 and not sheet.is_readable for sheet in sheets),
            "images": sum(sheet.pictures for sheet in readable),
            "turned lines": sum(sheet.turned for sheet in readable),
            "unreadable characters": sum(sheet.unreadable for sheet in sheets),
        }
    )
    heading = next((block.text for block in blocks if block.form == "heading"), "")
    chosen = own_title if not is_junk_title(own_title, name) else heading or title
    return document_of_blocks(name, blocks, {"title": chosen}, left_out)


def is_junk_title(title: str, name: str) -> bool:
    """Whether a title was set by a program, not by an author: a file's name, a template's, 'untitled'."""
    same = title_of(title).casefold() == title_of(PurePath(name).name).casefold()
    return not title or same or bool(_JUNK_TITLE.fullmatch(title)) or "\ufffd" in title


def _no_text(sheets: Sequence[Sheet]) -> str:
    if any(sheet.unreadable for sheet in sheets):
        return "the fonts of this PDF tell the shapes of its letters and not what they are, so it holds no text"
    if any(sheet.pictures for sheet in sheets):
        return "this PDF is scanned: it holds no text, only images"
    return "this PDF holds no text"
