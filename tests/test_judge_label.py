"""What is worth labelling, and labels by readers."""

import json
from pathlib import Path

import pytest
from judge_data import write_judge_data

from evals.__main__ import main
from evals.training import data as training_data
from evals.training import label
from evals.training.candidates import digest, segments
from evals.training.data import load_corpus, rows_of
from evals.training.label import keep_readings
from tools.errors import InputError
from tools.inference.encoders.encoder import MiniLM


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_judge_data(tmp_path_factory.mktemp("judge-data"))


def test_segments_have_a_hundred_words_and_a_short_rest_goes() -> None:
    words = [f"w{i}" for i in range(245)]
    found = [part.split() for part in segments(" ".join(words))]
    assert [len(part) for part in found] == [100, 100, 45]
    assert found[1][0] == "w100"
    assert [len(part.split()) for part in segments(" ".join(words[:239]))] == [100, 100]


@pytest.mark.slow
def test_candidates_are_new_and_of_the_training_side(data: Path, encoder: MiniLM) -> None:
    corpus = load_corpus(data, 7)
    found = label.find(corpus, data, encoder, each=5, seed=7)
    assert len(found) > 20
    known = {(e.group, e.text) for examples in corpus.training.values() for e in examples}
    assert not {(c.asked.question, c.segment) for c in found} & known
    assert all(training_data.taught(c.asked.question) for c in found)
    measured = {
        json.loads(line)["question"] for line in (data / "judge/berds_pairs.dev.jsonl").read_text().splitlines()
    }
    assert not {c.asked.question for c in found} & measured


@pytest.mark.slow
def test_readers_get_sheets_and_their_decisions_are_kept(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "readings.jsonl.gz"
    monkeypatch.setattr(label, "READINGS", kept)
    monkeypatch.setattr(training_data, "READINGS", kept)
    assert "readings" not in load_corpus(data, 7).training
    assert main(["judge-label", "--data", str(data), "--to-read", str(tmp_path / "sheets"), "--each", "3"]) == 0
    sheet = (tmp_path / "sheets" / "sheet_0001.txt").read_text()
    assert sheet.startswith("Question: ")
    names = [line.split("]")[0][1:] for line in sheet.splitlines() if line.startswith("[")]
    decisions = tmp_path / "decided.txt"
    decisions.write_text(
        "\n".join(f"{name} {letter}" for name, letter in zip(names, "A B N AB A".split(), strict=False))
    )
    assert main(["judge-label", "--data", str(data), "--read", str(decisions)]) == 0
    assert main(["judge-label", "--data", str(data), "--read", str(decisions)]) == 0  # the same once more
    assert [row["label"] for row in rows_of(kept)].count("A") == 2
    learned = load_corpus(data, 7).training["readings"]
    assert len(learned) in (8, 10)  # a passage that supports neither may be left out
    assert {e.label for e in learned} >= {0, 1}
    assert main(["judge-label", "--data", str(data), "--to-read", str(tmp_path / "sheets")]) == 1
    assert "not empty" in capsys.readouterr().err


def test_a_wrong_decision_is_named_and_changes_nothing(tmp_path: Path) -> None:
    kept, decisions = tmp_path / "readings.jsonl.gz", tmp_path / "decided.txt"
    name = f"{digest('q')}:{digest('s')}"
    decisions.write_text(f"{name} A\n\n{name} maybe\n")
    with pytest.raises(InputError, match=r"decided\.txt, line 3"):
        keep_readings(decisions, kept)
    assert not kept.exists()
