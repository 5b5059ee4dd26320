"""The embedded judge: its files, that it tells plain support from plain opposition, and its closer reading."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tools.errors import ModelError
from tools.models.int8 import Text
from tools.models.judges import embedded as judge_embedded
from tools.models.judges.embedded import EmbeddedJudge, in_reading_order, load_judge
from tools.models.judges.judge import Pair

CLAIM, DENIAL = "Ferries should be free.", "Ferries should not be free."
FOR = "Ferries should be free because islanders have no other road to school, work and hospital."
AGAINST = "Ferries should not be free, because a ferry that nobody pays for is the first to be cancelled."
NEITHER = "The bakery on the corner sells bread with seeds."
PAIRS = [Pair(CLAIM, text, DENIAL) for text in (FOR, AGAINST, NEITHER)]


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


# The closer reading


def test_one_close_reading_tells_both_sides(judge: EmbeddedJudge) -> None:
    assert judge.reads_closely
    found = judge.score_both(PAIRS, closely=True)
    assert found.shape == (3, 2)
    assert found[0, 0] > 0.6 > 0.3 > found[0, 1]
    assert found[1, 1] > 0.6 > 0.3 > found[1, 0]
    assert found[2].max() < 0.3


def test_a_closer_reading_asks_the_small_model_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    judge, question = load_judge(), "Should ferries be free?"
    pairs = [Pair(f"Yes: {question}", text, f"No: {question}", form="answer") for text in (FOR, AGAINST)]
    asked: list[object] = []
    run = judge._model.run

    def counted(texts: Sequence[Text]) -> NDArray[np.float32]:
        asked.extend(texts)
        return run(texts)

    monkeypatch.setattr(judge._model, "run", counted)
    alone = judge.score_both(pairs, closely=True)
    judge.score_both(pairs)
    assert asked == [(question, FOR), (question, AGAINST)]
    assert judge.score_both(pairs, closely=True).tolist() == alone.tolist()


def test_no_to_a_question_is_told_by_the_question_alone(judge: EmbeddedJudge) -> None:
    question = "Should ferries be free?"
    yes = Pair(f"Yes: {question}", FOR, f"No: {question}", form="answer")
    no = replace(yes, statement=yes.contrary, contrary=yes.statement)
    assert in_reading_order(yes) == in_reading_order(no) == Pair(question, FOR)
    assert in_reading_order(replace(yes, form="statement")).contrary  # what is no answer is read beside its contrary
    there, back = judge.score_both([yes], closely=True), judge.score_both([no], closely=True)
    assert there.tolist() == back[:, ::-1].tolist()
    assert there[0, 0] > there[0, 1]
    there, back = judge.score_both([yes]), judge.score_both([no])
    assert there.tolist() == back[:, ::-1].tolist()
    assert judge.score([yes, no]).tolist() == pytest.approx(there[0].tolist())


@pytest.mark.parametrize("name", ["tokenizer.json", "reference.json"])
def test_a_file_that_is_damaged_later_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "close_judge"
    shutil.copytree(judge_embedded.LARGER_FOLDER, folder)
    monkeypatch.setattr(judge_embedded, "LARGER_FOLDER", folder)
    (folder / name).write_text("{")
    coming = judge_embedded._load_in_background()
    with pytest.raises(ModelError, match=str(folder)):
        coming()
