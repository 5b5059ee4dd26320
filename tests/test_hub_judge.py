"""A classifier as the judge of what may be shown: tiny random ones, where the extra 'models' is installed."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import save_cross_encoder

from agent.__main__ import BAD_INPUT, FAILED, main
from agent.runs.bootstrap import build_own_judge
from agent.samples import calibration_pairs
from agent.settings import load_settings
from tools.models.judges.judge import Judge, Pair

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
pytest.importorskip("sentence_transformers")
QUESTION = "Should towns build bridges?"
TEXT = "Towns should build bridges, because a detour costs every carter an hour."
PAIRS = [
    Pair(f"Yes: {QUESTION}", TEXT, f"No: {QUESTION}", form="answer"),
    Pair("Towns need bridges.", TEXT, "Towns need ferries."),
    Pair("Towns need bridges.", TEXT),
]


def opened(folder: Path, *labels: str) -> Judge:
    save_cross_encoder(folder / "model", labels)
    return build_own_judge(load_settings(data_dir=folder / "data", judge=f"hub:{folder / 'model'}"))


@pytest.mark.parametrize(
    "orders",
    [
        (("entailment", "neutral", "contradiction"), ("CONTRADICTION", "ENTAILMENT", "NEUTRAL")),
        (("entailment", "not_entailment"), ("NOT_ENTAILMENT", "Entailment")),
        (("LABEL_0",), ("score",)),
        (("LABEL_0", "LABEL_1"),),
    ],
    ids=lambda orders: "-".join(orders[0]),
)
async def test_what_a_label_says_counts_and_not_its_place(orders: tuple[tuple[str, ...], ...], tmp_path: Path) -> None:
    found = []
    for number, labels in enumerate(orders):
        (folder := tmp_path / str(number)).mkdir()
        judge = opened(folder, *labels)
        stances = await judge.stances(PAIRS[:2], closely=True)
        turned = [Pair(p.contrary, p.text, p.statement, form=p.form) for p in PAIRS[:2]]
        np.testing.assert_allclose(await judge.stances(turned, closely=True), stances[:, ::-1], atol=1e-4)
        found.append([*stances.ravel(), *await judge.support(PAIRS)])
    assert np.ptp(found, axis=0).max() < 1e-3
    assert all(0 < p < 1 for p in found[0])


async def test_it_is_calibrated_once_and_the_answer_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = opened(tmp_path, "entailment", "neutral", "contradiction")
    scores = await judge.support([pair for pair, _ in calibration_pairs()])
    assert abs(scores.mean() - 0.25) < 0.05  # of as many cases a fourth argues for the statement
    monkeypatch.setattr("agent.runs.bootstrap.calibration_pairs", lambda: pytest.fail("it was calibrated again"))
    again = build_own_judge(load_settings(data_dir=tmp_path / "data", judge=f"hub:{tmp_path / 'model'}"))
    np.testing.assert_allclose(await again.support(PAIRS), await judge.support(PAIRS), atol=1e-5)


def test_a_run_is_served_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_cross_encoder(tmp_path / "model", ("entailment", "neutral", "contradiction"))
    monkeypatch.setenv("STEELMAN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("STEELMAN_JUDGE", f"hub:{tmp_path / 'model'}")
    main(["ask", "Should schools ban smartphones?", "--json"])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert answer["providers"]["judge"].startswith("hub-judge-model-")
    assert [n for n in answer["notes"] if "of the samples; on other texts" in n["text"]]
    assert main(["doctor"]) == 0
    assert re.search(r"^ok +judge +model\b", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (
            {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "bad", "1": "good", "2": "so"}},
            "bad, good, so",
        ),
        ({"architectures": ["BertModel"]}, "BertModel"),
        ({}, "none"),
        (None, "Check the path"),
    ],
)
def test_a_model_that_cannot_judge_is_refused(
    config: dict[str, Any] | None,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if config is not None:
        (tmp_path / "model").mkdir()
        (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    monkeypatch.setenv("STEELMAN_JUDGE", f"hub:{tmp_path / 'model'}")
    assert main(["ask", QUESTION]) in (BAD_INPUT, FAILED)
    told = capsys.readouterr().err
    assert says in told
    assert "Traceback" not in told
    assert config is None or "Set STEELMAN_JUDGE to" in told
