"""Reading files: every format as people have it, and every way in which a file is not what its name says."""

import codecs
import contextlib
import logging
import time
import zipfile
from pathlib import Path

import pytest
from web_server import pdf

from tools.errors import ModelError, SourceError
from tools.ingest.documents import printable
from tools.ingest.html import html_document
from tools.ingest.readers import READERS, Read, read_file
from tools.passages import Block, SourceDocument

SPEECH = "The harbour was closed in May. Nobody had asked the fishermen."


def read(path: Path, skipped: list[str] | None = None) -> list[SourceDocument]:
    if skipped is None:
        return list(read_file(path, path.name))
    return list(read_file(path, path.name, lambda exc: skipped.append(str(exc))))


def one(path: Path) -> SourceDocument:
    [found] = read(path)
    return found


def write(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def encrypted(tmp_path: Path, password: str, algorithm: str) -> Path:
    from pypdf import PdfReader, PdfWriter

    plain = write(tmp_path / "plain.pdf", pdf([SPEECH]))
    writer = PdfWriter(clone_from=PdfReader(plain))
    writer.encrypt(password, owner_password="owner", algorithm=algorithm)
    writer.write(tmp_path / "locked.pdf")
    return tmp_path / "locked.pdf"


# Text


def test_plain_text(tmp_path: Path) -> None:
    found = one(write(tmp_path / "the_old-harbour.txt", SPEECH))
    assert found == SourceDocument("the_old-harbour.txt", SPEECH, title="the old harbour", blocks=(Block(SPEECH),))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (codecs.BOM_UTF8 + b"Caf\xc3\xa9", "Café"),
        (b"Caf\xe9 \x93quoted\x94 \x96 5\x80", "Café “quoted” – 5€"),
        ("Café".encode("utf-16"), "Café"),
        (codecs.BOM_UTF16_BE + "Café".encode("utf-16-be"), "Café"),
        ("“Café” – the Ā.\r\nTwo".encode("utf-16-le"), "“Café” – the Ā.\n\nTwo"),
        ("“Café” – the Ā.\r\nTwo".encode("utf-16-be"), "“Café” – the Ā.\n\nTwo"),
        ("Порт открыт, и всем это нравится.".encode("utf-16-le"), "Порт открыт, и всем это нравится."),
        (b"one\r\ntwo\rthree", "one\n\ntwo\n\nthree"),
        (b"", ""),
    ],
)
def test_encodings_and_line_ends(tmp_path: Path, data: bytes, expected: str) -> None:
    assert one(write(tmp_path / "a.txt", data)).text == expected


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00",
        pdf([SPEECH]),
        b"PK\x03\x04" + b"z" * 100,
        b"".join(n.to_bytes(2, "little") for n in range(200)),
        b"RIFF" + b"".join((n * 37 % 200 - 100).to_bytes(2, "little", signed=True) for n in range(2000)),
    ],
)
@pytest.mark.parametrize("ending", ["txt", "md", "html", "csv", "jsonl"])
def test_a_binary_file_under_a_text_name(tmp_path: Path, data: bytes, ending: str) -> None:
    with pytest.raises(SourceError, match=rf"a\.{ending}: this is not a text file.*right ending"):
        read(write(tmp_path / f"a.{ending}", data))


def test_an_ending_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"'\.xlsx' cannot be read.*\.txt.*\.jsonl"):
        read(write(tmp_path / "a.xlsx", b""))


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    for ending in READERS:
        with pytest.raises(SourceError, match=f"gone{ending}"):
            read(tmp_path / f"gone{ending}")


@pytest.mark.parametrize("failure", [ValueError("All strings must be XML compatible"), RecursionError()])
def test_a_reader_that_fails_is_a_problem_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    def fails(path: Path, name: str) -> Read:
        yield SourceDocument("a", SPEECH)
        raise failure

    monkeypatch.setitem(READERS, ".md", fails)
    path = write(tmp_path / "a.md", SPEECH)
    found: list[SourceDocument] = []
    with (
        caplog.at_level(logging.DEBUG),
        pytest.raises(SourceError, match=f"a.md: cannot be read.* not foreseen .{type(failure).__name__}.*report"),
    ):
        found.extend(read_file(path, path.name))
    assert [document.text for document in found] == [SPEECH]
    assert {record.levelname for record in caplog.records} == {"DEBUG"}


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError, ModelError])
def test_what_is_no_fault_of_a_reader_ends_the_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    def fails(path: Path, name: str) -> Read:
        raise failure

    monkeypatch.setitem(READERS, ".md", fails)
    with pytest.raises(failure):
        list(read_file(write(tmp_path / "a.md", SPEECH), "a.md"))


def test_a_name_that_is_not_unicode() -> None:
    assert printable("caf\udce9.txt") == "caf\\udce9.txt"
    assert printable("café.txt") == "café.txt"


# Markdown

MARKDOWN = """---
title: The harbour
publisher: Sample Gazette
kind: News
date: 2026-03-12
url: https://h.example/1
---
# Another heading

The **harbour** was [closed](https://x.example) in `May`.

![a picture of boats](boats.png)

---

> Nobody had *asked*.

- the fishermen
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_markdown_with_front_matter(tmp_path: Path, ends: str) -> None:
    found = one(write(tmp_path / "a.md", MARKDOWN.replace("\n", ends)))
    assert (found.title, found.publisher, found.kind) == ("The harbour", "Sample Gazette", "news")
    assert (found.date, found.url) == ("2026-03-12", "https://h.example/1")
    lines = [line for line in found.text.split("\n") if line]
    assert lines == ["Another heading", "The harbour was closed in May.", "Nobody had asked.", "the fishermen"]


def test_markdown_without_front_matter_takes_its_heading(tmp_path: Path) -> None:
    assert one(write(tmp_path / "a.md", "# The harbour\n\nIt was closed.")).title == "The harbour"
    assert one(write(tmp_path / "old_harbour.md", "It was closed.")).title == "old harbour"
    assert one(write(tmp_path / "a.md", "---\ntitle:\nkind: blog\n---\n# The harbour\n")).title == "The harbour"


def test_text_between_two_rules_is_no_front_matter(tmp_path: Path) -> None:
    found = one(write(tmp_path / "a.md", "---\nThe harbour was closed.\n\n---\nNobody had asked."))
    assert found.text.split() == "The harbour was closed. Nobody had asked.".split()


@pytest.mark.parametrize("block", ["title: [unclosed", "title: a: b", "date: 2026-02-31"])
def test_broken_front_matter(tmp_path: Path, block: str) -> None:
    with pytest.raises(SourceError, match=r"a\.md: .*not valid YAML.*Mend or remove"):
        read(write(tmp_path / "a.md", f"---\n{block}\n---\nText."))


def test_front_matter_that_would_unfold_without_end_is_refused(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12))]
    block = "\n".join([*levels, "title: *a11"])
    with pytest.raises(SourceError, match=r"a\.md: .*aliases"):
        read(write(tmp_path / "a.md", f"---\n{block}\n---\nText."))


def test_front_matter_that_is_nested_too_deep(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"a\.md: .*not valid YAML"):
        read(write(tmp_path / "a.md", f"---\na: {'[' * 800}{']' * 800}\n---\nText."))


@pytest.mark.parametrize("hostile", ["[", "![", "[x](", "![x](", "[x]((", "[x](()"])
def test_markdown_of_nothing_but_brackets_is_read_at_once(tmp_path: Path, hostile: str) -> None:
    began = time.perf_counter()
    found = read_file(write(tmp_path / "a.md", f"It was closed. {hostile * 200_000}"), "a.md")
    assert next(iter(found)).text.startswith("It was closed.")
    assert time.perf_counter() - began < 5  # minutes, if each bracket were followed to the end of the file


@pytest.mark.parametrize(
    "text",
    [
        "A chapter, ![fig](a.png)\x0c with a page end.",
        "A chapter, ![fig](a.png)\x01 with a page end.",
        "A chapter, ![fig](a.png)&#12; with a page end.",
        "A chapter,[^1]\x0c with a page end.\n\n[^1]: x",
    ],
)
def test_markdown_with_control_characters(tmp_path: Path, text: str) -> None:
    assert one(write(tmp_path / "a.md", text)).text.startswith("A chapter, with a page end.")


def test_links_and_pictures_leave_their_words(tmp_path: Path) -> None:
    text = "See [the harbour](https://h.example/Harbour_(town)) and [boats](b.html).![x](a.png)"
    assert one(write(tmp_path / "a.md", text)).text == "See the harbour and boats."


@pytest.mark.parametrize(
    ("given", "kept"),
    [("2026", "2026"), ("2026-03", "2026-03"), ("2026-03-12 10:30:00", "2026-03-12"), ("spring", ""), ("20260312", "")],
)
def test_dates_are_iso_or_empty(tmp_path: Path, given: str, kept: str) -> None:
    assert one(write(tmp_path / "a.md", f"---\ndate: '{given}'\n---\nText.")).date == kept


# HTML

PAGE = f"""<!doctype html><html><head><title>The old harbour</title>
<meta property="og:site_name" content="Sample Gazette"><meta name="date" content="2026-03-12">
<link rel="canonical" href="https://gazette.example/harbour"></head><body>
<nav><a href="/">Home</a> <a href="/sport">Sport</a> <a href="/login">Log in to your account</a></nav>
<article><h1>The old harbour</h1><p>{SPEECH} {"The boats lay idle for a whole season. " * 8}</p>
<p>{"The mayor said that the walls had to be mended first. " * 8}</p></article>
<footer>Copyright Sample Gazette. All rights reserved. Subscribe to our newsletter.</footer>
<script>alert("x")</script></body></html>"""


def test_a_page_without_its_furniture(tmp_path: Path) -> None:
    found = one(write(tmp_path / "a.html", PAGE))
    assert "Nobody had asked the fishermen." in found.text
    assert "The mayor said" in found.text
    for furniture in ("Log in", "Sport", "newsletter", "alert"):
        assert furniture not in found.text
    assert (found.title, found.publisher, found.date) == ("The old harbour", "Sample Gazette", "2026-03-12")
    assert found.url == "https://gazette.example/harbour"
    assert found.external_id == "a.html"


def test_the_sign_that_links_a_heading_is_no_part_of_it(tmp_path: Path) -> None:
    link = '<a class="headerlink" href="#tolls">¶</a>'
    text = "<p>Tolls pay for bridges, which carry towns over rivers, and taxes do not pay for them.</p>"
    page = one(write(tmp_path / "page.html", f"<html><body><h1>On Tolls{link}</h1>{text}</body></html>"))
    note = one(write(tmp_path / "page.txt", "On Tolls¶\n=========\n\nTolls pay for bridges, which carry towns.\n"))
    assert (page.title, page.blocks[0].text, note.blocks[0].text) == ("On Tolls", "On Tolls", "On Tolls")


def test_a_page_from_the_web_keeps_its_address() -> None:
    page = PAGE.replace('<link rel="canonical" href="https://gazette.example/harbour">', "")
    found = html_document(page, "n", "https://w.example/1")
    assert found.url == "https://w.example/1"


@pytest.mark.parametrize("data", ["", "<html><body></body></html>", "<nav><a href='/'>Home</a></nav>"])
def test_a_page_without_text(tmp_path: Path, data: str) -> None:
    with pytest.raises(SourceError, match="no readable text"):
        read(write(tmp_path / "a.htm", data))


# PDF


def test_pdf(tmp_path: Path) -> None:
    found = one(write(tmp_path / "a.pdf", pdf([SPEECH, "It opened again in June."], "The harbour")))
    assert found.title == "The harbour"
    assert found.text == f"{SPEECH}\n\nIt opened again in June."
    assert one(write(tmp_path / "old_harbour.pdf", pdf([SPEECH]))).title == "old harbour"


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_an_encrypted_pdf(tmp_path: Path, algorithm: str) -> None:
    with pytest.raises(SourceError, match=r"encrypted.*without a password"):
        read(encrypted(tmp_path, "secret", algorithm))


def test_a_pdf_that_opens_without_a_password(tmp_path: Path) -> None:
    assert one(encrypted(tmp_path, "", "AES-256")).text == SPEECH


def test_a_pdf_without_text(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"holds no text.*text recognition"):
        read(write(tmp_path / "a.pdf", pdf(["", ""])))


def test_what_is_no_pdf(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.pdf", "w") as archive:
        archive.writestr("x.txt", SPEECH)
    for data in ((tmp_path / "a.pdf").read_bytes(), b"", b"hello", b"<html><body><p>Sign in.</p></body></html>"):
        with pytest.raises(SourceError, match=r"a\.pdf: this is not a PDF.*right ending"):
            read(write(tmp_path / "a.pdf", data))
    with pytest.raises(SourceError, match=r"a\.pdf: this PDF is damaged"):
        read(write(tmp_path / "a.pdf", pdf([SPEECH])[:200]))


def test_a_pdf_damaged_anywhere_is_read_or_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = pdf([SPEECH, SPEECH])
    for start in range(0, len(whole), 23):
        data = whole[:start] + b"<[/9 R" + whole[start + 6 :]
        with contextlib.suppress(SourceError):
            read(write(tmp_path / "a.pdf", data))
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


# Rows

LINES = """{"id": "h1", "text": "The harbour was closed.", "title": "Harbour", "url": "https://h.example", "kind": "a"}

{"id": 2, "text": "Nobody had asked.", "date": 2026, "unknown": [1]}
"""


def test_what_is_struck_out_is_not_said(tmp_path: Path) -> None:
    (marked,) = read(write(tmp_path / "a.md", f"{SPEECH}\n\n- It costs ~~too much~~ little.\n".encode()))
    (page,) = read(write(tmp_path / "a.html", f"<p>{SPEECH}</p><p>It costs <del>too much</del> little.</p>".encode()))
    for found in (marked, page):
        assert "It costs little." in " ".join(found.text.split())
        assert found.left_out["struck out texts"] == 1


def test_a_word_without_end_is_cut(tmp_path: Path) -> None:
    blob = "iVBORw0KGgo" * 100_000
    (plain,) = read(write(tmp_path / "a.txt", f"{SPEECH} {blob}".encode()))
    (marked,) = read(write(tmp_path / "a.md", f"# Harbour\n\n{SPEECH} {blob}\n".encode()))
    (row,) = read(write(tmp_path / "a.csv", f"id,text\n1,{SPEECH} {blob}\n".encode()))
    for found in (plain, marked, row):
        assert SPEECH in found.text
        assert found.text.endswith(f" {blob[:80]}…")
        assert found.left_out == {"words without end": 1}
    assert all(len(b.text) < 500 for b in marked.blocks)


def test_jsonl(tmp_path: Path) -> None:
    first, second = read(write(tmp_path / "a.jsonl", codecs.BOM_UTF8 + LINES.encode()))
    assert first == SourceDocument("h1", "The harbour was closed.", "Harbour", "https://h.example", key="a.jsonl#h1")
    assert second == SourceDocument("2", "Nobody had asked.", date="2026", key="a.jsonl#2")


WRONG = [
    ("{", "not valid JSON"),
    ("[" * 100_000, "not valid JSON"),
    ('{"id": "a", "text": ' + "9" * 5000 + "}", "not valid JSON"),
    ("[1, 2]", "has to be an object"),
    ('{"id": 2, "text": "x"}', "the id '2' stands in line 3 already"),
]


@pytest.mark.parametrize(("line", "problem"), WRONG)
def test_a_wrong_line_is_named_and_the_rest_is_read(tmp_path: Path, line: str, problem: str) -> None:
    path = write(tmp_path / "a.jsonl", LINES + line + '\n{"id": "h3", "text": "It opened again."}\n')
    skipped: list[str] = []
    assert [d.external_id for d in read(path, skipped)] == ["h1", "2", "h3"]
    assert len(skipped) == 1
    assert skipped[0].startswith("a.jsonl, line 4: ")
    assert problem in skipped[0]
    with pytest.raises(SourceError, match="line 4"):
        read(path)


def test_a_file_of_wrong_lines_is_given_up(tmp_path: Path) -> None:
    skipped: list[str] = []
    with pytest.raises(SourceError, match="line 24"):
        read(write(tmp_path / "a.jsonl", LINES + '{"body": \n' * 1000), skipped)
    assert len(skipped) == 20


def test_jsonl_without_rows(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no rows"):
        read(write(tmp_path / "a.jsonl", "\n\n"))


def test_half_a_surrogate_pair_is_dropped(tmp_path: Path) -> None:
    found = one(
        write(tmp_path / "a.jsonl", r'{"id": "a\ud83d", "text": "Bees \ud83d dance", "title": "\udc00On bees"}')
    )
    assert (found.external_id, found.text.split(), found.title) == ("a\\ud83d", ["Bees", "dance"], "On bees")


def test_csv(tmp_path: Path) -> None:
    data = 'id,text,publisher\r\n1,"The harbour\r\nwas closed.",Gazette\r\n2,"He said ""no"".",\r\n'
    first, second = read(write(tmp_path / "a.csv", codecs.BOM_UTF8 + data.encode()))
    assert first == SourceDocument("1", "The harbour\nwas closed.", publisher="Gazette", key="a.csv#1")
    assert second == SourceDocument("2", 'He said "no".', key="a.csv#2")


def test_csv_with_the_line_ends_of_old_macs(tmp_path: Path) -> None:
    assert [d.text for d in read(write(tmp_path / "a.csv", "id,text\r1,one\r2,two\r"))] == ["one", "two"]


def test_csv_with_a_very_long_field(tmp_path: Path) -> None:
    assert len(one(write(tmp_path / "a.csv", "id,text\n1," + "long " * 60_000)).text) == 299_999


def test_csv_with_wrong_rows(tmp_path: Path) -> None:
    skipped: list[str] = []
    found = read(write(tmp_path / "a.csv", "id,text\n1,one\n2\n3,\n4,four,five\n6,six\n7,seven\n"), skipped)
    assert [d.external_id for d in found] == ["1", "6", "7"]
    assert "line 5: 3 cells, but 2 columns" in skipped[0]
