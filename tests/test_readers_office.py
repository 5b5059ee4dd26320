"""OpenDocument, rich text, presentations, books and reStructuredText: their structure, and what is left out of them."""

import contextlib
import time
import zipfile
from pathlib import Path

import pytest
from office_files import epub, odt, one, packed, shape, shown, slides

from tools.errors import SourceError

# OpenDocument


def p(text: str, style: str = "") -> str:
    return f'<text:p text:style-name="{style}">{text}</text:p>'


ODT_STYLES = """
<style:style style:name="Caption"/><style:style style:name="Figure" style:parent-style-name="Caption"/>
<style:style style:name="P1" style:parent-style-name="Figure"/><style:style style:name="Title"/>
<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>
"""
ODT = (
    "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p></text:deletion>"
    "</text:changed-region></text:tracked-changes>"
    + p("The harbour", "Title")
    + "<text:table-of-content><text:index-body><text:p>Boats 3</text:p></text:index-body></text:table-of-content>"
    '<text:h text:outline-level="2">Boats</text:h>'
    "<text:p>It was<text:s text:c='3'/>closed"
    '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body>'
    "<text:p>By the mayor.</text:p></text:note-body></text:note> in May."
    '<text:note text:note-class="endnote"><text:note-body><text:p>Harbour Act.</text:p></text:note-body></text:note>'
    '<text:span text:style-name="T1">secret</text:span></text:p>'
    "<text:list><text:list-item><text:p>Herring</text:p><text:list><text:list-item><text:p>smoked</text:p>"
    "</text:list-item></text:list></text:list-item></text:list>"
    "<text:p><draw:frame><draw:text-box><text:p>In the box.</text:p></draw:text-box></draw:frame></text:p>"
    "<text:p><draw:frame><draw:image/></draw:frame></text:p>" + p("A boat", "P1")
)


def test_odt(tmp_path: Path) -> None:
    meta = "<dc:title>Of the harbour</dc:title><dc:date>2026-03-12T10:00:00</dc:date>"
    headers = f"<style:header>{p('Running head')}</style:header>"
    found = one(odt(tmp_path / "a.odt", ODT, ODT_STYLES, meta, headers))
    assert shown(found) == [
        "heading 1: The harbour",
        "heading 2: Boats",
        "paragraph: It was closed in May.",
        "note: By the mayor.",
        "item: Herring",
        "item: smoked",
        "paragraph: In the box.",
        "caption: A boat",
        "note: Harbour Act.",
    ]
    assert (found.title, found.date) == ("Of the harbour", "2026-03-12")
    names = ("deleted changes", "lists of contents", "hidden texts", "images", "running headers")
    assert found.left_out == dict.fromkeys(names, 1)


def odt_cell(inside: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}>{inside}</table:table-cell>"


def test_odt_tables_with_merged_and_repeated_cells(tmp_path: Path) -> None:
    covered = "<table:covered-table-cell/>"
    rows = [
        odt_cell(p("Year")) + odt_cell(p("Boats and nets"), 'table:number-columns-spanned="2"') + covered,
        odt_cell(p("1990"), 'table:number-rows-spanned="2"') + odt_cell(p("40"), 'table:number-columns-repeated="2"'),
        covered
        + odt_cell(p("20"))
        + odt_cell(f"{p('10')}<table:table><table:table-row>{odt_cell(p('a')) * 2}</table:table-row></table:table>"),
    ]
    body = f"<table:table>{''.join(f'<table:table-row>{row}</table:table-row>' for row in rows)}</table:table>"
    found = one(odt(tmp_path / "a.odt", body))
    assert shown(found) == ["table: Year | Boats and nets\n1990 | 40 | 40\n1990 | 20 | 10", "table: a | a"]


def test_odt_cells_repeated_without_end_take_no_time(tmp_path: Path) -> None:
    row = odt_cell(p("x"), 'table:number-columns-repeated="60000000"') + odt_cell(p("y"))
    began = time.perf_counter()
    found = one(odt(tmp_path / "a.odt", f"<table:table><table:table-row>{row}</table:table-row></table:table>"))
    assert time.perf_counter() - began < 2
    assert len(found.text) < 1000
    assert found.text.endswith("| y")


def test_what_is_no_odt(tmp_path: Path) -> None:
    packed(tmp_path / "b.odt", {"content.xml": "<a><body><spreadsheet/></body></a>"})
    locked = "<manifest><file-entry><encryption-data/></file-entry></manifest>"
    packed(tmp_path / "c.odt", {"content.xml": b"\x01\x02", "META-INF/manifest.xml": locked})
    for name, why in (("b", "something else than a text"), ("c", "has a password")):
        with pytest.raises(SourceError, match=f"{name}.odt: this is not an OpenDocument text.*{why}"):
            one(tmp_path / f"{name}.odt")


# Presentations


def test_slides_in_their_order_with_titles_items_tables_and_notes(tmp_path: Path) -> None:
    grid = "<a:tr>{}</a:tr>".format(
        "".join(f"<a:tc><a:txBody><a:p><a:r><a:t>{t}</a:t></a:r></a:p></a:txBody></a:tc>" for t in ("40", "40", "20"))
    )
    first = shape("The harbour", place='type="ctrTitle"') + shape("A history", place='type="subTitle"')
    first += (
        f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{grid}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )
    second = shape("Boats", place='type="title"') + shape("Herring", "Cod", place='idx="1"')
    second += f"<p:grpSp>{shape('In a group.')}</p:grpSp><p:pic/>" + shape("2", place='type="sldNum"')
    hidden = f'<p:sld show="0"><p:cSld><p:spTree>{shape("Secret")}</p:spTree></p:cSld></p:sld>'
    notes = shape("Say it slowly.", place='type="body"') + shape("1", place='type="sldNum"')
    found = one(slides(tmp_path / "a.pptx", first, second, hidden, notes=notes))
    assert shown(found) == [
        "heading 1: The harbour",
        "paragraph: A history",
        "table: 40 | 40 | 20",
        "note: Say it slowly.",
        "heading 1: Boats",
        "item: Herring",
        "item: Cod",
        "paragraph: In a group.",
    ]
    assert [(b.page, b.last_page) for b in found.blocks] == [(1, 1)] * 4 + [(2, 2)] * 4
    assert (found.title, found.left_out) == ("The harbour", {"page numbers": 1, "images": 1, "hidden slides": 1})


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
    metadata = "<dc:title>Of harbours</dc:title><dc:date>2026-03-12</dc:date>"
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
    assert (found.title, found.date) == ("Of harbours", "2026-03-12")
    assert found.left_out == {"note marks": 1, "page numbers": 1, "images": 1, "navigation pages": 1}


def test_a_chapter_that_is_no_xml_is_read_as_html(tmp_path: Path) -> None:
    assert shown(one(epub(tmp_path / "a.epub", {"a": "<p>One<br>two <b>three</p>"}))) == [
        "paragraph: One",
        "paragraph: two three",
    ]
    with_control = epub(tmp_path / "b.epub", {"a": "<p>One<br>two <img src='a.png'>\x01 four</p>"})
    assert shown(one(with_control)) == ["paragraph: One", "paragraph: two four"]


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
{\info{\title Of harbours}{\author Somebody}{\revtim\yr2026\mo3\dy12\hr10}}
{\header\pard Running head\par}
\pard\plain\s2 The harbour\par
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
        "note: By the mayor.",
        "item: Herring",
        "item: Cod",
        "table: 40 | 40 | 20\n40 | 10",
        "caption: A boat",
        "paragraph: Last words.",
        "paragraph: In the box.",
    ]
    assert (found.title, found.date) == ("Of harbours", "2026-03-12")
    assert found.left_out == {"hidden texts": 1, "deleted changes": 1, "images": 1, "running headers": 1}


@pytest.mark.parametrize("data", [RTF[:400], "{\\rtf1 " + "{" * 100_000, "{\\rtf1 words", "words", ""])
def test_what_is_no_rtf_or_half_of_one(tmp_path: Path, data: str) -> None:
    (tmp_path / "a.rtf").write_text(data)
    with pytest.raises(SourceError, match=r"a\.rtf: this (?:is not an RTF document|RTF document is damaged)"):
        one(tmp_path / "a.rtf")


def test_rtf_damaged_anywhere_is_read_or_refused(tmp_path: Path) -> None:
    for start in range(0, len(RTF), 13):
        (tmp_path / "a.rtf").write_text(RTF[:start] + "{\\cell\\row\\u-99999999 \\itap9\\nestcell}" + RTF[start + 5 :])
        with contextlib.suppress(SourceError):
            one(tmp_path / "a.rtf")


# reStructuredText

RST = """\
The harbour
===========

:Author: Somebody
:Date: 2026-03-12

It was *closed* in :ref:`May <may>` [#f]_, as |who| and :class:`~boats.Boat` say.

.. |who| replace:: the mayor

.. [#f] By the mayor.

Boats
-----

- Herring
- Cod

.. versionadded:: 3.1
   They are **smoked** there.

.. note:: Nobody had asked.

.. function:: sail(boat)

   Sails a boat.

.. toctree::

   other

.. code-block:: python
   :emphasize-lines: 1

   print("boats")

Like so::

   print("nets")

=====  =====  =====
Year   Boats  Nets
=====  =====  =====
1990   40     40
=====  =====  =====

.. figure:: boat.png

   A boat

.. include:: {secret}
.. raw:: html

   <b>raw</b>
"""


def test_rst_also_with_what_only_sphinx_knows(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "secret.txt").write_text("a secret")
    (tmp_path / "docutils.conf").write_text("[general]\nfile_insertion_enabled: yes\nraw_enabled: yes\n")
    (tmp_path / "a.rst").write_text(RST.replace("{secret}", str(tmp_path / "secret.txt")))
    with contextlib.chdir(tmp_path):
        found = one(tmp_path / "a.rst")
    assert shown(found) == [
        "heading 1: The harbour",
        "paragraph: It was closed in May, as the mayor and boats.Boat say.",
        "note: By the mayor.",
        "heading 2: Boats",
        "item: Herring",
        "item: Cod",
        "paragraph: They are smoked there.",
        "paragraph: Nobody had asked.",
        "heading 3: sail(boat)",
        "paragraph: Sails a boat.",
        "paragraph: Like so:",
        "table: Year | Boats | Nets\n1990 | 40 | 40",
        "caption: A boat",
    ]
    assert (found.title, found.date) == ("The harbour", "2026-03-12")
    assert found.left_out == {"fields": 2, "code blocks": 2, "directives": 3, "images": 1}
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("hostile", ["`a", "|a", "*a", ".. a:: b\n\n   ", "[a", "- ", "> "])
def test_rst_of_nothing_but_marking_is_read_or_refused_soon(tmp_path: Path, hostile: str) -> None:
    (tmp_path / "a.rst").write_text(hostile * 3000)
    began = time.perf_counter()
    with contextlib.suppress(SourceError):
        one(tmp_path / "a.rst")
    assert time.perf_counter() - began < 20


# Whatever the format


@pytest.mark.parametrize("ending", ["odt", "pptx", "epub"])
def test_a_zip_of_something_else_is_no_document(tmp_path: Path, ending: str) -> None:
    packed(tmp_path / f"a.{ending}", {"x.txt": "It was closed."})
    (tmp_path / f"b.{ending}").write_text("It was closed.")
    for name in ("a", "b"):
        with pytest.raises(SourceError, match=rf"{name}\.{ending}: this is not an? .*, or a damaged one"):
            one(tmp_path / f"{name}.{ending}")


@pytest.mark.parametrize("ending", ["odt", "pptx", "epub"])
def test_a_document_damaged_anywhere_is_read_or_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    {
        "odt": lambda: odt(path, ODT),
        "pptx": lambda: slides(path, shape("x")),
        "epub": lambda: epub(path, {"a": CHAPTER}),
    }[ending]()
    whole = path.read_bytes()
    for start in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:start] + b"\xff<&\x00damage" + whole[start + 10 :])
        with contextlib.suppress(SourceError):
            one(path)
