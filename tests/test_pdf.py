"""PDF as people have it: columns, broken words, headers, notes, tables, scans; the pages are made here."""

import io
import time
from pathlib import Path

import pypdf
import pytest
from written_files import BODY, PICTURE, drawn, lines, pdf_of

from tools.documents.pdf import read_pdf
from tools.documents.plain_text import join_lines
from tools.errors import SourceError
from tools.passages import SourceDocument


def read(path: Path, data: bytes) -> SourceDocument:
    path.write_bytes(data)
    [found] = read_pdf(path, path.name)
    return found


# Lines and pages


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        ("under- stand", "understand"),
        ("in- law", "in-law"),
        ("ferry- captain", "ferry-captain"),
        ("Moen- Lund", "Moen-Lund"),
        ("1990- 1995", "1990- 1995"),
    ],
)
def test_hyphens_at_line_ends(broken: str, whole: str) -> None:
    assert join_lines(broken.split()) == whole


def test_a_paragraph_goes_on_over_a_page_break(tmp_path: Path) -> None:
    last = lines("Then the whole of the fleet left the old harbour of the town, and for all the win-", y=640)
    pages = [(*BODY, *last), (*lines("ter nothing was heard of it."), (300, 40, "2"))]
    found = read(tmp_path / "a.pdf", pdf_of([drawn((72, 760, "Gazette"), *page) for page in pages]))
    assert found.blocks[-1].text.endswith("for all the winter nothing was heard of it.")
    assert (found.blocks[-1].page, found.blocks[-1].last_page) == (1, 2)
    assert found.left_out == {"running headers": 2, "page numbers": 1}


# Scans


def test_a_scan_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"a\.pdf: this PDF is scanned.*only images.*text recognition"):
        read(tmp_path / "a.pdf", pdf_of([drawn(PICTURE)]))
    found = read(tmp_path / "a.pdf", pdf_of([drawn(*BODY), drawn(PICTURE)]))
    assert found.left_out == {"scanned pages": 1}


# Fonts that do not tell what their letters are

PROSE = (
    "The harbour was closed in May and nobody had asked the fishermen what they thought about that. The council spoke",
    "of walls that had to be mended and of the money that was there for this year only while the boats lay idle again.",
)
# Letters by number, as 'c' - 29, without any map; glyphs that have no names; a map that says other letters.
NUMBERED = (
    b"<< /Type /Font /Subtype /Type0 /BaseFont /ABCDEF+Odd /Encoding /Identity-H /DescendantFonts [<< /Type /Font "
    b"/Subtype /CIDFontType2 /BaseFont /ABCDEF+Odd /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) "
    b"/Supplement 0 >> /DW 500 >>] >>"
)
UNNAMED = b"<< /Type /Font /Subtype /Type1 /BaseFont /ABCDEF+Odd /Encoding << /Differences [32 %b] >> >>"
CODES = "".join(sorted(set("".join(PROSE))))
UNNAMED %= b" ".join(b"/g%d" % number for number in range(len(CODES)))
WRONG = str.maketrans("abcdefghijklmnopqrstuvwxyz", "qwhbfjkaslzxcvnmptoyridegu")
SIGNS = str.maketrans("abcdefghijklmnopqrstuvwxyz ", "!#$%&*+,-./:;<=>?@[]^_`{|}~")


def in_font(kind: str, *texts: str) -> bytes:
    """Lines that are set in F2, with its codes."""

    def written(text: str) -> str:
        if kind == "numbered":
            return "<" + "".join(f"{ord(c) - 29:04X}" for c in text) + ">"
        if kind == "unnamed":
            return "<" + "".join(f"{32 + CODES.index(c):02X}" for c in text) + ">"
        return f"({text.translate(WRONG) if kind == 'wrong' else text.lower().translate(SIGNS)})"

    set_ = (f"BT /F2 10 Tf 72 {600 - 12 * i} Td {written(text)} Tj ET" for i, text in enumerate(texts))
    return "\n".join(set_).encode()


@pytest.mark.parametrize(
    ("kind", "font"), [("numbered", NUMBERED), ("unnamed", UNNAMED), ("wrong", b""), ("signs", b"")]
)
def test_letters_without_a_meaning_are_named_and_not_stored(tmp_path: Path, kind: str, font: bytes) -> None:
    odd = in_font(kind, *PROSE)
    with pytest.raises(SourceError, match=r"a\.pdf: the fonts of this PDF tell the shapes.*text recognition"):
        read(tmp_path / "a.pdf", pdf_of([odd], font=font))
    found = read(tmp_path / "b.pdf", pdf_of([drawn(*BODY), odd], font=font))
    assert (len(found.blocks), found.left_out) == (1, {"unreadable pages": 1})
    short = in_font(kind, PROSE[0][:90])
    found = read(tmp_path / "c.pdf", pdf_of([drawn(*BODY) + b"\n" + short], font=font))
    if font:  # so short a text of a wrong map could be anything
        assert (len(found.blocks), [*found.left_out]) == (1, ["unreadable characters"])


@pytest.mark.parametrize(
    "text",
    [
        ("Dylai ysgolion wahardd ffonau clyfar oherwydd bod pob ffon sydd allan yn costio munud o wers i'r dosbarth"),
        ("Zastupitelstvo schvalilo rozpocet mesta a obcane chteli aby se na navsi vysadily stromy vlk prst krk"),
        ("Krzysztof Wrzeszcz, Zbigniew Brzk, Llyr Gwynn, Mstislav Grgic, Hrvoje Krpan, Srdjan Vlk, Siobhan Rhydderch"),
        ("XQ-4471 GRDR MK IV; RTA/78/K-2; HJK 401P; TWX 11L; VGH 220; NSN 6115-01-275-5061; LOC B7-R22-S3; CHK"),
        ("x^2 + y^2 = r^2; f(x) = a*x + b; (p -> q) & !r | s; E = m*c^2; [0, 1) % 7; $12.50; #4; {a_i}; 3 < 5; a @ b"),
    ],
)
def test_odd_texts_have_a_meaning(tmp_path: Path, text: str) -> None:
    parts = [text[i : i + 60] for i in range(0, len(text), 60)]
    escaped = [part.replace("(", r"\(").replace(")", r"\)") for part in parts]
    found = read(tmp_path / "a.pdf", pdf_of([drawn(*lines(*escaped))]))
    assert "".join(found.text.split()) == "".join(text.split())
    assert found.left_out == {}


@pytest.mark.parametrize(
    ("above", "size", "read_as"),
    [
        ("The harbour", 20, ("Ann Lee", "2024-05-03", "date: PDF metadata; author: PDF metadata")),
        ("By Bo Lind, 1 May 2024", 10, ("Bo Lind", "2024-05-01", "date: byline; author: byline")),
        ("On 1 May 2024 they met in the hall of the old", 20, ("Ann Lee", "", "author: PDF metadata")),
        ("Report for 2019", 20, ("Ann Lee", "", "author: PDF metadata")),
    ],
)
def test_author_and_day_of_the_file(tmp_path: Path, above: str, size: int, read_as: tuple[str, str, str]) -> None:
    info = b"/Author (Ann Lee) /CreationDate (D:20240503101500+02'00') /ModDate (D:20261128101500Z)"
    found = read(tmp_path / "a.pdf", pdf_of([drawn((72, 720, above, size), *BODY)], info=info))
    assert (found.author, found.date, found.provenance) == read_as
    program = b"/Author (Microsoft Office User)"
    assert read(tmp_path / "b.pdf", pdf_of([drawn(*BODY)], info=program)).author == ""


def test_each_line_of_a_head_is_read(tmp_path: Path) -> None:
    head = "County Office for Roads and Bridges", "Published 30 July 2025", "Prepared by R. Lee and T. Lind"
    placed = [(72, 742 - 14 * i, line, 10) for i, line in enumerate(head)]
    found = read(tmp_path / "a.pdf", pdf_of([drawn((72, 765, "The ferry in 2025", 20), *placed, *BODY)]))
    assert (found.publisher, found.date, found.author) == (head[0], "2025-07-30", "R. Lee, T. Lind")
    assert [block.text for block in found.blocks[1:4]] == [*head]


def test_the_signers_of_a_letter_stand_below_each_other(tmp_path: Path) -> None:
    lines = ("Yours sincerely,", "Ann Lee", "Secretary, Hill branch", "Bo Lind, pilot, Hill School")
    placed = [(72, 300 - 14 * i, line, 10) for i, line in enumerate(lines)]
    found = read(tmp_path / "a.pdf", pdf_of([drawn(*BODY, *placed)]))
    assert (found.author, found.blocks[-1].text) == ("Ann Lee, Bo Lind", lines[-1])


# Limits


@pytest.mark.parametrize("text", ["abcdefgh ", "a", ". ", "- ", "1"])
def test_a_line_without_end_is_read_in_time(tmp_path: Path, text: str) -> None:
    began = time.process_time()
    read(tmp_path / "a.pdf", pdf_of([drawn((72, 700, text * (400_000 // len(text)))), drawn(*BODY)]))
    assert time.process_time() - began < 10


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf_of([drawn(*BODY)])))
    writer.encrypt("secret")
    writer.write(tmp_path / "locked.pdf")
    whole = pdf_of([drawn(*BODY)])
    for name, data, told in (
        ("locked.pdf", (tmp_path / "locked.pdf").read_bytes(), "encrypted. Save a copy without a password"),
        ("half.pdf", whole[: len(whole) // 2].replace(b"obj", b"job"), "damaged and cannot be read"),
        ("none.pdf", b"hello", "this is not a PDF, despite its ending"),
        ("empty.pdf", pdf_of([b""]), "this PDF holds no text"),
    ):
        with pytest.raises(SourceError, match=rf"{name}: .*{told}"):
            read(tmp_path / name, data)
