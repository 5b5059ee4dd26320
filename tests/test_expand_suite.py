"""The suite `expand`: matching by hand, and runs with a scripted chat model."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_server import ModelServer, Reply

from evals.__main__ import main
from evals.metrics.perspectives import match, perspective_measures

SLOW = ("Barges are slow.", "Barges are not slow.")


def test_perspectives_are_matched_one_to_one() -> None:
    gold = ("With ropes.", "With chains.", "With anchors.")
    # The first two are both nearest to the first gold one; only one may have it: .95 + .92 beats .96 + .3.
    cosines = np.array([[0.95, 0.3, 0.1], [0.96, 0.92, 0.1]], np.float32)
    found = match(gold, ["Ropes.", "Chains."], cosines)
    assert (found["cosines"], found["close"]) == ([0.95, 0.92, 0.0], 2)
    failed = match(SLOW, [], np.zeros((0, 2), np.float32))
    measures = perspective_measures([("How?", found), ("Are barges slow?", failed)])
    assert {name: round(m.value, 4) for name, m in measures.items()} == {
        "perspectives_recall": round(2 / 5, 4),
        "perspectives_precision": 1.0,
        "perspectives_cosine": round((0.95 + 0.92) / 5, 4),
        "perspectives_given": 1.0,
    }


def write(folder: Path, *rows: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "boats.dev.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return folder


BARGES = {"question": "Are barges slow?", "perspectives": list(SLOW)}
MOORING = {"question": "How should barges be moored?", "perspectives": ["With ropes.", "With chains.", "Not at all."]}


def suite(folder: Path, *more: str) -> int:
    return main(["expand", "--data", str(folder), "--json", *more])


def test_a_chat_models_perspectives_are_measured(
    tmp_path: Path,
    cached: None,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    quick_retries: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("STEELMAN_MODEL", "test-model")
    sides = [
        {"name": "Slow", "statement": SLOW[0], "stance": "supports"},
        {"name": "Not slow", "statement": SLOW[1], "stance": "opposes"},
        {"name": "It depends", "statement": "The current of the river decides how fast a barge is.", "stance": "other"},
    ]
    asked = {"form": "polar", "question": BARGES["question"], "language": "English", "focus": ""}
    server.on("Are barges slow?", asked | {"perspectives": sides}, times=1)
    server.on("moored", Reply(status=400))
    folder, out = write(tmp_path / "set", BARGES, MOORING), tmp_path / "out.jsonl"
    for _ in range(2):  # the second time only what failed is asked
        assert suite(folder, "--parallel", "1", "--out", str(out)) == 0
        found = json.loads(capsys.readouterr().out)
        metrics = found["metrics"]
        assert (metrics["rows"], metrics["failed"], metrics["perspectives_given"]) == (2, 1, 1.5)
        assert metrics["perspectives_recall"] == 2 / 5
        assert metrics["perspectives_precision"] == pytest.approx(2 / 3, abs=1e-4)
        assert found["failed"][0].startswith("How should barges be moored?: ")
