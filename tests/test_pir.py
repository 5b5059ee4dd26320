"""The suite `pir`: data, p-Recall by hand, columns, the command."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evals.__main__ import main
from evals.datasets.pir import Root, RootPerspective, load_tasks
from evals.metrics.favour import favoured
from evals.metrics.measure import figures_by
from evals.metrics.p_recall import AVERAGE, measures
from evals.retrievers.projection import FORMS
from tools.models.cache import VectorCache

KITES: dict[str, Any] = {
    "corpus": [
        "Kites teach children how the wind works.",
        "Kites bring neighbours out to the beach.",
        "Kite strings cut the wings of gulls.",
        "Canal boats are a slow and quiet way to travel.",
        "Canal boats leak diesel into the water.",
        "Snails eat lettuce at night.",
    ],
    "source_queries": ["Kites should fly over the beach"] * 3
    + ["Canal boats should be free"] * 2
    + ["Snails are pests"],
    "queries": [
        "Find a claim that supports: Kites should fly over the beach",
        "Find a claim that opposes: Kites should fly over the beach",
        "Find a claim on: Kites should fly over the beach",
        "Find a claim that supports: Canal boats should be free",
        "Find a claim that opposes: Canal boats should be free",
        "Find a claim that supports: Snails are pests",
    ],
    "perspectives": ["supports", "opposes", "on", "supports", "opposes", "supports"],
    "key_ref": {"0": [0, 1], "1": [2], "2": [0, 1, 2], "3": [3], "4": [4], "5": [5]},
    "query_labels": ["support", "undermine", "general", "support", "undermine", "support"],
}
TIDES: dict[str, Any] = {
    "corpus": ["The tide mill at Arl was built in 1712.", "The tide mill at Bex was built in 1840."],
    "source_queries": ["When was the tide mill built?"] * 2,
    "queries": ["When was the tide mill built at Arl?", "When was the tide mill built at Bex?"],
    "key_ref": {"0": [0], "1": [1]},
}


def saved(path: Path, tasks: object) -> Path:
    path.write_text(json.dumps(tasks))
    return path


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "vectors.db")


TWICE: dict[str, Any] = {
    "corpus": ["Kites rise.", "Kites fall.", "Kites rise.", "Kites break."],
    "source_queries": ["kites", "kites", "kites"],
    "queries": ["for kites", "for kites", "against kites"],
    "perspectives": ["for", "for", "against"],
    "key_ref": {"0": [0], "1": [3, 2], "2": [1]},
}


def test_lines_of_one_perspective_and_copies_are_merged(tmp_path: Path) -> None:
    """Passage 2 is a copy of 0 and falls on it, 3 moves up to 2; 'for kites' has the gold of both its lines."""
    (task,) = load_tasks(saved(tmp_path / "pir.json", {"kites": TWICE}))
    assert [p.text for p in task.corpus] == ["Kites rise.", "Kites fall.", "Kites break."]
    assert [(p.query, p.gold) for p in task.roots[0].perspectives] == [("for kites", (0, 2)), ("against kites", (1,))]
    assert task.copies == 1


# Two columns. Root 1: ranks 1, 6, 9 and 5, 5, 6; root 2: 2, 3 and 10, 11.
RANKS = [np.array([[1, 5], [6, 5], [9, 6]]), np.array([[2, 10], [3, 11]])]


def test_roots_of_a_task_and_tasks_of_the_average_have_equal_weight() -> None:
    """Task a at 5: (1/3 + 1) / 2 = 2/3 and (2/3 + 0) / 2 = 1/3. Task b, of one root: 0 and 1.

    Averages (2/3 + 0) / 2 = 1/3 and (1/3 + 1) / 2 = 2/3; over the three roots they would be 4/9 and 5/9.
    """
    ranks, keys = {"a": RANKS, "b": [np.array([[6, 1], [6, 1]])]}, {"a": ["0", "1"], "b": ["0"]}
    told = figures_by(measures(ranks, keys, ["none", "pap"], [5, 10], {"gain": {"pap": "none"}}), 1)
    metrics, intervals = told["metrics"], told["intervals"]
    told = {task: {c: row["p_recall@5"] for c, row in rows.items()} for task, rows in metrics.items()}
    assert told["a"] == pytest.approx({"none": 2 / 3, "pap": 1 / 3})
    assert told["b"] == {"none": 0, "pap": 1}
    assert told[AVERAGE] == pytest.approx({"none": 1 / 3, "pap": 2 / 3})
    assert metrics[AVERAGE]["pap"]["gain@5"] == pytest.approx(1 / 3)
    assert metrics["a"]["pap"]["gain@10"] == pytest.approx(3 / 4 - 1)
    assert "gain@5" not in metrics["a"]["none"]
    assert intervals["b"]["pap"] == {"p_recall@5": (1, 1), "gain@5": (1, 1), "p_recall@10": (1, 1), "gain@10": (0, 0)}


def test_the_command(labelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "result.json"
    command = ["pir", "--data", str(labelled), "--k", "1,2", "--strength", "0.5,1", "--seed", "3"]
    assert main([*command, "--json"]) == 0
    out.write_text(capsys.readouterr().out)
    result = json.loads(out.read_text(), parse_constant=pytest.fail)
    assert list(result["metrics"]) == ["kites", "tides", AVERAGE]
    assert all(list(rows) == [*FORMS[:-2], "pap 0.5", "pap", "pap+ 0.5", "pap+"] for rows in result["metrics"].values())
    assert result["metrics"]["tides"]["none"] == {"p_recall@1": 1, "p_recall@2": 1}
    kites = result["metrics"]["kites"]["none"]["p_recall@1"]
    assert result["metrics"][AVERAGE]["none"]["p_recall@1"] == pytest.approx((kites + 1) / 2)
    assert result["items"]["tides"]["none"]["p_recall@1"] == [["0", 1, 1]]
    assert result["config"]["sizes"]["kites"]["roots_with_one_perspective"] == 1
    assert main(["report", "--compare", str(out), str(out)]) == 0
    rows = [row.split(" | ") for row in capsys.readouterr().out.splitlines() if row.startswith(("| kites", "| tides"))]
    assert {(row[0], row[5]) for row in rows} == {
        (f"| {task}", "+0.000 [+0.000, +0.000]") for task in ("kites", "tides")
    }
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "p-Recall@2" in shown
    assert "\npap+ 0.5 " in shown
    assert main([*command, "--forms", "pop"]) == 2
    assert "no form 'pop'" in capsys.readouterr().err


@pytest.fixture
def labelled(tmp_path: Path, cached: None) -> Path:
    path = tmp_path / "pir.json"
    path.write_text(json.dumps({"kites": KITES, "tides": TIDES}))
    return path


def result_of(capsys: pytest.CaptureFixture[str], *command: object) -> dict[str, Any]:
    assert main([*map(str, command), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


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


def test_perspectives_from_rules(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("pir", "--data", labelled, "--forms", "pap", "--k", "1", "--perspectives", "rules")
    found = result_of(capsys, *command)
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


def test_what_neutral_queries_favour(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = result_of(capsys, "favour", "--data", labelled, "--k", "6")
    assert list(found["metrics"]) == ["kites@6"]  # the other task has no labels
    (told,) = found["metrics"]["kites@6"].values()
    # All passages are in the top six: 2 + 1 support, 1 + 1 undermine, 'general' is no side.
    assert told["support, share"] == told["support, even"] == 3 / 5
    assert told["even, p"] == 1
    assert main(["favour", "--data", str(labelled), "--k", "1"]) == 0
    assert "gold passages of 2 root queries; all even: p = " in capsys.readouterr().out
    assert main(["favour", "--data", str(labelled), "--task", "tides"]) == 2
    assert "no root has perspectives of two 'query_labels'" in capsys.readouterr().err
