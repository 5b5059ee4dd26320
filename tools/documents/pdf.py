"""Reads PDF: the text of its pages as blocks in reading order, without what only the pages brought.

Paragraphs are joined over lines, columns and pages; headings are told by their size and weight.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools.documents.bylines import byline
from tools.documents.document import document_of_blocks, title_of, title_unless_junk
from tools.documents.pdf_pages import CELL, Line, Sheet, sheets_of
from tools.documents.plain import LIGATURES, join_lines
from tools.errors import SourceError
from tools.passages import Block, SourceDocument

_EDGE = 0.14  # of the height of a page: its margins
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
_LARGER, _SMALLER = 1.12, 0.93  # than the size of most of the text
_ALIKE, _NEAR = 0.08, 0.25  # by how much of a size another may differ: the same; of a word in another font
_INDENT = 0.8  # of the size


@dataclass(slots=True)
class _Part:
    """Lines that belong together, and the pages that they stand on."""

    lines: list[Line]
    page: int
    last_page: int
    table: bool

    @property
    def size(self) -> float:
        return self.lines[0].size


def read_pdf(path: Path, name: str) -> Iterator[SourceDocument]:
    yield pdf_document(path, name, title_of(name))


def pdf_document(file: Path | bytes, name: str, title: str = "", most_pages: int | None = None) -> SourceDocument:
    """A PDF, or its first pages; `title` counts where it has none of its own, nor a heading.

    Raises SourceError when it is encrypted, damaged or without text. Nothing bounds the time that it takes: PDFium
    cannot be stopped.
    """
    sheets, count, said = sheets_of(file, name, most_pages)
    left_out = Counter({"pages after the last that is read": count - len(sheets)})
    readable = [sheet for sheet in sheets if sheet.is_readable]
    if not readable:
        raise SourceError(f"{name}: {_no_text(sheets)}. Run text recognition on it first.")
    blocks, counts = _blocks_of(readable)
    left_out += counts + Counter(
        {
            "scanned pages": sum(sheet.pictures > sheet.unreadable == 0 for sheet in sheets if not sheet.is_readable),
            "unreadable pages": sum(sheet.unreadable > 0 for sheet in sheets if not sheet.is_readable),
            "images": sum(sheet.pictures for sheet in readable),
            "turned lines": sum(sheet.turned for sheet in readable),
            "unreadable characters": sum(sheet.unreadable for sheet in readable),
        }
    )
    # The day on which the file was made: later days ('ModDate') are those of whoever handled it.
    day = re.sub(r"D:(\d{4})(\d\d)(\d\d).*", r"\1-\2-\3", said["CreationDate"])
    told = {"title": title_unless_junk(said["Title"], name), "author": said["Author"], "made": day}
    return document_of_blocks(name, blocks, {}, left_out, title, {"place": "PDF metadata", **told})


def _no_text(sheets: Sequence[Sheet]) -> str:
    if any(sheet.unreadable for sheet in sheets):
        return "the fonts of this PDF tell the shapes of its letters and not what they are, so it holds no text"
    if any(sheet.pictures for sheet in sheets):
        return "this PDF is scanned: it holds no text, only images"
    return "this PDF holds no text"


def _blocks_of(sheets: Sequence[Sheet]) -> tuple[list[Block], Counter[str]]:
    """The blocks of the pages, and how much of what only the pages brought was left out."""
    left_out: Counter[str] = Counter()
    sizes: Counter[float] = Counter()
    for line in (line for sheet in sheets for line in sheet.lines):
        sizes[round(line.size)] += len(line.text)
    body = max(sizes, key=sizes.__getitem__, default=0.0)
    parts = _parts(_without_margins(sheets, body, left_out), body)
    larger = sorted({round(part.size) for part in parts if part.size >= _LARGER * body}, reverse=True)
    blocks = []
    for part in parts:
        text = join_lines(" ".join(line.text.translate(LIGATURES).split()) for line in part.lines)
        if not any(c.isalnum() for c in text):
            left_out["lines without words"] += len(part.lines)
            continue
        left_out["note marks"] += sum(line.marks for line in part.lines)
        blocks.append(_block(part, text, body, larger))
    return blocks, left_out


def _without_margins(sheets: Sequence[Sheet], body: float, left_out: Counter[str]) -> Iterator[tuple[int, list[Line]]]:
    """The number of each page, and its lines without lines of contents and what stands at the edge of several pages.

    A page keeps its lines where nothing else would be left of it.
    """
    pages: defaultdict[tuple[str, bool], set[int]] = defaultdict(set)  # by what `_edge` gives
    for sheet in sheets:
        for line in sheet.lines:
            if edge := _edge(sheet, line, body):
                pages[edge].add(sheet.number)
    fewest = 2 if len(sheets) <= 4 else 3
    for sheet in sheets:
        inner, left = [], Counter[str]()
        for line in sheet.lines:
            edge = _edge(sheet, line, body)
            if edge and (not edge[0] or len(pages[edge]) >= fewest):
                left["page numbers" if not edge[0] else "running headers" if edge[1] else "running footers"] += 1
            elif _LEADERS.search(line.text[-_LONGEST_MARGIN:]):
                left["lines of contents"] += 1
            else:
                inner.append(line)
        left_out.update(left if inner else ())
        yield sheet.number, inner or sheet.lines


def _edge(sheet: Sheet, line: Line, body: float) -> tuple[str, bool] | None:
    """The words of a line without its numbers and whether it stands above; None for what is not at the page's edge."""
    depth = (line.base - sheet.top) / (sheet.bottom - sheet.top)
    # 'Chapter 2' in large letters is a heading.
    if _EDGE < depth < 1 - _EDGE or line.size > _LARGER * body or len(line.text) > _LONGEST_MARGIN:
        return None
    return ("" if _PAGE.fullmatch(line.text) else re.sub(r"[\d\s]+", " ", line.text.casefold()).strip()), depth < 0.5


def _parts(pages: Iterator[tuple[int, list[Line]]], body: float) -> list[_Part]:
    """Paragraphs, headings and tables; a paragraph goes on over a column's or a page's end.

    What floats there (notes, tables, captions) comes after the paragraph that it interrupts.
    """
    made: list[_Part] = []
    text: _Part | None = None
    for page, lines in pages:
        part: _Part | None = None  # of the line before, on this page
        for i, line in enumerate(lines):
            # A row of a table has cells, and so has a neighbour.
            table = _has_cells(line) and any(map(_has_cells, (*lines[max(0, i - 1) : i], *lines[i + 1 : i + 2])))
            parted = line.base < lines[i - 1].base if table else i > 0 and _begins(lines, i, body)
            if part and part.table == table and not parted:
                part.lines.append(line)
                continue
            floats = table or line.size < _SMALLER * body or bool(_CAPTION.match(line.text))
            if text and not floats and _goes_on(text, line):
                part = text
                part.lines.append(line)
                part.last_page = page
            else:
                part = _Part([line], page, page, table)
                made.append(part)
                text = text if floats else part
    return made


def _has_cells(line: Line) -> bool:
    first, cell, _ = line.text.partition(CELL)
    return bool(cell) and not _marker(f"{first} x")


def _marker(text: str) -> "re.Match[str] | None":
    return _BULLET.match(text) or _NUMBER.match(text)


def _begins(lines: Sequence[Line], i: int, body: float) -> bool:
    """Whether a paragraph or another column begins with this line."""
    last, line = lines[i - 1], lines[i]
    size, down, shift = max(last.size, line.size), line.base - last.base, (line.left - last.left) / line.size
    if line.size == last.size >= _LARGER * body:
        return not 0 < down < 1.6 * size  # a further line of a heading
    small = line.text[:1].islower()
    ended = _room(lines, i - 1) or bool(_SENTENCE_END.search(last.text))
    # A line may be of another size for a word in another font.
    if abs(line.size - last.size) > _NEAR * size or not -size < down < 1.75 * size:
        return True
    if line.note or _BULLET.match(line.text) or (ended and _NUMBER.match(line.text)):
        return True
    return not small and (_room(lines, i - 1) or (ended and (shift > _INDENT or line.bold != last.bold)))


def _room(lines: Sequence[Line], i: int) -> bool:
    """Whether the next line's first word would have had room on the line: then the author ended it."""
    line, following = lines[i], lines[i + 1]
    near = (other for other in lines[max(0, i - 2) : i + 4] if abs(other.size - line.size) <= _NEAR * line.size)
    edge = max(other.right for other in near if other.left < line.right and line.left < other.right)
    width = (following.right - following.left) / len(following.text)
    return line.right + (len(following.text.split(maxsplit=1)[0]) + 1.5) * width < edge


def _goes_on(part: _Part, line: Line) -> bool:
    """Whether a paragraph goes on with the first line of another column or page, as a byline does not."""
    last = part.lines[-1]
    if len(part.lines) == 1 and any(byline([Block(last.text)]).values()):
        return False
    alike = abs(last.size - line.size) <= _ALIKE * last.size and last.bold == line.bold
    return alike and not _SENTENCE_END.search(last.text) and not _marker(line.text)


def _block(part: _Part, text: str, body: float, larger: Sequence[int]) -> Block:
    """What a part is, by its size, its weight and its beginning."""
    made = partial(Block, page=part.page, last_page=part.last_page)
    if part.table:
        return made("\n".join(line.text.translate(LIGATURES).replace(CELL, " | ") for line in part.lines), "table")
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
    if marker := _marker(text):
        # A clause or a source is cited by what stands in brackets before it: (2), (a), [1].
        return made(text if text.startswith(("(", "[")) else text[marker.end() :], "item")
    return made(text)
