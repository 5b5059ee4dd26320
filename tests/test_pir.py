"""The suite `pir`: data, p-Recall by hand, columns, the command."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals.__main__ import main
from evals.datasets.pir import load_tasks
from evals.metrics.p_recall import AVERAGE
from evals.retrievers.leaning import FORMS
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
