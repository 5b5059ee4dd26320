"""The suite `expand`: its verdicts worked by hand, its files, and a chat model's perspectives against gold ones."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_server import ModelServer, Reply

from evals.__main__ import main
from evals.datasets.readings import read_readings
from evals.metrics.expansion import GoldRow, match, perspective_measures, verdict_of, verdict_shares
from evals.metrics.question_framing import GoldReading, reading_shares, reading_verdict
from evals.suites.expand import add_arguments, read_rows, run
from tools.errors import InputError, SettingsError
from tools.inference.encoders.encoder import MiniLM
from tools.language.grammar import Framing

ROW = GoldRow("set", "Are barges slow?", ("Barges are slow.", "Barges are not slow."), 1)
PAIR: tuple[str, str] = ("Barges are slow.", "Barges aren't slow.")


def test_an_exact_pair_is_found_in_either_order() -> None:
    cosines = np.array([[0.4, 1.0], [1.0, 0.4]], np.float32)
    turned = GoldRow("set", ROW.question, ROW.gold[::-1], 2)
    found = verdict_of(turned, "polar", PAIR, cosines)
    assert (found.exact, found.close, found.wrong_polarity, found.nearest_opposite) == (True, True, False, False)
    assert found.cosines == (1.0, 1.0)


def test_close_needs_both_cosines_and_the_polarity() -> None:
    said = ("A barge is a slow boat.", "A barge is not a slow boat.")
    for cosines, close in (([[0.95, 0.5], [0.5, 0.91]], True), ([[0.95, 0.5], [0.5, 0.89]], False)):
        assert verdict_of(ROW, "polar", said, np.array(cosines, np.float32)).close is close
    wrong = verdict_of(ROW, "polar", said, np.array([[0.5, 0.95], [0.95, 0.5]], np.float32))
    assert (wrong.close, wrong.wrong_polarity, wrong.nearest_opposite) == (False, True, True)


def test_a_question_without_a_claim_stays_in_every_share() -> None:
    none = verdict_of(GoldRow("set", "Barges", ROW.gold), "none", (), np.zeros((0, 2), np.float32))
    exact = verdict_of(ROW, "polar", PAIR, np.eye(2, dtype=np.float32))
    shares = {name: m.value for name, m in verdict_shares([exact, none]).items()}
    assert shares == {"exact": 0.5, "close": 0.5, "wrong_polarity": 0, "nearest_opposite": 0, "no_claim": 0.5}


def test_perspectives_are_matched_one_to_one() -> None:
    row = GoldRow("set", "How should barges be moored?", ("With ropes.", "With chains.", "With anchors."))
    # The first two are both nearest to the first gold one; only one may have it: .95 + .92 beats .96 + .3.
    cosines = np.array([[0.95, 0.3, 0.1], [0.96, 0.92, 0.1]], np.float32)
    found = match(row, ["Ropes.", "Chains."], cosines)
    assert found.cosines == (0.95, 0.92, 0.0)
    assert found.close == 2
    failed = GoldRow("set", "Are barges slow?", ROW.gold)
    measures = perspective_measures([found, match(failed, [], np.zeros((0, 2), np.float32))])
    assert {name: round(m.value, 4) for name, m in measures.items()} == {
        "perspectives_recall": round(2 / 5, 4),
        "perspectives_precision": 1.0,
        "perspectives_cosine": round((0.95 + 0.92) / 5, 4),
        "perspectives_given": 1.0,
    }


def test_a_perspective_of_the_other_polarity_is_not_close() -> None:
    found = match(ROW, ["Barges are never slow."], np.array([[0.99, 0.5]], np.float32))
    assert (found.cosines, found.close) == ((0.99, 0.0), 0)


def write(folder: Path, *rows: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "boats.dev.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return folder


BARGES = {"question": "Are barges slow?", "perspectives": list(ROW.gold)}
MOORING = {"question": "How should barges be moored?", "perspectives": ["With ropes.", "With chains.", "Not at all."]}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"perspectives": ["a", "b"]}, r"boats\.dev\.jsonl line 2: 'question' is missing"),
        (BARGES | {"perspectives": []}, r"boats\.dev\.jsonl line 2: 'perspectives' is empty"),
        (BARGES | {"perspectives": ["a", 1]}, r"boats\.dev\.jsonl line 2: 'perspectives' item 2 has to be text"),
        (["no object"], r"boats\.dev\.jsonl line 2: an object is needed"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_rows(write(tmp_path, BARGES, row)))


def test_only_pairs_count_for_the_grammar(tmp_path: Path) -> None:
    folder = write(tmp_path, BARGES, MOORING)
    assert [r.number for r in read_rows(folder)] == [1]
    assert [len(r.gold) for r in read_rows(folder, most=None)] == [2, 3]


def arguments(folder: Path, *more: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(["--data", str(folder), "--json", *more])


def test_the_figures_are_printed_and_kept(
    tmp_path: Path, built_models: None, encoder: MiniLM, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "set", BARGES, {"question": "Why do barges float?", "perspectives": list(ROW.gold)})
    out = tmp_path / "out.jsonl"
    assert run(arguments(folder, "--out", str(out))) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["metrics"]["rows"], first["metrics"]["exact"], first["metrics"]["no_claim"]) == (2, 0.5, 0.5)
    assert first["intervals"]["exact"] == [0, 1]
    assert first["sets"]["boats"]["exact"] == 1
    assert first["config"]["encoder"] == encoder.name
    kept = out.read_bytes()
    assert len(kept.splitlines()) == 3
    out.write_bytes(b"".join(kept.splitlines(keepends=True)[:2]))  # stopped after the first
    assert run(arguments(folder, "--out", str(out))) == 0
    assert json.loads(capsys.readouterr().out)["metrics"] == first["metrics"]
    assert out.read_bytes() == kept


def test_nothing_is_overwritten(tmp_path: Path, built_models: None, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "set", BARGES)
    mine = tmp_path / "mine.jsonl"
    mine.write_text("mine")
    for option in ("--out", "--failures"):
        assert main(["expand", "--data", str(folder), option, str(mine)]) == 1
    assert mine.read_text() == "mine"
    assert "mine.jsonl" in capsys.readouterr().err
    assert main(["expand", "--data", str(folder), "--failures", str(tmp_path / "none" / "rows.jsonl")]) == 1
    assert "rows.jsonl cannot be written" in capsys.readouterr().err


def test_a_damaged_record_is_named(tmp_path: Path, built_models: None, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write(tmp_path / "set", BARGES), tmp_path / "out.jsonl"
    assert run(arguments(folder, "--out", str(out))) == 0
    head, record = out.read_text().splitlines()
    for field in ("predicted", "cosines", "form", "close"):
        damaged = {k: v for k, v in json.loads(record).items() if k != field}
        out.write_text(f"{head}\n{json.dumps(damaged)}\n")
        with pytest.raises(InputError, match=rf"out\.jsonl line 2: '{field}' is missing"):
            run(arguments(folder, "--out", str(out)))


def test_perspectives_need_a_chat_model(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="OPENAI"):
        run(arguments(write(tmp_path / "set", BARGES), "--perspectives"))


def test_a_models_perspectives_are_measured_and_its_failures_named(
    tmp_path: Path,
    built_models: None,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    quick_retries: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("STEELMAN_MODEL", "test-model")
    sides = [
        {"name": "Slow", "statement": ROW.gold[0], "stance": "supports"},
        {"name": "Not slow", "statement": ROW.gold[1], "stance": "opposes"},
        {"name": "It depends", "statement": "The current of the river decides how fast a barge is.", "stance": "other"},
    ]
    server.on(lambda body: "stance" in json.dumps(body.get("response_format", "")), {"perspectives": sides}, times=1)
    server.on("moored", Reply(status=400))
    folder, out = write(tmp_path / "set", BARGES, MOORING), tmp_path / "out.jsonl"
    for _ in range(2):  # the second time nothing is asked
        assert run(arguments(folder, "--perspectives", "--parallel", "1", "--out", str(out))) == 0
        found = json.loads(capsys.readouterr().out)
        metrics = found["metrics"]
        assert (metrics["rows"], metrics["failed"], metrics["perspectives_given"]) == (2, 1, 1.5)
        assert metrics["perspectives_recall"] == 2 / 5
        assert metrics["perspectives_precision"] == pytest.approx(2 / 3, abs=1e-4)
        assert found["failed"][0].startswith("How should barges be moored?: ")


def test_records_of_other_questions_are_not_mixed(tmp_path: Path, built_models: None) -> None:
    out = tmp_path / "out.jsonl"
    assert run(arguments(write(tmp_path / "set", BARGES), "--out", str(out))) == 0
    kept = out.read_bytes()
    other = write(tmp_path / "other", BARGES | {"question": "Are barges loud?"})
    with pytest.raises(InputError, match="questions"):
        run(arguments(other, "--out", str(out)))
    assert out.read_bytes() == kept


# Readings

SLOW = GoldReading("set", ROW.question, "polar", ROW.question, ROW.gold)
READINGS: list[dict[str, Any]] = [
    {"question": "Are barges slow? Discuss.", "kind": "polar", "neutral": ROW.question, "sides": list(ROW.gold)},
    {"question": "Barges or ferries?", "kind": "choice", "neutral": "Barges or ferries?", "sides": ["Barges.", "No."]},
    {"question": "Who built the first barge?", "kind": "open", "neutral": "Who built the first barge?", "sides": []},
    {"question": "Sing!", "kind": "none", "neutral": "", "sides": []},
]
EYE = np.eye(3, dtype=np.float32)


def test_sides_are_right_in_their_order_and_with_their_polarity() -> None:
    right = Framing("claim", ROW.question, *PAIR)  # of polar and claim only the kind differs
    found = reading_verdict(SLOW, right, EYE, EYE)
    assert (found.right_kind, found.exact, found.close, found.yes_no) == (False, True, True, False)
    turned = Framing("polar", ROW.question, PAIR[1], PAIR[0])
    assert not reading_verdict(SLOW, turned, EYE, EYE).close  # near enough, but each says the other's
    said = Framing("polar", ROW.question, "A barge is a slow boat.", "A barge is not a slow boat.")
    assert reading_verdict(SLOW, said, EYE, EYE).close
    assert not reading_verdict(SLOW, said, EYE, EYE[::-1]).close


def test_yes_and_no_count_by_the_question() -> None:
    found = reading_verdict(SLOW, Framing("polar", ROW.question), EYE, EYE[:1])
    assert (found.yes_no, found.exact, found.close, found.cosines) == (True, True, True, (1.0,))
    other = reading_verdict(SLOW, Framing("polar", "Are ferries slow?"), EYE, EYE[1:])
    assert (other.yes_no, other.exact, other.close) == (True, False, False)
    shares = {name: m.value for name, m in reading_shares([found, other]).items()}
    assert shares == {"kinds": 1, "sides_exact": 0.5, "sides_close": 0.5, "yes_no": 1}


def test_options_count_where_there_are_as_many() -> None:
    row = GoldReading("set", "Fast or slow?", "choice", "Fast or slow?", ("Fast.", "Slow."))
    named = Framing("choice", "Fast or slow?", options=("Fast", "Slow"))
    assert reading_verdict(row, named, EYE, EYE[:1]).exact
    assert not reading_verdict(row, Framing("choice", "Fast or slow?", options=("Fast",)), EYE, EYE[:1]).exact
    assert not reading_verdict(row, Framing("open", "Fast or slow?"), EYE, EYE[:1]).close


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "odd"}, "'kind' has to be one of polar, claim"),
        ({"sides": "a"}, "'sides' has to be a list of texts"),
        ({"sides": [1]}, "'sides' has to be a list of texts"),
        ({"neutral": ""}, "'neutral' is empty"),
    ],
)
def test_bad_readings_are_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    folder = write(tmp_path, READINGS[0] | change)
    with pytest.raises(InputError, match=rf"boats\.dev\.jsonl line 1: {message}"):
        list(read_readings([folder / "boats.dev.jsonl"]))


def test_readings_are_measured(tmp_path: Path, built_models: None, capsys: pytest.CaptureFixture[str]) -> None:
    folder, failures = write(tmp_path / "set", *READINGS), tmp_path / "failures.jsonl"
    assert run(arguments(folder, "--failures", str(failures))) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"] == {"rows": 4, "kinds": 0.75, "sides_exact": 0.5, "sides_close": 0.5, "yes_no": 0}
    failed = [json.loads(line)["row"]["question"] for line in failures.read_text().splitlines()]
    assert failed == ["Barges or ferries?", "Who built the first barge?"]
    assert main(["expand", "--data", str(folder), "--limit", "2"]) == 0
    assert "rows 2" in capsys.readouterr().out
    with pytest.raises(InputError, match="--out"):
        run(arguments(folder, "--out", str(tmp_path / "out.jsonl")))
