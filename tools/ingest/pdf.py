"""Reads PDF: the text of its pages as blocks in reading order, without what only the pages brought."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from tools.errors import SourceError
from tools.ingest.documents import document_of_blocks, title_of
from tools.ingest.pdf_blocks import BlockMaker, Part, parts_of
from tools.ingest.pdf_columns import strips_of
from tools.ingest.pdf_layout import regions, rows_of
from tools.ingest.pdf_margins import without_contents, without_margins
from tools.ingest.pdf_pages import PdfFile, Sheet, open_pdf
from tools.ingest.pdf_scans import DOTS_PER_INCH, recognised, recogniser
from tools.passages import Block, SourceDocument

_JUNK_TITLE = re.compile(
    r"(?:untitled|no title|title|document|presentation|slide|page|dokument|doc|layout|template|default|normal|report|"
    r"brochure|word document|powerpoint presentation)?[\s\d_.-]*"
    r"|(?:microsoft (?:word|powerpoint|excel)|powerpoint|word|adobe \w+) ?- .*"
    r"|\S*\.(?:pdf|docx?|dotx?|pptx?|potx?|xlsx?|indd|qxd|qxp|p65|tex|dvi|ps|eps|rtf|odt|odp|html?|txt|md|ai|cdr|wpd)"
    r"|.*\.(?:docx?|dotx?|pptx?|xlsx?|indd|qxd|p65|dvi|tex|rtf|odt)"
    r"|(?:https?|file|about|data):\S*|[a-z]:\\.*|/\S+/\S*|.*\btemplate\b.*|\W*|[0-9a-f-]{16,}",
    re.IGNORECASE,
)


def read_pdf(path: Path, name: str) -> Iterator[SourceDocument]:
    yield pdf_document(path, name, title_of(name), recognise=True)


def pdf_document(
    file: Path | bytes,
    name: str,
    title: str = "",
    most_pages: int | None = None,
    recognise: bool = False,
) -> SourceDocument:
    """A PDF, or its first pages; `title` counts where it has none of its own, nor a heading.

    recognise: whether pages that are pictures are read by `tesseract`, where that is installed. Raises SourceError
    when it is encrypted, damaged or without text. Nothing bounds the time that it takes: PDFium cannot be stopped.
    """
    with open_pdf(file, name) as pdf:
        count = len(pdf) if most_pages is None else min(len(pdf), most_pages)
        sheets = [pdf.sheet(index) for index in range(count)]
        outline, own_title = pdf.outline(), " ".join(pdf.title().split())
        scans = [sheet for sheet in sheets if _is_scan(sheet)]
        program = recogniser() if recognise else ""
        read = _recognised(pdf, scans, program, name) if program else {}
        left_out = Counter({"pages after the last that is read": len(pdf) - count})
    if len(scans) == count and not any(read.values()):
        raise SourceError(_no_text(sheets, name, program))
    parts, margins = _parts(sheets)
    maker = BlockMaker(parts, outline)
    blocks = _in_order(maker.blocks(), read)
    left_out += margins + maker.left_out + _counts(sheets, scans, read)
    heading = next((block.text for block in blocks if block.form == "heading"), "")
    chosen = own_title if not is_junk_title(own_title, name) else heading or title
    return document_of_blocks(name, blocks, {"title": chosen}, left_out)


def is_junk_title(title: str, name: str) -> bool:
    """Whether a title was set by a program, not by an author: a file's name, a template's, 'untitled'."""
    same = title_of(title).casefold() == title_of(PurePath(name).name).casefold()
    return not title or same or bool(_JUNK_TITLE.fullmatch(title)) or "\ufffd" in title


def _is_scan(sheet: Sheet) -> bool:
    """Whether nothing can be read on a page: it is a picture, or empty, or its letters have no meaning."""
    letters = sum(len(piece.text) for piece in sheet.pieces)
    return letters == 0 or sheet.unreadable > letters


def _recognised(pdf: PdfFile, scans: Sequence[Sheet], program: str, name: str) -> dict[int, list[Block]]:
    """What text recognition reads on the pages that are pictures, by page."""
    found = {}
    for sheet in scans:
        if sheet.pictures or sheet.unreadable:
            image = pdf.image(sheet.number - 1, DOTS_PER_INCH)
            found[sheet.number] = recognised(program, image, sheet.number, name)
    return found


def _no_text(sheets: Sequence[Sheet], name: str, program: str) -> str:
    if any(sheet.unreadable for sheet in sheets):
        what = "the fonts of this PDF tell the shapes of its letters and not what they are, so it holds no text"
    elif any(sheet.pictures for sheet in sheets):
        what = "this PDF is scanned: it holds no text, only images"
    else:
        what = "this PDF holds no text"
    if program:
        return f"{name}: {what}, and text recognition found none."
    return f"{name}: {what}. Run text recognition on it first, or install tesseract, which is then used on it."


def _parts(sheets: Sequence[Sheet]) -> tuple[list[Part], Counter[str]]:
    pages = [[] if _is_scan(sheet) else rows_of(sheet.pieces) for sheet in sheets]
    pages, left_out = without_margins(pages, [sheet.height for sheet in sheets])
    inner = [without_contents(rows) for rows in pages]
    left_out["lines of contents"] += sum(map(len, pages)) - sum(map(len, inner))
    strips, known = strips_of(inner)
    found: list[Part] = []
    for sheet, rows, strip in zip(sheets, inner, strips, strict=True):
        for region in regions(rows, known, strip):
            found += parts_of(region, sheet.number)
    return found, left_out


def _in_order(blocks: Sequence[Block], read: dict[int, list[Block]]) -> list[Block]:
    """The blocks with those of recognised pages at their place."""
    recognised_blocks = [block for page in sorted(read) for block in read[page]]
    return sorted([*blocks, *recognised_blocks], key=lambda block: block.page) if recognised_blocks else list(blocks)


def _counts(sheets: Sequence[Sheet], scans: Sequence[Sheet], read: dict[int, list[Block]]) -> Counter[str]:
    silent = {sheet.number for sheet in scans}
    return Counter(
        {
            "scanned pages": sum(sheet.pictures > 0 and sheet.number not in read for sheet in scans),
            "pages read by text recognition": len(read),
            "images": sum(sheet.pictures for sheet in sheets if sheet.number not in silent),
            "turned lines": sum(sheet.turned for sheet in sheets if sheet.number not in silent),
            "unreadable characters": sum(sheet.unreadable for sheet in sheets if sheet.number not in read),
        }
    )
