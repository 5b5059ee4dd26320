"""Raised digits are written as powers in every format, and marks of notes are no text."""

from pathlib import Path

import pytest
from office_files import epub, odt, one, paragraph, word
from written_files import BODY, drawn, pdf_of

from tools.ingest.html import html_document
from tools.ingest.raised import raised_as

SAID = "It sold 10^6 tonnes on 5 km^2 by the 21st, said Smith, and CO2 fell."
HTML = (
    "<p>It sold 10<sup>6</sup> tonnes on 5 <i>km</i><sup>2</sup> by the 21<sup>st</sup>, said Smith,<sup>3</sup> "
    "and CO<sub>2</sub> fell.</p>"
)
_FIRST = (("It sold 10", 0), ("6", 1), (" tonnes on 5 km", 0), ("2", 1), (" by the 21", 0), ("st", 1))
RUNS = (*_FIRST, (", said Smith,", 0), ("3", 1), (" and CO", 0), ("2", -1), (" fell.", 0))


@pytest.mark.parametrize(
    ("before", "text", "after", "shown"),
    [
        ("10", "6", " ", "^6"),
        ("10", "−3", " ", "^−3"),
        ("5 mol", "-1", " ", "^-1"),
        ("2", "n", " ", "^n"),
        ("5 m", "2", " ", "^2"),
        ("5 in", "2", " ", "^2"),
        ("5 feet", "2", " ", "^2"),
        ("(1 + r)", "10", " ", "^10"),
        ("R", "2", " ", "^2"),
        ("the 2", "nd", " ", "nd"),
        ("Ca", "2+", " ", "2+"),
        ("of ", "14", "C", "14"),
        ("about ", "14", "C", "14"),
        ("1", "1", "/", " 1"),
        ("", "1", "/", "1"),
        ("as he said", "3", " ", None),
        ("as he said.", "3,4", " ", None),
        ("that is it", "3", " ", None),
        ("in the UK", "3", " ", None),
        ("by 5%", "3", " ", None),
        ("(see there)", "3", " ", None),
        ("a word", "*", " ", None),
        ("", "3", " ", "3"),
    ],
)
def test_a_power_or_a_mark(before: str, text: str, after: str, shown: str | None) -> None:
    assert raised_as(text, before, after) == shown


def test_raised_in_html_and_markdown(tmp_path: Path) -> None:
    for name in ("a.html", "a.md"):
        path = tmp_path / name
        path.write_text(HTML)
        found = one(path)
        assert (found.text, found.left_out["note marks"]) == (SAID, 1)
    assert html_document(f"<html><body><main>{HTML}</main></body></html>", "a").text == SAID


def test_raised_in_pdf(tmp_path: Path) -> None:
    shown = (f"/F1 {6 if up else 10} Tf { ({1: 4, 0: 0, -1: -2}[up]) } Ts ({text}) Tj" for text, up in RUNS)
    (tmp_path / "a.pdf").write_bytes(pdf_of([drawn(*BODY, f"BT 72 640 Td {' '.join(shown)} ET")]))
    found = one(tmp_path / "a.pdf")
    assert (found.blocks[-1].text, found.left_out["note marks"]) == (SAID, 1)


def test_raised_in_a_book(tmp_path: Path) -> None:
    assert one(epub(tmp_path / "a.epub", {"a": HTML})).text == SAID


def test_raised_in_word(tmp_path: Path) -> None:
    names = {1: "superscript", 0: "baseline", -1: "subscript"}
    runs = [
        f'<w:r><w:rPr><w:vertAlign w:val="{names[up]}"/></w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'
        for text, up in RUNS
    ]
    found = one(word(tmp_path / "a.docx", f"<w:p>{''.join(runs)}</w:p>" + paragraph("The end.")))
    assert (found.blocks[0].text, found.left_out["note marks"]) == (SAID, 1)


def test_raised_in_odt(tmp_path: Path) -> None:
    styles = "".join(
        f'<style:style style:name="{name}"><style:text-properties style:text-position="{at}"/></style:style>'
        for name, at in (("up", "super 58%"), ("down", "sub 58%"), ("up2", "33% 58%"))
    )
    names = {1: "up2", -1: "down"}
    runs = "".join(f'<text:span text:style-name="{names[up]}">{t}</text:span>' if up else t for t, up in RUNS)
    found = one(odt(tmp_path / "a.odt", f"<text:p>{runs}</text:p>", styles))
    assert (found.text, found.left_out["note marks"]) == (SAID, 1)


def test_raised_in_rtf(tmp_path: Path) -> None:
    words = {1: "\\super ", -1: "\\sub "}
    runs = "".join(f"{{{words[up]}{text}}}" if up else text for text, up in RUNS)
    (tmp_path / "a.rtf").write_text(f"{{\\rtf1\\ansi {runs}\\par}}")
    found = one(tmp_path / "a.rtf")
    assert (found.text, found.left_out["note marks"]) == (SAID, 1)
    (tmp_path / "b.rtf").write_text("{\\rtf1\\ansi It sold 10\\super 6\\nosupersub  tonnes.\\par}")
    assert one(tmp_path / "b.rtf").text == "It sold 10^6 tonnes."
