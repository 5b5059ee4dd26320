"""`python -m evals readers`: the sheet hides whose side words stand under; what readers say is counted by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_answer_measures import answer, claim, side

from agent.answer.model import DocumentResponse, ResponseGroup, ResponseSentence
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


def framed(tmp_path: Path, *typed: str) -> tuple[Path, list[dict[str, Any]]]:
    """A sheet of typed lines, and its rows."""
    source, sheet = tmp_path / "typed.jsonl", tmp_path / "framed.jsonl"
    source.write_text("".join(json.dumps({"question": line}) + "\n" for line in typed))
    assert main(["readers", "--framings", str(source), "--out", str(sheet)]) == 0
    return sheet, lines(sheet)


def labelled(tmp_path: Path, name: str, rows: list[dict[str, Any]]) -> str:
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_sheet_of_typed_lines_shows_what_a_run_would_ask(tmp_path: Path) -> None:
    _, rows = framed(tmp_path, "are barges slow", "barges lol, slow or what", "how do barges work", "!!")
    shown = {row["question"]: (row["asked"], set(row["sides"])) for row in rows}
    assert shown["are barges slow"] == ("Are barges slow?", {"Barges are slow.", "Barges are not slow."})
    assert {side.split(":")[0] for side in shown["barges lol, slow or what"][1]} == {"Yes", "No"}
    assert shown["how do barges work"] == ("How do barges work?", set())
    assert shown["!!"] == ("", set())  # refused
    assert all(set(row) == {"id", "question", "asked", "sides", "labels"} for row in rows)
    stated = {row["question"] for row in lines(tmp_path / "framed.key.jsonl") if row["stated"]}
    assert stated == {"are barges slow"}


def test_nonsense_is_counted_over_all_lines_and_over_those_with_statements(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet, rows = framed(tmp_path, "are barges slow", "are bikes fast", "how do barges work", "how do bikes work")
    first = {"are barges slow": "nonsense", "are bikes fast": "sensible", "how do barges work": "other"}
    said = [{**row, "label": first.get(row["question"], "sensible")} for row in rows]
    other = [{"id": row["id"], "label": "sensible"} for row in rows]
    files = [labelled(tmp_path, "one.jsonl", said), labelled(tmp_path, "two.jsonl", other)]
    capsys.readouterr()
    assert main(["readers", "--sheet", str(sheet), "--labels", *files, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["metrics"]
    assert {name: (m["value"], m["over"]) for name, m in told.items()} == {
        "line": (6 / 8, 8), "line nonsense": (1 / 8, 8), "line other": (1 / 8, 8),
        "stated nonsense": (1 / 4, 4), "agree": (2 / 4, 4),
    }  # fmt: skip


def test_a_label_of_other_words_or_of_another_kind_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet, (row,) = framed(tmp_path, "are barges slow")
    stale = labelled(tmp_path, "stale.jsonl", [{**row, "sides": ["Barges are fast."], "label": "sensible"}])
    assert main(["readers", "--sheet", str(sheet), "--labels", stale]) == 1
    assert "'sides' is not what row 1 of the sheet shows" in capsys.readouterr().err
    assert main(
        ["readers", "--sheet", str(sheet), "--labels", labelled(tmp_path, "k.jsonl", [{"id": 1, "label": "good"}])]
    )
    assert "row 1 is labelled 'good'" in capsys.readouterr().err
    assert main(["readers", "--framings", "--answers", "a.jsonl", "--out", str(tmp_path / "new.jsonl")]) == 1


@pytest.mark.parametrize(("name", "read"), [("typed_later", 60), ("typed_fourth", 40)])
def test_the_lines_that_were_read_are_the_gold_lines(name: str, read: int) -> None:
    gold = Path(__file__).parents[1] / "evals" / "gold"
    typed = [row["question"] for row in lines(gold / f"{name}.jsonl")]
    assert sorted(typed) == sorted(row["question"] for row in lines(gold / f"{name}.read.jsonl"))
    assert len(set(typed)) == read
