"""Data files and records of the evals: errors name file, line and field; a stopped run loses nothing."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evals.__main__ import SUITES, main
from evals.datasets.rows import json_rows
from evals.metrics.measure import mean
from evals.reports.paper import published
from evals.reports.records import Records, header, read_records
from evals.suite import ask_in_parts
from tools.errors import InputError, ProviderReplyError

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


def test_records_resume_after_a_kill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.jsonl"
    with Records(path, "judge", CONFIG) as records:
        records.add("a", {"score": 0.5})
        records.add("b", {"failed": "no answer"})
    path.write_text(path.read_text() + '{"key": "c", "sco')  # killed here
    with Records(path, "judge", CONFIG) as records:
        assert set(records.done) == {"a"}, "what failed is asked again"
        assert "line 4 is incomplete" in capsys.readouterr().err
        records.add("c", {"score": 1.0})
        records.add("b", {"failed": "no answer yet"})
    with Records(path, "judge", CONFIG) as records:
        records.add("b", {"score": 0.0})
    with Records(path, "judge", CONFIG) as records:
        assert set(records.done) == {"a", "b", "c"}
    found, rows = read_records(path)
    assert [(r["key"], r["score"]) for r in rows] == [("a", 0.5), ("c", 1.0), ("b", 0.0)]
    assert found["config"] == CONFIG
    assert found["prompts"] == header("judge", CONFIG)["prompts"]


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


@dataclass(frozen=True)
class Asked:
    key: str


def test_replies_are_kept_and_an_interrupted_batch_is_repeated_whole(tmp_path: Path) -> None:
    items, heard = [Asked(key) for key in "abcde"], list[str]()

    def ask(part: Sequence[Asked]) -> list[dict[str, object]]:
        heard.append("".join(item.key for item in part))
        if "e" in heard[-1]:
            raise ProviderReplyError("no JSON")
        return [{"said": item.key.upper()} for item in part]

    path = tmp_path / "r.jsonl"
    with Records(path, "judge", CONFIG) as kept:
        kept.add("a", {"said": "old"})
        found = ask_in_parts(items, ask, kept, size=2)
    assert heard == ["ab", "cd", "e"]
    assert found[0]["said"] == "old"
    assert [r.get("said") or r["failed"] for r in found[1:]] == ["B", "C", "D", "no JSON"]
    with Records(path, "judge", CONFIG) as kept:
        assert ask_in_parts(items, ask, kept, size=2) == found
    assert heard[3:] == ["e"], "only what failed is asked again"
    with pytest.raises(ProviderReplyError):  # nothing of use was heard yet
        ask_in_parts(items[4:], ask, Records(None, "judge", CONFIG))


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
    assert "--json" in capsys.readouterr().out or suite.startswith("judge-")


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


def test_without_a_result_each_table_names_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--paper"]) == 0
    assert capsys.readouterr().out.count("make one: python -m evals") == len({one.of for one in published()[0]})
    assert main(["report", "--paper", "--json"]) == 2
