"""Parses PDF: converts pages to blocks in reading order, without running headers, footers and page numbers. Paragraphs
continue over lines, columns and pages. The letters' size and weight identify headings."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools.documents.bylines import read_byline
from tools.documents.document import document_of_blocks, file_title, title_unless_junk
from tools.documents.pdf_pages import CELL_GAP, PdfLine, PdfPage, read_pdf_pages
from tools.documents.plain_text import LIGATURES, join_lines
from tools.errors import SourceError
from tools.language.person_names import pattern
from tools.passages import Block, SourceDocument

_SIGNED = 12  # lines below the closing of a letter, or in a head
_LONGEST_BYLINE = 60  # characters
_EDGE = 0.14  # each margin's share of a page's height
_LONGEST_MARGIN, _LONGEST_HEADING = 120, 200  # characters
_PAGE = re.compile(
    r"(?:page |p\. ?|slide |[-–—|•(] ?)*(?:\d{1,4}|[ivxlc]{1,7})(?: ?(?:of|/) ?\d{1,4})?(?: ?[-–—|•)])*", re.I
)
_LEADERS = re.compile(r"(?:\.\s?){5,}\s*\w{0,6}$")
_BULLET = re.compile(r"(?:[•◦▪‣●○■□∙·▶►✓✔➢❖]|[–—*-](?=\s))\s*(?=\S)")
_NUMBER = re.compile(r"(?:\(?(?:\d{1,2}|[a-z]|[ivx]{2,4})[.)]|\[\w{1,8}\])\s+(?=\S)")
_CAPTION = re.compile(
    r"(?:Figure|Fig\.|Table|Chart|Map|Photo|Graph|Diagram)\s+[A-Z]?[-.\dIVX]{1,9}[a-z]?\s?[:.|–—)]", re.I
)
_NOTE = re.compile(r"(?:\d{1,3}[.)]?|[*†‡§¶∗]{1,3})\s*(?=\S)")
_SENTENCE_END = re.compile(r"[.!?:…][\"'”’)\]]*$")
_LARGER, _SMALLER = 1.12, 0.93  # factors of the size of most of the text
_ALIKE, _NEAR = 0.08, 0.25  # largest relative difference: between equal sizes; to a word in another font
_INDENT = 0.8  # factor of the size of the text


@dataclass(slots=True)
class _LineGroup:
    """The lines of one block, and their pages."""

    lines: list[PdfLine]
    page: int
    last_page: int
    table: bool

    @property
    def size(self) -> float:
        return self.lines[0].size


def read_pdf(path: Path, name: str) -> Iterator[SourceDocument]:
    yield pdf_document(path, name, file_title(name))


def pdf_document(file: Path | bytes, name: str, title: str = "", most_pages: int | None = None) -> SourceDocument:
    """Returns the document of a PDF or of its first pages. title: used if the PDF has no title and no heading. Raises
    SourceError for a PDF that is encrypted, damaged or without text. Call this function in a reader process, because
    PDFium cannot be interrupted."""
    sheets, count, said = read_pdf_pages(file, name, most_pages)
    left_out = Counter({"pages after the last that is read": count - len(sheets)})
    readable = [sheet for sheet in sheets if sheet.is_readable]
    if not readable:
        raise SourceError(f"{_no_text_reason(name, sheets)}. Run text recognition on it first.")
    blocks, counts = _page_blocks(readable)
    left_out += counts + Counter(
        {
            "scanned pages": sum(sheet.pictures > sheet.unreadable == 0 for sheet in sheets if not sheet.is_readable),
            "unreadable pages": sum(sheet.unreadable > 0 for sheet in sheets if not sheet.is_readable),
            "images": sum(sheet.pictures for sheet in readable),
            "turned lines": sum(sheet.turned for sheet in readable),
            "unreadable characters": sum(sheet.unreadable for sheet in readable),
        }
    )
    # 'CreationDate' dates the text; 'ModDate' may come from later processing.
    day = re.sub(r"D:(\d{4})(\d\d)(\d\d).*", r"\1-\2-\3", said["CreationDate"])
    told = {"title": title_unless_junk(said["Title"], name), "author": said["Author"], "made": day}
    return document_of_blocks(name, blocks, {}, left_out, title, {"place": "PDF metadata", **told})


def _no_text_reason(name: str, sheets: Sequence[PdfPage]) -> str:
    if any(sheet.unreadable for sheet in sheets):
        return (
            f"{name}: the fonts of this PDF tell the shapes of its letters and not what they are, so it holds no text"
        )
    if any(sheet.pictures for sheet in sheets):
        return f"{name}: this PDF is scanned: it holds no text, only images"
    return f"{name}: this PDF holds no text"


def _page_blocks(sheets: Sequence[PdfPage]) -> tuple[list[Block], Counter[str]]:
    """Returns the blocks of the pages, and counts of removed page parts."""
    left_out: Counter[str] = Counter()
    sizes: Counter[float] = Counter()
    for line in (line for sheet in sheets for line in sheet.lines):
        sizes[round(line.size)] += len(line.text)
    body = max(sizes, key=sizes.__getitem__, default=0.0)
    parts = _line_groups(_without_margins(sheets, body, left_out), body)
    larger = sorted({round(part.size) for part in parts if part.size >= _LARGER * body}, reverse=True)
    blocks = []
    for part in parts:
        text = join_lines(" ".join(line.text.translate(LIGATURES).split()) for line in part.lines)
        if not any(c.isalnum() for c in text):
            left_out["lines without words"] += len(part.lines)
            continue
        left_out["note marks"] += sum(line.marks for line in part.lines)
        blocks.append(_group_block(part, text, body, larger))
    return blocks, left_out


def _without_margins(
    sheets: Sequence[PdfPage], body: float, left_out: Counter[str]
) -> Iterator[tuple[int, list[PdfLine]]]:
    """Yields pages without lines of contents and lines that recur at page edges, unless no other line remains."""
    pages: defaultdict[tuple[str, bool], set[int]] = defaultdict(set)  # by the output of `_margin_text`
    for sheet in sheets:
        for line in sheet.lines:
            if edge := _margin_text(sheet, line, body):
                pages[edge].add(sheet.number)
    fewest = 2 if len(sheets) <= 4 else 3
    for sheet in sheets:
        inner, left = [], Counter[str]()
        for line in sheet.lines:
            edge = _margin_text(sheet, line, body)
            if edge and (not edge[0] or len(pages[edge]) >= fewest):
                left["page numbers" if not edge[0] else "running headers" if edge[1] else "running footers"] += 1
            elif _LEADERS.search(line.text[-_LONGEST_MARGIN:]):
                left["lines of contents"] += 1
            else:
                inner.append(line)
        left_out.update(left if inner else ())
        yield sheet.number, inner or sheet.lines


def _margin_text(sheet: PdfPage, line: PdfLine, body: float) -> tuple[str, bool] | None:
    """Returns the words of a line at a page's edge, without numbers, and whether it is the top edge; else None."""
    depth = (line.base - sheet.top) / (sheet.bottom - sheet.top)
    # 'Chapter 2' in large letters is a heading.
    if _EDGE < depth < 1 - _EDGE or line.size > _LARGER * body or len(line.text) > _LONGEST_MARGIN:
        return None
    return ("" if _PAGE.fullmatch(line.text) else re.sub(r"[\d\s]+", " ", line.text.casefold()).strip()), depth < 0.5


def _line_groups(pages: Iterator[tuple[int, list[PdfLine]]], body: float) -> list[_LineGroup]:
    """Groups lines into paragraphs, headings and tables. A note or table within a paragraph follows it."""
    made: list[_LineGroup] = []
    text: _LineGroup | None = None
    for page, lines in pages:
        part: _LineGroup | None = None  # the group of the previous line on this page
        for i, line in enumerate(lines):
            # A table row has cells, and a neighbouring row has cells, too.
            table = _has_cells(line) and any(map(_has_cells, (*lines[max(0, i - 1) : i], *lines[i + 1 : i + 2])))
            signed = _is_signature(lines, i) or ((not made or page == made[0].page) and _is_byline(lines[: i + 1]))
            parted = line.base < lines[i - 1].base if table else i > 0 and _begins_paragraph(lines, i, body)
            parted |= signed
            if part and part.table == table and not parted:
                part.lines.append(line)
                continue
            floats = table or line.size < _SMALLER * body or bool(_CAPTION.match(line.text))
            if text and not (floats or signed) and _continues_paragraph(text, line):
                part = text
                part.lines.append(line)
                part.last_page = page
            else:
                part = _LineGroup([line], page, page, table)
                made.append(part)
                text = text if floats else part
    return made


def _is_signature(lines: Sequence[PdfLine], i: int) -> bool:
    """Whether a line is below the closing of a letter, near the page's end. Each such line becomes a block."""
    above = (line.text.strip() for line in lines[max(0, i - _SIGNED) : i])
    return len(lines) - i < _SIGNED and any(map(pattern("CLOSING").fullmatch, above))


def _is_byline(lines: Sequence[PdfLine]) -> bool:
    """Whether the last line, or the one above, is short and names an author or a day. It becomes a block."""
    head = [line.text for line in lines[-2:] if len(lines) <= _SIGNED and lines[-1].text[:1].isupper()]
    told = [read_byline([Block(text)]) for text in head if len(text) <= _LONGEST_BYLINE and text[:1].isupper()]
    return any(each["author"] or each["date"] for each in told)


def _has_cells(line: PdfLine) -> bool:
    first, cell, _ = line.text.partition(CELL_GAP)
    return bool(cell) and not _item_marker(f"{first} x")


def _item_marker(text: str) -> "re.Match[str] | None":
    return _BULLET.match(text) or _NUMBER.match(text)


def _begins_paragraph(lines: Sequence[PdfLine], i: int, body: float) -> bool:
    """Whether a paragraph or another column begins with this line."""
    last, line = lines[i - 1], lines[i]
    size, down, shift = max(last.size, line.size), line.base - last.base, (line.left - last.left) / line.size
    if line.size == last.size >= _LARGER * body:
        return not 0 < down < 1.6 * size  # false for a further line of a heading
    small = line.text[:1].islower()
    ended = _has_room_left(lines, i - 1) or bool(_SENTENCE_END.search(last.text))
    # A word in another font may change the size of a line.
    if abs(line.size - last.size) > _NEAR * size or not -size < down < 1.75 * size:
        return True
    if line.note or _BULLET.match(line.text) or (ended and _NUMBER.match(line.text)):
        return True
    return not small and (_has_room_left(lines, i - 1) or (ended and (shift > _INDENT or line.bold != last.bold)))


def _has_room_left(lines: Sequence[PdfLine], i: int) -> bool:
    """Whether the next line's first word would have fitted into this line. If so, the author ended the line."""
    line, following = lines[i], lines[i + 1]
    near = (other for other in lines[max(0, i - 2) : i + 4] if abs(other.size - line.size) <= _NEAR * line.size)
    edge = max(other.right for other in near if other.left < line.right and line.left < other.right)
    width = (following.right - following.left) / len(following.text)
    return line.right + (len(following.text.split(maxsplit=1)[0]) + 1.5) * width < edge


def _continues_paragraph(part: _LineGroup, line: PdfLine) -> bool:
    """Whether a paragraph continues with the first line of another column or page. A byline does not continue."""
    last = part.lines[-1]
    if len(part.lines) == 1 and any(read_byline([Block(last.text)]).values()):
        return False
    alike = abs(last.size - line.size) <= _ALIKE * last.size and last.bold == line.bold
    return alike and not _SENTENCE_END.search(last.text) and not _item_marker(line.text)


def _group_block(part: _LineGroup, text: str, body: float, larger: Sequence[int]) -> Block:
    """Returns a group as a block. The group's size, weight and beginning decide the form."""
    made = partial(Block, page=part.page, last_page=part.last_page)
    if part.table:
        return made("\n".join(line.text.translate(LIGATURES).replace(CELL_GAP, " | ") for line in part.lines), "table")
    if _CAPTION.match(text):
        return made(text, "caption")
    small, short = part.size < _SMALLER * body, len(text) <= _LONGEST_HEADING and any(map(str.isalpha, text))
    if short and part.size >= _LARGER * body:
        return made(text, "heading", min(larger.index(round(part.size)) + 1, 6))
    ends = _SENTENCE_END.search(text) and not text.endswith((":", "?"))
    if short and not (small or ends) and len(text) <= _LONGEST_HEADING // 2 and all(line.bold for line in part.lines):
        return made(text, "heading", min(len(larger) + 1, 6))
    if small and (part.lines[0].note or _NOTE.match(text)):
        return made(text if part.lines[0].note else _NOTE.sub("", text, 1), "note")
    if marker := _item_marker(text):
        # Bracketed numbers of clauses and sources stay, because texts cite them: (2), (a), [1].
        return made(text if text.startswith(("(", "[")) else text[marker.end() :], "item")
    return made(text)
