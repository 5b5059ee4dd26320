"""Raised digits are written as powers in every format, and marks of notes are no text."""

from pathlib import Path

import pytest
from office_files import one

from tools.documents.html import html_document
from tools.documents.tidy import superscript_text

SAID = "It sold 10^6 tonnes on 5 km^2 by the 21st, said Smith, and CO2 fell."
HTML = (
    "<p>It sold 10<sup>6</sup> tonnes on 5 <i>km</i><sup>2</sup> by the 21<sup>st</sup>, said Smith,<sup>3</sup> "
    "and CO<sub>2</sub> fell.</p>"
)


@pytest.mark.parametrize(
    ("before", "text", "after", "shown"),
    [
        ("10", "6", " ", "^6"),
        ("5 m", "2", " ", "^2"),
        ("3.2 m", "3", "/", "^3"),
        ("(1 - r/2)", "2", " ", "^2"),
        ("(1 + 0.05)", "10", " ", "^10"),
        ("the 9", "th", "/10th", "th"),
        ("dating (", "14", "C)", "14"),
        ("(1 + r)", "10", " ", "^10"),
        ("the 2", "nd", " ", "nd"),
        ("of ", "14", "C", "14"),
        ("1", "1", "/", " 1"),
        ("as he said", "3", " ", None),
        ("in the UK", "3", " ", None),
    ],
)
def test_a_power_or_a_mark(before: str, text: str, after: str, shown: str | None) -> None:
    assert superscript_text(text, before, after) == shown


def test_raised_in_html_and_markdown(tmp_path: Path) -> None:
    for name in ("a.html", "a.md"):
        path = tmp_path / name
        path.write_text(HTML)
        found = one(path)
        assert (found.text, found.left_out["note marks"]) == (SAID, 1)
    assert html_document(f"<html><body><main>{HTML}</main></body></html>", "a").text == SAID
