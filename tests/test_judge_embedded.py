"""The embedded judge: its files, that it tells plain support from plain opposition, and its closer reading."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from tools.errors import ModelError
from tools.models.judges import embedded as judge_embedded
from tools.models.judges.embedded import EmbeddedJudge, in_reading_order, load_judge
from tools.models.judges.judge import MARKS, PLACE_TOKENS, Pair, in_context, swap_statements, windows

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


def test_a_long_text_counts_by_its_best_window(judge: EmbeddedJudge) -> None:
    long = f"{NEITHER * 30} {FOR} {NEITHER * 30}"
    alone = judge.score([Pair(CLAIM, part, DENIAL) for part in windows(long)])
    assert judge.score([Pair(CLAIM, long, DENIAL)])[0] == alone.max()
    assert FOR in windows(long)[int(alone.argmax())]


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


# The closer reading


def test_one_close_reading_tells_both_sides(judge: EmbeddedJudge) -> None:
    assert judge.reads_closely
    found = judge.score_both(PAIRS, closely=True)
    assert found.shape == (3, 2)
    assert found[0, 0] > 0.6 > 0.3 > found[0, 1]
    assert found[1, 1] > 0.6 > 0.3 > found[1, 0]
    assert found[2].max() < 0.3


def test_exchanged_statements_exchange_the_answer_to_the_last_bit(judge: EmbeddedJudge) -> None:
    there, back = (
        judge.score_both(PAIRS, closely=True),
        judge.score_both([swap_statements(p) for p in PAIRS], closely=True),
    )
    assert there.tolist() == back[:, ::-1].tolist()


def test_a_text_argues_for_the_statement_that_it_is(judge: EmbeddedJudge) -> None:
    town, country = "Living in a town is better than living in a village.", "Living in a village is better than a town."
    found = judge.score_both(
        [Pair(town, town.upper(), country), Pair(town, f"'{country[:-1]}'", country), Pair(town, "")], closely=True
    )
    assert found[:2].tolist() == [[1, 0], [0, 1]]
    assert 0 < found[2, 0] < 1


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


NEAR = ("The ferry question", "Mrs Moe wants ferries to be free.", "She did not accept this.", "She pays, as I do.")


@pytest.mark.parametrize(
    ("around", "shown"),
    [
        (NEAR, "The ferry question: Mrs Moe wants ferries to be free. ⟨ She did not accept this. ⟩ She pays, as I do."),
        (("", "", NEAR[2], NEAR[3]), "⟨ She did not accept this. ⟩ She pays, as I do."),
        (("", "", NEAR[2], ""), NEAR[2]),
        (("A", "b c " * 90, NEAR[2], "d"), "A: c " + "b c " * 42 + "⟨ She did not accept this. ⟩ d"),
        (("A", "b", "c " * 99, "d"), "⟨ " + "c " * 99 + "⟩"),
    ],
    ids=["all", "first", "alone", "long neighbour", "long sentence"],
)
def test_a_sentence_is_shown_in_its_place(around: tuple[str, str, str, str], shown: str) -> None:
    assert in_context(*around) == shown


def test_title_and_neighbours_are_cut_to_what_is_read() -> None:
    tokenizer = Tokenizer.from_file(str(judge_embedded.larger_model_files().tokenizer))
    assert len(tokenizer.encode(" ".join(MARKS), add_special_tokens=False).ids) == len(MARKS)
    words = "Nobody on the Harbour Committee (not even Mr Odegaard) had counted the 1,204 signatures beforehand; "
    shown = in_context(words * 3, words * 9, FOR, words * 9)
    assert FOR in shown
    assert PLACE_TOKENS * 0.6 < len(tokenizer.encode(shown, add_special_tokens=False).ids) <= PLACE_TOKENS


def test_the_closer_reading_sees_the_place_and_the_first_one_the_sentence(judge: EmbeddedJudge) -> None:
    alone = Pair(CLAIM, NEAR[2], DENIAL)
    placed = replace(alone, placed=in_context(*NEAR))
    first, there = judge.score_both([alone, placed]), judge.score_both([alone, placed], closely=True)
    assert first[0].tolist() == first[1].tolist()
    assert there[0].tolist() != there[1].tolist()
    assert judge.score_both([swap_statements(placed)], closely=True)[0].tolist() == there[1, ::-1].tolist()


def test_a_text_is_read_alone_whatever_is_asked_beside(judge: EmbeddedJudge) -> None:
    together = judge.score_both(PAIRS, closely=True)
    assert together.tolist() == [judge.score_both([p], closely=True)[0].tolist() for p in PAIRS]
    assert judge.score_both([], closely=True).shape == (0, 2)


@pytest.mark.parametrize("name", ["tokenizer.json", "reference.json"])
def test_a_file_that_is_damaged_later_is_told_when_the_model_is_asked(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "close_judge"
    shutil.copytree(judge_embedded.LARGER_FOLDER, folder)
    monkeypatch.setattr(judge_embedded, "LARGER_FOLDER", folder)
    (folder / name).write_text("{")
    coming = judge_embedded._load_in_background()
    with pytest.raises(ModelError, match=str(folder)):
        coming()
