"""The embedded judge: its seam, its files, and that it tells plain support from plain opposition."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tools.errors import ModelError
from tools.inference.judges import embedded as judge_embedded
from tools.inference.judges.embedded import EmbeddedJudge, load_judge, regression, sigmoid
from tools.inference.judges.judge import UNJUDGED, Pair, side_score, windows

CLAIM, DENIAL = "Ferries should be free.", "Ferries should not be free."
FOR = "Ferries should be free because islanders have no other road to school, work and hospital."
AGAINST = "Ferries should not be free, because a ferry that nobody pays for is the first to be cancelled."
NEITHER = "The bakery on the corner sells bread with seeds."


@pytest.fixture(scope="module")
def judge() -> EmbeddedJudge:
    return load_judge()


def test_plain_support_and_opposition(judge: EmbeddedJudge) -> None:
    texts = [FOR, AGAINST, NEITHER]
    claim = judge.score([Pair(CLAIM, t, DENIAL) for t in texts])
    denial = judge.score([Pair(DENIAL, t, CLAIM) for t in texts])
    assert claim[0] > judge.threshold > claim[1]
    assert denial[1] > judge.threshold > denial[0]
    assert max(claim[2], denial[2]) < judge.threshold


def test_logits_and_probabilities(judge: EmbeddedJudge) -> None:
    rows = judge.logits([(CLAIM, FOR), (CLAIM, AGAINST)])
    assert rows.shape == (2, 2)
    assert rows[0, 0] > rows[1, 0]
    assert rows[0, 1] < rows[1, 1]
    scores = judge.score([Pair(CLAIM, t) for t in (FOR, AGAINST, "", "x" * 50_000)])
    assert ((scores >= 0) & (scores <= 1)).all()
    assert judge.score([]).shape == (0,)
    assert judge.logits([]).shape == (0, 2)


def test_a_long_text_counts_by_its_best_window(judge: EmbeddedJudge) -> None:
    long = f"{NEITHER * 30} {FOR} {NEITHER * 30}"
    alone = judge.score([Pair(CLAIM, part, DENIAL) for part in windows(long)])
    assert judge.score([Pair(CLAIM, long, DENIAL)])[0] == alone.max()
    assert FOR in windows(long)[int(alone.argmax())]


@pytest.mark.xfail(reason="one sentence in a hundred foreign words is seen faintly (MODEL_CARD)", strict=True)
def test_a_window_that_holds_support_stands_out(judge: EmbeddedJudge) -> None:
    alone = judge.score([Pair(CLAIM, part, DENIAL) for part in windows(f"{NEITHER * 30} {FOR} {NEITHER * 30}")])
    assert alone.max() > 3 * alone[0]


def test_a_text_supports_the_statement_that_it_is(judge: EmbeddedJudge) -> None:
    assert judge.score([Pair(CLAIM, CLAIM, DENIAL)])[0] > 0.9


def test_the_order_of_the_pairs_is_kept(judge: EmbeddedJudge) -> None:
    pairs = [Pair(CLAIM, t, DENIAL) for t in (AGAINST, NEITHER * 9, FOR)]
    together, alone = judge.score(pairs), [float(judge.score([p])[0]) for p in pairs]
    assert together.tolist() == alone


def test_damaged_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "judge"
    shutil.copytree(judge_embedded.FOLDER, folder)
    monkeypatch.setattr(judge_embedded, "FOLDER", folder)
    calibration = (folder / "calibration.json").read_text()
    (folder / "calibration.json").write_text("{")
    with pytest.raises(ModelError, match="judge"):
        load_judge()
    (folder / "calibration.json").write_text(calibration)
    rows = json.loads((folder / "reference.json").read_text())
    rows[0]["probabilities"] = [2.0, 2.0]
    (folder / "reference.json").write_text(json.dumps(rows))
    with pytest.raises(ModelError, match="wrong numbers"):
        load_judge()


def test_side_score_by_hand() -> None:
    assert side_score(0.6, 0.4) == pytest.approx(0.5)
    assert side_score(0.6, None) == pytest.approx((0.6 + UNJUDGED) / 2)


def test_regression_by_hand() -> None:
    logits = np.array([2.0, 1.0], np.float32)
    assert regression(logits, (0.5, -1.0, 0.0)) == pytest.approx(0.5)
    assert regression(logits, (1.0, 0.0, 1.0)) == pytest.approx(1 / (1 + np.exp(-3)))
    assert sigmoid(np.array([0.0, 1000.0, -1000.0], np.float32)).tolist() == pytest.approx([0.5, 1.0, 0.0])


def test_another_calibration_is_another_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores are kept under the judge's name."""
    folder = tmp_path / "judge"
    shutil.copytree(judge_embedded.FOLDER, folder)
    before = load_judge()
    monkeypatch.setattr(judge_embedded, "FOLDER", folder)
    stored = json.loads((folder / "calibration.json").read_text())
    (folder / "calibration.json").write_text(json.dumps({**stored, "alone": [1.0, 0.0, 3.0]}))
    after = load_judge()
    assert before.name != after.name
    assert before.score([Pair(CLAIM, NEITHER)])[0] < after.score([Pair(CLAIM, NEITHER)])[0]
