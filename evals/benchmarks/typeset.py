"""A small typesetter of PDFs: what TeX does to a text that is to be read again, on pages whose words are known.

Justified lines in one column or two, words broken at line ends, ligatures as single glyphs, words set by kerned pieces
without a space between them, running headers, page numbers, footnotes. Nothing here reads PDF.
"""

import random
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_WIDTHS = dict(
    zip(
        map(chr, range(32, 127)),
        # Times-Roman, thousandths of the size (Adobe's font metrics)
        map(
            int,
            """250 333 408 500 500 833 778 333 333 333 500 564 250 333 250 278 500 500 500 500 500 500 500 500 500 500
            278 278 564 564 564 444 921 722 667 667 722 611 556 722 722 333 389 722 611 889 722 722 556 722 667 556 611
            722 722 944 722 722 611 333 278 333 469 500 333 444 500 444 500 444 333 500 500 278 278 500 278 778 500 500
            500 500 333 389 278 500 500 722 500 500 444 480 200 480 541""".split(),
        ),
        strict=True,
    )
)
_WIDTHS["\x01"], _WIDTHS["\x02"] = 556, 556  # the ligatures fi and fl
_SANS = dict(
    zip(
        map(chr, range(32, 127)),
        map(
            int,  # Helvetica
            """278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556
            278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667
            611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556
            556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584""".split(),
        ),
        strict=True,
    )
)
SANS = ("F3", "F4")
"""The names of Helvetica and Helvetica Bold on a page; F1 and F2 are Times."""
_WIDE, _HIGH, _MARGIN, _GUTTER = 612, 792, 72, 18
_VOWELS = "aeiouy"


@dataclass(slots=True)
class Typeset:
    """How a document is set. breaks: whether words are broken at line ends, and ligatures are glyphs."""

    columns: int = 1
    size: float = 10.0
    breaks: bool = True
    header: str = ""
    title: str = ""
    notes: Sequence[str] = ()
    seed: int = 1


@dataclass(slots=True)
class _Page:
    drawn: list[str] = field(default_factory=list)

    def show(self, x: float, y: float, text: str, size: float, font: str = "F1", space: float = 0.25) -> None:
        """Words as pieces of one array; the gaps between them are kerning, and not characters."""
        gap = f" {-1000 * space:.0f} "
        words = gap.join(f"({_escaped(word)})" for word in text.split(" "))
        self.drawn.append(f"BT /{font} {size:g} Tf {x:.2f} {y:.2f} Td [{words}] TJ ET")


def width(text: str, size: float, font: str = "F1") -> float:
    """Of a text in points."""
    widths = _SANS if font in SANS else _WIDTHS
    return sum(widths.get(char, 500) for char in text) * size / 1000


def typeset(paragraphs: Sequence[tuple[str, str]], style: Typeset) -> bytes:
    """A PDF of the paragraphs, each with its form: `heading` or `paragraph`."""
    pages = list(_pages(paragraphs, style))
    for number, page in enumerate(pages, start=1):
        if style.header:
            page.show(_MARGIN, _HIGH - 40, style.header, 9)
        page.show(_WIDE / 2 - 4, 36, str(number), 9)
        for i, note in enumerate(style.notes[number - 1 : number]):
            page.show(_MARGIN, 66 - 10 * i + 3, str(number), 5)
            page.show(_MARGIN + 4, 66 - 10 * i, note, 8)
    return pdf_of(["\n".join(page.drawn).encode("cp1252", "replace") for page in pages], style.title)


def _pages(paragraphs: Sequence[tuple[str, str]], style: Typeset) -> Iterator[_Page]:
    measure = (_WIDE - 2 * _MARGIN - (style.columns - 1) * _GUTTER) / style.columns
    leading = 1.2 * style.size
    page, column, y = _Page(), 0, float(_HIGH - _MARGIN)
    for form, text in paragraphs:
        size = 1.4 * style.size if form == "heading" else style.size
        y -= 0.8 * leading if form == "heading" else 0
        lines = list(_lines(text, measure, size, style))
        for i, (words, indent, full) in enumerate(lines):
            if y - leading * (3 if form == "heading" else 1) < 84:
                column, y = column + 1, float(_HIGH - _MARGIN)
                if column == style.columns:
                    yield page
                    page, column = _Page(), 0
            y -= 1.2 * size
            left = _MARGIN + column * (measure + _GUTTER) + indent
            gaps = max(len(words) - 1, 1)
            natural = width("".join(words), size)
            space = (measure - indent - natural) / gaps / size if full and i < len(lines) - 1 else 0.25
            page.show(left, y, " ".join(words), size, "F2" if form == "heading" else "F1", space)
        y -= 0.4 * leading if form == "heading" else 0
    yield page


def _lines(text: str, measure: float, size: float, style: Typeset) -> Iterator[tuple[list[str], float, bool]]:
    """The words of each line, its indent, and whether it is set to the full measure."""
    rng = random.Random(f"{style.seed} {text}")
    indent = 1.2 * size if size == style.size else 0.0
    line: list[str] = []
    left = measure - indent
    for word in text.split():
        glyphs = word.replace("fi", "\x01").replace("fl", "\x02") if style.breaks else word
        needed = width(glyphs, size) + (0.2 * size if line else 0)
        if needed > left and line:
            at = _break(word, left - 0.2 * size, size, rng) if style.breaks else 0
            if at:
                line.append(word[:at] + "-")
                glyphs = word[at:]
            yield line, indent, True
            line, indent, left = [], 0.0, measure
            needed = width(glyphs, size)
        line.append(glyphs)
        left -= needed
    yield line, indent, False


def _break(word: str, room: float, size: float, rng: random.Random) -> int:
    """Where a word of letters may be divided: between a vowel and a consonant, if there is room for the first part."""
    places = [
        i
        for i in range(2, len(word) - 2)
        if word.isalpha() and word.islower() and word[i - 1] in _VOWELS and word[i] not in _VOWELS
        if width(word[:i] + "-", size) <= room
    ]
    return rng.choice(places) if places else 0


def _escaped(text: str) -> str:
    return re.sub(r"[()\\\x01\x02]", lambda found: f"\\{ord(found[0]):03o}", text)


_FONTS = [("Times-Roman", _WIDTHS), ("Times-Bold", _WIDTHS), ("Helvetica", _SANS), ("Helvetica-Bold", _SANS)]


def _font(name: str, widths: Mapping[str, int]) -> bytes:
    encoding = "<< /Type /Encoding /BaseEncoding /WinAnsiEncoding /Differences [1 /fi /fl] >>"
    numbers = " ".join(str(widths.get(chr(code), 500)) for code in range(1, 256))
    font = f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding {encoding} "
    return f"{font}/FirstChar 1 /LastChar 255 /Widths [{numbers}] >>".encode()


def pdf_of(streams: Sequence[bytes], title: str = "", resources: str = "") -> bytes:
    """A file of pages with these drawing operations, in Times (F1, bold F2) and Helvetica (F3, F4); letter size."""
    count = len(streams)
    fonts = [_font(*font) for font in _FONTS]
    kids = " ".join(f"{8 + 2 * i} 0 R" for i in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        *fonts,
        f"<< /Title ({_escaped(title)}) >>".encode("cp1252", "replace"),
    ]
    for i, stream in enumerate(streams):
        packed = zlib.compress(stream)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {_WIDE} {_HIGH}] /Contents {9 + 2 * i} 0 R "
            f"/Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R /F4 6 0 R >> {resources} >> >>".encode()
        )
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(packed), packed))
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    end = b"trailer\n<< /Size %d /Root 1 0 R /Info 7 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(data))
    return data + b"xref\n0 %d\n0000000000 65535 f \n%b%b" % (size, table, end)
