"""PIR beyond p-Recall: perspectives drawn from queries, what neutral queries favour, answers and essays downstream."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_server import ModelServer, Reply

from evals.__main__ import main
from evals.datasets.pir import Root, RootPerspective
from evals.metrics.favour import even_test, favoured, sides_of
from evals.metrics.qa import answer_scores
from evals.metrics.stance_alignment import essay_alignment
from evals.retrievers.intent import split_by_rules
from tools.models.judges.judge import Pair

KITES: dict[str, Any] = {
    "corpus": [
        "Kites teach children how the wind works.",
        "Kites bring neighbours out to the beach.",
        "Kite strings cut the wings of gulls.",
        "Canal boats are a slow and quiet way to travel.",
        "Canal boats leak diesel into the water.",
        "Snails eat lettuce at night.",
    ],
    "source_queries": ["Kites should fly over the beach"] * 3 + ["Canal boats should be free"] * 2,
    "queries": [
        "Find a claim that supports: Kites should fly over the beach",
        "Find a claim that opposes: Kites should fly over the beach",
        "Find a claim on: Kites should fly over the beach",
        "Find a claim that supports: Canal boats should be free",
        "Find a claim that opposes: Canal boats should be free",
    ],
    "perspectives": ["supports", "opposes", "on", "supports", "opposes"],
    "key_ref": {"0": [0, 1], "1": [2], "2": [0, 1, 2], "3": [3], "4": [4]},
    "query_labels": ["support", "undermine", "general", "support", "undermine"],
}
TIDES: dict[str, Any] = {
    "corpus": ["The tide mill at Arl was built in 1712.", "The tide mill at Bex was built in 1840."],
    "source_queries": ["When was the tide mill built?"] * 2,
    "queries": ["When was the tide mill built at Arl?", "When was the tide mill built at Bex?"],
    "key_ref": {"0": [0], "1": [1]},
}


@pytest.fixture
def data(tmp_path: Path, cached: None) -> Path:
    path = tmp_path / "pir.json"
    path.write_text(json.dumps({"kites": KITES, "tides": TIDES}))
    return path


@pytest.fixture
def writer(server: ModelServer, monkeypatch: pytest.MonkeyPatch, quick_retries: None) -> ModelServer:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("STEELMAN_MODEL", "test-model")
    return server


def run(capsys: pytest.CaptureFixture[str], *command: object) -> dict[str, Any]:
    assert main([*map(str, command), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


# Measures


def test_answers_by_hand() -> None:
    """'in 1712, or 1713' and 'the year 1712': of the sets {in, 1712, or, 1713} and {year, 1712} 1 of 5 words is common,
    and of the 4 + 2 words 1 is: 2 · 1 / 6. The second gold answer, '1713', has 1 of 4, and 2 · 1 / 5."""
    assert answer_scores("in 1712, or 1713", ["the year 1712", "1713"]) == pytest.approx([0, 1 / 4, 2 / 5])
    assert answer_scores("The Year, 1712!", ["1713", "a year 1712"])[0] == 1
    assert answer_scores("", ["1712"]) == [0, 0, 0]
    assert answer_scores("1,712 tons in the U.S.", ["1712 tons in US"])[0] == 1  # marks part no words, as in SQuAD
    # The sets are equal; of words as often as they come 2 · 1 / (2 + 1).
    assert answer_scores("no no", ["no"]) == pytest.approx([0, 1, 2 / 3])


@pytest.mark.parametrize(
    ("query", "root", "perspective"),
    [
        ("Find a claim that opposes: Kites: a danger", "Kites: a danger", "a claim that opposes"),
        ("As of 1840, who ran the mill?", "who ran the mill?", "As of 1840"),
        ("Who ran the mill, without pay, in Bex?", "Who ran the mill, without pay", "in Bex"),
        ("Who ran it?", "Who ran it?", ""),
    ],
)
def test_rules_split_a_query(query: str, root: str, perspective: str) -> None:
    assert split_by_rules(query) == (root, perspective)


def sided(key: str, **gold: tuple[int, ...]) -> Root:
    return Root(key, key, tuple(RootPerspective(label, label, ids, label) for label, ids in gold.items()))


def test_shares_by_hand() -> None:
    """Root a finds 3 of left and 1 of right, which has 3 of each: even is 2 and 2. Root b finds 1 of left, which has 1,
    and right has 3: even is 1/4 and 3/4. Left: share 4/5, even (2 + 1/4) / 5."""
    roots = [sided("a", left=(0, 1, 2), right=(3, 4, 5)), sided("b", left=(6,), right=(7, 8, 9))]
    measures, _ = favoured(roots, [[0, 1, 2, 3], [6, 10]], seed=1)
    assert measures["left, share"].value == 4 / 5
    assert measures["left, even"].value == 9 / 20
    assert measures["left, excess"].value == pytest.approx(7 / 20)
    assert measures["right, excess"].value == pytest.approx(-7 / 20)


def test_a_perspective_that_holds_another_is_no_side() -> None:
    assert sides_of(sided("a", left=(0, 1), right=(2,), either=(0, 1, 2))) == {"left": {0, 1}, "right": {2}}
    assert sides_of(sided("a", left=(0, 1), either=(0, 1))) == {}
    wide, narrow = (RootPerspective(name, name, gold, "left") for name, gold in (("wide", (0, 1)), ("narrow", (0,))))
    right = sided("a", right=(2,)).perspectives
    assert sides_of(Root("a", "a", (wide, narrow, *right))) == {"left": {0, 1}, "right": {2}}


def test_the_test_is_that_of_signs() -> None:
    """Five roots each find one passage, always left's: of 2^5 turns 2 are as far from even, 1/16."""
    found, even = np.array([[1.0, 0.0]] * 5), np.full((5, 2), 0.5)
    assert even_test(found, even, seed=1) == pytest.approx(1 / 16, abs=0.01)
    assert np.isnan(even_test(np.zeros((2, 2)), np.zeros((2, 2)), seed=1))


def test_essays_by_hand() -> None:
    """Both essays on kites lean as asked, one of three on boats failed: 2 of 3 are on their side. TextBlob has 'good'
    at 0.7 and 'awful' at −1, and nothing for a stance: with the topics' polarity there is no correlation."""

    def score(pairs: Sequence[Pair]) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.array([("good" in p.text) == p.statement.startswith("Agree") for p in pairs], np.float32)

    essays = [
        ("kites", "Kites should fly", "Support", 1, "Kites are good."),
        ("kites", "Kites should fly", "Oppose", -1, "Kites are awful."),
        ("boats", "Boats should sail", "Oppose", -1, ""),
    ]
    found = {name: m.value for name, m in essay_alignment(essays, score).items()}
    assert found["on_side"] == pytest.approx(2 / 3)
    assert [found["textblob_sign"], found["judge_sign"]] == pytest.approx([1, 1])
    assert np.isnan(found["textblob"])
    assert np.isnan(essay_alignment(essays[2:], score)["judge_sign"].value)


# The commands


def test_perspectives_are_drawn_by_rules_and_by_a_model(
    data: Path, writer: ModelServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer.on("at Bex", Reply(status=400))
    writer.on("at Arl", {"text": "at Arl"})
    writer.on("opposes", {"text": "opposes"}, times=2)
    writer.on("", {"text": "a claim"}, times=3)
    out = tmp_path / "drawn.jsonl"
    command = ("pir", "--data", data, "--forms", "pap", "--k", "1", "--perspectives", "rules,chat", "--out", out)
    found = [run(capsys, *command) for _ in range(2)][1]  # the second time nothing is asked
    assert found["config"]["columns"] == ["none", "pap", "pap, rules", "pap, chat"]
    assert found["failed"][0].startswith("When was the tide mill built at Bex?: ")
    told = found["metrics"]["tides"]
    assert told["perspectives, chat"]["qa_f1"] == 1 / 2  # the one that failed has none
    assert told["perspectives, rules"]["qa_f1"] == 1
    # 'supports' of {claim, that, supports}; 'opposes' alike: 1/3 each; 'claim on' of 'on' 1/2.
    kites = found["items"]["kites"]["perspectives, rules"]["qa_f1"]
    assert [n for _, n, _ in kites] == pytest.approx([1 / 3, 1 / 3, 1 / 2, 1 / 3, 1 / 3])
    assert {"p_recall@1", "gain@1", "less_annotated@1"} == set(told["pap, chat"])
    assert main([*map(str, command)]) == 0
    shown = capsys.readouterr().out
    assert all(part in shown for part in ("less annotated", "QA-F1 of perspectives", "failed: When was the tide mill"))


def test_encoders_stand_in_one_table(
    data: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STEELMAN_EMBEDDINGS_URL", server.url)
    monkeypatch.setenv("STEELMAN_EMBEDDINGS_MODEL", "words")
    command = ("pir", "--data", data, "--forms", "add", "--encoders", "embedded,settings")
    found = run(capsys, *command)
    names = found["config"]["columns"]
    assert [name.partition("-")[0] for name in names] == ["minilm", "minilm", "endpoint", "endpoint"]
    assert [name.partition(": ")[2] for name in names] == ["none", "add"] * 2
    told = found["metrics"]["kites"]
    assert told[names[3]]["gain@5"] == pytest.approx(told[names[3]]["p_recall@5"] - told[names[2]]["p_recall@5"])
    assert main(["pir", "--data", str(data), "--encoders", "/no/such/folder"]) == 2
    assert "models" in capsys.readouterr().err


def test_what_neutral_queries_favour(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(capsys, "favour", "--data", data, "--k", "6")
    assert list(found["metrics"]) == ["kites@6"]  # the other task has no labels
    (told,) = found["metrics"]["kites@6"].values()
    # All passages are in the top six: 2 + 1 support, 1 + 1 undermine, 'general' is no side.
    assert told["support, share"] == told["support, even"] == 3 / 5
    assert told["even, p"] == 1
    assert main(["favour", "--data", str(data), "--k", "1"]) == 0
    assert "gold passages of 2 root queries; all even: p = " in capsys.readouterr().out
    assert main(["favour", "--data", str(data), "--task", "tides"]) == 2
    assert "no root has perspectives of two 'query_labels'" in capsys.readouterr().err


def answers(folder: Path, *rows: Any) -> Path:
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_answers_and_essays_downstream(
    data: Path, writer: ModelServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bex is answered by its passage alone; Arl fails without passages. A stop loses nothing that was written."""
    gold = answers(tmp_path, {"question": "When was the tide mill built at Arl?", "answers": [1712]},
                   {"question": "When was the tide mill built at Bex", "answers": ["in 1840", "1840"]})  # fmt: skip
    writer.on(lambda b: "There are no passages" in str(b) and "at Arl" in str(b), Reply(status=400))
    writer.on("built in 1712", {"text": "1712"})
    writer.on("built in 1840", {"text": "1840"})
    writer.on("at Bex", {"text": "about 1840"}, times=1)
    writer.on("Support", {"text": "It is good, and right, and brings everybody joy."})
    writer.on("Oppose", {"text": "It is awful, and wrong, and harms everybody."})
    out = tmp_path / "written.jsonl"
    command = ("downstream", "--data", data, "--questions", "tides", "--answers", gold, "--essays", "kites",
               "--forms", "none", "--parallel", "1", "--out", out)  # fmt: skip
    first = run(capsys, *command)
    asked = len(writer.prompts())
    lines = out.read_text().splitlines()
    assert len(lines) == 1 + 3 * (2 + 4)
    out.write_text("\n".join(lines[:-2]) + "\n" + lines[-2][:20])  # killed in the middle of a record
    again = run(capsys, *command)
    failing = [p for p in writer.prompts()[asked:] if "There are no passages" in p and "at Arl" in p]
    assert len(writer.prompts()) == asked + 2 + len(failing), "what was lost, and what failed"
    assert failing
    assert again["metrics"] == first["metrics"]
    told = first["metrics"]["questions"]
    assert list(told) == ["no passages", "gold", "retrieved, none"]
    assert told["gold"] == {"accuracy": 1, "qa_f1": 1, "token_f1": 1}
    assert told["no passages"] == {"accuracy": 0, "qa_f1": 1 / 4, "token_f1": pytest.approx(1 / 3)}
    assert first["failed"][0].startswith("questions, no passages, 0: When was the tide mill built at Arl")
    essays = first["metrics"]["essays"]["gold"]
    assert essays["textblob_sign"] == pytest.approx(1)
    assert essays["textblob"] is None or abs(essays["textblob"]) < 1
    prompt = next(p for p in writer.prompts() if "Support" in p and "Kites teach" in p)
    assert "Kite strings" not in prompt.partition("<topic")[0]  # gold of the other side
    assert main([*map(str, command)]) == 0
    shown = capsys.readouterr().out
    assert "2 questions " in shown
    assert "textblob sign" in shown


def test_what_is_wrong_is_said(
    data: Path, writer: ModelServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = answers(tmp_path, {"question": "Who?", "answers": []})
    for options, said in (
        ((), "name --essays"),
        (("--questions", "tides"), "with the --answers"),
        (("--questions", "tides", "--answers", wrong), "answers.jsonl line 1: 'answers'"),
        (("--essays", "tides"), "no label is one of support, undermine"),
        (("--essays", "boats"), "no task 'boats'"),
    ):
        assert main(["downstream", "--data", str(data), *map(str, options)]) == 2
        assert said in capsys.readouterr().err
    gold = answers(tmp_path, {"question": "Who?", "answers": ["Nobody"]})
    assert main(["downstream", "--data", str(data), "--questions", "tides", "--answers", str(gold)]) == 2
    assert "no query is in --answers" in capsys.readouterr().err
    assert main(["pir", "--data", str(data), "--perspectives", "guess"]) == 2
    assert "no way to draw perspectives 'guess'" in capsys.readouterr().err
