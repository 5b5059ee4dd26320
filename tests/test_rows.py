"""Tables of rows as they are found in the wild: which column is what, how they are written, what is told."""

import codecs
import csv
import io
import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tools.documents.document import ColumnNames
from tools.documents.readers import read_file
from tools.errors import SourceError
from tools.language.fact_quotes import fact_quotes, words_held
from tools.passages import Passage, SourceDocument

LONG = (
    "Zoos keep the last animals of some kinds alive, and the condor would be gone without them.",
    "A cage is a cage, however green it is painted, and a bear that paces has no other word for it.",
    "Children who have seen an elephant care about elephants; those who have not seen one rarely do.",
)


def table(rows: Sequence[Sequence[Any]], separator: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator).writerows(rows)
    return out.getvalue()


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def made(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


class Reading:
    """A file read to its end: its documents, its problems and its notes."""

    def __init__(self, path: Path, **columns: Any) -> None:
        found = list(read_file(path, path.name, ColumnNames(**columns)))
        self.documents = [each for each in found if isinstance(each, SourceDocument)]
        self.problems = [str(each) for each in found if isinstance(each, SourceError)]
        self.notes = [each for each in found if isinstance(each, str)]

    @property
    def texts(self) -> list[str]:
        return [d.text for d in self.documents]

    @property
    def ids(self) -> list[str]:
        return [d.external_id for d in self.documents]


def sheet(names: str, row: Callable[[int, str], Sequence[Any]], separator: str = ",") -> str:
    """A table of three rows under the names."""
    return table([names.split(","), *[row(i, t) for i, t in enumerate(LONG)]], separator)


def objects(row: Callable[[int, str], Any]) -> list[Any]:
    return [row(i, t) for i, t in enumerate(LONG)]


TITLE = "Zoos and us"
ARGUED = sheet("arg_id,argument,topic,stance", lambda i, t: [f"arg_{i}", t, "We should abolish zoos", 1])
NEWS = sheet(
    "date,headline,content,url,source", lambda i, t: ["Mar 12, 2026", TITLE, t, f"https://x.example/{i}", "The Ex"]
)
GERMAN = sheet("Nr,Titel,Alter,Antwort", lambda i, t: [i, TITLE, "3,5", t], ";")
EXCEL = sheet("Respondent ID,Why do you think so?", lambda i, t: [i, t], "\t")
PAPERS = objects(lambda i, t: {"id": f"07.{i}", "title": TITLE, "abstract": f" {t}\n", "update_date": "2008-11-26"})
COMMENTS = objects(lambda i, t: {"author": "u", "body": t, "created_utc": 1577836800, "id": f"f{i}", "link_id": "t3"})
DEBATES = objects(lambda i, t: {"id": f"g{i}", "conclusion": "Zoos help", "premises": [{"text": t, "stance": "PRO"}]})

# The name of a file, what it says, and what is known of its first row.
WILD: dict[str, tuple[str, str | bytes, dict[str, str]]] = {
    "arguments": ("a.csv", ARGUED, {"external_id": "arg_0"}),
    "news": (
        *("n.csv", NEWS),
        {"title": TITLE, "date": "2026-03-12", "url": "https://x.example/0", "publisher": "The Ex"},
    ),
    "a German Excel": ("d.csv", codecs.BOM_UTF8 + GERMAN.encode(), {"external_id": "0", "title": TITLE}),
    "Excel's Unicode text": ("u.tsv", EXCEL.encode("utf-16"), {"external_id": "0"}),
    "Excel's own word": ("e.csv", "sep=;\r\n" + sheet("ID,Comment", lambda i, t: [i, t], ";"), {"external_id": "0"}),
    "numbers under a text's name": (
        "r.csv",
        sheet("review_id,comment,why", lambda i, t: [f"r{i}", 5, t]),
        {"external_id": "r0"},
    ),
    "one column": ("o.csv", "Opinion\n" + "\n".join(LONG), {}),
    "BEIR": (
        *("b.jsonl", lines(*objects(lambda i, t: {"_id": f"d{i}", "title": TITLE, "text": t, "metadata": {}}))),
        {"external_id": "d0", "title": TITLE},
    ),
    "abstracts": ("x.jsonl", lines(*PAPERS), {"external_id": "07.0", "date": "2008-11-26", "title": TITLE}),
    "Reddit": ("d.jsonl", lines(*COMMENTS), {"external_id": "f0", "date": "2020-01-01", "publisher": ""}),
    "objects in a list": ("g.jsonl", lines(*DEBATES), {"external_id": "g0"}),
    "an array": ("a.json", json.dumps(objects(lambda i, t: {"id": i, "message": t}), indent=1), {"external_id": "0"}),
    "by ids": ("k.json", json.dumps({f"k{i}": {"body": t} for i, t in enumerate(LONG)}), {"external_id": "k0"}),
}


@pytest.mark.parametrize("name", WILD)
def test_as_it_is_found(tmp_path: Path, name: str) -> None:
    file, data, fields = WILD[name]
    found = Reading(made(tmp_path, file, data))
    assert found.problems == []
    assert found.texts == list(LONG)
    first = found.documents[0]
    assert {f: getattr(first, f) for f in fields} == fields
    assert first.external_id == fields.get("external_id", f"{file}, row 1")
    assert first.key == f"{file}#{fields.get('external_id', '1')}"


# What is not plain


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (table([["pro", "con"], *([t, u] for t, u in pairwise(LONG))]), "is 'pro' the text, or 'con'"),
        (table([["comment", "content"], [LONG[0], ""], [LONG[0], LONG[1]]]), "is 'content' the text, or 'comment'"),
        (table([["id", "kind"], [1, "a, b"], [2, "b"]]), r"no column holds text.*'id' \(1\), 'kind' \(a, b\)"),
        (
            "year,treated,untreated\n2020,3,5 mg\n2021,7,9 mg\n",
            r"no column holds text, only figures\. Its columns: [^:]*\.$",
        ),
        ("", "the file has no rows"),
        ("id,text\n", "the file has no rows"),
    ],
)
def test_two_that_are_equally_plausible_and_none(tmp_path: Path, data: str, says: str) -> None:
    with pytest.raises(SourceError, match=rf"a\.csv: {says}"):
        Reading(made(tmp_path, "a.csv", data))


def test_the_error_shows_the_columns_and_what_to_type(tmp_path: Path) -> None:
    path = made(tmp_path, "a b.csv", table([["id", "for it", "against"], [7, LONG[0], LONG[1]]]))
    with pytest.raises(SourceError) as raised:
        Reading(path, hint="Type: ingest {file} --text {column}")
    assert "'id' (7), 'for it' (Zoos keep the last animals of some kinds…)" in str(raised.value)
    assert "Type: ingest 'a b.csv' --text 'for it'" in str(raised.value)
    both = Reading(path, text=("for it,against",))
    assert both.texts == [f"{LONG[0]}\n\n{LONG[1]}"]


def test_columns_that_are_named(tmp_path: Path) -> None:
    rows = [{"meta": {"Title": "On zoos", "who": ["A", "B"]}, "pro": LONG[0], "con": LONG[1], "n": 7, "text": "no"}]
    path = made(tmp_path, "a.jsonl", lines(*rows))
    found = Reading(path, text=("con", "PRO"), id="n", title="meta.title", publisher="meta.who").documents[0]
    assert found.text == f"{LONG[1]}\n\n{LONG[0]}"
    assert (found.external_id, found.title, found.publisher) == ("7", "On zoos", "A, B")
    with pytest.raises(
        SourceError, match=r"a\.jsonl: no column is called 'abc'. Its columns: 'meta.Title' \(On zoos\)"
    ):
        Reading(path, text=("abc",))


# Ids


def test_an_id_that_comes_twice_is_told_with_both_lines(tmp_path: Path) -> None:
    more = "".join(f"n{i},text {i}\n" for i in range(40))
    found = Reading(made(tmp_path, "a.csv", f'id,text\nx,"one\nmore"\ny,two\nx,three\ny,two\n{more}'))
    assert (found.ids[:3], len(found.ids)) == (["x", "y", "n0"], 42)
    assert found.problems == ["a.csv, line 5: line 2 already has the id 'x'; this row was skipped."]
    assert found.notes == ["a.csv: 1 repeated rows with an earlier row's id."]


# What is left out


def test_a_line_with_too_many_cells_is_told_and_not_cut(tmp_path: Path) -> None:
    found = Reading(made(tmp_path, "a.csv", "label,text\n0,one\n1,two, or three\n0,four,\n0,five\n0,six\n"))
    assert found.texts == ["one", "four", "five", "six"]
    assert "a.csv, line 3: 3 cells, but 2 columns" in found.problems[0]


@pytest.mark.parametrize("at", [0, 1100, 1198])
def test_a_quotation_mark_that_is_closed_nowhere_swallows_no_rows(tmp_path: Path, at: int) -> None:
    texts = [f"Row {n} says something of its own." for n in range(1200)]
    texts[at] = '"An unclosed quote begins here'
    data = "id,text\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts, start=1))
    found = Reading(made(tmp_path, "a.csv", data))
    assert (found.texts, found.problems) == (texts, [])
    assert f"not closed was read as text (line {at + 2})" in found.notes[-1]


@pytest.mark.parametrize(
    "text", ["One line,\nanother,\na third,\n" * 5, "a, b\n" * 5, 'He said "no",\nand left, of course', "x\n\ny"]
)
def test_a_text_of_many_lines_stays_whole(tmp_path: Path, text: str) -> None:
    found = Reading(made(tmp_path, "a.csv", table([["id", "text"], *([n, f"{n} {text}"] for n in range(5))])))
    assert (len(found.texts), found.notes, found.problems) == (5, [], [])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("{", "not valid JSON"),
        ('{"name": "x", "version": 1}', "no rows. Rows are the objects of an array"),
        ('{"name": "x", "description": "Some four words here"}', "no rows"),
        ('{"a": [{"text": "x"}], "b": [{"text": "y"}]}', r"several arrays of objects \('a', 'b'\)"),
        ("[]", "the file has no rows"),
        ("7", "no rows"),
        ("[[1, 2]]", "row 1: a row must be an object"),
        ("[{}, {}]", "no column holds text. It has no columns"),
        ("[" * 100_000, "not valid JSON"),
        ('[{"a":' + '{"a":' * 500 + '"x"' + "}" * 501 + "]", "no column holds text. It has no columns"),
    ],
)
def test_json_without_rows(tmp_path: Path, data: str, says: str) -> None:
    with pytest.raises(SourceError, match=rf"^a\.json[:,] ?(?:{says})"):
        raise next(e for e in read_file(made(tmp_path, "a.json", data), "a.json") if isinstance(e, SourceError))


@pytest.mark.parametrize(
    "data",
    [
        "id,text\n7,Ferries leave room for ships.,\n",
        "id,text,\n7,Ferries leave room for ships.\n",
        "\ufeffid\ttext\n7\tFerries leave room for ships.\t\t\n8\tBoats leave at noon.\n",
        "id;text\n7;Ferries leave room for ships.;\n8;One, two, three, and more;\n",
        "Report,,\nid,text,\n7,Ferries leave room for ships.,\n",
    ],
)
def test_cells_without_names_and_a_title_above_are_left_out(tmp_path: Path, data: str) -> None:
    found = Reading(made(tmp_path, "rows.csv", data))
    assert (found.ids[0], found.texts[0]) == ("7", "Ferries leave room for ships.")
    assert found.problems == []
    assert not [note for note in found.notes if "names no columns" in note]


def test_joined_columns_keep_their_names_and_name_the_row(tmp_path: Path) -> None:
    rows = [
        ["Date", "Quay", "Boats", "Note", "Said"],
        ["2025-03-01", "Gull quay", "14", "calm sea", "The crews asked for a second crane this summer."],
        ["2025-03-02", "Gull quay", "19", "fair in the town", ""],
    ]
    found = Reading(made(tmp_path, "a.csv", table(rows)), text=("Quay,Boats,Note,Said",))
    assert found.texts == [
        f"Quay: Gull quay; Boats: 14; Note: calm sea\n\n{rows[1][4]}",
        "Quay: Gull quay; Boats: 19; Note: fair in the town",
    ]
    assert [(d.title, d.date) for d in found.documents] == [
        ("Gull quay, 2025-03-01", "2025-03-01"),
        ("Gull quay, 2025-03-02", "2025-03-02"),
    ]


def test_joined_remarks_without_figures_name_no_row(tmp_path: Path) -> None:
    found = Reading(made(tmp_path, "a.csv", table([["pro", "con"], ["Cheap", LONG[0]]])), text=("pro,con",))
    assert [(d.title, d.text) for d in found.documents] == [("", f"pro: Cheap\n\n{LONG[0]}")]


def test_a_row_of_joined_columns_answers_a_question_of_fact_by_its_day() -> None:
    text = "Quay: Gull Quay; Boats counted 23:00-03:00: 19; Note: Old Town Fair"
    days = ("2025-03-01", "2025-03-02")
    rows = [Passage(i, f"{i}", "c", text, date=day) for i, day in enumerate(days)]
    parts = [part for row in rows for part in fact_quotes(row)]
    assert [part.text for part in parts] == [text, text]
    first, second = words_held("How many boats were at Gull Quay on 2 March?", parts)
    assert second > first


@pytest.mark.parametrize("name", ["Anon", "anonymous", "prefer not to say", "I'd rather not give it", "n/a", "-"])
def test_who_gives_no_name_is_nobody(tmp_path: Path, name: str) -> None:
    path = made(
        tmp_path, "a.csv", table([["Ref", "Your name", "Comment"], [1, "Ann Lee", LONG[0]], [2, name, LONG[1]]])
    )
    assert [d.author for d in read_file(path, "a.csv") if isinstance(d, SourceDocument)] == ["Ann Lee", ""]
