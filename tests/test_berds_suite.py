"""The suite `berds`: corpora, rankings, verdicts, figures and the published format."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from web_fixtures import by_word

from evals.__main__ import main
from evals.models import PairJudge
from evals.suites import berds
from tools.models.judges.judge import Pair

VIEWS = ["The {} bridge helps.", "The {} bridge does not help."]
TOPICS = "stone iron road rail toll ferry harbour village market winter".split()


def line(topic: str, **more: Any) -> dict[str, Any]:
    return {"question": f"Does the {topic} bridge help?", "perspectives": [v.format(topic) for v in VIEWS], **more}


def write(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[Pair]:
    """What a judge that goes by words is asked."""
    asked: list[Pair] = []

    def score(pairs: Sequence[Pair]) -> Any:
        asked.extend(pairs)
        return np.array([by_word(p) for p in pairs], np.float32)

    monkeypatch.setattr(berds, "open_judge", lambda choice: PairJudge("by-word", score, 0.5))
    return asked


def run(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> Any:
    assert main(["berds", *map(str, arguments), *(["--json"] if not status else [])]) == status
    said = capsys.readouterr()
    return said.err if status else json.loads(said.out)


RANKED = [
    ["It helps.", "Snails eat lettuce.", "It harms."],  # both sides, one passage of three off the point
    ["It helps.", "It helps a lot.", "It helps them all."],  # one side
    ["It harms.", "", ""],  # one passage and two empty places
]


def ranked(**more: Any) -> list[dict[str, Any]]:
    return [
        line(t, ctxs=[{"text": x, "title": ""} for x in texts], **more)
        for t, texts in zip(TOPICS[:3], RANKED, strict=True)
    ]


def test_a_given_ranking_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str], judged: list[Pair]) -> None:
    data = write(tmp_path / "own.jsonl", ranked())
    result = run(capsys, "--data", data, "--k", "1,3")
    metrics = result["metrics"]["own"]["ctxs"]
    assert metrics["precision@3"] == pytest.approx((2 / 3 + 1 + 1 / 3) / 3)
    assert (metrics["mrecall@3"], metrics["coverage@3"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert metrics["mrecall@1"] == 1.0  # m = 2 > k = 1: one distinct perspective is enough
    shares = [metrics[f"{kind}@5"] for kind in ("supporting_only", "opposing_only", "both", "neither")]
    assert shares == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert metrics["sycophancy@5"] == pytest.approx((4 - 2) / 4)
    assert judged[0] == Pair("The stone bridge helps.", "It helps.", "The stone bridge does not help.")

    both = run(capsys, "--data", data, write(tmp_path / "half.jsonl", ranked()[:1]), "--k", "3")["metrics"]
    halves = [both[name]["ctxs"]["precision@3"] for name in ("own", "half")]
    assert both["macro-average"]["ctxs"]["precision@3"] == pytest.approx(sum(halves) / 2)
