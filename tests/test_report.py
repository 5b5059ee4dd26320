"""The evals' command line, and `report`: one result, two results compared, and the papers' tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Spawn

from evals.__main__ import SUITES, main
from evals.reports.paper import beside, published
from evals.reports.results import compared, measured
from tools.errors import InputError


def judge_result(right: list[int], name: str = "embedded-judge-0123abcd") -> dict[str, Any]:
    """A result over ten questions of two pairs each, correct on the pairs `right`."""
    share = len(right) / 20
    return {
        "suite": "judge",
        "metrics": {"accuracy": share, "f1": None, "pairs": 20},
        "intervals": {"accuracy": [max(0.0, share - 0.2), min(1.0, share + 0.2)], "f1": [None, None]},
        "items": {"accuracy": [[f"q{i // 2}", float(i in right), 1.0] for i in range(20)]},
        "config": {"data": "pairs.jsonl", "judge": name},
    }


def of_sets(suite: str, found: dict[str, dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """A result with these figures by data and name, each with an interval and two items."""
    metrics: dict[str, Any] = {"suite": suite, "metrics": found, "config": {"encoder": "tiny"}}
    for part, value in (("intervals", lambda v: [v, v]), ("items", lambda v: [["q1", v, 1], ["q2", v, 1]])):
        metrics[part] = {
            data: {name: {m: value(v) for m, v in of.items() if v is not None} for name, of in methods.items()}
            for data, methods in found.items()
        }
    return metrics


def towns(dense: float) -> dict[str, Any]:
    return of_sets("retrieval", {"towns": {"bm25": {"coverage@5": 0.5}, "dense": {"coverage@5": dense}}})


def saved(folder: Path, name: str, result: object) -> str:
    (folder / name).write_text(json.dumps(result))
    return str(folder / name)


def test_ctrl_c_during_imports_ends_the_command_quietly(spawn: Spawn) -> None:
    process = spawn(
        "import os, signal, sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'evals.suites.judge': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from evals.__main__ import main\n"
        "sys.exit(main(['judge', '--data', 'none.jsonl']))"
    )
    assert process.communicate(timeout=30) == ("", "\nStopped.\n")
    assert process.returncode == 130


@pytest.mark.parametrize("suite", list(SUITES))
def test_every_suite_has_help(suite: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([suite, "--help"])
    assert ended.value.code == 0
    assert "--json" in capsys.readouterr().out or suite.startswith("judge-")


def test_a_difference_is_paired_by_question() -> None:
    """Nine of ten questions gain one pair of two: the mean difference is 0.45."""
    evens = list(range(0, 20, 2))
    (row,) = compared(measured(judge_result(evens)), measured(judge_result([*evens, *range(1, 18, 2)])))
    assert (row["old"], row["new"], row["questions"]) == (0.5, 0.95, 10)
    assert row["difference"] == pytest.approx(0.45)
    draws = np.random.default_rng(1).integers(0, 10, (1000, 10))  # the same draws, by hand
    assert row["interval"] == pytest.approx(np.percentile((draws != 9).mean(axis=1) / 2, [2.5, 97.5]))


def test_methods_are_compared_by_name_on_the_same_data() -> None:
    rows = compared(measured(towns(0.6)), measured(towns(0.9)))
    assert {r["name"]: r["difference"] for r in rows} == {"bm25": 0.0, "dense": pytest.approx(0.3)}
    with pytest.raises(InputError, match="no questions in common"):
        compared(measured(towns(0.6)), measured(judge_result([0])))


def test_report_prints_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [saved(tmp_path, f"{n}.json", judge_result(list(range(n)))) for n in (4, 12)]
    assert main(["report", *files]) == 0
    assert "| judge | pairs.jsonl | embedded-judge | accuracy | 0.600 [0.400, 0.800] |" in capsys.readouterr().out
    assert main(["report", "--compare", *files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["difference"] == pytest.approx(0.4)
    assert main(["report", "--compare", *files]) == 0
    assert "| accuracy | 0.200 | 0.600 | +0.400 [+0.100, +0.700]* | 10 |" in capsys.readouterr().out
    few = judge_result([*range(18)])  # nine questions: no star
    few["items"] = {"accuracy": few["items"]["accuracy"][:18]}
    assert main(["report", "--compare", files[0], saved(tmp_path, "few.json", few)]) == 0
    assert "]* |" not in capsys.readouterr().out
    assert main(["report"]) == 2
    assert "--compare OLD NEW" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["{", "[]", '{"suite": "judge"}'])
def test_a_file_that_is_no_result_is_an_error_with_a_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    (tmp_path / "wrong.json").write_text(content)
    assert main(["report", str(tmp_path / "wrong.json")]) == 2
    error = capsys.readouterr().err
    assert "wrong.json" in error
    assert "Make it with `python -m evals SUITE" in error


def test_published_figures_are_consistent() -> None:
    """A wrong digit breaks F1 of P and R, or a mean over sets and tasks."""
    assert len({(one.of, one.title) for one in published()[0]}) == len(published()[0]) > 30
    for one in published()[0]:
        for name in one.rows:
            row = dict(zip((c.title for c in one.columns), one.rows[name], strict=True))
            if {"P", "R", "F1"} <= set(row):
                assert row["F1"] == pytest.approx(2 / (1 / row["P"] + 1 / row["R"]), abs=0.0012), (one, name)
            for c in one.columns:
                parts = [row[o.title] for o in one.columns if o.measure == c.measure and o != c]
                if len(parts) > 2 and c.data in ("", "average of tasks"):
                    assert row[c.title] == pytest.approx(sum(parts) / len(parts), abs=0.0006), (one, name)
    first = {one.of: one for one in reversed(published()[0])}
    assert first["BERDS, table 4"].measures("GPT-4 one-shot")["f1"] == 0.678
    assert first["NEWSCOPE, table 6"].measures("greedyplus")["all_seconds"] == 1.175


def row_of(lines: list[str], table: str, name: str) -> list[str]:
    """The cells of a row."""
    after = lines[next(i for i, line in enumerate(lines) if line.startswith(f"| {table}")) :]
    return next(line for line in after if line.startswith(f"| {name} |")).strip("| ").split(" | ")[1:]


def test_results_appear_next_to_the_papers_tables() -> None:
    half, mean = {"precision@5": 0.5, "mrecall@5": 0.25}, {"precision@5": 0.4, "mrecall@5": 0.2}
    sets = {n: {"bm25": half} for n in ("arguana", "kialo", "opinionqa")}
    results = {
        "berds.json": of_sets("berds", sets | {"macro-average": {"bm25": mean}}),
        "own.json": of_sets("retrieval", {n: {"dense": half} for n in ("towns", "kialo", "macro-average")}),
        "news.json": of_sets("news", {"LocalNews": {"greedyplus": {"coverage@5": 0.5}, "mmr:0.1": {"coverage@5": 0.5}},
                                      "Other": {"dense": {"coverage@5": 0.1}}}),
        "judge.json": judge_result([0, 1]),
        "pir.json": of_sets("pir", {"ferry": {"none": {"p_recall@5": 1.0}}}),
    }  # fmt: skip
    lines = beside(results)
    table = "BERDS, tables 3 and 16: retrievers on the test split; on other sets beside the mean, at 5"
    both = ["– / 50.00", "– / 25.00"]
    assert row_of(lines, table, "bm25") == ["– / 50.00", "– / 25.00"] * 3 + ["– / 40.00", "– / 20.00"]
    assert row_of(lines, table, "towns: dense")[-2:] == both
    nothing = ["– / –"] * 2
    assert row_of(lines, table, "dense") == nothing + both + nothing * 2, "a mean of other sets is not the paper's"
    assert row_of(lines, table, "Sphere: BM25")[:2] == ["44.96 / –", "27.60 / –"]
    events = "NEWSCOPE, table 2: paragraphs for a news event, LocalNews, at 5"
    assert row_of(lines, events, "greedyplus")[-1] == "62.2 / 50.0"
    assert not any(line.startswith("| mmr:0.1 |") for line in lines)
    assert row_of(lines, "BERDS, table 4", "GPT-4 one-shot")[:2] == ["89.1 / –", "67.8 / –"]
    text = "\n".join(lines)
    assert "Other: no data of the paper's, which does not compare" in text
    assert "LocalNews is the 4,779 of its paragraphs that were released" in text
    assert "Without figures for some of it: news.json." in text  # at 10, 20 and 50
    assert "PIR, table 6: QA-F1" in text


def test_without_a_result_each_table_names_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--paper"]) == 0
    assert capsys.readouterr().out.count("make one: python -m evals") == len({one.of for one in published()[0]})
    assert main(["report", "--paper", "--json"]) == 2
