"""The sheet of `python -m evals answers --sheet`: it hides where words stand; what readers say is counted by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_answer_measures import answer, claim, side

from agent.answer.model import Answer, DocumentResponse, ResponseGroup, ResponseSentence
from evals.__main__ import main
from evals.answering.sheet import rows_of, write_sheet


def shown() -> Answer:
    """Two sentences for, one against, and a document that counts."""
    thesis = ResponseSentence(text="Trade doubled.", passage_id=2, support=0.9)
    document = DocumentResponse(
        document_id="d", collection="c", title="", publisher="", url="", citation=None, thesis=thesis, evidence=[]
    )
    group = ResponseGroup(sources=1, responses=[document])
    against = claim("They cost much.", 3).model_copy(update={"shown": "[Bridges] cost much."})
    one = side("supports", claim("They help.", 1), claim("They join towns.", 2)).model_copy(update={"groups": [group]})
    return answer(one, side("opposes", against))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def make(tmp_path: Path) -> tuple[Path, list[dict[str, Any]], list[dict[str, Any]]]:
    sheet = tmp_path / "sheet.jsonl"
    rows = list(rows_of(shown(), {1: "First. They help.", 2: "Second.", 3: "Third."}))
    assert write_sheet(sheet, rows * 2, None, seed=1) == 5  # none twice
    return sheet, lines(sheet), lines(tmp_path / "sheet.key.jsonl")


def test_the_sheet_holds_what_is_shown_and_not_where_it_stands(tmp_path: Path) -> None:
    _, rows, key = make(tmp_path)
    kinds = {k["id"]: k["kind"] for k in key}
    told = {r["text"]: (kinds[r["id"]], r["passage"]) for r in rows if "text" in r}
    assert told == {
        "They help.": ("case", "First. They help."),
        "They join towns.": ("case", "Second."),
        "[Bridges] cost much.": ("case", "Third."),
        "Trade doubled.": ("counted", "Second."),
    }
    assert sorted(kinds.values()).count("framing") == 1  # a pair of statements is read once
    assert all({r["one"], r["other"]} == {"Bridges help.", "Bridges do not help."} for r in rows)
    assert not [r for r in rows if {"kind", "right", "first", "side"} & r.keys()]
    for row, of in zip(rows, key, strict=True):
        if of["kind"] == "case":
            assert row[of["right"]] == ("Bridges do not help." if "cost" in row["text"] else "Bridges help.")


def test_what_readers_say_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet, _, key = make(tmp_path)
    wrong = {"one": "other", "other": "one"}
    first = {k["id"]: k["right"] for k in key}
    second = {k["id"]: {"case": wrong.get(k["right"])}.get(k["kind"], k["right"]) for k in key}
    files = []
    for name, labels in (("first", first), ("second", second)):
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text("".join(json.dumps({"id": i, "label": label}) + "\n" for i, label in labels.items()))
    capsys.readouterr()
    assert main(["answers", "--sheet", str(sheet), "--labels", *map(str, files), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: (value, found["over"][name]) for name, value in found["metrics"].items()} == {
        "case": (0.5, 6), "case wrong side": (0.5, 6), "case neither": (0, 6),
        "counted": (1, 2), "counted wrong side": (0, 2), "counted neither": (0, 2),
        "framing": (1, 2), "agree": (pytest.approx(0.4), 5),
    }  # fmt: skip
    assert main(["answers", "--sheet", str(sheet), "--labels", str(files[0])]) == 0
    assert "case wrong side" in capsys.readouterr().out


def labelled(tmp_path: Path, *rows: dict[str, Any]) -> str:
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_what_is_wrong_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet, rows, key = make(tmp_path)
    pair = next(row["id"] for row in key if row["kind"] == "framing")
    for said, told in (
        ({"id": 6 - pair % 5, "label": "one"}, "4 rows have no label"),
        ({"id": 1, "label": "left"}, "line 1"),
        ({"id": pair, "label": "one"}, "one of good, nonsense, not 'one'"),
        ({**rows[0], "label": rows[0]["labels"][0], "one": "Barges are fast."}, "'one' is not what row 1"),
    ):
        assert main(["answers", "--sheet", str(sheet), "--labels", labelled(tmp_path, said)]) == 2
        assert told in capsys.readouterr().err
    assert main(["answers", "--labels", labelled(tmp_path)]) == 2
    assert "--sheet is missing" in capsys.readouterr().err
    assert main(["answers"]) == 2
    assert "--out is missing" in capsys.readouterr().err
    assert main(["answers", "--out", str(tmp_path / "a.jsonl"), "--sheet", str(sheet)]) == 2
    assert "is there already" in capsys.readouterr().err
