"""Raised digits are written as powers in every format, and marks of notes are no text."""

from pathlib import Path

from office_files import one

from tools.documents.html import html_document
from tools.documents.html_blocks import parse_html

SAID = "It sold 10^6 tonnes on 5 km^2 by the 21st, said Smith, and CO2 fell."
HTML = (
    "<p>It sold 10<sup>6</sup> tonnes on 5 <i>km</i><sup>2</sup> by the 21<sup>st</sup>, said Smith,<sup>3</sup> "
    "and CO<sub>2</sub> fell.</p>"
)


def test_raised_in_html_and_markdown(tmp_path: Path) -> None:
    for name in ("a.html", "a.md"):
        path = tmp_path / name
        path.write_text(HTML)
        found = one(path)
        assert (found.text, found.left_out["note marks"]) == (SAID, 1)
    assert html_document(parse_html(f"<html><body><main>{HTML}</main></body></html>"), "a").text == SAID
