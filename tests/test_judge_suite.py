"""The suite `judge`: runs on small files, judges over loopback, figures by hand."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import Suite
from model_server import ModelServer, Reply

from evals.metrics.pairs import measures
from evals.reports.records import read_records

Report = dict[str, Any]

BOATS = ("Boats should run at night.", "Boats should not run at night.")
ROWS = [
    ("Should boats run at night?", "Boats should run at night, since nurses work then.", BOATS[0], 1),
    ("Should boats run at night?", "Boats should run at night, since nurses work then.", BOATS[1], 0),
    ("Should boats run at night?", "Boats should not run at night: the crew has to sleep.", BOATS[0], 0),
    ("Should boats run at night?", "Boats should not run at night: the crew has to sleep.", BOATS[1], 1),
    ("Is cheese good?", "The moon goes round the earth in a month.", "Cheese is good for children.", 0),
    ("Is cheese good?", "Cheese is good for children, as it has much calcium.", "Cheese is good for children.", 1),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    names, path = ("question", "document", "perspective", "label"), tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in ROWS))
    return path


@pytest.fixture
def suite(run_suite: Suite) -> Suite:
    return partial(run_suite, "judge")


def served(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("STEELMAN_JUDGE_URL", url)
    monkeypatch.setenv("STEELMAN_JUDGE_MODEL", "test-model")


def test_the_embedded_judge_on_plain_pairs(suite: Suite, data: Path) -> None:
    status, out, err = suite("--data", data, "--json")
    report: Report = json.loads(out)
    metrics = report["metrics"]
    assert (status, err) == (0, "")
    assert report["config"]["judge"].startswith("embedded-judge-")
    assert (metrics["pairs"], metrics["failed"], metrics["label_share"]) == (6, 0, 0.5)
    assert metrics["accuracy"] == metrics["f1"] == metrics["auc"] == 1  # as plain as pairs can be
    assert metrics["contrast_consistency"] == 0
    assert (metrics["contrast_passages"], metrics["contrast_accepted"]) == (2, 2)
    assert 0 <= metrics["ece"] <= 1
    assert set(report["intervals"]["accuracy"]) == {1.0}


def test_contrary_gives_the_judge_the_other_perspective(suite: Suite, data: Path, tmp_path: Path) -> None:
    for name, options in (("plain", []), ("told", ["--contrary"])):
        assert suite("--data", data, "--judge", "embedded", "--out", tmp_path / name, *options)[0] == 0
    plain, told = ([r["score"] for r in read_records(tmp_path / name)[1]] for name in ("plain", "told"))
    assert plain[0] != told[0]
    assert plain[4:] == told[4:]  # one perspective only


def test_a_chat_model_judges(suite: Suite, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(judge=lambda prompt: 0.8 if "nurses" in prompt else 0.1) as server:
        served(monkeypatch, server.url)
        report = json.loads(suite("--data", data, "--judge", "chat", "--json")[1])
        assert len(server.requests) == 1 + len(ROWS)  # the warm-up asks once more
    assert report["config"]["judge"].startswith("chat-judge-test-model-")
    # accepted: the first two, of which the first is right; two of three positives are missed
    assert report["metrics"]["precision"] == 0.5
    assert report["metrics"]["recall"] == pytest.approx(1 / 3)
    assert report["metrics"]["contrast_consistency"] == 1  # both sides of the first passage


def test_a_pair_without_a_verdict_counts_as_no(
    suite: Suite, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer() as server:
        server.on("calcium", Reply("Perhaps, perhaps not"))
        server.on("", Reply(top_logprobs={"Yes": math.log(0.9), "No": math.log(0.1)}))
        served(monkeypatch, server.url)
        arguments = ("--data", data, "--judge", "chat", "--out", tmp_path / "kept")
        report = json.loads(suite(*arguments, "--json")[1])
        asked = len(server.requests)
        assert "1 pairs failed and count as No:\n  line 6: it was not answered" in suite(*arguments)[1]
        assert len(server.requests) == asked  # scoring asks nobody
    assert (report["metrics"]["failed"], report["metrics"]["pairs"]) == (1, 6)
    assert report["failures"][0]["line"] == 6
    assert report["metrics"]["accuracy"] == pytest.approx(
        2 / 6
    )  # five said Yes, two of them right; the failed is missed
    assert report["metrics"]["recall"] == pytest.approx(2 / 3)


def record(label: int, score: float | None, question: str = "q", seconds: float = 0.5) -> Report:
    common = {"question": question, "perspective": "s", "passage": str(score), "contrary": "", "seconds": seconds}
    return {"key": "1", "label": label, "score": score} | common


def test_a_failed_pair_stays_in_every_denominator() -> None:
    found = measures([record(1, 0.9), record(1, None), record(0, 0.2, "r"), record(0, 0.4, "r")], 0.5, True, 1)
    metrics = found["metrics"]
    assert (metrics["accuracy"], metrics["recall"], metrics["precision"], metrics["positive_share"]) == (
        0.75,
        0.5,
        1,
        0.25,
    )
    assert metrics["auc"] == 0.5  # 0.9 is above both negatives, the failed one below both
    assert metrics["pairs_per_second"] == 3 / 2
    # bins of a tenth: |0.9 − 1|, |0 − 1|, |0.2 − 0|, |0.4 − 0|, a quarter each
    assert metrics["ece"] == pytest.approx((0.1 + 1 + 0.2 + 0.4) / 4)
    low, high = found["intervals"]["accuracy"]
    assert (low, high) == (0.5, 1)  # only the questions are drawn: one is half right, the other wholly
    assert math.isnan(metrics["contrast_consistency"])
    assert "contrast_consistency" not in found["intervals"]
