"""Word documents: what a reader of the printed page would see, in its order, and nothing that hides in the file."""

import contextlib
import re
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from office_files import cell, one, packed, paragraph, relations, shown, table, word

from tools.errors import SourceError
from tools.ingest.packed import opened


def by_python_docx(path: Path, title: str = "") -> Path:
    import docx

    file = docx.Document()
    file.core_properties.title = title
    file.add_heading("On the harbour", 1)
    file.add_paragraph("First paragraph.")
    rows = file.add_table(rows=2, cols=3)
    texts = ("Year", "Boats", "Nets", "1990", "40", "40")
    for each, text in zip((c for row in rows.rows for c in row.cells), texts, strict=True):
        each.text = text
    file.add_heading("What was caught", 2)
    file.add_paragraph("Herring", style="List Bullet")
    file.add_paragraph("Last paragraph.")
    file.save(str(path))
    return path


def test_headings_items_and_tables_with_all_their_cells(tmp_path: Path) -> None:
    found = one(by_python_docx(tmp_path / "a.docx", "The harbour"))
    assert shown(found) == [
        "heading 1: On the harbour",
        "paragraph: First paragraph.",
        "table: Year | Boats | Nets\n1990 | 40 | 40",
        "heading 2: What was caught",
        "item: Herring",
        "paragraph: Last paragraph.",
    ]
    assert (found.title, found.publisher, found.date) == ("The harbour", "", "")  # its date is python-docx's own


@pytest.mark.parametrize("title", ["", "Word Document", "python-docx", "Microsoft Word - notes.doc"])
def test_a_title_of_a_program_gives_way_to_the_first_heading(tmp_path: Path, title: str) -> None:
    assert one(by_python_docx(tmp_path / "a.docx", title)).title == "On the harbour"
    assert one(word(tmp_path / "old_harbour.docx", paragraph("It was closed."))).title == "old harbour"


def test_the_date_is_that_of_the_last_change(tmp_path: Path) -> None:
    said = "<dcterms:created>2024-01-02T00:00:00Z</dcterms:created>"
    body = paragraph("It was closed.")
    assert one(word(tmp_path / "a.docx", body, properties=said)).date == "2024-01-02"
    said += "<dcterms:modified>2026-03-12T10:00:00Z</dcterms:modified><dc:creator>A. Person</dc:creator>"
    assert one(word(tmp_path / "a.docx", body, properties=said)).date == "2026-03-12"


STYLES = """
<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>
<w:style w:styleId="Kop"><w:name w:val="Kop 3"/></w:style>
<w:style w:styleId="Own"><w:name w:val="Own"/><w:basedOn w:val="berschrift2"/></w:style>
<w:style w:styleId="Outlined"><w:name w:val="Eigene"/><w:pPr><w:outlineLvl w:val="3"/></w:pPr></w:style>
<w:style w:styleId="Round"><w:name w:val="Round"/><w:basedOn w:val="Round"/></w:style>
<w:style w:styleId="Beschriftung"><w:name w:val="caption"/></w:style>
<w:style w:styleId="Liste"><w:name w:val="Liste"/><w:pPr><w:numPr><w:numId w:val="4"/></w:numPr></w:pPr></w:style>
<w:style w:styleId="Verzeichnis1"><w:name w:val="toc 1"/></w:style>
<w:style w:styleId="Secret"><w:name w:val="Secret"/><w:rPr><w:vanish/></w:rPr></w:style>
"""


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ('<w:pStyle w:val="berschrift2"/>', ["heading 2: Words"]),
        ('<w:pStyle w:val="Kop"/>', ["heading 3: Words"]),
        ('<w:pStyle w:val="Own"/>', ["heading 2: Words"]),
        ('<w:pStyle w:val="Outlined"/>', ["heading 4: Words"]),
        ('<w:pStyle w:val="Round"/>', ["paragraph: Words"]),
        ('<w:outlineLvl w:val="0"/>', ["heading 1: Words"]),
        ('<w:pStyle w:val="Own"/><w:outlineLvl w:val="9"/>', ["paragraph: Words"]),
        ('<w:pStyle w:val="Beschriftung"/>', ["caption: Words"]),
        ('<w:pStyle w:val="Liste"/>', ["item: Words"]),
        ('<w:numPr><w:numId w:val="2"/></w:numPr>', ["item: Words"]),
        ('<w:pStyle w:val="Liste"/><w:numPr><w:numId w:val="0"/></w:numPr>', ["paragraph: Words"]),
        ('<w:pStyle w:val="Verzeichnis1"/>', []),
        ('<w:pStyle w:val="Secret"/>', []),
    ],
)
def test_what_a_style_makes_of_a_paragraph(tmp_path: Path, properties: str, expected: list[str]) -> None:
    found = one(word(tmp_path / "a.docx", paragraph("Words", properties), styles=STYLES))
    assert shown(found) == expected
    assert sum(found.left_out.values()) == (0 if expected else 1)


def note(kind: str, number: int, text: str, attributes: str = "") -> str:
    return f'<w:{kind} w:id="{number}" {attributes}>{paragraph(text)}</w:{kind}>'


def test_notes_follow_the_paragraph_and_endnotes_the_text(tmp_path: Path) -> None:
    body = (
        '<w:p><w:r><w:t>It was closed</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r>'
        '<w:r><w:endnoteReference w:id="1"/></w:r><w:r><w:t> in May.</w:t></w:r></w:p>'
    ) + paragraph("Nobody had asked.")
    notes = note("footnote", 0, "a line", 'w:type="separator"') + note("footnote", 2, "By the mayor.")
    found = one(word(tmp_path / "a.docx", body, footnotes=notes, endnotes=note("endnote", 1, "Harbour Act, 1990.")))
    assert shown(found) == [
        "paragraph: It was closed in May.",
        "note: By the mayor.",
        "paragraph: Nobody had asked.",
        "note: Harbour Act, 1990.",
    ]


def test_a_note_that_refers_to_itself_is_read_once(tmp_path: Path) -> None:
    reference = '<w:p><w:r><w:t>Words.</w:t><w:footnoteReference w:id="2"/></w:r></w:p>'
    notes = f'<w:footnote w:id="2">{reference}</w:footnote>'
    assert shown(one(word(tmp_path / "a.docx", reference, footnotes=notes))) == ["paragraph: Words.", "note: Words."]


def test_a_text_box_is_read_once_though_it_is_written_twice(tmp_path: Path) -> None:
    box = f"<w:txbxContent>{paragraph('In the box.')}</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>Around</w:t></w:r><w:r><mc:AlternateContent>"
        f"<mc:Choice><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r><w:r><w:t> the box.</w:t></w:r></w:p>"
    )
    assert shown(one(word(tmp_path / "a.docx", body))) == ["paragraph: Around the box.", "paragraph: In the box."]


def test_a_strict_document_is_read_as_any_other(tmp_path: Path) -> None:
    reference = '<w:p><w:r><w:t>It was closed.</w:t><w:footnoteReference w:id="2"/></w:r></w:p>'
    body = paragraph("The harbour", '<w:pStyle w:val="berschrift2"/>') + reference
    path = word(tmp_path / "a.docx", body, strict=True, styles=STYLES, footnotes=note("footnote", 2, "By the mayor."))
    with zipfile.ZipFile(path) as written:
        assert b"purl.oclc.org" in written.read("word/document.xml")
    assert shown(one(path)) == ["heading 2: The harbour", "paragraph: It was closed.", "note: By the mayor."]


def test_merged_cells_stand_once_in_each_row(tmp_path: Path) -> None:
    wide, first, more = ('<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>")
    body = table(
        cell(paragraph("Year")) + cell(paragraph("Boats and nets"), wide),
        cell(paragraph("1990"), first) + cell(paragraph("40")) + cell(paragraph("40")),
        cell("<w:p/>", more) + cell(paragraph("20")) + cell(paragraph("10")),
    )
    found = one(word(tmp_path / "a.docx", body))
    assert shown(found) == ["table: Year | Boats and nets\n1990 | 40 | 40\n1990 | 20 | 10"]


def test_a_long_merged_cell_is_not_said_over_and_over(tmp_path: Path) -> None:
    long = "words " * 2000
    rows = [cell(paragraph(long), '<w:vMerge w:val="restart"/>') + cell(paragraph("0"))]
    rows += [cell("<w:p/>", "<w:vMerge/>") + cell(paragraph(str(n))) for n in range(1, 500)]
    assert len(one(word(tmp_path / "a.docx", table(*rows))).text) < 2 * len(long)


def test_a_cell_as_wide_as_no_page_takes_no_time_or_memory(tmp_path: Path) -> None:
    body = table(cell(paragraph("One"), '<w:gridSpan w:val="60000000"/>') + cell(paragraph("Two")))
    path = word(tmp_path / "a.docx", body)
    tracemalloc.start()
    began = time.perf_counter()
    assert shown(one(path)) == ["table: One | Two"]
    assert time.perf_counter() - began < 2
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_a_table_in_a_table_comes_after_it(tmp_path: Path) -> None:
    inner = table(cell(paragraph("a")) + cell(paragraph("b")))
    body = table(cell(paragraph("One") + inner + "<w:p/>") + cell(paragraph("Two")))
    assert shown(one(word(tmp_path / "a.docx", body))) == ["table: One | Two", "table: a | b"]


def test_a_single_cell_is_a_frame_around_what_it_holds(tmp_path: Path) -> None:
    body = table(cell(paragraph("The harbour", '<w:outlineLvl w:val="0"/>') + paragraph("It was closed.")))
    assert shown(one(word(tmp_path / "a.docx", body))) == ["heading 1: The harbour", "paragraph: It was closed."]


def test_tracked_changes_are_taken_as_accepted(tmp_path: Path) -> None:
    gone = '<w:del w:id="1"><w:r><w:delText>reopened</w:delText></w:r></w:del>'
    new = '<w:ins w:id="2"><w:r><w:t>closed</w:t></w:r></w:ins>'
    body = f"<w:p><w:r><w:t>It was </w:t></w:r>{gone}{new}<w:r><w:t> in May.</w:t></w:r></w:p>"
    body += f'<w:p><w:moveFrom w:id="3"><w:r><w:t>moved</w:t></w:r></w:moveFrom></w:p>{paragraph("Nobody", _MERGED)}'
    body += paragraph(" had asked.")
    found = one(word(tmp_path / "a.docx", body))
    assert shown(found) == ["paragraph: It was closed in May.", "paragraph: Nobody had asked."]
    assert found.left_out == {"deleted changes": 2}


_MERGED = '<w:rPr><w:del w:id="4"/></w:rPr>'


def field(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def test_the_result_of_a_field_is_taken_and_its_code_is_not(tmp_path: Path) -> None:
    code = '<w:r><w:instrText> IF "a" </w:instrText></w:r>'
    inner = f"{field('begin')}{field('separate')}<w:r><w:t>inner</w:t></w:r>{field('end')}"
    shown_text = "<w:r><w:t>forty</w:t></w:r>"
    body = (
        f"<w:p>{field('begin')}{code}{inner}{field('separate')}{shown_text}{field('end')}"
        '<w:fldSimple w:instr="DATE"><w:r><w:t> boats</w:t></w:r></w:fldSimple></w:p>'
    )
    assert shown(one(word(tmp_path / "a.docx", body))) == ["paragraph: forty boats"]
    broken = f"<w:p>{field('begin')}<w:r><w:t>All that follows.</w:t></w:r></w:p>"
    assert shown(one(word(tmp_path / "a.docx", broken))) == ["paragraph: All that follows."]


def test_what_is_not_printed_is_left_out_and_counted(tmp_path: Path) -> None:
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r>"
    seen = '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>Seen.</w:t></w:r>'
    prompt = (
        f"<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{paragraph('Click here')}</w:sdtContent></w:sdt>"
    )
    body = f"<w:p>{hidden}{seen}<w:r><w:drawing><a:pic/></w:drawing></w:r></w:p>{prompt}"
    found = one(word(tmp_path / "a.docx", body, header=paragraph("Running head"), footer="<w:p/>"))
    assert shown(found) == ["paragraph: Seen."]
    assert found.left_out == {"hidden texts": 1, "images": 1, "prompts to fill in": 1, "running headers": 1}


def test_a_large_first_letter_belongs_to_its_word(tmp_path: Path) -> None:
    body = paragraph("T", '<w:framePr w:dropCap="drop"/>') + paragraph("he harbour was closed.")
    assert shown(one(word(tmp_path / "a.docx", body))) == ["paragraph: The harbour was closed."]


# What is no Word document, or a damaged one


def test_what_is_no_word_file(tmp_path: Path) -> None:
    packed(tmp_path / "zip.docx", {"x.txt": "It was closed."})
    (tmp_path / "text.docx").write_text("It was closed.")
    (tmp_path / "empty.docx").write_bytes(b"")
    (tmp_path / "locked.docx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 2000)
    for name in ("zip", "text", "empty", "locked"):
        with pytest.raises(SourceError, match=f"{name}.docx: this is not a Word document"):
            one(tmp_path / f"{name}.docx")


def test_a_word_file_damaged_anywhere_is_read_or_refused(tmp_path: Path) -> None:
    whole = by_python_docx(tmp_path / "whole.docx").read_bytes()
    for start in range(0, len(whole), len(whole) // 60):
        (tmp_path / "a.docx").write_bytes(whole[:start] + b"\xff<&\x00damage" + whole[start + 10 :])
        with contextlib.suppress(SourceError):
            one(tmp_path / "a.docx")


@pytest.mark.parametrize("part", ["word/document.xml", "_rels/.rels", "docProps/core.xml", "word/styles.xml"])
@pytest.mark.parametrize("data", [b"", b"<not-closed", b"<a/>"])
def test_a_word_file_with_a_damaged_part(tmp_path: Path, part: str, data: bytes) -> None:
    with zipfile.ZipFile(by_python_docx(tmp_path / "whole.docx")) as whole:
        packed(tmp_path / "a.docx", {name: data if name == part else whole.read(name) for name in whole.namelist()})
    with contextlib.suppress(SourceError):
        one(tmp_path / "a.docx")


def test_a_word_file_without_its_properties(tmp_path: Path) -> None:
    with zipfile.ZipFile(by_python_docx(tmp_path / "whole.docx")) as whole:
        parts = {name: whole.read(name) for name in whole.namelist() if not name.startswith("docProps/")}
    parts["_rels/.rels"] = re.sub(rb"<Relationship [^>]*docProps/[^>]*>", b"", parts["_rels/.rels"])
    assert one(packed(tmp_path / "bare.docx", parts)).title == "On the harbour"


@pytest.mark.parametrize("ending", ["docx", "odt", "pptx", "epub"])
def test_what_unpacks_to_far_more_than_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    path = packed(tmp_path / f"a.{ending}", {"word/media/a.bin": b"x" * 10_000})
    monkeypatch.setattr("tools.ingest.packed._MOST_UNPACKED", 5000)
    with pytest.raises(SourceError, match="unpacks to more than"):
        one(path)


@pytest.mark.parametrize("ending", ["docx", "odt", "pptx", "epub"])
def test_a_file_of_nothing_but_marking_is_refused_soon(tmp_path: Path, ending: str) -> None:
    path = packed(tmp_path / f"bomb.{ending}", {"word/document.xml": b"<w:p/>" * 4_000_000})
    assert path.stat().st_size < 200_000
    with pytest.raises(SourceError, match="unpacks to more than"):
        one(path)


def test_a_part_of_any_ending_counts_as_marking_once_it_is_read(tmp_path: Path) -> None:
    rels = relations(officeDocument="word/document.dat")
    path = packed(tmp_path / "bomb.docx", {"_rels/.rels": rels, "word/document.dat": b"<w:p/>" * 4_000_000})
    with pytest.raises(SourceError, match=r"^bomb\.docx: .* unpacks to more than"):
        one(path)


def test_what_is_read_of_many_parts_counts_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "a.epub", {f"{n}.dat": b"<p/>" * 100 for n in range(4)})
    monkeypatch.setattr("tools.ingest.packed._MOST_XML", 1000)
    with opened(path, "a.epub", "a book") as package:
        assert len([package.read(part) for part in ("0.dat", "0.dat", "1.dat", "1.dat")]) == 4
        with pytest.raises(SourceError, match="unpacks to more than"):
            package.read("2.dat")


def test_entities_are_not_unfolded(tmp_path: Path) -> None:
    levels = '<!ENTITY a0 "lol">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    whole = word(tmp_path / "whole.docx", paragraph("Laughs &amp; more"))
    with zipfile.ZipFile(whole) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    main = parts["word/document.xml"].decode().replace("more", "&a9;")
    path = packed(tmp_path / "a.docx", {**parts, "word/document.xml": f"<!DOCTYPE x [{levels}]>{main}"})
    with contextlib.suppress(SourceError):
        assert len(one(path).text) < 100


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    deep = "<w:tbl><w:tr><w:tc>" * 3000 + paragraph("x") + "</w:tc></w:tr></w:tbl>" * 3000
    with pytest.raises(SourceError, match="this is not a Word document, or a damaged one"):
        one(word(tmp_path / "a.docx", deep))
