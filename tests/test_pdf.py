"""PDF as people have it: columns, broken words, headers, notes, tables, scans; the pages are made here."""

import io
import time
from pathlib import Path

import pypdf
import pytest
from written_files import BODY, PICTURE, drawn, lines, pdf_of

from tools.documents.document import title_unless_junk
from tools.documents.pdf import read_pdf
from tools.documents.plain import join_lines
from tools.errors import SourceError
from tools.passages import Block, SourceDocument


def read(path: Path, data: bytes) -> SourceDocument:
    path.write_bytes(data)
    [found] = read_pdf(path, path.name)
    return found


# Words


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        (["adip-", "iscing"], "adipiscing"),
        (["under-", "stand"], "understand"),
        (["a well-", "known man"], "a well-known man"),
        (["Anglo-", "Saxon"], "Anglo-Saxon"),
        (["self\u00ad", "same"], "selfsame"),
        (["from 1990-", "1995"], "from 1990- 1995"),
        (["and/", "or"], "and/or"),
    ],
)
def test_hyphens_at_line_ends(broken: list[str], whole: str) -> None:
    assert join_lines(broken) == whole


# What stands on a page


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


@pytest.mark.parametrize(
    ("title", "junk"),
    [
        *((title, True) for title in ("", "Untitled-1", "Microsoft Word - x.doc", "a", "PowerPoint Presentation")),
        *((title, False) for title in ("The harbour", "Slide rules and how to use them", "1984 and after")),
    ],
)
def test_titles_that_no_author_gave(tmp_path: Path, title: str, junk: bool) -> None:
    assert title_unless_junk(title, "b/a.pdf") == ("" if junk else title)
    page = drawn((72, 750, "The old harbour", 20), *BODY)
    assert read(tmp_path / "a.pdf", pdf_of([page], title)).title == ("The old harbour" if junk else title)
    assert read(tmp_path / "the_quay.pdf", pdf_of([drawn(*BODY)], "untitled")).title == "the quay"


# Scans


def test_a_scan_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"a\.pdf: this PDF is scanned.*only images.*text recognition"):
        read(tmp_path / "a.pdf", pdf_of([drawn(PICTURE)]))
    found = read(tmp_path / "a.pdf", pdf_of([drawn(*BODY), drawn(PICTURE)]))
    assert found.left_out == {"scanned pages": 1}


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
        ("none.pdf", b"hello", "this is not a PDF, whatever its name says"),
        ("empty.pdf", pdf_of([b""]), "this PDF holds no text"),
    ):
        with pytest.raises(SourceError, match=rf"{name}: .*{told}"):
            read(tmp_path / name, data)


def test_a_book_may_be_called_by_a_number() -> None:
    assert title_unless_junk("1984") == "1984"
    assert title_unless_junk("What is robots.txt") == "What is robots.txt"
    assert title_unless_junk("PowerPoint-Präsentation") == ""
