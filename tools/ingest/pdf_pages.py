"""What stands on the pages of a PDF, by PDFium: pieces of lines with their places, pictures, the outline.

PDFium knows characters and their boxes, and no words, lines or columns: those are made here and in `pdf_layout`. It is
not made for threads, so every call of it is made under one lock, which is given back between pages.
"""

import ctypes
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tools.errors import SourceError

T = TypeVar("T")
Glyph = tuple[str, float, float, float, float]
"""A character with its left and right edge, its baseline (from the top of the page), and the height of its line."""

_LOCK = threading.Lock()
_HEAD = 1024  # bytes, in which a PDF says that it is one
_MOST_CHARACTERS = 300_000  # of a page; a page of a newspaper has some 40,000
_LEAST_PICTURE = 36.0  # points; what is smaller is a bullet, a rule or an icon
_BOLD = ("bold", "black", "heavy", "semibold", "demi", "cmbx", "sfbx", "-bd")
_PIECE_GAP = 0.8  # of the size: what parts two pieces of a row


@dataclass(slots=True)
class Piece:
    """Characters that follow each other on one line without a wide gap; places in points, from the top left corner.

    base: of the baseline, counted downwards. spans: left and right edge of each word, of those that spaces part.
    """

    text: str
    left: float
    right: float
    base: float
    size: float
    bold: bool = False
    spans: tuple[tuple[float, float], ...] = ()


@dataclass(slots=True)
class Sheet:
    """A page: its pieces in the order in which the file draws them, and how many of what is not taken over."""

    number: int
    width: float
    height: float
    pieces: list[Piece] = field(default_factory=list)
    pictures: int = 0
    unreadable: int = 0
    turned: int = 0


@dataclass(slots=True)
class OutlineEntry:
    """An entry of the outline (the bookmarks): level 1 is the highest; page 0 where it leads nowhere."""

    title: str
    level: int
    page: int


class PdfFile:
    """An open PDF. Raises SourceError where a call of it finds the file damaged."""

    def __init__(self, raw: Any, name: str) -> None:
        self._raw, self._name = raw, name

    def __len__(self) -> int:
        with _LOCK:
            return len(self._raw)

    def title(self) -> str:
        with _LOCK:
            return str(self._raw.get_metadata_value("Title"))

    def outline(self) -> list[OutlineEntry]:
        """The entries of the outline in their order; none where it is damaged."""
        from pypdfium2 import PdfiumError

        found: list[OutlineEntry] = []
        with _LOCK:
            try:
                for mark in self._raw.get_toc(max_depth=6):
                    dest = mark.get_dest()
                    page = dest.get_index() if dest is not None else None
                    found.append(OutlineEntry(mark.get_title() or "", mark.level + 1, 0 if page is None else page + 1))
            except (PdfiumError, UnicodeError):
                return []
        return found

    def sheet(self, index: int) -> Sheet:
        """The page of this index, counted from 0."""
        return self._on_page(index, lambda page: _sheet(page, index + 1))

    def image(self, index: int, dots_per_inch: int) -> bytes:
        """The page as a grey picture in the format PGM."""

        def drawn(page: Any) -> bytes:
            bitmap = page.render(scale=dots_per_inch / 72, grayscale=True)
            try:
                rows = memoryview(bitmap.buffer).cast("B")
                lines = (bytes(rows[y * bitmap.stride :][: bitmap.width]) for y in range(bitmap.height))
                return b"P5 %d %d 255\n" % (bitmap.width, bitmap.height) + b"".join(lines)
            finally:
                bitmap.close()

        return self._on_page(index, drawn)

    def _on_page(self, index: int, work: Callable[[Any], T]) -> T:
        from pypdfium2 import PdfiumError

        try:
            with _LOCK:
                page = self._raw[index]
                try:
                    return work(page)
                finally:
                    page.close()
        except PdfiumError as exc:
            raise SourceError(f"{self._name}: this PDF is damaged and cannot be read (page {index + 1}).") from exc


@contextmanager
def open_pdf(file: Path | bytes, name: str) -> Iterator[PdfFile]:
    """Opens a PDF. Raises SourceError when it is encrypted, damaged or none at all, OSError when it is not there."""
    from pypdfium2 import PdfDocument, PdfiumError
    from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

    data = file.read_bytes() if isinstance(file, Path) else file
    try:
        with _LOCK:
            raw = PdfDocument(data)
    except PdfiumError as exc:
        if exc.err_code in (FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY):
            what = f"{name}: this PDF is encrypted. Save a copy without a password and ingest that."
            raise SourceError(what) from exc
        if b"%PDF-" not in data[:_HEAD]:
            raise SourceError(f"{name}: this is not a PDF, whatever its name says. Give it its right ending.") from exc
        raise SourceError(f"{name}: this PDF is damaged and cannot be read ({exc}).") from exc
    try:
        yield PdfFile(raw, name)
    finally:
        with _LOCK:
            raw.close()


def _sheet(page: Any, number: int) -> Sheet:
    import pypdfium2.raw as pdfium

    sheet = Sheet(number, *page.get_size())
    sheet.pictures = _pictures(page)
    textpage = page.get_textpage()
    try:
        reader = _Reader(pdfium, textpage.raw, page.get_bbox(), page.get_rotation())
        runs = reader.runs()
    finally:
        textpage.close()
    sheet.unreadable = reader.unreadable
    turns: Counter[int] = Counter()
    for turn, run in runs:
        turns[turn] += len(run.text)
    upright = max(turns, key=turns.__getitem__, default=0)
    sheet.pieces = [run for turn, run in runs if turn == upright]
    sheet.turned = sum(turn != upright for turn, _ in runs)
    sheet.width, sheet.height = reader.size(upright)
    return sheet


def _pictures(page: Any) -> int:
    import pypdfium2.raw as pdfium

    edges = [ctypes.c_float() for _ in range(4)]
    count = 0
    for i in range(pdfium.FPDFPage_CountObjects(page.raw)):
        thing = pdfium.FPDFPage_GetObject(page.raw, i)
        kind = pdfium.FPDFPageObj_GetType(thing)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE and pdfium.FPDFPageObj_GetBounds(thing, *map(ctypes.byref, edges)):
            left, bottom, right, top = (edge.value for edge in edges)
            count += min(right - left, top - bottom) >= _LEAST_PICTURE
    return count


@dataclass(slots=True)
class _Style:
    size: float
    bold: bool
    turn: int  # quarter turns against the clock


class _Reader:
    """Makes pieces of the characters of one page."""

    def __init__(self, pdfium: Any, raw: Any, box: tuple[float, float, float, float], rotation: int) -> None:
        self._pdfium, self._raw, self._box = pdfium, raw, box
        self._rotation = rotation // 90
        self._rect, self._edges = pdfium.FS_RECTF(), (0.0, 0.0)
        self._rect_ref, self._box_of = ctypes.byref(self._rect), pdfium.FPDFText_GetLooseCharBox
        self._matrix = pdfium.FS_MATRIX()
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._name = ctypes.create_string_buffer(128)
        self._flags = ctypes.c_int()
        self.unreadable = 0

    def size(self, turn: int) -> tuple[float, float]:
        left, bottom, right, top = self._box
        return (top - bottom, right - left) if turn % 2 else (right - left, top - bottom)

    def runs(self) -> list[tuple[int, Piece]]:
        """The pieces of the page, each with the quarter turns by which its text is turned."""
        found: list[tuple[int, Piece]] = []
        run: list[Glyph] = []
        styles: list[_Style] = []
        style, spaced = _Style(0.0, False, 0), False
        for i, char in enumerate(self._characters()):
            if char in " \t\xa0\r\n":
                spaced = True
                continue
            glyph = self._glyph(i, char, style.turn)
            fresh = not run or spaced or abs(glyph[4] - run[-1][4]) > 0.02 * glyph[4]
            if fresh:
                style = self._style(i)
                glyph = self._glyph(i, char, style.turn)
            if run and (style.turn != styles[-1].turn or _apart(run[-1], glyph, styles[-1].size, style.size)):
                found += self._piece(run, styles)
                run, styles, spaced = [], [], False
            if run and spaced:
                run.append((" ", run[-1][2], glyph[1], glyph[3], glyph[4]))
            if fresh or not styles:
                styles.append(style)
            run.append(glyph)
            spaced = False
        return found + self._piece(run, styles)

    def _characters(self) -> Iterator[str]:
        count = min(self._pdfium.FPDFText_CountChars(self._raw), _MOST_CHARACTERS)
        of = self._pdfium.FPDFText_GetUnicode
        for i in range(count):
            code = of(self._raw, i)
            yield chr(code) if code < 0x110000 else "\ufffd"

    def _glyph(self, i: int, char: str, turn: int) -> Glyph:
        rect, x, y = self._rect, self._x, self._y
        self._box_of(self._raw, i, self._rect_ref)
        left, bottom, right, top = self._box
        if turn == 0:
            edges = (rect.top, rect.bottom)
            if edges != self._edges:  # of the same font on the same line they are the same, and so is the baseline
                self._pdfium.FPDFText_GetCharOrigin(self._raw, i, x, y)
                self._edges = edges
            return char, rect.left - left, rect.right - left, top - y.value, rect.top - rect.bottom
        self._pdfium.FPDFText_GetCharOrigin(self._raw, i, x, y)
        self._edges = (0.0, 0.0)
        if turn == 1:
            return char, rect.bottom - bottom, rect.top - bottom, x.value - left, rect.right - rect.left
        if turn == 2:
            return char, right - rect.right, right - rect.left, y.value - bottom, rect.top - rect.bottom
        return char, top - rect.top, top - rect.bottom, right - x.value, rect.right - rect.left

    def _style(self, i: int) -> _Style:
        pdfium, matrix = self._pdfium, self._matrix
        size = pdfium.FPDFText_GetFontSize(self._raw, i)
        turn = 0
        if pdfium.FPDFText_GetMatrix(self._raw, i, matrix):
            size *= math.hypot(matrix.c, matrix.d)
            turn = round(math.atan2(matrix.b, matrix.a) / (math.pi / 2)) % 4
        length = pdfium.FPDFText_GetFontInfo(self._raw, i, self._name, len(self._name), self._flags)
        name = self._name.value.decode("ascii", "replace").lower() if 0 < length <= len(self._name) else ""
        bold = any(word in name for word in _BOLD) or pdfium.FPDFText_GetFontWeight(self._raw, i) >= 600
        return _Style(abs(size) or 1.0, bold, turn)

    def _piece(self, run: list[Glyph], styles: list[_Style]) -> list[tuple[int, Piece]]:
        """One piece, or none where the run holds nothing that can be read."""
        known = [glyph for glyph in run if glyph[0] not in "\x00\ufffd" and not "\ue000" <= glyph[0] <= "\uf8ff"]
        self.unreadable += len(run) - len(known)
        text, spans = _text_of(known)
        width, _ = self.size(styles[0].turn) if styles else (0.0, 0.0)
        if not text or run[0][1] > width or run[-1][2] < 0:
            return []
        sizes = Counter(round(style.size, 1) for style in styles)
        bold = sum(style.bold for style in styles) * 2 > len(styles)
        size = sizes.most_common(1)[0][0]
        return [(styles[0].turn, Piece(text, run[0][1], run[-1][2], run[0][3], size, bold, spans))]


def _text_of(run: list[Glyph]) -> tuple[str, tuple[tuple[float, float], ...]]:
    """The words of a run, and where each stands."""
    words, spans = [""], [(0.0, 0.0)]
    for char, left, right, _, _ in run:
        if char == " ":
            words.append("")
            spans.append((0.0, 0.0))
            continue
        spans[-1] = (spans[-1][0], right) if words[-1] else (left, right)
        # PDFium marks with these two what it takes for a hyphen that only the line's end has brought.
        words[-1] += "-" if char in "\x02\ufffe" else char
    kept = [(word.strip(), span) for word, span in zip(words, spans, strict=True) if word.strip()]
    return " ".join(word for word, _ in kept), tuple(span for _, span in kept)


def _apart(last: Glyph, glyph: Glyph, last_size: float, size: float) -> bool:
    """Whether the character begins another piece: on another line, raised or lowered, or after a wide gap."""
    gap = glyph[1] - last[2]
    taller = max(last_size, size)
    return abs(glyph[3] - last[3]) > 0.12 * taller or not -0.6 * taller < gap < _PIECE_GAP * min(last_size, size)
