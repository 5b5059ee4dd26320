"""`python -m evals responses`: its measures by hand, its files, and runs with scripted, served and embedded models."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import Suite
from providers import ScriptedJudge
from toys import ToyEncoder

from evals.__main__ import main
from evals.datasets.responses import Item, read_items
from evals.metrics.thesis_stance_evidence import evidence_measures, rouge2, stance_measures
from evals.models import judged
from evals.reports.records import Record, Records
from evals.suites.responses import ask, reported, table
from tools.errors import InputError
from tools.models.judges.judge import Pair

KEPT = "Night ferries should be kept."
YES, NO = "Yes: Should night ferries be kept?", "No: Should night ferries be kept?"
FOR = "Night ferries should be kept, because nurses need them to get to work."
AGAINST = "Night ferries should not be kept, for they wake the whole harbour."
TOLL = "Ferries are best paid for by a toll on the harbour bridge."
ROWS: dict[str, list[dict[str, Any]]] = {
    "theses": [
        {
            "question": "Should night ferries be kept?",
            "document": f"The council of the town met on a Monday morning. {FOR} The crew has a dog.",
            "thesis": "Night ferries should be kept because nurses need them.",
        },
        {
            "question": "Should night ferries be kept?",
            "document": f"The weather in the town was cold on that evening. {AGAINST}",
            "thesis": "Stop them.",
        },
        {
            "question": "How should ferries be paid for?",
            "document": f"The old harbour was full of fog in the morning. {TOLL}",
            "thesis": "A toll on the harbour bridge is best.",
        },
    ],
    "stances": [
        {"claim": KEPT, "text": "Nurses need night ferries.", "label": "support"},
        {"claim": KEPT, "text": "Night ferries wake the harbour.", "label": "Undermine"},
        {"claim": "Zoos are cruel.", "text": "Zoos save species.", "label": 0},
        {"claim": "Zoos are cruel.", "text": "Zoos are prisons.", "label": "SUPPORTS"},
    ],
    "evidence": [
        {"claim": KEPT, "sentence": "Half of 400 nurses take them.", "score": 0.9},
        {"claim": KEPT, "sentence": "Nine of ten neighbours wake up.", "score": 1},
        {"question": "Should zoos be closed?", "sentence": "Zoos are in songs.", "score": 0.1},
    ],
}
# What the scripted judge says: of a text, the probabilities for the claim and for its contrary.
SAID = {
    FOR: (0.9, 0.1),
    AGAINST: (0.1, 0.9),
    "Nurses need night ferries.": (0.8, 0.1),
    "Night ferries wake the harbour.": (0.6, 0.5),
    "Zoos save species.": (0.1, 0.6),
    "Zoos are prisons.": (0.4, 0.2),
    "Half of 400 nurses take them.": (0.7, 0.1),
    "Nine of ten neighbours wake up.": (0.1, 0.6),
    "Zoos are in songs.": (0.1, 0.3),
}


def said(pair: Pair) -> float:
    denied = any(word in pair.query for word in (" not ", "n't "))
    return SAID.get(pair.text, (0.05, 0.05))[denied == pair.affirms]


def asked_of(
    items: dict[str, Any], records: Records | None = None, score: Callable[[Pair], float] = said
) -> tuple[dict[str, Record], list[Pair]]:
    """What is answered, and the pairs that the judge was asked."""
    judge = ScriptedJudge(score)
    return ask(
        items, replace(judged(judge), together=4), ToyEncoder(), records or Records(None, "responses", {})
    ), judge.pairs


def write(folder: Path, **rows: Sequence[Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for part, lines in (rows or ROWS).items():
        (folder / f"{part}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def read(folder: Path, *parts: str) -> dict[str, Any]:
    return {part: read_items(part, folder / f"{part}.jsonl") for part in parts or tuple(ROWS)}


def scored(items: dict[str, Any], records: dict[str, Record]) -> Record:
    files = {part: {"name": f"{part}.jsonl"} for part in items}
    return reported(items, records, {"files": files, "judge": "scripted", "encoder": "toy"}, seed=1)


# Measures


def test_rouge_2_is_the_harmonic_mean_over_bigrams() -> None:
    # the cat, cat sat, sat on, on the, the mat | the cat, cat sat, sat on, on a, a mat: 3 of 5 and 3 of 5
    assert rouge2("The cat sat on the mat.", "the cat, sat ON a mat!") == pytest.approx(0.6)
    assert rouge2("a b c", "a b") == pytest.approx(2 * (1 * 0.5) / 1.5)  # P = 1, R = 1/2
    assert rouge2("no no no", "no no no no") == pytest.approx(2 * 2 / 5)  # 'no no' twice and three times: shared twice
    assert rouge2("cats sit down", "cat sits down") == 0.0  # nothing is stemmed
    assert rouge2("café au lait", "caf au") == pytest.approx(2 / 3)  # letters with accents part words
    assert rouge2("two words", "") == 0.0
    assert math.isnan(rouge2("One!", "one word"))


def test_stances_by_hand() -> None:
    golds = [("a", "support"), ("a", "support"), ("a", "support"), ("b", "oppose"), ("b", "oppose")]
    items = [Item("", group, (), (), gold=gold) for group, gold in golds]
    supports = [{"support": said} for said in ((0.9, 0.1), (0.6, 0.5), (0.1, 0.2), (0.4, 0.3))]
    found = stance_measures(items, [*supports, {"failed": "it was down"}])
    # support: 2 right of 3 gold and 3 said, 4/6; oppose: none right of 2 gold and 1 said, 0/3
    assert {name: m.value for name, m in found.items()} == pytest.approx(
        {
            "stance_accuracy": 2 / 5,
            "stance_f1": 1 / 3,
            "stance_f1_support": 2 / 3,
            "stance_f1_oppose": 0.0,
            "stance_undecided": 1 / 5,
            "stance_majority": 3 / 5,
        }
    )
    # drawn twice: a alone has 4/5 and 0/1, their mean 0.4; b alone 0/1 and 0/2
    assert list(found["stance_f1"].interval()) == pytest.approx([0.0, 0.4])


def test_squared_errors_by_hand() -> None:
    items = [Item("", group, (), (), score=score) for group, score in (("a", 0.9), ("a", 0.5), ("b", 0.1), ("b", 0.8))]
    records: list[Record] = [{"support": (0.7, 0.1)}, {"support": (0.2, 0.5)}, {"failed": "it was down"}]
    found = evidence_measures(items[:3], records)
    assert found["evidence_mse"].value == pytest.approx((0.04 + 0 + 0.81) / 3)  # what failed is off by 0.9
    assert found["evidence_mse_mean"].value == pytest.approx((0.16 + 0 + 0.16) / 3)  # the mean is 0.5
    assert evidence_measures(items[3:], records[2:])["evidence_mse"].value == pytest.approx(0.64)


# Files


def row(part: str, number: int, **changes: Any) -> dict[str, Any]:
    """A row with fields changed, or taken out by None."""
    return {k: v for k, v in (ROWS[part][number] | changes).items() if v is not None}


@pytest.mark.parametrize(
    ("part", "bad", "message"),
    [
        ("theses", row("theses", 0, document="\u200b"), "'document' holds no sentence"),
        ("stances", row("stances", 0, label="none"), "'label' is 'none'; support or oppose is needed"),
        ("evidence", row("evidence", 2, question="How do zoos work?"), "a 'claim' is needed, or a 'question'"),
        ("evidence", row("evidence", 0, score=1.5), "'score': Input should be less"),
    ],
)
def test_bad_rows_are_told_with_file_line_and_field(tmp_path: Path, part: str, bad: Any, message: str) -> None:
    folder = write(tmp_path, **{part: [ROWS[part][0], bad]})
    with pytest.raises(InputError, match=rf"{part}\.jsonl line 2: {message}"):
        read(folder, part)


# Runs with a scripted judge


def test_the_figures_by_hand(tmp_path: Path) -> None:
    items = read(write(tmp_path))
    records, pairs = asked_of(items)
    assert [records[f"theses {n}"]["thesis"] for n in (1, 2, 3)] == [FOR, AGAINST, TOLL]
    assert [records[f"theses {n}"]["side"] for n in (1, 2, 3)] == [YES, NO, None]
    assert len(pairs) == 2 * (3 + 2 + 0) + 2 * 4 + 2 * 3
    assert pairs[0].contrary == NO  # the judge is told
    report = scored(items, records)
    metrics = report["metrics"]
    # shared: all 8 gold bigrams, ours has 12; none; 'a toll on the harbour bridge' is 5 of the 7 gold ones, ours has 11
    assert metrics["theses_rouge2"] == pytest.approx((2 * 8 / (8 + 12) + 0 + 2 * 5 / (7 + 11)) / 3)
    assert metrics["theses_rouge2_lead"] < metrics["theses_rouge2"] <= metrics["theses_rouge2_best"]
    # the second is taken for support (0.6 against 0.5), the others are right
    assert (metrics["stance_accuracy"], metrics["stance_majority"], metrics["stance_undecided"]) == (0.75, 0.5, 0)
    assert metrics["stance_f1"] == pytest.approx((4 / 5 + 2 / 3) / 2)
    # the larger of the two: 0.7 for 0.9, 0.6 for 1, 0.3 for 0.1
    assert metrics["evidence_mse"] == pytest.approx((0.04 + 0.16 + 0.04) / 3)
    assert (metrics["theses"], metrics["stances"], metrics["evidence"]) == (3, 4, 3)
    assert report["config"]["groups"] == {"theses": 2, "stances": 2, "evidence": 2}
    assert len(report["intervals"]) == 3 + 6 + 2
    assert set(report["intervals"]) <= set(metrics)
    assert set(report["intervals"]) - set(report["items"]) == {"stance_f1"}  # the only one that is no sum over a sum
    assert report["failed"] == []


def test_what_gets_no_verdict_is_wrong_and_named(tmp_path: Path) -> None:
    items = read(write(tmp_path))
    silent = (FOR, "The council of", "The crew has", "Nurses need", "Half of")
    records, _ = asked_of(items, score=lambda pair: math.nan if pair.text.startswith(silent) else said(pair))
    report = scored(items, records)
    metrics = report["metrics"]
    assert report["failed"] == [f"{part} line 1: it was not answered with a verdict" for part in ROWS]
    assert (metrics["theses_failed"], metrics["stances_failed"], metrics["evidence_failed"]) == (1, 1, 1)
    assert metrics["theses_rouge2"] == pytest.approx((0 + 0 + 10 / 18) / 3)
    assert (metrics["stance_accuracy"], metrics["stance_undecided"]) == (0.5, 0.25)
    assert metrics["evidence_mse"] == pytest.approx((0.81 + 0.16 + 0.04) / 3)
    assert "theses.jsonl: 3 rows of 2 questions or claims, 1 failed" in table(report)


def test_a_stopped_run_goes_on_and_scoring_asks_nobody(tmp_path: Path) -> None:
    items, path = read(write(tmp_path / "data")), tmp_path / "records.jsonl"
    with Records(path, "responses", {}) as kept:
        whole, _ = asked_of(items, kept)
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 1 + 3 + 4 + 3
    path.write_text("".join(lines[:6]))  # three theses, two stances
    with Records(path, "responses", {}) as kept:
        again, pairs = asked_of(items, kept)
    assert again == whole
    left = [r["text"] for r in ROWS["stances"][2:]] + [r["sentence"] for r in ROWS["evidence"]]
    assert {pair.text for pair in pairs} == set(left)
    assert path.read_text() == "".join(lines)


# Whole runs


@pytest.fixture
def suite(run_suite: Suite) -> Suite:
    return partial(run_suite, "responses")


def test_a_run_with_the_embedded_models(suite: Suite, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write(tmp_path / "set"), tmp_path / "kept.jsonl"
    status, printed, err = suite("--data", folder, "--json", "--out", out)
    assert (status, err) == (0, "")
    report = json.loads(printed)
    assert report["metrics"]["theses_rouge2"] > report["metrics"]["theses_rouge2_lead"]
    assert "trained on rows of Perspectrum" in report["notes"][0]
    assert report["config"]["encoder"].startswith("minilm")
    assert json.loads(suite("--data", folder, "--json", "--out", out)[1])["metrics"] == report["metrics"]
    shown = suite("--data", folder, "--out", out)[1]
    for line in ("ROUGE-2 F1 of the thesis", "accuracy of the stance", "squared error of the evidence"):
        assert line in shown
    assert "report --paper" in shown
    saved = tmp_path / "result.json"
    saved.write_text(printed)
    assert main(["report", str(saved)]) == 0
    assert "responses on theses.jsonl, stances.jsonl, evidence.jsonl" in capsys.readouterr().out
