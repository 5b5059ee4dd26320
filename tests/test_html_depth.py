"""Pages deeper than the parser goes: none of their text is lost."""

from pathlib import Path

import pytest

from tools.documents.html import html_document, read_html
from tools.documents.html_blocks import parse_html

MANY = 700
DEEP = {
    "unclosed divs": ("<div><p>{}</p>", "<div><p>"),
    "unclosed lists": ("<ul><li>{}", ""),
    "nested quotes": ("<blockquote>{}", ""),
    "closed at the end": ("<section><p>{}</p>", "</section>" * MANY),
}


def told(number: int) -> str:
    return f"Paragraph {number} tells of towns and of their trees."


def page(each: str, end: str) -> str:
    body = "".join(each.format(told(n)) for n in range(MANY))
    head = "<head><title>Of trees</title><script>if (a < b) {}</script></head>"
    return f"<html>{head}<body><h1>Trees</h1>{body}{end}</body></html>"


@pytest.mark.parametrize("kind", DEEP)
def test_no_paragraph_of_a_deep_page_is_lost(kind: str, tmp_path: Path) -> None:
    html = page(*DEEP[kind])
    file = tmp_path / "deep.html"
    file.write_text(html, encoding="utf-8")
    [read] = read_html(file, "deep.html")
    for document in (read, html_document(parse_html(html), "page", "https://example.org/trees")):
        words = " ".join(" ".join(block.text for block in document.blocks).split())
        assert [n for n in range(MANY) if told(n) not in words] == []
        assert "if (a" not in words
    assert read.title == "Trees"
