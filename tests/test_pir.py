"""The suite `pir`: data, p-Recall by hand, columns, the command."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evals.__main__ import main
from evals.datasets.pir import PirTask, Root, RootPerspective, load_tasks
from evals.metrics.measure import figures_by
from evals.metrics.p_recall import AVERAGE, measures
from evals.retrievers.leaning import Column, rank
from evals.retrievers.projection import FORMS
from tools.errors import InputError
from tools.models.cache import VectorCache
from tools.passages import SourceDocument

SHARED = Path(__file__).parents[2] / "shared" / "data" / "pir" / "demo_pir_dataset.json.gz"

BOATS: dict[str, Any] = {
    "corpus": [
        "Barges carry coal cheaply along the canal.",
        "Barges are slow and often late.",
        "Ferries cross the strait twice a day.",
        "Ferries pollute the harbour with smoke.",
        "Snails eat lettuce at night.",
    ],
    "source_queries": ["barges", "barges", "ferries", "ferries", "snails"],
    "queries": ["praise of barges", "blame for barges", "praise of ferries", "blame for ferries", "praise of snails"],
    "perspectives": ["praise", "blame", "praise", "blame", "praise"],
    "key_ref": {"0": [0], "1": [1], "2": [2], "3": [3], "4": [4]},
    "query_labels": ["pro", "con", "pro", "con", "pro"],
}
TRAINS: dict[str, Any] = {
    "corpus": ["The night train to Oslo leaves at nine.", "The night train to Rome leaves at ten."],
    "source_queries": ["When does the night train leave?"] * 2,
    "queries": ["When does the night train to Oslo leave?", "When does the night train to Rome leave?"],
    "key_ref": {"0": [0], "1": [1]},
}


def saved(path: Path, tasks: object) -> Path:
    path.write_text(json.dumps(tasks))
    return path


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "vectors.db")


def test_roots_with_one_perspective_are_excluded_and_counted(tmp_path: Path) -> None:
    boats, trains = load_tasks(saved(tmp_path / "pir.json", {"boats": BOATS, "trains": TRAINS}))
    assert (boats.name, [root.text for root in boats.roots], boats.alone) == ("boats", ["barges", "ferries"], 1)
    praise = RootPerspective("praise of ferries", "praise", (2,), "pro")
    assert boats.roots[1] == Root("2", "ferries", (praise, RootPerspective("blame for ferries", "blame", (3,), "con")))
    assert boats.corpus[4] == SourceDocument("4", "Snails eat lettuce at night.")
    assert (boats.copies, trains.alone, len(trains.roots)) == (0, 0, 1)


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source_queries": ["barges"]}, r"'queries', 'perspectives', 'query_labels' must have one length"),
        ({"source_queries": [*"abcde"]}, r"'boats': no root query has two perspectives.* --task"),
        ({"key_ref": BOATS["key_ref"] | {"3": [0, 5]}}, r"'key_ref' names a position that is not in 'corpus' \(0 to 4"),
    ],
)
def test_bad_data_is_named_by_file_task_and_field(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    task = {k: v for k, v in (BOATS | changes).items() if v is not None}
    with pytest.raises(InputError, match=rf"pir\.json.*{message}"):
        load_tasks(saved(tmp_path / "pir.json", {"trains": TRAINS, "boats": task}))


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


class Compass:
    """Vectors in a plane, by text."""

    name = "compass"
    dimensions = 2

    def __init__(self, passages: dict[str, tuple[float, float]], queries: dict[str, tuple[float, float]]) -> None:
        self.passages, self.queries = passages, queries

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self.passages[t] for t in texts], np.float32)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self.queries[t] for t in texts], np.float32)


S = math.sqrt(0.5)
CORPUS = tuple(SourceDocument(str(i), name) for i, name in enumerate(("east", "north east", "north")))
AROUND = {"east": (1.0, 0.0), "north east": (S, S), "north": (0.0, 1.0)}


def plane(*roots: Root) -> PirTask:
    """The roots over three directions."""
    texts = [text for root in roots for one in root.perspectives for text in (root.text, one.query, one.text) if text]
    return PirTask("plane", roots, CORPUS, tuple(texts), alone=0, copies=0)


def test_ranks_by_hand(cache: VectorCache) -> None:
    """r = (1, 0), q = (S, S), p = (0, 1): q is nearest to 'north east', and without p it is (S, 0), nearest to 'east'.

    r + p = (1, 1) is nearest to 'north east'. At strength −1, q + (0, S) = (S, 2S) has with the three passages the
    cosines S / (S √5) = .45, 3S² / (S √5) = .95 and 2S / (S √5) = .89.
    """
    encoder = Compass(AROUND, {"root": (1.0, 0.0), "query": (S, S), "view": (0.0, 1.0)})
    sides = (RootPerspective("query", "view", (0,)), RootPerspective("query", "view", (2,)))
    task = plane(Root("0", "root", sides))
    columns = [Column("none"), Column("add"), Column("pap"), Column("pap", -1.0)]
    found = rank(task, columns, encoder, cache)
    (ranks,) = found
    # 'none' and 'add' find east and north equally near, and take the earlier first.
    assert ranks.tolist() == [[2, 2, 1, 3], [3, 3, 3, 2]]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = saved(tmp_path / "pir.json", {"boats": BOATS, "trains": TRAINS}), tmp_path / "result.json"
    command = ["pir", "--data", str(path), "--k", "1,2", "--strength", "0.5,1", "--seed", "3"]
    assert main([*command, "--json"]) == 0
    out.write_text(capsys.readouterr().out)
    result = json.loads(out.read_text(), parse_constant=pytest.fail)
    assert list(result["metrics"]) == ["boats", "trains", AVERAGE]
    assert all(list(rows) == [*FORMS[:-2], "pap 0.5", "pap", "pap+ 0.5", "pap+"] for rows in result["metrics"].values())
    assert result["metrics"]["trains"]["none"] == {"p_recall@1": 1, "p_recall@2": 1}
    boats = result["metrics"]["boats"]["none"]["p_recall@1"]
    assert result["metrics"][AVERAGE]["none"]["p_recall@1"] == (boats + 1) / 2
    assert result["items"]["trains"]["none"]["p_recall@1"] == [["0", 1, 1]]
    assert result["config"]["sizes"]["boats"]["roots_with_one_perspective"] == 1
    assert main(["report", "--compare", str(out), str(out), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {(row["data"], row["difference"]) for row in rows} == {("boats", 0), ("trains", 0)}
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "p-Recall@2" in shown
    assert "\npap+ 0.5 " in shown
    assert main([*command, "--forms", "pop"]) == 2
    assert "no form 'pop'" in capsys.readouterr().err


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/data")
def test_the_published_file_is_read() -> None:
    tasks = load_tasks(SHARED)
    assert len(tasks) == 6
    told = {t.name: (len(t.roots), t.alone, len(t.corpus) + t.copies) for t in tasks}
    assert told["exfever"] == (33, 1, 500)
    assert told["story"] == (50, 0, 500)
    ambiguous = next(t for t in tasks if t.name == "ambigqa")
    assert {one.text for root in ambiguous.roots for one in root.perspectives} == {""}
