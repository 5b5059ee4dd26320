"""PDF as people have it: columns, broken words, headers, notes, tables, scans; the pages are made here."""

import random
import threading
from pathlib import Path

import pytest
from written_files import pdf_of, width

from tools.errors import SourceError
from tools.ingest.line_ends import Vocabulary
from tools.ingest.pdf import is_junk_title, pdf_document, read_pdf
from tools.ingest.pdf_columns import Row, strip_of
from tools.ingest.pdf_layout import regions
from tools.ingest.pdf_pages import Piece
from tools.passages import Block, SourceDocument


def read(path: Path, data: bytes) -> SourceDocument:
    path.write_bytes(data)
    [found] = read_pdf(path, path.name)
    return found


def drawn(*pieces: tuple[float, float, str] | tuple[float, float, str, float] | str) -> bytes:
    """Drawing operations: text at a place from the lower left corner, in a size (10), bold where that is negative."""
    made = []
    for piece in pieces:
        if isinstance(piece, str):
            made.append(piece)
            continue
        x, y, text, size = (*piece, 10.0)[:4]
        font = "F2" if float(size) < 0 else "F1"
        made.append(f"BT /{font} {abs(float(size))} Tf {x} {y} Td ({text}) Tj ET")
    return "\n".join(made).encode("cp1252")


def lines(*texts: str, x: float = 72, y: float = 700) -> list[tuple[float, float, str]]:
    return [(x, y - 12 * i, text) for i, text in enumerate(texts)]


PICTURE = "q 500 0 0 700 50 50 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q"

BODY = lines(
    "The harbour was closed in May, and nobody had asked the fishermen what they",
    "thought about it. The council spoke of walls that had to be mended, and of the",
    "money that was there for that year only. It opened again in June of that year.",
)


def forms(found: SourceDocument) -> list[tuple[str, str]]:
    return [(block.form, block.text) for block in found.blocks]


# Words and lines


def test_a_broken_word_in_a_narrow_cell(tmp_path: Path) -> None:
    rows = [
        ("Yea", "Nay", "What was asked"),
        ("201", "877", "Should the water be"),
        ("2020", "902", "Should it stand?"),
    ]
    cells = [(72 + 40 * j, 600 - 26 * i, cell) for i, row in enumerate(rows) for j, cell in enumerate(row)]
    cells += [(72, 589, "r"), (72, 563, "9"), (152, 563, "treated?")]
    found = read(tmp_path / "a.pdf", pdf_of([drawn(*BODY, *cells)]))
    text = "Year | Nay | What was asked\n2019 | 877 | Should the water be treated?\n2020 | 902 | Should it stand?"
    assert forms(found)[1] == ("table", text)


@pytest.mark.parametrize(
    ("before", "broken", "whole"),
    [
        ("", ["adip-", "iscing"], "adipiscing"),
        ("", ["under-", "stand"], "understand"),
        ("", ["a well-", "known man"], "a well-known man"),
        ("the co-op", ["a co-", "op shop"], "a co-op shop"),
        ("a coop", ["a co-", "op shop"], "a coop shop"),
        ("", ["Anglo-", "Saxon"], "Anglo-Saxon"),
        ("", ["self\u00ad", "same"], "selfsame"),
        ("", ["from 1990-", "1995"], "from 1990- 1995"),
        ("", ["and/", "or"], "and/or"),
    ],
)
def test_hyphens_at_line_ends(before: str, broken: list[str], whole: str) -> None:
    assert Vocabulary([before, *broken]).join(broken) == whole


# What stands on a page


def test_headings_by_size_weight_and_outline(tmp_path: Path) -> None:
    page = drawn((72, 750, "The old harbour", 20), (72, 725, "What happened", -10), *BODY)
    found = read(tmp_path / "a.pdf", pdf_of([page]))
    assert [(b.form, b.level, b.text) for b in found.blocks[:2]] == [
        ("heading", 1, "The old harbour"),
        ("heading", 2, "What happened"),
    ]
    assert found.blocks[2] == Block(" ".join(text for _, _, text in BODY), page=1, last_page=1)
    assert found.title == "The old harbour"


def test_items_captions_and_notes(tmp_path: Path) -> None:
    page = drawn(
        *BODY,
        (72, 650, "\u2022"),
        *lines("the walls, which had been broken for years and which the council had left as", x=84, y=650),
        *lines("they were", x=84, y=638),
        (72, 626, "\u2022 the boats"),
        (72, 600, "Figure 2: Boats in the harbour, by month.", 9),
        (72, 570, "What was said then is not known.", 10),
        (72 + width("What was said then is not known.", 10), 574, "3", 6),
        (72, 90, "3", 5),
        (76, 87, "The minutes of the council are lost.", 8),
    )
    found = read(tmp_path / "a.pdf", pdf_of([page]))
    assert forms(found)[1:] == [
        ("item", "the walls, which had been broken for years and which the council had left as they were"),
        ("item", "the boats"),
        ("caption", "Figure 2: Boats in the harbour, by month."),
        ("paragraph", "What was said then is not known."),
        ("note", "The minutes of the council are lost."),
    ]
    assert found.left_out["note marks"] == 1


def test_a_table(tmp_path: Path) -> None:
    rows = [("Year", "Boats", "Catch"), ("1990", "40", "210 t"), ("1991", "38", ""), ("1992", "35", "190 t")]
    cells = [(72 + 90 * j, 600 - 14 * i, cell) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell]
    found = read(tmp_path / "a.pdf", pdf_of([drawn(*BODY, *cells)]))
    assert forms(found)[1] == ("table", "Year | Boats | Catch\n1990 | 40 | 210 t\n1991 | 38 | \n1992 | 35 | 190 t")


def test_a_paragraph_over_a_page_is_one(tmp_path: Path) -> None:
    first = drawn(
        (72, 760, "Gazette 1"),
        *BODY,
        *lines("Then the whole of the fleet left the old harbour of the town, and for all", y=640),
    )
    second = drawn((72, 760, "Gazette 2"), *lines("of the winter nothing was heard of it."), (300, 40, "2"))
    found = read(tmp_path / "a.pdf", pdf_of([first, second]))
    assert found.blocks[-1] == Block(
        "Then the whole of the fleet left the old harbour of the town, and for all "
        "of the winter nothing was heard of it.",
        page=1,
        last_page=2,
    )
    assert found.left_out == {"running headers": 2, "page numbers": 1}


def test_a_table_of_contents_is_left_out(tmp_path: Path) -> None:
    contents = [f"{i} The harbour {'. ' * 20}{i + 3}" for i in range(1, 5)]
    found = read(tmp_path / "a.pdf", pdf_of([drawn(*lines(*contents, y=740), *((x, y - 60, t) for x, y, t in BODY))]))
    assert [block.form for block in found.blocks] == ["paragraph"]
    assert found.left_out == {"lines of contents": 4}


def test_turned_lines_and_images_are_counted(tmp_path: Path) -> None:
    turned = "BT /F1 10 Tf 0 1 -1 0 30 300 Tm (arXiv:1234) Tj ET"
    found = read(tmp_path / "a.pdf", pdf_of([drawn(*BODY, turned, PICTURE)]))
    assert len(found.blocks) == 1
    assert found.left_out == {"turned lines": 1, "images": 1}


def test_a_page_that_lies_on_its_side_is_read(tmp_path: Path) -> None:
    page = [f"BT /F1 10 Tf 0 1 -1 0 {800 - y} {x} Tm ({text}) Tj ET" for x, y, text in BODY]
    found = read(tmp_path / "a.pdf", pdf_of([drawn(*page)]))
    assert forms(found) == [("paragraph", " ".join(text for _, _, text in BODY))]


@pytest.mark.parametrize(
    ("title", "junk"),
    [
        *(
            (title, True)
            for title in ("", "untitled", "Untitled-1", "Microsoft Word - x.doc", "index.pdf", "a", "slide 1")
        ),
        *(
            (title, True)
            for title in ("PowerPoint Presentation", "Annual report template", "paper_final.dvi", "C:\\x\\y")
        ),
        *(
            (title, False)
            for title in ("The harbour", "Report on the harbour", "Slide rules and how to use them", "1984 and after")
        ),
    ],
)
def test_titles_that_no_author_gave(tmp_path: Path, title: str, junk: bool) -> None:
    assert is_junk_title(title, "b/a.pdf") == junk
    page = drawn((72, 750, "The old harbour", 20), *BODY)
    assert read(tmp_path / "a.pdf", pdf_of([page], title)).title == ("The old harbour" if junk else title)
    assert read(tmp_path / "the_quay.pdf", pdf_of([drawn(*BODY)], "untitled")).title == "the quay"


# Scans


@pytest.fixture
def no_tesseract(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def tesseract(folder: Path, script: str) -> None:
    program = folder / "tesseract"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.mark.usefixtures("no_tesseract")
def test_a_scan_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"a\.pdf: this PDF is scanned.*only images.*install tesseract"):
        read(tmp_path / "a.pdf", pdf_of([drawn(PICTURE)]))
    found = read(tmp_path / "a.pdf", pdf_of([drawn(*BODY), drawn(PICTURE)]))
    assert found.left_out == {"scanned pages": 1}


def test_scans_are_read_by_tesseract(tmp_path: Path, no_tesseract: Path) -> None:
    said = r"Nobody had\nasked the fish-\nermen.\n\nIt rained.\n\f"
    check = '[ "$(/usr/bin/head -c 2)" = P5 ] || exit 3'
    script = f'{check}\n/bin/cat > /dev/null\necho "$@" > "$0.log"\nprintf "{said}"'
    tesseract(no_tesseract, script)
    found = read(tmp_path / "a.pdf", pdf_of([drawn(*BODY), drawn(PICTURE), drawn(*lines("It opened again."))]))
    assert [block.page for block in found.blocks] == [1, 2, 2, 3]
    assert found.blocks[1:3] == (
        Block("Nobody had asked the fishermen.", page=2, last_page=2),
        Block("It rained.", page=2, last_page=2),
    )
    assert found.left_out == {"pages read by text recognition": 1}
    assert (no_tesseract / "tesseract.log").read_text().split() == ["stdin", "stdout", "--dpi", "200"]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("/bin/cat > /dev/null; echo 'no language eng' >&2; exit 1", r"page 1 .*failed \(no language eng\)"),
        ("/bin/cat > /dev/null", "text recognition found none"),
    ],
)
def test_tesseract_that_fails(tmp_path: Path, no_tesseract: Path, script: str, told: str) -> None:
    tesseract(no_tesseract, script)
    with pytest.raises(SourceError, match=rf"a\.pdf: .*{told}"):
        read(tmp_path / "a.pdf", pdf_of([drawn(PICTURE)]))


# Limits


def test_pages_after_the_last_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf_of([drawn(*BODY)] * 5))
    found = pdf_document(tmp_path / "a.pdf", "a.pdf", most_pages=2)
    assert found.left_out["pages after the last that is read"] == 3


def test_files_are_read_by_several_threads_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf_of([drawn(*BODY)] * 9))
    texts: list[str] = []
    threads = [
        threading.Thread(target=lambda: texts.append(pdf_document(tmp_path / "a.pdf", "a.pdf").text)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 4
    assert len(set(texts)) == 1


def test_columns_of_words_without_half_their_letters_are_parted_to_an_end() -> None:
    chance = random.Random(149)  # of 3,000 seeds, one of three whose best gutter parts no rows
    rows: list[Row] = [[] for _ in range(10)]
    for number, row in enumerate(rows):
        for left in (57.0, 222.0, 387.0):
            x = left
            while x < left + 140:
                letters = chance.randint(1, 10)
                end = x + 4.0 * letters
                if end > left + 152:
                    break
                row.append(Piece("a" * letters, x, end, 66 + 12.0 * number, 9.5, False, ((x, end),)))
                x = end + chance.choice((4.0, 9.0, 9.0, 15.0))
    strip = strip_of(rows)
    assert strip is None or strip.bands
    words = [piece.text for row in rows for piece in row]
    assert len(regions(rows, {}, strip)) > 0
    found = " ".join(line.text for region in regions(rows, {}, strip) for line in region.lines)
    assert sum(map(len, words)) == found.count("a")
