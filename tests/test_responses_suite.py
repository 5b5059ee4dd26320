"""`python -m evals responses`: stances by hand, their file, and runs with scripted and embedded judges."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Suite
from providers import ScriptedJudge

from evals.__main__ import main
from evals.metrics.stances import stance_measures
from evals.models import agent_judge
from evals.reports.records import Record, Records
from evals.suites.responses import StanceItem, ask, read_items, reported, table
from tools.errors import InputError
from tools.models.judges.judge import Pair

KEPT = "Night ferries should be kept."
ROWS: list[dict[str, Any]] = [
    {"claim": KEPT, "text": "Nurses need night ferries.", "label": "support"},
    {"claim": KEPT, "text": "Night ferries wake the harbour.", "label": "Undermine"},
    {"claim": "Zoos are cruel.", "text": "Zoos save species.", "label": 0},
    {"claim": "Zoos are cruel.", "text": "Zoos are prisons.", "label": "SUPPORTS"},
]
# The probabilities of a text for the claim and for its contrary.
SAID = {
    "Nurses need night ferries.": (0.8, 0.1),
    "Night ferries wake the harbour.": (0.6, 0.5),
    "Zoos save species.": (0.1, 0.6),
    "Zoos are prisons.": (0.4, 0.2),
}


def said(pair: Pair) -> float:
    return SAID[pair.text][not pair.affirms]


def asked_of(
    items: list[StanceItem], records: Records | None = None, score: Callable[[Pair], float] = said
) -> tuple[list[Record], list[Pair]]:
    """The records, and the pairs that the judge was asked."""
    judge = ScriptedJudge(score)
    return ask(items, replace(agent_judge(judge), together=4), records or Records(None, "responses", {})), judge.pairs


def write(folder: Path, rows: Sequence[Any] = ROWS) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "stances.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "stances.jsonl"


CONFIG = {"data": "stances.jsonl", "judge": "scripted"}


def test_stances_by_hand() -> None:
    golds = [("a", "support"), ("a", "support"), ("a", "support"), ("b", "oppose"), ("b", "oppose")]
    told = ["support", "support", "oppose", "support", ""]
    found = stance_measures([(claim, gold, said) for (claim, gold), said in zip(golds, told, strict=True)])
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


def test_a_bad_row_is_named_by_file_line_and_field(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"stances\.jsonl line 2: 'label' is 'none'; use support or oppose"):
        read_items(write(tmp_path, [ROWS[0], ROWS[0] | {"label": "none"}]))


def test_a_text_without_a_verdict_is_wrong_and_named(tmp_path: Path) -> None:
    items = read_items(write(tmp_path))
    records, pairs = asked_of(items)
    assert (len(pairs), pairs[0].contrary) == (8, f"Disagree: {KEPT}")
    metrics = reported(items, records, CONFIG, seed=1)["metrics"]
    # the second is taken for support (0.6 against 0.5), the others are right
    assert (metrics["stance_accuracy"], metrics["stance_majority"], metrics["stance_undecided"]) == (0.75, 0.5, 0)
    assert metrics["stance_f1"] == pytest.approx((4 / 5 + 2 / 3) / 2)
    records, _ = asked_of(items, score=lambda pair: math.nan if pair.text.startswith("Nurses") else said(pair))
    report = reported(items, records, CONFIG, seed=1)
    assert report["failed"] == ["stances line 1: it was not answered with a verdict"]
    assert (report["metrics"]["stance_accuracy"], report["metrics"]["stance_undecided"]) == (0.5, 0.25)
    assert "stances.jsonl: 4 rows of 2 claims, 1 failed" in table(report)


def test_a_run_with_the_embedded_judge(run_suite: Suite, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write(tmp_path / "set").parent, tmp_path / "kept.jsonl"
    status, printed, err = run_suite("responses", "--data", folder, "--json", "--out", out)
    assert (status, err) == (0, "")
    report = json.loads(printed)
    assert "trained on rows of Perspectrum" in report["notes"][0]
    again = json.loads(run_suite("responses", "--data", folder, "--json", "--out", out)[1])
    assert again["metrics"] == report["metrics"]
    assert "accuracy of the stance" in run_suite("responses", "--data", folder, "--out", out)[1]
    (saved := tmp_path / "result.json").write_text(printed)
    assert main(["report", str(saved)]) == 0
    assert "| responses | stances.jsonl |" in capsys.readouterr().out
    assert "has no stances.jsonl" in run_suite("responses", "--data", tmp_path)[2]
