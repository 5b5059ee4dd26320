"""What is worth labelling, and labels by a chat model or by readers."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from judge_data import write_judge_data
from model_server import ModelServer, Reply

from evals.__main__ import main
from evals.reports.records import read_records
from evals.training import data as training_data
from evals.training import label
from evals.training.candidates import digest, segments
from evals.training.data import load_corpus, rows_of
from evals.training.label import keep_readings, read_labels
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
def test_a_chat_model_labels_and_a_stopped_run_goes_on(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "labels.jsonl"
    command = ["judge-label", "--data", str(data), "--out", str(out), "--each", "2", "--limit", "70"]
    with ModelServer() as server:
        server.on(denies, Reply("No", top_logprobs={"Yes": math.log(0.25), "No": math.log(0.75)}))
        server.on("", Reply("Yes", top_logprobs={"Yes": math.log(0.75), "No": math.log(0.25)}))
        monkeypatch.setenv("STEELMAN_JUDGE_URL", server.url)
        monkeypatch.setenv("STEELMAN_JUDGE_MODEL", "teacher")
        assert main([*command[:-1], "5"]) == 0
        _, first = read_records(out)
        assert main(command) == 1  # another choice of candidates
        assert "another config" in capsys.readouterr().err
        assert read_records(out)[1] == first
        asked = len(server.requests)
        assert main([*command[:-1], "5"]) == 0
        assert len(server.requests) == asked, "what is labelled is asked again"
    assert {tuple(sorted(r)) for r in first} == {("key", "passage", "question", "statements", "support")}
    examples = list(read_labels(out))
    assert len(examples) == 2 * len(first) == 10
    assert all(abs(sum(e.target) - 1) < 1e-6 for e in examples)
    assert {round(e.target[0], 2) for e in examples} <= {0.25, 0.75}


def denies(body: dict[str, Any]) -> bool:
    """Whether the statement that is asked about says 'not'."""
    asked = str(body["messages"][-1]["content"]).rpartition("<statement>")[2]
    return " not " in asked.partition("</statement>")[0]


def test_no_teacher_is_said(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge-label", "--data", str(data), "--out", str(tmp_path / "x")]) == 1
    assert "STEELMAN_JUDGE_URL" in capsys.readouterr().err


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
