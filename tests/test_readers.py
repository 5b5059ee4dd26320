"""Reading files: every format as people have it, and every way in which a file is not what its name says."""

import codecs
import time
from pathlib import Path

import pytest
from web_server import pdf

from tools.documents.passage_cutting import cut_document
from tools.documents.readers import read_file
from tools.errors import SourceError
from tools.passages import SourceDocument

SPEECH = "The harbour was closed in May. Nobody had asked the fishermen."


def read(path: Path, skipped: list[str] | None = None) -> list[SourceDocument]:
    documents = []
    for found in read_file(path, path.name):
        if isinstance(found, SourceDocument):
            documents.append(found)
        elif isinstance(found, SourceError):
            if skipped is None:
                raise found
            skipped.append(str(found))
    return documents


def one(path: Path) -> SourceDocument:
    [found] = read(path)
    return found


def write(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


# Text


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (codecs.BOM_UTF8 + b"Caf\xc3\xa9", "Café"),
        (b"Caf\xe9 \x93quoted\x94 \x96 5\x80", "Café “quoted” – 5€"),
        ("Café".encode("utf-16"), "Café"),
        (codecs.BOM_UTF16_BE + "Café".encode("utf-16-be"), "Café"),
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
    with pytest.raises(SourceError, match=rf"a\.{ending}: this is not a text file.*Correct the ending"):
        read(write(tmp_path / f"a.{ending}", data))


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


def test_front_matter_that_would_unfold_without_end_is_left_out(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12))]
    block = "\n".join([*levels, "title: *a11"])
    note, document = read_file(write(tmp_path / "a.md", f"---\n{block}\n---\nText."), "a.md")
    assert "aliases" in str(note)
    assert isinstance(document, SourceDocument)
    assert document.text == "Text."


@pytest.mark.parametrize(
    ("block", "title", "date", "text"),
    [
        ("title: Trams: a second look\ndate: 2024-03-01", "Trams: a second look", "2024-03-01", ""),
        ("title: {{title}}\ndate: <% tp.date %>", "a", "", ""),
        ("title:\tTrams\nauthor: @mo", "Trams", "", ""),
        ("\t", "a", "", ""),
        ("tags: #tram #bus\nlinks: [Report](https://example.org)", "a", "", ""),
        ("**HARBOUR NOTES**\nMinutes of May", "HARBOUR NOTES Minutes of May", "", "HARBOUR NOTES Minutes of May"),
    ],
)
def test_front_matter_that_is_not_yaml_loses_no_text(
    tmp_path: Path, block: str, title: str, date: str, text: str
) -> None:
    note, document = read_file(write(tmp_path / "a.md", f"---\n{block}\n---\n{SPEECH}"), "a.md")
    assert isinstance(note, str)
    assert "between the '---' lines" in note
    assert isinstance(document, SourceDocument)
    assert (document.title, document.date) == (title, date)
    assert document.text.split("\n\n") == [*filter(None, [text]), SPEECH]


SAID = [
    "Ferries should stay free, because the islanders have no bridge.",
    "Ferries should not stay free, since the boats wear out",
    "Nobody counted the passengers!",
]


@pytest.mark.parametrize("rule", ["----------", "==========", "______________________________", "* * *"])
@pytest.mark.parametrize("ending", ["txt", "md"])
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_sentences_between_rules_are_text(tmp_path: Path, rule: str, ending: str, gap: str) -> None:
    found = one(write(tmp_path / f"a.{ending}", gap.join(f"{line}{gap}{rule}" for line in SAID)))
    stored = "\n".join(p.text for p in cut_document(found))
    assert all(line in stored for line in SAID)


def test_a_heading_that_is_a_sentence_or_has_nothing_below_it_is_text(tmp_path: Path) -> None:
    text = f"# Ferries\n\n## {SAID[0]}\n\n## {SAID[2]}\n\n## Costs\n\nForty a year.\n\n## Against\n\n## Questions\n"
    passages = cut_document(one(write(tmp_path / "a.md", text)))
    stored = "\n".join(p.text for p in passages)
    assert all(line in stored for line in (SAID[0], SAID[2], "Against", "Questions"))
    assert [(p.section, p.text) for p in passages if p.section] == [("Costs", "Forty a year. Against\nQuestions")]


def test_obsidian_notes_are_read_as_they_are_shown(tmp_path: Path) -> None:
    text = (
        "We need [[Ferries#Costs|free ferries]] and [[Bridges]], ==not tolls==. ^a1b2\n\n![[map.png]]\n\n"
        "%%My own view, not for others.%%\n\n%%\nNor this.\n\nOr this.\n%%\n\n"
        "> [!quote]- The harbour master\n> Tolls are paid twice.\n\n"
        "It rose by 100%% at 2^10, `a == b == c` and [[1]](https://example.org)."
    )
    found = one(write(tmp_path / "a.md", text))
    assert [b.text for b in found.blocks] == [
        "We need free ferries and Bridges, not tolls.",
        "The harbour master",
        "Tolls are paid twice.",
        "It rose by 100%% at 2^10, a == b == c and [1].",
    ]
    assert found.left_out == {"hidden comments": 2, "embedded notes and files": 1}


@pytest.mark.parametrize("hostile", ["[", "![x](", "[x](()"])
def test_markdown_of_nothing_but_brackets_is_read_at_once(tmp_path: Path, hostile: str) -> None:
    began = time.process_time()
    found = one(write(tmp_path / "a.md", f"It was closed. {hostile * 200_000}"))
    assert found.text.startswith("It was closed.")
    assert time.process_time() - began < 5  # minutes, if each bracket were followed to the end of the file


# Rows

LINES = """{"id": "h1", "text": "The harbour was closed.", "title": "Harbour", "url": "https://h.example", "kind": "a"}

{"id": 2, "text": "Nobody had asked.", "date": 2026, "unknown": [1]}
"""


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


WRONG = [
    ("{", "not valid JSON"),
    ("[" * 100_000, "not valid JSON"),
    ('{"id": "a", "text": ' + "9" * 5000 + "}", "not valid JSON"),
    ("[1, 2]", "must be an object"),
    ('{"id": 2, "text": "x"}', "line 3 already has the id '2'"),
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
