"""`python -m evals readers`: the sheet hides whose side words stand under; what readers say is counted by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_answer_measures import answer, claim, side

from agent.answer import DocumentResponse, ResponseGroup, ResponseSentence
from evals.__main__ import main


def answers(path: Path, *, left_out: str | None = None) -> Path:
    """A file of one answer: two sentences for, one against that may speak for it, and a document that counts."""
    thesis = ResponseSentence(text="Trade doubled.", passage_id=2, support=0.9)
    document = DocumentResponse(
        document_id="d", collection="c", title="", publisher="", url="", citation=None, thesis=thesis, evidence=[]
    )
    group = ResponseGroup(sources=1, responses=[document])
    against = claim("They cost much.", 3).model_copy(update={"tier": "leaning", "shown": "[Bridges] cost much."})
    one = side("supports", claim("They help.", 1), claim("They join towns.", 2)).model_copy(update={"groups": [group]})
    told = answer(one, side("opposes", against))
    record = {
        "key": "k", "case": "k", "variant": "plain", "asked": "Do bridges help?", "left_out": left_out,
        "answer": told.model_dump(), "passages": {"1": "First. They help.", "2": "Second.", "3": "Third."},
    }  # fmt: skip
    head = {"records": 1, "suite": "answers", "config": {}, "versions": {}, "prompts": {}}
    path.write_text("\n".join(map(json.dumps, (head, record))) + "\n")
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def make(tmp_path: Path) -> tuple[Path, list[dict[str, Any]], list[dict[str, Any]]]:
    sheet = tmp_path / "sheet.jsonl"
    assert main(["readers", "--answers", str(answers(tmp_path / "a.jsonl")), "--out", str(sheet)]) == 0
    return sheet, lines(sheet), lines(tmp_path / "sheet.key.jsonl")


def test_the_sheet_holds_what_is_shown_and_not_where_it_stands(tmp_path: Path) -> None:
    _, rows, key = make(tmp_path)
    kinds = {k["id"]: k["kind"] for k in key}
    shown = {r["text"]: (kinds[r["id"]], r["passage"]) for r in rows if "text" in r}
    assert shown == {
        "They help.": ("case", "First. They help."),
        "They join towns.": ("case", "Second."),
        "[Bridges] cost much.": ("leaning", "Third."),
        "Trade doubled.": ("counted", "Second."),
    }
    assert sorted(kinds.values()).count("framing") == 1  # a pair of statements is read once
    assert all({r["one"], r["other"]} == {"Bridges help.", "Bridges do not help."} for r in rows)
    assert not [r for r in rows if {"kind", "right", "first", "side"} & r.keys()]
    for row, told in zip(rows, key, strict=True):
        if told["kind"] == "case":
            assert row[told["right"]] == "Bridges help."


def test_what_readers_say_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet, _, key = make(tmp_path)
    wrong = {"one": "other", "other": "one"}
    first = {k["id"]: k["right"] for k in key}
    second = {k["id"]: {"case": wrong.get(k["right"]), "leaning": "neither"}.get(k["kind"], k["right"]) for k in key}
    files = []
    for name, labels in (("first", first), ("second", second)):
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text("".join(json.dumps({"id": i, "label": label}) + "\n" for i, label in labels.items()))
    capsys.readouterr()
    assert main(["readers", "--sheet", str(sheet), "--labels", *map(str, files), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["metrics"]
    assert {name: (m["value"], m["over"]) for name, m in told.items()} == {
        "case": (0.5, 4), "case wrong side": (0.5, 4), "case neither": (0, 4),
        "leaning": (0.5, 2), "leaning wrong side": (0, 2), "leaning neither": (0.5, 2),
        "counted": (1, 2), "counted wrong side": (0, 2), "counted neither": (0, 2),
        "framing": (1, 2), "agree": (pytest.approx(0.4), 5),
    }  # fmt: skip
    assert main(["readers", "--sheet", str(sheet), "--labels", str(files[0])]) == 0
    assert "leaning" in capsys.readouterr().out


def test_what_is_wrong_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet, _, _ = make(tmp_path)
    some = tmp_path / "labels.jsonl"
    some.write_text('{"id": 1, "label": "one"}\n')
    assert main(["readers", "--sheet", str(sheet), "--labels", str(some)]) == 1
    assert "have no label" in capsys.readouterr().err
    some.write_text('{"id": 1, "label": "left"}\n')
    assert main(["readers", "--sheet", str(sheet), "--labels", str(some)]) == 1
    assert "line 1" in capsys.readouterr().err
    assert main(["readers", "--sheet", str(sheet)]) == 1
    assert main(["readers"]) == 1
    assert main(["readers", "--answers", str(tmp_path / "a.jsonl"), "--out", str(sheet)]) == 1
    assert "is there already" in capsys.readouterr().err
    other = tmp_path / "other.jsonl"
    other.write_text('{"records": 1, "suite": "judge", "config": {}}\n')
    assert main(["readers", "--answers", str(other), "--out", str(tmp_path / "new.jsonl")]) == 1
    assert "no answers of the suite" in capsys.readouterr().err


def test_answers_without_a_sides_documents_are_left_out(tmp_path: Path) -> None:
    path = answers(tmp_path / "a.jsonl", left_out="supports")
    assert main(["readers", "--answers", str(path), "--out", str(tmp_path / "sheet.jsonl")]) == 0
    assert lines(tmp_path / "sheet.jsonl") == []
