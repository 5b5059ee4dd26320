"""What stands on the pages of a PDF, by PDFium: its lines of text in the file's order, pictures, the title.

PDFium is not made for threads: it is called in the processes that read files, each of which has one.
"""

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

from tools.documents.tidy import NOTE_MARK, SUPERSCRIPT, SUPERSCRIPT_END, mark_superscript, write_superscripts
from tools.errors import SourceError
from tools.language.identification import language_of
from tools.language.lexicon import is_word

CELL = "\t"
"""Between words of a line that a gap parts which is wider than a space."""

_HEAD = 1024  # bytes, in which a PDF says that it is one
_LEAST_PICTURE = 36.0  # points; what is smaller is a bullet, a rule or an icon
_BOLD = ("bold", "black", "heavy", "demi", "cmbx", "sfbx", "-bd")
_WIDE_GAP, _SAME_LINE, _RAISED_SIZE = 1.2, 0.6, 0.82  # of the size
_UNMAPPED = "\x00"
_MANY_SIGNS, _MOSTLY, _FEWEST_WORDS, _FEW_KNOWN = 12, 0.75, 12, 0.1
_HYPHENS = "\x02\ufffe"  # what PDFium takes for a hyphen that only the line's end has brought


@dataclass(slots=True)
class Line:
    """A line of text; places in points, `base` is its baseline's, counted downwards.

    marks: of notes, which were left out of the text. note: whether it begins with one, as a footnote does.
    """

    text: str
    left: float
    right: float
    base: float
    size: float
    bold: bool = False
    marks: int = 0
    note: bool = False


@dataclass(slots=True)
class Sheet:
    """A page: its lines in the order of the file, from where to where it reaches, and how many of what is left out."""

    number: int
    top: float
    bottom: float
    lines: list[Line] = field(default_factory=list)
    pictures: int = 0
    unreadable: int = 0
    turned: int = 0

    @property
    def is_readable(self) -> bool:
        """Whether it holds text: it is no picture, not empty, and its letters have a meaning."""
        return max(1, self.unreadable) <= sum(len(line.text) for line in self.lines)


class _Glyph(NamedTuple):
    """A character with its places; turn: quarter turns against the clock; before: what parts it from the last one.

    font: its name, or `_UNMAPPED` where it does not map this character to Unicode and PDFium guesses.
    """

    char: str
    left: float
    right: float
    base: float
    size: float
    bold: bool
    turn: int
    before: str
    font: str


def sheets_of(file: Path | bytes, name: str, most: int | None) -> tuple[list[Sheet], int, dict[str, str]]:
    """The pages of a PDF, or its first ones, how many it has, and its metadata ('Title', 'Author', 'CreationDate').

    Raises SourceError when it is encrypted, damaged or none at all, OSError when it is not there.
    """
    from pypdfium2 import PdfDocument, PdfiumError
    from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

    data = file.read_bytes() if isinstance(file, Path) else file
    try:
        with closing(PdfDocument(data)) as pdf:
            sheets = []
            for index in range(len(pdf) if most is None else min(len(pdf), most)):
                with closing(pdf[index]) as page:
                    sheets.append(_sheet(page, index + 1))
            return sheets, len(pdf), pdf.get_metadata_dict()
    except PdfiumError as exc:
        if exc.err_code in (FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY):
            what = f"{name}: this PDF is encrypted. Save a copy without a password and ingest that."
            raise SourceError(what) from exc
        if b"%PDF-" not in data[:_HEAD]:
            raise SourceError(f"{name}: this is not a PDF, whatever its name says. Give it its right ending.") from exc
        raise SourceError(f"{name}: this PDF is damaged and cannot be read ({exc}).") from exc


def _sheet(page: Any, number: int) -> Sheet:
    glyphs = _glyphs(page)
    turns = Counter(glyph.turn for glyph in glyphs)
    upright = max(turns, key=turns.__getitem__, default=0)
    if glyphs and page.get_rotation() != 90 * upright:  # PDFium orders the lines as the page is shown
        page.set_rotation(90 * upright)
        glyphs = _glyphs(page)
    left, bottom, right, top = page.get_bbox()
    ends = (_placed(upright, left, bottom)[1], _placed(upright, right, top)[1])
    sheet = Sheet(number, min(ends), max(ends), pictures=_pictures(page))
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for glyph in glyphs:
        texts[glyph.font] += (" ", glyph.char) if glyph.before else glyph.char
    unreadable = {font for font, text in texts.items() if not _is_text("".join(text), font != _UNMAPPED)}
    for run in _runs(glyphs):
        known = [g for g in run if g.char not in "\x00\ufffd" and not "\ue000" <= g.char <= "\uf8ff"]
        known = [g for g in known if g.font not in unreadable] if unreadable else known
        sheet.unreadable += len(run) - len(known)
        if run[0].turn != upright:
            sheet.turned += 1
        elif known and (line := _line(known)).text:
            sheet.lines.append(line)
    return sheet


def _is_text(text: str, mapped: bool) -> bool:
    """Whether the characters that a font has on a page have a meaning.

    Those that it does not map to Unicode have to be English words. Of others nothing is refused but signs instead of
    letters, and unknown words in which the classifier finds no language ("zxx").
    """
    signs, words = re.sub(r"[\x00-\x20]", "", text), re.findall(r"\b[A-Za-z]{4,}\b", text)
    if mapped and len(set(signs)) >= _MANY_SIGNS and sum(map(punctuation.count, signs)) > _MOSTLY * len(signs):
        return False
    if sum(map(is_word, words)) > (_FEW_KNOWN if mapped else 0.5) * len(words):
        return True
    return mapped and (len(words) < _FEWEST_WORDS or language_of(text) != "zxx")


def _pictures(page: Any) -> int:
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

    bounds = (image.get_bounds() for image in page.get_objects((FPDF_PAGEOBJ_IMAGE,), max_depth=1))
    return sum(min(right - left, top - bottom) >= _LEAST_PICTURE for left, bottom, right, top in bounds)


def _glyphs(page: Any) -> list[_Glyph]:
    """The characters of a page in PDFium's order, without its spaces."""
    with closing(page.get_textpage()) as textpage:
        return list(_characters(textpage.raw))


def _characters(raw: Any) -> Iterator[_Glyph]:
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
            (size, bold, turn, font), height = _style(raw, i), rect.top - rect.bottom
            guessed = pdfium.FPDFText_HasUnicodeMapError(raw, i) == 1
        left, right = sorted((_placed(turn, rect.left, rect.bottom)[0], _placed(turn, rect.right, rect.top)[0]))
        named = _UNMAPPED if guessed and pdfium.FPDFText_HasUnicodeMapError(raw, i) == 1 else font
        yield _Glyph(char, left, right, _placed(turn, x.value, y.value)[1], size, bold, turn, before, named)
        before = "\n" if char in _HYPHENS else ""


def _placed(turn: int, x: float, y: float) -> tuple[float, float]:
    """How far right and down a point is where the text of this turn stands upright."""
    return ((x, -y), (y, x), (-x, y), (-y, -x))[turn]


def _style(raw: Any, i: int) -> tuple[float, bool, int, str]:
    """Size, whether bold, turn and font of a character."""
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


def _runs(glyphs: Sequence[_Glyph]) -> Iterator[list[_Glyph]]:
    """The characters by lines; PDFium ends one after what is raised, too."""
    run: list[_Glyph] = []
    for glyph in glyphs:
        if run and (glyph.turn != run[-1].turn or (glyph.before == "\n" and not _beside(run[-1], glyph))):
            yield run
            run = []
        run.append(glyph)
    if run:
        yield run


def _beside(last: _Glyph, glyph: _Glyph) -> bool:
    size = max(last.size, glyph.size)
    return abs(glyph.base - last.base) < _SAME_LINE * size and abs(_gap(last, glyph)) < _WIDE_GAP * size


def _gap(last: _Glyph, glyph: _Glyph) -> float:
    return max(glyph.left - last.right, last.left - glyph.right)


def _line(run: Sequence[_Glyph]) -> Line:
    """A line of the characters; raised marks of notes are left out and counted."""
    size = Counter(round(glyph.size, 1) for glyph in run).most_common(1)[0][0]
    base = median(glyph.base for glyph in run if glyph.size > _RAISED_SIZE * size)
    text = ""
    for last, glyph in zip((None, *run), run, strict=False):
        if last is not None and glyph.before:
            text += CELL if _gap(last, glyph) > _WIDE_GAP * size else " "
        char = "-" if glyph.char in _HYPHENS else glyph.char
        text += (
            mark_superscript(char) if glyph.size <= _RAISED_SIZE * size and base - glyph.base > 0.12 * size else char
        )
    note = text.startswith(SUPERSCRIPT) and bool(NOTE_MARK.match(text[1:]))
    text, marks = write_superscripts(text.partition(SUPERSCRIPT_END)[2] if note else text)
    left, right = min(glyph.left for glyph in run), max(glyph.right for glyph in run)
    return Line(text.strip(), left, right, base, size, 2 * sum(g.bold for g in run) > len(run), marks, note)
