"""PIR beyond p-Recall: perspectives from rules, and the suite `favour`."""

import json
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

from evals.__main__ import main
from evals.datasets.pir import Root, RootPerspective
from evals.metrics.favour import favoured, sides_of
from evals.retrievers.leaning import split_by_rules

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


def run(capsys: pytest.CaptureFixture[str], *command: object) -> dict[str, Any]:
    assert main([*map(str, command), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


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


def test_a_perspective_that_contains_another_is_no_side() -> None:
    assert sides_of(sided("a", left=(0, 1), right=(2,), either=(0, 1, 2))) == {"left": {0, 1}, "right": {2}}
    assert sides_of(sided("a", left=(0, 1), either=(0, 1))) == {}


def test_perspectives_from_rules(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("pir", "--data", data, "--forms", "pap", "--k", "1", "--perspectives", "rules")
    found = run(capsys, *command)
    assert found["config"]["columns"] == ["none", "pap", "pap, rules"]
    told = found["metrics"]["tides"]
    assert told["perspectives, rules"] == {"qa_f1": 1}
    # 'supports' of {claim, that, supports}; 'opposes' alike: 1/3 each; 'claim on' of 'on' 1/2.
    kites = found["items"]["kites"]["perspectives, rules"]["qa_f1"]
    assert [n for _, n, _ in kites] == pytest.approx([1 / 3, 1 / 3, 1 / 2, 1 / 3, 1 / 3])
    assert {"p_recall@1", "gain@1", "less_annotated@1"} == set(told["pap, rules"])
    assert main([*map(str, command)]) == 0
    shown = capsys.readouterr().out
    assert all(part in shown for part in ("less annotated", "QA-F1 of perspectives"))
    assert main([*map(str, command[:-1]), "guess"]) == 2
    assert "no way to draw perspectives 'guess'" in capsys.readouterr().err


def test_several_encoders_in_one_table(
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
