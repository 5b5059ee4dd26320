"""The suites' command line, and the report: results as lines, tables, and two of them compared."""

import json
import math
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Spawn

from evals.__main__ import SUITES, main
from evals.reports.lines import compared, lines_of
from evals.reports.paper import published
from tools.errors import InputError


def judge_result(right: list[int], name: str = "embedded-judge-0123abcd", **changes: Any) -> dict[str, Any]:
    """A result over ten questions of two pairs each; `right` are the pairs that it got right."""
    items = [[f"q{i // 2}", float(i in right), 1.0] for i in range(20)]
    share = len(right) / 20
    return {
        "suite": "judge",
        "metrics": {
            "accuracy": share,
            "f1": None,
            "auc": 0.5 + share / 2,
            "pairs_per_second": 100 * share,
            "pairs": 20,
        },
        "intervals": {"accuracy": [max(0.0, share - 0.2), min(1.0, share + 0.2)], "f1": [None, None]},
        "items": {"accuracy": items},
        "config": {"data": "pairs.jsonl", "judge": name},
    } | changes


RETRIEVAL: dict[str, Any] = {
    "suite": "retrieval",
    "metrics": {"towns": {m: {"coverage@5": v, "coverage@10": v + 0.1, "mrecall@5": v, "mrecall@10": v} for m, v in
                          (("bm25", 0.5), ("dense", 0.6))}},
    "intervals": {"towns": {"bm25": {"coverage@5": [0.4, 0.6]}, "dense": {"coverage@5": [0.5, 0.7]}}},
    "items": {"towns": {m: {"coverage@5": [["q1", v, 1], ["q2", v, 1]]} for m, v in (("bm25", 0.5), ("dense", 0.6))}},
    "config": {},
}  # fmt: skip


def saved(folder: Path, name: str, result: object) -> Path:
    path = folder / name
    path.write_text(json.dumps(result))
    return path


def test_whoever_reads_the_output_may_go(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn(
        "import sys; from evals.__main__ import main; sys.stdin.read(); sys.exit(main(sys.argv[1:]))",
        *("report", saved(tmp_path, "a.json", RETRIEVAL)),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()  # as `head` does
    process.stdin.close()
    process.wait(20)
    assert process.stderr.read() == ""
    assert process.returncode == 128 + signal.SIGPIPE
    process.stdout = process.stdin = None


@pytest.mark.parametrize("module", ["evals.suite", "evals.suites.judge"])
def test_stopped_while_it_imports_it_ends_quietly(spawn: Spawn, module: str) -> None:
    process = spawn(
        "import os, signal, sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from evals.__main__ import main\n"
        "sys.exit(main(['judge', '--data', 'none.jsonl']))"
    )
    assert process.communicate(timeout=30) == ("", "\nStopped.\n")
    assert process.returncode == 130


@pytest.mark.parametrize("suite", list(SUITES))
def test_every_suite_teaches_by_its_help(suite: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([suite, "--help"])
    assert ended.value.code == 0
    assert "--json" in capsys.readouterr().out or suite.startswith("judge-")


def test_a_result_is_a_line_for_each_thing_that_was_measured() -> None:
    (line,) = lines_of(judge_result([0, 1]))
    assert (line.suite, line.data, line.name) == ("judge", "pairs.jsonl", "embedded-judge")
    assert math.isnan(line.metrics["f1"])
    assert list(line.intervals) == ["accuracy"]
    assert line.intervals["accuracy"] == pytest.approx([0.0, 0.3])
    bm25, dense = lines_of(RETRIEVAL)
    assert (bm25.data, bm25.name, dense.name) == ("towns", "bm25", "dense")


def test_a_difference_is_paired_by_question() -> None:
    """Nine questions of ten are better by one pair of two: the mean difference is 0.45, and surely above zero."""
    old, new = (
        lines_of(judge_result(list(range(0, 20, 2)))),
        lines_of(judge_result([*range(0, 20, 2), *range(1, 18, 2)])),
    )
    (row,) = compared(old, new)
    assert (row["old"], row["new"], row["questions"]) == (0.5, 0.95, 10)
    assert row["difference"] == pytest.approx(0.45)
    draws = np.random.default_rng(1).integers(0, 10, (1000, 10))  # the same draws, worked out by hand
    assert row["interval"] == pytest.approx(np.percentile((draws != 9).mean(axis=1) / 2, [2.5, 97.5]))


def test_methods_are_compared_by_name_and_other_data_not_at_all() -> None:
    better = json.loads(json.dumps(RETRIEVAL).replace("0.6", "0.9"))
    told = {r["name"]: r["difference"] for r in compared(lines_of(RETRIEVAL), lines_of(better))}
    assert told == {"bm25": 0.0, "dense": pytest.approx(0.3)}
    with pytest.raises(InputError, match="no questions in common"):
        compared(lines_of(RETRIEVAL), lines_of(judge_result([0])))


def test_two_results_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(saved(tmp_path, f"{n}.json", judge_result(list(range(n))))) for n in (4, 12)]
    assert main(["report", "--compare", *files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["difference"] == pytest.approx(0.4)
    assert main(["report", "--compare", *files]) == 0
    assert "0.200  0.600  +0.400 [+0.100, +0.700]*    10" in capsys.readouterr().out
    for result in (judge_result([0]), judge_result([*range(18)])):  # over nine of the questions there is no star
        result["items"] = {"accuracy": result["items"]["accuracy"][:18]}
        files = [str(saved(tmp_path, "few.json", result)), *files[:1]]
    assert main(["report", "--compare", *files]) == 0
    assert "*" not in capsys.readouterr().out.partition("* the paired")[0]
    assert main(["report"]) == 2
    assert "--compare OLD NEW" in capsys.readouterr().err


@pytest.mark.parametrize(("content", "says"), [("{", "no JSON"), ("[]", "no result of a suite")])
def test_what_is_no_result_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, says: str
) -> None:
    (tmp_path / "wrong.json").write_text(content)
    assert main(["report", str(tmp_path / "wrong.json")]) == 2
    assert f"wrong.json {'is' if says == 'no JSON' else 'holds'} {says}" in capsys.readouterr().err


# Beside the papers


def test_what_was_published_adds_up() -> None:
    """The papers' own sums, by which a wrong digit shows: F1 of P and R, and means over sets and tasks."""
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
    assert first["NEWSCOPE, table 2"].measures("greedyplus")["coverage@5"] == 0.622
    assert first["NEWSCOPE, table 6"].measures("greedyplus")["all_seconds"] == 1.175


def of_sets(suite: str, found: dict[str, dict[str, dict[str, float]]], **changes: Any) -> dict[str, Any]:
    """A result with these figures by data and name."""
    nothing: dict[str, Any] = {data: {name: {} for name in of} for data, of in found.items()}
    result = {"suite": suite, "metrics": found, "intervals": nothing, "items": nothing, "config": {"encoder": "tiny"}}
    return result | changes


def test_results_stand_beside_the_papers_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = {"precision@5": 0.5, "mrecall@5": 0.25}
    mean = {"bm25": {"precision@5": 0.4, "mrecall@5": 0.2}}
    berds = of_sets("berds", {n: {"bm25": half} for n in ("arguana", "kialo", "opinionqa")} | {"macro-average": mean})
    own = of_sets("retrieval", {"towns": {"dense": half}, "kialo": {"dense": half}, "macro-average": {"dense": half}})
    news = of_sets("news", {"LocalNews": {n: {"coverage@5": 0.5} for n in ("dense", "greedyplus", "mmr:0.1", "scs")},
                            "Other": {"dense": {"coverage@5": 0.1}}})  # fmt: skip
    files = [saved(tmp_path, f"{r['suite']}.json", r) for r in (berds, news, judge_result([0, 1]), own)]
    assert main(["report", "--paper", *map(str, files), "--json"]) == 0
    told = {(one["of"], one["title"]): one for one in json.loads(capsys.readouterr().out)}
    assert len(told) == len(published()[0])
    retrieval = told["BERDS, tables 3 and 16", "retrievers on the test split; on other sets beside the mean, at 5"]
    nothing = [None] * 4
    assert retrieval["rows"]["bm25"] == {"paper": nothing * 2, "here": [*[0.5, 0.25] * 3, 0.4, 0.2]}
    assert retrieval["rows"]["towns: dense"]["here"][-2:] == [0.5, 0.25]
    assert retrieval["rows"]["dense"]["here"] == [None, None, 0.5, 0.25, *nothing], "a mean of other sets is not theirs"
    assert not [of for of in retrieval["by"] if "macro-average" in of]
    assert retrieval["rows"]["Sphere: BM25"]["paper"][:2] == [0.4496, 0.276]
    events = told["NEWSCOPE, table 2", "paragraphs for a news event, LocalNews, at 5"]
    assert (events["rows"]["greedyplus"]["paper"][-1], events["rows"]["greedyplus"]["here"][-1]) == (0.622, 0.5)
    assert "scs" in events["rows"]
    assert "mmr:0.1" not in events["rows"]
    assert events["rows"]["dense"]["here"][-1] == 0.5  # and not that of other data
    assert (events["measured"], events["by"][0]) == (True, "encoder tiny")
    assert events["by"][1].startswith("LocalNews is the 4,779 of its paragraphs that were released")
    other = "no data of the paper's, which does not compare"
    assert events["by"][2] == f"Other: {other}"
    later = told["NEWSCOPE, table 2", "paragraphs for a news event, LocalNews, at 10"]
    assert (later["measured"], later["left_out"]) == (False, [str(files[1])])
    assert not told["NEWSCOPE, table 3", "paragraphs for a news event, DSGlobal, at 5"]["measured"]

    assert main(["report", "--paper", *map(str, files)]) == 0
    shown = capsys.readouterr().out
    assert "pairs.jsonl: embedded-judge" in shown
    assert re.search(r"^GPT-4 one-shot +89\.1 \| – +67\.8 \| –", shown, re.MULTILINE)
    assert f"pairs.jsonl: {other}" in " ".join(shown.split())
    assert "its development half" not in shown
    assert re.search(r"^Without figures .*judge\.json", shown, re.MULTILINE) is None
    assert "PIR, table 6: QA-F1" in shown
    assert "No result of it; make one: python -m evals pir" in shown
    tasks = of_sets("pir", {task: {"none": {"p_recall@5": 1.0}} for task in ("ferry", "average of tasks")})
    favour = of_sets("favour", {"perspectrum@5": {"tiny": {"support, share": 0.6}}})
    files = [saved(tmp_path, f"{r['suite']}.json", r) for r in (tasks, favour, berds)]
    assert main(["report", "--paper", *map(str, files)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Without figures for some of it: " in shown
    assert re.search(r"-unsup .* tiny – \| 60\.0 – ", shown)
    nothing_found: dict[str, Any] = {"perspectrum@5": {"tiny": {"support, share": None}}}
    favour["metrics"] = nothing_found | {"perspectrum@10": {"tiny": {"support, share": 0.6}}}
    favour["intervals"] = favour["items"] = {data: {"tiny": {}} for data in favour["metrics"]}
    assert main(["report", "--paper", str(saved(tmp_path, "favour.json", favour))]) == 0
    assert "favour.json" in capsys.readouterr().out
    assert main(["report", "--paper"]) == 0  # what there is to make
    assert capsys.readouterr().out.count("make one:") == len({one.of for one in published()[0]})
