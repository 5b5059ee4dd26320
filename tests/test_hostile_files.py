"""Small files that want much: each is read within its limits or is one problem, and any bytes at all are either."""

import asyncio
import os
import re
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from office_files import cell, epub, odt, packed, paragraph, shape, slides, table, word
from written_files import pdf

from tools.documents.sandbox import ReaderLimits, read_in_process
from tools.errors import SourceError, SteelmanError
from tools.passages import SourceDocument
from tools.web.domains import DomainLists, read_source
from tools.web.fetch import FetchedPage

WORDS = "Bridges bring trade to both banks of a town, and a ferry brings less of it in every winter."
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "10"))
"""Files of each format that are tried; `FUZZ_EXAMPLES=5000 pytest tests/test_hostile_files.py -k bytes` tries more."""
MESSAGE = f"""From: =?utf-8?q?A_B?= <a@b>
Date: Wed, 5 Mar 2025 10:00:00 +0000
Subject: a
Content-Type: multipart/mixed; boundary="c"

--c
Content-Type: text/plain; charset="utf-8"
Content-Transfer-Encoding: quoted-printable

{WORDS}=

On 4 Mar 2025 at 9:00, B wrote:
> No.
--c
Content-Type: text/html

<p>{WORDS}<blockquote>No.</blockquote>
--c--
"""
MANY = "60000000"
LISTS = DomainLists.load(None)


def read(path: Path, **limits: float) -> list[SourceDocument]:
    return list(read_in_process(path, path.name, limits=ReaderLimits(**{"seconds": 20.0, "megabytes": 512, **limits})))  # type: ignore[arg-type]


def merged_docx(path: Path) -> Path:
    wide = f'<w:gridSpan w:val="{MANY}"/>'
    before = f'<w:trPr><w:gridBefore w:val="{MANY}"/></w:trPr>'
    return word(path, table(before + cell(paragraph("a"), wide) + cell(paragraph("b")), cell(paragraph("c")) * 2))


def merged_odt(path: Path) -> Path:
    often = f'table:number-columns-repeated="{MANY}" table:number-columns-spanned="{MANY}"'
    cells = f"<table:table-cell {often}><text:p>{WORDS * 10}</text:p></table:table-cell><table:table-cell/>"
    row = f'<table:table-row table:number-rows-repeated="{MANY}">{cells}</table:table-row>'
    return odt(path, f'<table:table>{row}</table:table><text:p>b<text:s text:c="{MANY}"/></text:p>')


def merged_pptx(path: Path) -> Path:
    inside = f'<a:tc gridSpan="{MANY}" rowSpan="{MANY}"><a:txBody><a:p><a:r><a:t>a</a:t></a:r></a:p></a:txBody></a:tc>'
    uri = "http://schemas.openxmlformats.org/drawingml/2006/table"
    grid = f"<a:tbl><a:tblGrid/><a:tr>{inside * 2}</a:tr></a:tbl>"
    frame = f'<a:graphic><a:graphicData uri="{uri}">{grid}</a:graphicData></a:graphic>'
    return slides(path, shape("b") + f"<p:graphicFrame>{frame}</p:graphicFrame>")


def merged_html(path: Path) -> Path:
    path.write_text(f"<table><tr><td colspan={MANY} rowspan={MANY}>a<td>b<tr><td>c<td>d</table>")
    return path


def nested_rtf(path: Path) -> Path:
    path.write_text(rf"{{\rtf1\pard\intbl\itap{MANY} a\cell b\cell\row\pard\li{MANY} c\par}}")
    return path


@pytest.mark.parametrize("write", [merged_docx, merged_odt, merged_pptx, merged_html, nested_rtf])
def test_numbers_in_a_marking_make_nothing(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    found = read(write(tmp_path / f"a.{write.__name__.partition('_')[2]}"), seconds=3.0, megabytes=300)
    assert 0 < len(found[0].text) < 2000


def test_entities_of_entities(tmp_path: Path) -> None:
    names = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20}">' for n in range(1, 12))
    doctype = f'<!DOCTYPE w [<!ENTITY e0 "{WORDS}">{names}]>'
    with zipfile.ZipFile(word(tmp_path / "plain.docx", paragraph("@") + paragraph(WORDS))) as plain:
        parts = {name: plain.read(name) for name in plain.namelist()}
    parts["word/document.xml"] = doctype.encode() + parts["word/document.xml"].replace(b"@", b"&e11;")
    with pytest.raises(SourceError, match=r"^a\.docx: .*damaged one \(Maximum entity amplification"):
        read(packed(tmp_path / "a.docx", parts))
    (tmp_path / "a.html").write_text(f"{doctype}<p>&e11; {WORDS}</p>")
    assert len(read(tmp_path / "a.html")[0].text) < 20_000


def looping_pdf(levels: int = 9) -> bytes:
    """A page of a few bytes whose forms draw each other ten times each, down to a word."""
    forms = b"".join(
        b"%d 0 obj\n<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /XObject << /F %d 0 R >> "
        b"/Font << /F1 3 0 R >> >> /Length %d >>\nstream\n%b\nendstream\nendobj\n" % (n, n + 1, len(drawn), drawn)
        for n in range(10, 10 + levels)
        for drawn in [b"/F Do " * 10 if n < 9 + levels else b"BT /F1 12 Tf 72 700 Td (word) Tj ET"]
    )
    page = pdf(WORDS).replace(b"/Resources << /Font", b"/Resources << /XObject << /F 10 0 R >> /Font")
    page = page.replace(b" Tj ET", b" Tj ET /F Do", 1)
    return page[: page.index(b"xref\n")] + forms + b"trailer\n<< /Root 1 0 R >>\n%%EOF\n"


def test_a_pdf_that_draws_without_end(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(looping_pdf())
    began = time.monotonic()
    with pytest.raises(SourceError, match=r"a\.pdf: (?:takes too long|unpacks to more|is damaged)"):
        list(read_in_process(tmp_path / "a.pdf", "a.pdf", limits=ReaderLimits(seconds=1.0, megabytes=400)))
    assert time.monotonic() - began < 60  # of a busy machine


def test_a_pdf_of_a_page_that_unpacks_to_far_more_than_it_is(tmp_path: Path) -> None:
    spaces = zlib.compress(b" " * 150_000_000, 1)
    plain = pdf(WORDS)
    start, end = plain.index(b"<< /Length"), plain.index(b"\nendstream")
    stream = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b" % (len(spaces), spaces)
    (tmp_path / "a.pdf").write_bytes(plain[:start] + stream + plain[end:])
    with pytest.raises(SourceError, match=r"a\.pdf: "):
        read(tmp_path / "a.pdf", megabytes=256)


def test_a_page_of_the_web_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.web.domains._LIMITS", ReaderLimits(seconds=1.0, megabytes=400, advice=""))
    page = FetchedPage("https://x.example/a.pdf", "application/pdf", looping_pdf())
    with pytest.raises(SourceError, match=r"^https://x\.example/a\.pdf: (?:takes too long|is damaged|unpacks)"):
        asyncio.run(read_source(page, LISTS))
    after = FetchedPage("https://x.example/b", "text/plain", f"{WORDS} ".encode() * 5)
    assert asyncio.run(read_source(after, LISTS)).text.startswith(WORDS)


# Any bytes


def seeds(folder: Path) -> dict[str, bytes]:
    """A small file of each format, by its ending."""
    marked = f"# Bridges\n\n{WORDS}\n\n- one\n- two[^1]\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[^1]: A note.\n"
    html = (
        f"<html><head><title>On bridges</title></head><body><h1>Bridges</h1><p>{WORDS}</p><ul><li>a</ul></body></html>"
    )
    rst = f"Bridges\n=======\n\n{WORDS} [1]_\n\n.. [1] A note.\n\n.. csv-table::\n\n   a,b\n"
    cells = "<table:table-cell table:number-columns-repeated='2'><text:p>a</text:p></table:table-cell>"
    row = f"<table:table-row>{cells}</table:table-row>"
    files = {
        "docx": word(folder / "a", paragraph(WORDS) + table(cell(paragraph("a"), '<w:gridSpan w:val="2"/>') * 2)),
        "odt": odt(folder / "b", f"<text:p>{WORDS}</text:p><table:table>{row}</table:table>"),
        "pptx": slides(folder / "c", shape(WORDS, place='type="title"')),
        "epub": epub(folder / "d", {"one": f"<h1>One</h1><p>{WORDS}</p>"}),
    }
    return {
        **{ending: path.read_bytes() for ending, path in files.items()},
        "pdf": pdf(WORDS),
        "rtf": rf"{{\rtf1\ansi\pard {WORDS}\par\intbl a\cell b\cell\row}}".encode(),
        "html": html.encode(),
        "md": marked.encode(),
        "rst": rst.encode(),
        "txt": f"Bridges\n\n{WORDS}\n{WORDS}\n".encode(),
        "csv": f'id,text,date\n1,"{WORDS}",2020-01-01\n2,"{WORDS}",2021\n'.encode(),
        "jsonl": f'{{"id": "a", "text": "{WORDS}"}}\n{{"id": "b", "text": "{WORDS}"}}\n'.encode(),
        "json": f'[{{"id": "a", "text": "{WORDS}"}}]'.encode(),
        "vtt": f"WEBVTT\n\nNOTE a\n\n1\n00:01.000 --> 00:02.000\n<v Ann>{WORDS}</v>\n- No.\n".encode(),
        "srt": f"1\n00:00:01,000 --> 00:00:02,000\nANN: {WORDS}\n\n2\n00:00:03,000 --> 00:00:04,000\n>> No.\n".encode(),
        "eml": MESSAGE.encode(),
        "mbox": f"From a\n{MESSAGE}\nFrom b\n{MESSAGE}".encode(),
    }


EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=12)), min_size=1, max_size=6)
ENDINGS = "docx odt pptx epub pdf rtf html md rst txt csv jsonl json vtt srt eml mbox".split()


@pytest.mark.parametrize("ending", ENDINGS)
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, ending: str) -> None:
    folder = tmp_path_factory.mktemp(ending)
    whole = seeds(folder)[ending]
    path = folder / f"a.{ending}"

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(EDITS)
    def check(edits: list[tuple[float, int, bytes]]) -> None:
        data = whole
        for place, dropped, put in edits:
            at = int(place * len(data))
            data = data[:at] + put + data[at + dropped :]
        path.write_bytes(data)
        told = ""
        try:
            read(path)
        except SteelmanError as exc:
            told = str(exc)
        assert told.startswith(f"a.{ending}") or not told
        assert not re.search("failed unexpectedly|ended its reader|too long", told)

    check()
