"""Data files and records of the evals: errors name file, line and field; a stopped run loses nothing."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evals.__main__ import SUITES, main
from evals.datasets.rows import json_rows
from evals.metrics.measure import mean
from evals.reports.paper import beside, published
from evals.reports.records import Records, header
from evals.reports.results import measured
from evals.suites.report import compared
from tools.errors import InputError

CONFIG = {"seed": 1, "sets": ["a"]}


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(r + "\n" if isinstance(r, str) else json.dumps(r) + "\n" for r in rows))
    return path


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"a": 1}\n{"a": ', r"line 2: no JSON .* cut off"),
        ("[1]\n", r"line 1: each line must be an object"),
        ('{"a": 1}\n\xff\xfe', r"line 2: cannot be read"),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=rf"bad\.jsonl {says}"):
        list(json_rows(path))


def test_records_resume_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Records(path, "judge", CONFIG) as records:
        records.add("a", {"score": 0.5})
        records.add("b", {"failed": "no answer"})
    path.write_text(path.read_text() + '{"key": "c", "sco')  # killed here
    with Records(path, "judge", CONFIG) as records:
        assert set(records.done) == {"a"}, "what failed is asked again"
        records.add("c", {"score": 1.0})
        records.add("b", {"failed": "no answer yet"})
    with Records(path, "judge", CONFIG) as records:
        records.add("b", {"score": 0.0})
    with Records(path, "judge", CONFIG) as records:
        assert set(records.done) == {"a", "b", "c"}
        assert [(r["key"], r["score"]) for r in records.done.values()] == [("a", 0.5), ("b", 0.0), ("c", 1.0)]
    found = next(json_rows(path)).values
    assert (found["config"], found["prompts"]) == (CONFIG, header("judge", CONFIG)["prompts"])


def test_records_of_another_run_stay_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Records(path, "judge", CONFIG) as records:
        records.add("a", {})
    before = path.read_bytes()
    for suite, config, says in (
        ("answers", CONFIG, "of the suite 'judge'"),
        ("judge", {"seed": 1}, r"sets was \['a'\]"),
    ):
        with pytest.raises(InputError, match=says):
            Records(path, suite, config)
    assert path.read_bytes() == before


def test_records_of_a_removed_prompt_continue_and_those_of_a_changed_one_do_not(tmp_path: Path) -> None:
    path, head = tmp_path / "r.jsonl", header("judge", CONFIG)
    lines(path, head | {"prompts": head["prompts"] | {"build_question": "0123"}}, {"key": "a"})
    with Records(path, "judge", CONFIG) as records:
        assert set(records.done) == {"a"}
    lines(path, head | {"prompts": head["prompts"] | {"write": "0123"}}, {"key": "a"})
    with pytest.raises(InputError, match="write was '0123'"):
        Records(path, "judge", CONFIG)


@pytest.mark.parametrize("content", ["notes of mine", "notes\nwithout an end", '{"key": "a"}\n'])
def test_a_file_without_records_stays_unchanged(tmp_path: Path, content: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(InputError, match=r"notes\.txt"):
        Records(path, "judge", CONFIG)
    assert path.read_text() == content


def of(values: Sequence[float], groups: Sequence[str] = ()) -> tuple[float, float]:
    return mean(values, groups or [str(i) for i in range(len(values))]).interval()


def test_questions_are_drawn_whole() -> None:
    """Four equal items of a question count like one."""
    values = [float(i % 2) for i in range(10)]
    alike = of([v for v in values for _ in range(4)], [str(i) for i in range(10) for _ in range(4)])
    assert alike == of(values)
    apart = of([v for v in values for _ in range(4)])
    assert apart[1] - apart[0] < 0.7 * (alike[1] - alike[0])


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


def saved(folder: Path, name: str, result: object) -> str:
    (folder / name).write_text(json.dumps(result))
    return str(folder / name)


@pytest.mark.parametrize("suite", list(SUITES))
def test_every_suite_has_help(suite: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([suite, "--help"])
    assert ended.value.code == 0
    assert "--json" in capsys.readouterr().out or suite.startswith(("judge-", "report"))


def test_a_difference_is_paired_by_question() -> None:
    """Nine of ten questions gain one pair of two: the mean difference is 0.45."""
    evens = list(range(0, 20, 2))
    (row,) = compared(measured(judge_result(evens)), measured(judge_result([*evens, *range(1, 18, 2)])))
    draws = np.random.default_rng(1).integers(0, 10, (1000, 10))  # the same draws, by hand
    low, high = np.percentile((draws != 9).mean(axis=1) / 2, [2.5, 97.5])
    assert row[3:] == ["0.500", "0.950", f"+0.450 [{low:+.3f}, {high:+.3f}]*", "10"]


def test_report_prints_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [saved(tmp_path, f"{n}.json", judge_result(list(range(n)))) for n in (4, 12)]
    assert main(["report", *files]) == 0
    assert (
        "| judge | pairs.jsonl | embedded-judge-0123abcd | accuracy | 0.600 [0.400, 0.800] |" in capsys.readouterr().out
    )
    assert main(["report", "--compare", *files]) == 0
    assert "| accuracy | 0.200 | 0.600 | +0.400 [+0.100, +0.700]* | 10 |" in capsys.readouterr().out
    few = judge_result([*range(18)])  # nine questions: no star
    few["items"] = {"accuracy": few["items"]["accuracy"][:18]}
    assert main(["report", "--compare", files[0], saved(tmp_path, "few.json", few)]) == 0
    assert "]* |" not in capsys.readouterr().out
    assert main(["report"]) == 2
    assert "--compare OLD NEW" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["{", "[]", '{"suite": "judge"}'])
def test_a_file_that_is_no_result_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    (tmp_path / "wrong.json").write_text(content)
    assert main(["report", str(tmp_path / "wrong.json")]) == 2
    error = capsys.readouterr().err
    assert "wrong.json" in error
    assert "name another file" in error


def test_published_figures_are_consistent() -> None:
    """A wrong digit breaks F1 of P and R, or a mean over sets and tasks."""
    assert len({(one.of, one.title) for one in published()[0]}) == len(published()[0]) > 30
    for one in published()[0]:
        for name in one.rows:
            row = dict(zip((c.title for c in one.columns), one.rows[name], strict=True))
            if {"P", "R", "F1"} <= set(row):
                assert row["F1"] == pytest.approx(2 / (1 / row["P"] + 1 / row["R"]), abs=0.12), (one, name)
            for c in one.columns:
                parts = [row[o.title] for o in one.columns if o.measure == c.measure and o != c]
                if len(parts) > 2 and c.data in ("", "average of tasks"):
                    assert row[c.title] == pytest.approx(sum(parts) / len(parts), abs=0.06), (one, name)
    first = {one.of: one for one in reversed(published()[0])}
    for of, name, measure, value in (
        ("BERDS, table 4", "GPT-4 one-shot", "f1", 67.8),
        ("NEWSCOPE, table 6", "greedyplus", "all_seconds", 1.175),
    ):
        assert first[of].rows[name][[c.measure for c in first[of].columns].index(measure)] == value


def of_sets(suite: str, found: dict[str, dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """A result with these figures by data and name, each with an interval and two items."""
    metrics: dict[str, Any] = {"suite": suite, "metrics": found, "config": {"encoder": "tiny"}}
    for part, value in (("intervals", lambda v: [v, v]), ("items", lambda v: [["q1", v, 1], ["q2", v, 1]])):
        metrics[part] = {
            data: {name: {m: value(v) for m, v in of.items() if v is not None} for name, of in methods.items()}
            for data, methods in found.items()
        }
    return metrics


def row_of(lines: list[str], table: str, name: str) -> list[str]:
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
    assert row_of(lines, table, "bm25") == both * 3 + ["– / 40.00", "– / 20.00"]
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
