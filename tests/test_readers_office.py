"""Word, OpenDocument, presentations, books and rich text: what a reader would see printed.

How much of whole files is read is measured on `evals/gold/ingest`; here is what these files do not have.
"""

import contextlib
import zipfile
from pathlib import Path

import pytest
from office_files import cell, epub, one, packed, paragraph, relations, shown, table, word

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


# Books


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


def test_what_a_rich_text_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "a.rtf").write_text(r"{\rtf1\headery720{\header Page}\pard Owls hunt{\footnote At night.} mice.\par}")
    found = one(tmp_path / "a.rtf")
    assert (found.text, found.left_out) == ("Owls hunt mice.", {"running headers": 1, "notes": 1})


@pytest.mark.parametrize(
    "data", ["{\\rtf1\\ansi\\pard It was", "{\\rtf1 " + "{" * 100_000, "{\\rtf1 words", "words", ""]
)
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
