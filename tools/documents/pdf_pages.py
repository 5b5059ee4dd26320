"""Reads PDF pages with PDFium: lines in the file's order, pictures, metadata. PDFium is not thread-safe, so each reader
process has its own PDFium."""

import ctypes
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from string import punctuation
from typing import Any, NamedTuple

from tools.documents.html_cleanup import NOTE_MARK, SUPERSCRIPT, SUPERSCRIPT_END, write_superscripts
from tools.errors import SourceError
from tools.language.identification import language_of
from tools.language.lexicon import is_word

CELL_GAP = "\t"  # separates words if the gap is wider than a space

_HEAD = 1024  # the PDF signature must be in these first bytes
_LEAST_PICTURE = 36.0  # points; smaller images are bullets, rules or icons
_BOLD = ("bold", "black", "heavy", "demi", "cmbx", "sfbx", "-bd")
_WIDE_GAP, _SAME_LINE, _RAISED_SIZE = 1.2, 0.6, 0.82  # factors of the letters' size
_UNMAPPED = "\x00"
_MANY_SIGNS, _MOSTLY, _FEWEST_WORDS, _FEW_KNOWN = 12, 0.75, 12, 0.1
_HYPHENS = "\x02\ufffe"  # PDFium's marks for hyphens at line ends


@dataclass(slots=True)
class PdfLine:
    """A line of text, with positions in points. base: the baseline, counted downwards. marks: number of removed note
    marks. note: the line begins with a note mark."""

    text: str
    left: float
    right: float
    base: float
    size: float
    bold: bool = False
    marks: int = 0
    note: bool = False


@dataclass(slots=True)
class PdfPage:
    """A page: its lines in file order, its vertical extent, and counts of removed parts."""

    number: int
    top: float
    bottom: float
    lines: list[PdfLine] = field(default_factory=list)
    pictures: int = 0
    unreadable: int = 0
    turned: int = 0

    @property
    def is_readable(self) -> bool:
        """Whether the page has text whose letters have a known meaning."""
        return max(1, self.unreadable) <= sum(len(line.text) for line in self.lines)


class _Glyph(NamedTuple):
    """A character. turn: quarter turns counterclockwise. before: the separator from the previous character. font: the
    font's name, or `_UNMAPPED` if PDFium guesses this character's Unicode."""

    char: str
    left: float
    right: float
    base: float
    size: float
    bold: bool
    turn: int
    before: str
    font: str


def read_pdf_pages(file: Path | bytes, name: str, most: int | None) -> tuple[list[PdfPage], int, dict[str, str]]:
    """Returns all pages, or the first `most` pages; the total number of pages; and metadata ('Title', 'Author',
    'CreationDate'). Raises SourceError if the file is encrypted, damaged or no PDF; OSError if the file is missing."""
    from pypdfium2 import PdfDocument, PdfiumError
    from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

    data = file.read_bytes() if isinstance(file, Path) else file
    try:
        with closing(PdfDocument(data)) as pdf:
            sheets = []
            for index in range(len(pdf) if most is None else min(len(pdf), most)):
                with closing(pdf[index]) as page:
                    sheets.append(_read_page(page, index + 1))
            return sheets, len(pdf), pdf.get_metadata_dict()
    except PdfiumError as exc:
        if exc.err_code in (FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY):
            what = f"{name}: this PDF is encrypted. Save a copy without a password and ingest that."
            raise SourceError(what) from exc
        if b"%PDF-" not in data[:_HEAD]:
            raise SourceError(f"{name}: this is not a PDF, despite its ending. Correct the ending.") from exc
        raise SourceError(f"{name}: this PDF is damaged and cannot be read ({exc}).") from exc


def _read_page(page: Any, number: int) -> PdfPage:
    glyphs = _glyphs(page)
    turns = Counter(glyph.turn for glyph in glyphs)
    upright = max(turns, key=turns.__getitem__, default=0)
    if glyphs and page.get_rotation() != 90 * upright:  # PDFium orders lines by the page's rotation
        page.set_rotation(90 * upright)
        glyphs = _glyphs(page)
    left, bottom, right, top = page.get_bbox()
    ends = (_upright(upright, left, bottom)[1], _upright(upright, right, top)[1])
    sheet = PdfPage(number, min(ends), max(ends), pictures=_count_pictures(page))
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for glyph in glyphs:
        texts[glyph.font] += (" ", glyph.char) if glyph.before else glyph.char
    unreadable = {font for font, text in texts.items() if not _is_text("".join(text), font != _UNMAPPED)}
    for run in _glyph_lines(glyphs):
        known = [g for g in run if g.char not in "\x00\ufffd" and not "\ue000" <= g.char <= "\uf8ff"]
        known = [g for g in known if g.font not in unreadable] if unreadable else known
        sheet.unreadable += len(run) - len(known)
        if run[0].turn != upright:
            sheet.turned += 1
        elif known and (line := _pdf_line(known)).text:
            sheet.lines.append(line)
    return sheet


def _is_text(text: str, mapped: bool) -> bool:
    """Whether a font's characters on a page form a text. Characters that PDFium guesses must form English words.
    Characters that the font maps to Unicode fail in two cases: most are signs instead of letters, or their words are
    unknown and in no language ("zxx")."""
    signs, words = re.sub(r"[\x00-\x20]", "", text), re.findall(r"\b[A-Za-z]{4,}\b", text)
    if mapped and len(set(signs)) >= _MANY_SIGNS and sum(map(punctuation.count, signs)) > _MOSTLY * len(signs):
        return False
    if sum(map(is_word, words)) > (_FEW_KNOWN if mapped else 0.5) * len(words):
        return True
    return mapped and (len(words) < _FEWEST_WORDS or language_of(text) != "zxx")


def _count_pictures(page: Any) -> int:
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

    bounds = (image.get_bounds() for image in page.get_objects((FPDF_PAGEOBJ_IMAGE,), max_depth=1))
    return sum(min(right - left, top - bottom) >= _LEAST_PICTURE for left, bottom, right, top in bounds)


def _glyphs(page: Any) -> list[_Glyph]:
    """Returns the characters in PDFium's order, without spaces."""
    with closing(page.get_textpage()) as textpage:
        return list(_read_glyphs(textpage.raw))


def _read_glyphs(raw: Any) -> Iterator[_Glyph]:
    import pypdfium2.raw as pdfium

    rect, x, y = pdfium.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    size, bold, turn, font, guessed, height, before = 0.0, False, 0, "", False, -1.0, "\n"
    for i in range(pdfium.FPDFText_CountChars(raw)):
        code = pdfium.FPDFText_GetUnicode(raw, i)
        char = chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"
        if char in " \t\xa0\r\n":
            before = "\n" if char in "\r\n" else before or " "
            continue
        pdfium.FPDFText_GetLooseCharBox(raw, i, rect)
        pdfium.FPDFText_GetCharOrigin(raw, i, x, y)
        if before or rect.top - rect.bottom != height:
            (size, bold, turn, font), height = _glyph_style(raw, i), rect.top - rect.bottom
            guessed = pdfium.FPDFText_HasUnicodeMapError(raw, i) == 1
        left, right = sorted((_upright(turn, rect.left, rect.bottom)[0], _upright(turn, rect.right, rect.top)[0]))
        named = _UNMAPPED if guessed and pdfium.FPDFText_HasUnicodeMapError(raw, i) == 1 else font
        yield _Glyph(char, left, right, _upright(turn, x.value, y.value)[1], size, bold, turn, before, named)
        before = "\n" if char in _HYPHENS else ""


def _upright(turn: int, x: float, y: float) -> tuple[float, float]:
    """Returns a point's coordinates (rightwards, downwards) after the text is turned upright."""
    return ((x, -y), (y, x), (-x, y), (-y, -x))[turn]


def _glyph_style(raw: Any, i: int) -> tuple[float, bool, int, str]:
    """Returns a character's size, whether it is bold, its turn and its font."""
    import pypdfium2.raw as pdfium

    size, turn, matrix = pdfium.FPDFText_GetFontSize(raw, i), 0, pdfium.FS_MATRIX()
    if pdfium.FPDFText_GetMatrix(raw, i, matrix):
        size *= math.hypot(matrix.c, matrix.d)
        turn = round(math.atan2(matrix.b, matrix.a) / (math.pi / 2)) % 4
    name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(raw, i, name, len(name), flags)
    font = name.value.decode("ascii", "replace").lower()
    bold = any(word in font for word in _BOLD)
    return abs(size) or 1.0, bold, turn, font


def _glyph_lines(glyphs: Sequence[_Glyph]) -> Iterator[list[_Glyph]]:
    """Yields the characters of each line. Joins the parts of a line that PDFium splits after raised characters."""
    run: list[_Glyph] = []
    for glyph in glyphs:
        if run and (glyph.turn != run[-1].turn or (glyph.before == "\n" and not _is_same_line(run[-1], glyph))):
            yield run
            run = []
        run.append(glyph)
    if run:
        yield run


def _is_same_line(last: _Glyph, glyph: _Glyph) -> bool:
    size = max(last.size, glyph.size)
    return abs(glyph.base - last.base) < _SAME_LINE * size and abs(_gap(last, glyph)) < _WIDE_GAP * size


def _gap(last: _Glyph, glyph: _Glyph) -> float:
    return max(glyph.left - last.right, last.left - glyph.right)


def _pdf_line(run: Sequence[_Glyph]) -> PdfLine:
    """Returns a line. Removes and counts raised note marks."""
    size = Counter(round(glyph.size, 1) for glyph in run).most_common(1)[0][0]
    base = median(glyph.base for glyph in run if glyph.size > _RAISED_SIZE * size)
    text = ""
    for last, glyph in zip((None, *run), run, strict=False):
        if last is not None and glyph.before:
            text += CELL_GAP if _gap(last, glyph) > _WIDE_GAP * size else " "
        char = "-" if glyph.char in _HYPHENS else glyph.char
        raised = glyph.size <= _RAISED_SIZE * size and base - glyph.base > 0.12 * size
        text += f"{SUPERSCRIPT}{char}{SUPERSCRIPT_END}" if raised else char
    note = text.startswith(SUPERSCRIPT) and bool(NOTE_MARK.match(text[1:]))
    text, marks = write_superscripts(text.partition(SUPERSCRIPT_END)[2] if note else text)
    left, right = min(glyph.left for glyph in run), max(glyph.right for glyph in run)
    return PdfLine(text.strip(), left, right, base, size, 2 * sum(g.bold for g in run) > len(run), marks, note)
