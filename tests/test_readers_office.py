"""Word, OpenDocument, presentations, books and rich text: what a reader would see printed.

How much of whole files is read is measured on `evals/gold/ingest`; here is what these files do not have.
"""

import contextlib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from office_files import cell, epub, one, packed, paragraph, relations, shape, shown, slides, table, word
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE

from tools.errors import SourceError

# Word


def test_a_text_box_is_read_once_though_it_is_written_twice(tmp_path: Path) -> None:
    box = f"<w:txbxContent>{paragraph('In the box.')}</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>Around</w:t></w:r><w:r><mc:AlternateContent>"
        f"<mc:Choice><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r><w:r><w:t> the box.</w:t></w:r></w:p>"
    )
    assert shown(one(word(tmp_path / "a.docx", body))) == ["paragraph: Around the box.", "paragraph: In the box."]


def test_text_boxes_stand_behind_what_they_hang_on(tmp_path: Path) -> None:
    def box(text: str, around: str = "wps:txbx") -> str:
        return f"<{around}><w:txbxContent>{paragraph(text)}</w:txbxContent></{around}>"

    def drawing(inside: str) -> str:
        return f"<w:r><w:drawing><wps:wgp>{inside}</wps:wgp></w:drawing></w:r>"

    nested = (
        f"<wps:txbx><w:txbxContent><w:p>{drawing(box('Inner.'))}</w:p>{paragraph('Outer.')}</w:txbxContent></wps:txbx>"
    )
    ways = "<mc:Choice><a:x/></mc:Choice><mc:Fallback><w:t>Sign.</w:t></mc:Fallback>"
    symbol = f"<mc:AlternateContent>{ways}</mc:AlternateContent>"
    body = f"<w:p><w:r><w:t>Two. </w:t></w:r>{drawing(box('First.') + box('Second.'))}<w:r>{symbol}</w:r></w:p>"
    body += table(cell(f"<w:p>{drawing(box('In a cell.'))}</w:p>") + cell(paragraph("40"))) + paragraph("After.")
    body += f"<w:p><w:pPr>{_MERGED}</w:pPr>{drawing(box('Old form.', 'v:textbox'))}<w:r><w:t>Nobody</w:t></w:r></w:p>"
    body += paragraph(" had asked.") + f"<w:p>{drawing(nested)}</w:p>"
    body += f"<w:p><w:del>{drawing(box('Deleted.'))}</w:del></w:p>"
    found = one(word(tmp_path / "a.docx", body))
    assert [b.text for b in found.blocks] == [
        *("Two. Sign.", "First.", "Second.", " | 40", "In a cell.", "After.", "Nobody had asked.", "Old form."),
        *("Outer.", "Inner."),
    ]
    assert found.left_out == {"deleted changes": 1}


def test_comments_are_notes_of_those_who_wrote_them(tmp_path: Path) -> None:
    def refers(*ids: int) -> str:
        marks = (f'<w:commentRangeEnd w:id="{i}"/><w:r><w:commentReference w:id="{i}"/></w:r>' for i in ids)
        return f"<w:p><w:r><w:t>Shut it.</w:t></w:r>{''.join(marks)}</w:p>"

    said = {
        0: ("A. Clerk", "Why?", "Who says so?"),
        1: ("B. Mayor", "I do."),
        2: ("Author", "In a table."),
        9: ("C", "Lost."),
    }
    comments = "".join(
        f'<w:comment w:id="{i}" w:author="{who}">{"".join(map(paragraph, texts))}</w:comment>'
        for i, (who, *texts) in said.items()
    )
    body = refers(0, 1) + table(cell(refers(2)) + cell(paragraph("40"))) + paragraph("It stayed open.")
    found = one(word(tmp_path / "a.docx", body, comments=comments))
    assert [(b.speaker, b.form, b.text) for b in found.blocks] == [
        ("", "paragraph", "Shut it."),
        ("A. Clerk", "note", "Why?"),
        ("A. Clerk", "note", "Who says so?"),
        ("B. Mayor", "note", "I do."),
        ("", "table", "Shut it. | 40"),
        ("unnamed commenter", "note", "In a table."),
        ("", "paragraph", "It stayed open."),
    ]
    assert found.left_out == {"comments": 1}


@pytest.mark.parametrize(
    ("author", "made", "saved", "read"),
    [
        ("Ann Lee", "2024-05-03T08:00:00Z", "2024-05-03T09:00:00Z", ("Ann Lee", "2024-05-03")),
        ("Ann Lee; Bo Lind", "2024-05-03T08:00:00Z", "2024-06-01T09:00:00Z", ("Ann Lee, Bo Lind", "")),
        ("python-docx", "2013-12-23T23:15:00Z", "2013-12-23T23:15:00Z", ("", "")),
        ("Microsoft Office User", "2023-05-03T08:00:00Z", "", ("", "2023-05-03")),
        ("alee", "", "", ("", "")),
    ],
)
def test_author_and_day_of_a_word_file(
    tmp_path: Path, author: str, made: str, saved: str, read: tuple[str, str]
) -> None:
    with zipfile.ZipFile(word(tmp_path / "a.docx", paragraph("It was closed."))) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    kinds = {"core-properties": "core.xml", "officeDocument": "word/document.xml"}
    parts["_rels/.rels"] = relations(**kinds)
    parts["core.xml"] = f"<x><creator>{author}</creator><created>{made}</created><modified>{saved}</modified></x>"
    found = one(packed(tmp_path / "b.docx", parts))
    assert (found.author, found.date) == read
    assert found.provenance.count("document properties") == sum(map(bool, read))


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


# Presentations


def test_slides_with_titles_items_charts_and_notes(tmp_path: Path) -> None:
    first = shape("The harbour", place='type="ctrTitle"') + shape("A history", place='type="subTitle"')
    second = shape("Boats", place='type="title"') + shape("Herring", "Cod", place='idx="1"')
    second += f"<p:grpSp>{shape('In a group.')}</p:grpSp>" + shape("2", place='type="sldNum"')
    second += f"<mc:AlternateContent><mc:Choice Requires='x'>{shape('Newer.')}</mc:Choice></mc:AlternateContent>"
    path = slides(tmp_path / "a.pptx", first, second, shape("Secret"), notes="Say it slowly.")
    deck = Presentation(str(path))
    values: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    values.categories = ["1990", "2000"]
    values.add_series("Boats", (40, 0.1 + 0.2))
    deck.slides[0].shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 99, 99, values)
    grid = deck.slides[1].shapes.add_table(2, 2, 0, 0, 99, 99).table
    for number, each in enumerate(grid.iter_cells()):
        each.text = "" if number == 2 else f"c{number}"
    grid.cell(0, 0).merge(grid.cell(1, 0))
    deck.slides[2].element.set("show", "0")
    deck.save(str(path))
    found = one(path)
    assert shown(found) == [
        "heading 1: The harbour",
        "paragraph: A history",
        "table:  | Boats\n1990 | 40\n2000 | 0.3",
        "note: Say it slowly.",
        "heading 1: Boats",
        "item: Herring",
        "item: Cod",
        "paragraph: In a group.",
        "paragraph: Newer.",
        "table: c0 | c1\nc0 | c3",
    ]
    assert [(b.page, b.last_page) for b in found.blocks] == [(1, 1)] * 4 + [(2, 2)] * 6
    assert (found.title, found.date) == ("The harbour", "")  # python-pptx's own date is none
    assert found.left_out == {"page numbers": 1, "hidden slides": 1}


# Books

CHAPTER = """<h1>The harbour</h1><p>It was closed<a epub:type="noteref" href="#n">1</a> in May &ndash; caf&eacute;s
too.</p><span epub:type="pagebreak">12</span><ul><li>Herring</li></ul><table><tr><td>40</td><td>40</td></tr></table>
<figure><img src="b.png"/><figcaption>A boat</figcaption></figure>"""


def test_a_book_in_its_order_without_its_navigation(tmp_path: Path) -> None:
    chapters = {
        "z": CHAPTER,
        "nav": "<nav><ol><li>The harbour</li></ol></nav>",
        "a": "<h1>Boats</h1><p>They lay idle.</p>",
    }
    metadata = (
        "<dc:title>Of harbours</dc:title><dc:creator>Ann Lee</dc:creator><dc:creator>Bo Lind</dc:creator>"
        "<dc:date>2001</dc:date><dc:date event='publication'>2026-03-12</dc:date>"
    )
    found = one(epub(tmp_path / "a.epub", chapters, metadata, {"nav": "nav"}))
    assert shown(found) == [
        "heading 1: The harbour",
        "paragraph: It was closed in May – cafés too.",
        "item: Herring",
        "table: 40 | 40",
        "caption: A boat",
        "heading 1: Boats",
        "paragraph: They lay idle.",
    ]
    assert (found.title, found.author, found.date) == ("Of harbours", "Ann Lee, Bo Lind", "2026-03-12")
    assert found.left_out == {"note marks": 1, "page numbers": 1, "images": 1, "navigation pages": 1}


def test_a_book_whose_chapters_are_locked(tmp_path: Path) -> None:
    with zipfile.ZipFile(epub(tmp_path / "whole.epub", {"a": "<p>One</p>"})) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    locked = "<encryption><CipherReference URI='OEBPS/{}'/></encryption>"
    fonts = packed(tmp_path / "fonts.epub", {**parts, "META-INF/encryption.xml": locked.replace("{}", "a.otf")})
    assert one(fonts).text == "One"
    text = packed(tmp_path / "text.epub", {**parts, "META-INF/encryption.xml": locked.replace("{}", "a.xhtml")})
    with pytest.raises(SourceError, match=r"text\.epub: this is not a book in EPUB.*without protection"):
        one(text)


# Rich text

RTF = r"""{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial Cyr;}}
{\colortbl;\red0\green0\blue0;}{\stylesheet{\ql Normal;}{\s1\outlinelevel0 Kopf;}
{\s2\sbasedon1 Own;}{\s3 heading 2;}{\s5 caption;}}
{\info{\title Of harbours}{\author Ann Lee}{\revtim\yr2026\mo3\dy12\hr10}}
{\header\pard Running head\par}
\pard\plain\s1 The harbour\par
\pard\plain\s3 Boats\par
\pard\plain It was closed{\footnote\pard {\chftn} By the mayor.\par}
 in Ma\'ee: \u8211?{\uc2\u8364\'80\'80} {\f1\'ec\'e8\'f0}{\v secret}.\par
{\pard{\listtext\tab\'b7\tab}\ls1 Herring\par}
\pard \bullet\tab Cod\par
\trowd\cellx100\cellx200\cellx300\pard\intbl 40\cell 40\cell{\deleted\revdttmdel-2017326464 30}20\cell\row
\trowd\clvmrg\cellx100\cellx200\clmrg\cellx300\pard\intbl\cell 10\cell\cell\row
\pard\s5 A {\field{\*\fldinst SEQ}{\fldrslt boat}}\par
{\*\shppict{\pict\pngblip 89504e47}}{\*\unknown not this}
{\shp{\*\shpinst{\sp{\sn name}{\sv value}}{\shptxt\pard In the box.\par}}{\shprslt twice}}\pard Last\line words.}"""


def test_rtf(tmp_path: Path) -> None:
    (tmp_path / "a.rtf").write_text(RTF)
    found = one(tmp_path / "a.rtf")
    assert shown(found) == [
        "heading 1: The harbour",
        "heading 2: Boats",
        "paragraph: It was closed in Maî: –€ мир.",
        "item: Herring",
        "item: Cod",
        "table: 40 | 40 | 20\n10",
        "paragraph: A boat",
        "paragraph: Last words.",
    ]
    assert (found.title, found.author, found.date) == ("Of harbours", "Ann Lee", "2026-03-12")
    assert found.left_out == {"running headers": 1, "notes": 1}


@pytest.mark.parametrize("data", [RTF[:400], "{\\rtf1 " + "{" * 100_000, "{\\rtf1 words", "words", ""])
def test_what_is_no_rtf_or_half_of_one(tmp_path: Path, data: str) -> None:
    (tmp_path / "a.rtf").write_text(data)
    with pytest.raises(SourceError, match=r"a\.rtf: this (?:is not an RTF document|RTF document is damaged)"):
        one(tmp_path / "a.rtf")


# What is no such document, or a damaged or a hostile one


ZIPS = pytest.mark.parametrize("ending", ["docx", "odt", "pptx", "epub"])


@ZIPS
def test_a_file_of_something_else_is_no_document(tmp_path: Path, ending: str) -> None:
    packed(tmp_path / f"zip.{ending}", {"x.txt": "It was closed."})
    (tmp_path / f"text.{ending}").write_text("It was closed.")
    (tmp_path / f"old.{ending}").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 2000)
    for name, why in {"zip": "or a damaged one", "text": "or a damaged one", "old": "older format"}.items():
        with pytest.raises(SourceError, match=rf"{name}\.{ending}: this is not an? .*{why}"):
            one(tmp_path / f"{name}.{ending}")


@ZIPS
def test_a_text_that_unpacks_to_far_more_than_it_is(tmp_path: Path, ending: str) -> None:
    path = packed(tmp_path / f"a.{ending}", {"word/document.xml": b" " * 20_000_001})
    with pytest.raises(SourceError, match="more than 20,000,000 bytes"):
        one(path)


def test_nothing_outside_of_the_document_is_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("a secret")
    entity = f'<!DOCTYPE w [<!ENTITY x SYSTEM "file://{tmp_path}/secret.txt">]>'
    body = paragraph("It was &x; closed.") + '<w:p><w:r><w:drawing><a:blip r:link="image"/></w:drawing></w:r></w:p>'
    with zipfile.ZipFile(word(tmp_path / "plain.docx", body.replace("&x;", "@"))) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    parts["word/document.xml"] = entity + parts["word/document.xml"].replace("@", "&x;")
    outside = relations(image=f"file://{tmp_path}/secret.txt").replace("Id=", 'TargetMode="External" Id=')
    parts["word/_rels/document.xml.rels"] = outside
    with contextlib.suppress(SourceError):
        assert "secret" not in one(packed(tmp_path / "a.docx", parts)).text
