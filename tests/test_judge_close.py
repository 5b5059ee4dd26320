"""The judge's closer reading: one reading tells both sides, exchanged sides exchange the answer, its files fit."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tools.errors import ModelError
from tools.inference.judges import close
from tools.inference.judges.close import as_read, swapped
from tools.inference.judges.embedded import EmbeddedJudge, load_judge
from tools.inference.judges.judge import CloseJudge, Pair

CLAIM, DENIAL = "Ferries should be free.", "Ferries should not be free."
FOR = "Ferries should be free because islanders have no other road to school, work and hospital."
AGAINST = "Ferries should not be free, because a ferry that nobody pays for is the first to be cancelled."
NEITHER = "The bakery on the corner sells bread with seeds."
PAIRS = [Pair(CLAIM, text, DENIAL) for text in (FOR, AGAINST, NEITHER)]


@pytest.fixture(scope="module")
def judge() -> EmbeddedJudge:
    return load_judge()


def test_plain_support_and_opposition(judge: EmbeddedJudge) -> None:
    assert isinstance(judge, CloseJudge)
    found = judge.closely(PAIRS)
    assert found.shape == (3, 2)
    assert found[0, 0] > 0.6 > 0.3 > found[0, 1]
    assert found[1, 1] > 0.6 > 0.3 > found[1, 0]
    assert found[2].max() < 0.3


def test_exchanged_statements_exchange_the_answer_to_the_last_bit(judge: EmbeddedJudge) -> None:
    there, back = judge.closely(PAIRS), judge.closely([swapped(p) for p in PAIRS])
    assert there.tolist() == back[:, ::-1].tolist()


def test_a_text_argues_for_the_statement_that_it_is(judge: EmbeddedJudge) -> None:
    town, country = "Living in a town is better than living in a village.", "Living in a village is better than a town."
    found = judge.closely([Pair(town, town.upper(), country), Pair(town, f"'{country[:-1]}'", country), Pair(town, "")])
    assert found[:2].tolist() == [[1, 0], [0, 1]]
    assert 0 < found[2, 0] < 1


def test_no_to_a_question_is_told_by_the_question_alone(judge: EmbeddedJudge) -> None:
    question = "Should ferries be free?"
    yes = Pair(f"Yes: {question}", FOR, f"No: {question}", form="answer")
    no = replace(yes, statement=yes.contrary, contrary=yes.statement)
    assert as_read(yes) == as_read(no) == Pair(question, FOR)
    assert as_read(replace(yes, form="statement")).contrary  # what is no answer is read beside its contrary
    there, back = judge.closely([yes]), judge.closely([no])
    assert there.tolist() == back[:, ::-1].tolist()
    assert there[0, 0] > there[0, 1]
    there, back = judge.stances([yes]), judge.stances([no])
    assert there.tolist() == back[:, ::-1].tolist()
    assert judge.score([yes, no]).tolist() == pytest.approx(there[0].tolist())


def test_a_text_is_read_alone_whatever_is_asked_beside(judge: EmbeddedJudge) -> None:
    together = judge.closely(PAIRS)
    assert together.tolist() == [judge.closely([p])[0].tolist() for p in PAIRS]
    assert judge.closely([]).shape == (0, 2)


def test_long_texts_and_statements_without_a_contrary(judge: EmbeddedJudge) -> None:
    found = judge.closely([Pair(CLAIM, f"{NEITHER} " * 40 + FOR, DENIAL), Pair(CLAIM, FOR), Pair(CLAIM, "", DENIAL)])
    assert ((found > 0) & (found < 1)).all()
    assert found[1, 0] > found[1, 1]


def test_its_words_belong_to_it() -> None:
    words = json.loads((close.FOLDER / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    assert sorted(words.values()) == list(range(len(words)))


def test_what_every_load_is_compared_with_would_show_a_wrong_build() -> None:
    rows = json.loads((close.FOLDER / "reference.json").read_text(encoding="utf-8"))
    told = np.array([row["probabilities"] for row in rows])
    assert told.max() - told.min() > 3 * close._AGREES


def test_a_missing_or_damaged_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(close, "FOLDER", tmp_path / "none")
    with pytest.raises(ModelError, match="missing"):
        close.load_close_model()
    folder = tmp_path / "damaged"
    folder.mkdir()
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.onnx").write_bytes(b"no weights")
    monkeypatch.setattr(close, "FOLDER", folder)
    with pytest.raises(ModelError, match="cannot be read"):
        close.load_close_model()


@pytest.mark.parametrize("name", ["tokenizer.json", "reference.json"])
def test_a_file_that_is_damaged_later_is_told_when_the_model_is_asked(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "close_judge"
    shutil.copytree(close.FOLDER, folder)
    monkeypatch.setattr(close, "FOLDER", folder)
    (folder / name).write_text("{")
    coming = close.loading()
    with pytest.raises(ModelError, match=str(folder)):
        coming()


def test_without_the_larger_model_both_sides_are_told_as_ever(judge: EmbeddedJudge) -> None:
    plain = EmbeddedJudge(judge._model, "plain", judge._calibration)
    np.testing.assert_array_equal(plain.closely(PAIRS), plain.stances(PAIRS))
