"""What readers make of the structure of Markdown, plain text and HTML, and of encodings that nobody names."""

from pathlib import Path

import pytest
from test_readers import one, write

from tools.documents.encodings import decode_text
from tools.documents.html import html_document
from tools.passages import SourceDocument

WRAPPED = [
    "The harbour was closed to fishing boats in May, after the council had",
    "voted for it by a single voice. Nobody had asked the fishermen, who had",
    "moored there for three generations and paid their dues every year.",
]
WHOLE = " ".join(WRAPPED)


def shapes(found: SourceDocument) -> list[tuple[str, str]]:
    return [(b.form + (str(b.level) if b.level else ""), b.text) for b in found.blocks]


# Markdown

MARKDOWN = f"""Harbour report
==============

![build](https://b.example/x.svg) [![badge](a.png)](https://c.example)

{chr(10).join(WRAPPED)}

## Costs[^1] ##

> They were
> *never* asked.

- [ ] mend the
  walls
- ask `the mayor`
    1. again

| Year | Boats |
|------|:-----:|
| 1990 | **40** |

```python
print("no text")
```

<details><summary>More</summary>The <b>ferry</b> company paid.</details>
<!-- nobody reads this -->

See [the minutes][m] of <your town>.

[m]: https://m.example "Minutes"
[^1]: In thousands, as
    of May.
"""


def test_markdown_keeps_its_structure(tmp_path: Path) -> None:
    found = one(write(tmp_path / "a.md", MARKDOWN))
    assert shapes(found) == [
        ("heading1", "Harbour report"),
        ("paragraph", WHOLE),
        ("heading2", "Costs"),
        ("paragraph", "They were never asked."),
        ("item", "mend the walls"),
        ("item", "ask the mayor"),
        ("item", "again"),
        ("table", "Year | Boats\n1990 | 40"),
        ("paragraph", "More"),
        ("paragraph", "The ferry company paid."),
        ("paragraph", "See the minutes of <your town>."),
        ("note", "In thousands, as of May."),
    ]
    assert found.title == "Harbour report"
    assert found.left_out == {"images": 2, "code blocks": 1}


# Plain text


def test_wrapped_lines_become_paragraphs_again(tmp_path: Path) -> None:
    blocks = [
        ["THE OLD HARBOUR"],
        WRAPPED,
        ["1.2  Costs"],
        [*WRAPPED[:2], "the last."],
        ["Walls", "-----"],
        ["  - mend the walls, which would cost more than the town could find", "    in ten years", "  - ask"],
        ["-----", "* * *"],
    ]
    text = "\n\n".join("\n".join(lines) for lines in blocks)
    found = one(write(tmp_path / "a.txt", text))
    assert shapes(found) == [
        ("heading1", "THE OLD HARBOUR"),
        ("paragraph", WHOLE),
        ("heading2", "1.2 Costs"),
        ("paragraph", " ".join(WRAPPED[:2]) + " the last."),
        ("heading2", "Walls"),
        ("item", "mend the walls, which would cost more than the town could find in ten years"),
        ("item", "ask"),
    ]
    assert found.left_out == {}


def test_a_paragraph_goes_on_over_the_pages_of_an_rfc(tmp_path: Path) -> None:
    foot, head = (
        "Quill                Informational          [Page {}]",
        "RFC 9999              On Harbours              May 2026",
    )
    pages = [f"{WRAPPED[0]}\n{WRAPPED[1]}\n\n\n{foot.format(n)}\n\f\n{head}\n\n\n{WRAPPED[2]}" for n in range(1, 5)]
    found = one(write(tmp_path / "rfc.txt", "\n\n".join(pages)))
    assert [b.text for b in found.blocks] == [WHOLE] * 4
    assert found.left_out == {"running headers and footers": 8}


# Encodings

RUSSIAN = "Мэр сказал, что стены небезопасны и что их ремонт будет стоить больше, чем город может найти."
JAPANESE = "市長は、壁は安全ではなく、修理には町が見つけられる以上の費用がかかると述べた。"
POLISH = "Zażółć gęślą jaźń. Burmistrz powiedział, że mury są niebezpieczne."


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "cp932"),
        (POLISH, "cp1250"),
        ("Où était l’été ? – Là.", "cp1252"),
    ],
)
def test_an_encoding_that_nobody_names_is_found(text: str, codec: str) -> None:
    assert decode_text(text.encode(codec)).text == text


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        ('<meta charset="shift_jis">', "cp932"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=euc-jp">', "euc_jp"),
        ('<?xml version="1.0" encoding="utf-8"?>', "utf-8"),
        ('<meta charset="iso-8859-1">', "utf-8"),
        ('<meta charset="utf-8">', "cp932"),
    ],
)
def test_what_a_file_declares_holds_unless_its_bytes_are_others(tmp_path: Path, head: str, codec: str) -> None:
    page = f"{head}<html><body><p>{JAPANESE * 3}</p></body></html>"
    assert one(write(tmp_path / "a.html", page.encode(codec))).text == JAPANESE * 3


# HTML

PAGE = f"""<html><head><title>Walls</title></head><body><nav><a href="/">Home</a></nav><main>
<h1>Walls<a class="headerlink" href="#walls">¶</a></h1>
<p>{WHOLE}<sup><a href="#n1" id="r1">[1]</a></sup></p>
<font><h2>Costs</h2>They were high.<br><br>They were paid.</font>
<ul><li>mend</li><li><p>ask</p></li></ul>
<figure><img src="a.png"><figcaption>The walls in May.</figcaption></figure>
<table><tr><th>Year</th><th>Boats</th></tr><tr><td>1990</td><td>40</td></tr></table>
<div class="highlight"><pre>print(1)</pre></div>
<pre>{chr(10).join(WRAPPED)}</pre>
<ol><li id="n1"><a href="#r1">^</a> So the minutes say.</li></ol>
</main><footer>All rights reserved.</footer></body></html>"""


def test_html_keeps_its_structure(tmp_path: Path) -> None:
    found = one(write(tmp_path / "a.html", PAGE))
    assert shapes(found) == [
        ("heading1", "Walls"),
        ("paragraph", WHOLE),
        ("heading2", "Costs"),
        ("paragraph", "They were high."),
        ("paragraph", "They were paid."),
        ("item", "mend"),
        ("item", "ask"),
        ("caption", "The walls in May."),
        ("table", "Year | Boats\n1990 | 40"),
        ("paragraph", WHOLE),
        ("note", "So the minutes say."),
    ]
    assert found.left_out == {"images": 1, "code blocks": 1, "words of navigation and furniture": 5}


def test_the_comments_of_a_discussion_are_the_page(tmp_path: Path) -> None:
    said = [f"In the year {year} I would have kept the harbour open." for year in range(1990, 2020)]
    share = "<span class='share'>Tell your friends</span>"
    comments = "".join(f"<div class='comment'><p>{text}</p>{share}</div>" for text in said)
    menu = "".join(f"<div class='menu-item'><a href='/{n}'>All threads of the year {n}</a></div>" for n in range(99))
    page = f"<body>{menu}<h1>Harbour</h1>{comments}<div class='sidebar'>Who is online</div></body>"
    assert [b.text for b in one(write(tmp_path / "a.html", page)).blocks] == ["Harbour", *said]
    article = "".join(f"<p>{text} Others would not.</p>" for text in said)
    found = one(write(tmp_path / "b.html", f"<body>{article}{comments}</body>"))
    assert [b.text for b in found.blocks] == [f"{text} Others would not." for text in said]


def test_a_long_article_of_the_web_is_not_cut() -> None:
    parts = "".join(f"<div class='c{n}'><div><span>{WHOLE} It was {n}.</span></div></div>" for n in range(60))
    page = f"<html><body><article><p>{WHOLE}</p>{parts}</article></body></html>"
    assert len(html_document(page, "n", "https://w.example/").text.split()) > 0.98 * 61 * len(WHOLE.split())
