"""Data files, records and intervals of the evals: what is wrong is said with file, line and field; nothing is lost."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from evals.datasets.rows import json_rows, tsv_rows
from evals.metrics.bootstrap import interval, mean_interval
from evals.reports.records import Records, Shape, header, prompt_hashes, read_records
from tools.errors import InputError

CONFIG = {"seed": 1, "sets": ["a"]}


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(r + "\n" if isinstance(r, str) else json.dumps(r) + "\n" for r in rows))
    return path


# Rows


def test_rows_of_plain_and_packed_files(tmp_path: Path) -> None:
    plain = lines(tmp_path / "a.jsonl", {"id": 1}, "", {"id": "b"})
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for path in (plain, packed):
        assert [(r.number, r.text("id")) for r in json_rows(path)] == [(1, "1"), (3, "b")]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"a": 1}\n{"a": ', r"line 2: no JSON .* cut off"),
        ('{"a": 1}\n{"a": \n{}\n', r"line 2: no JSON"),
        ("[1]\n", r"line 1: an object is needed, not a list"),
        ('{"a": 1}\n\xff\xfe', r"line 2: cannot be read"),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=rf"bad\.jsonl {says}"):
        list(json_rows(path))


def test_a_file_that_is_no_archive_and_one_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_text("plain")
    with pytest.raises(InputError, match="line 1: cannot be read"):
        list(json_rows(path))
    with pytest.raises(InputError, match=r"none\.jsonl cannot be opened"):
        list(json_rows(tmp_path / "none.jsonl"))


def test_fields_are_asked_for_by_name(tmp_path: Path) -> None:
    row = next(json_rows(lines(tmp_path / "a.jsonl", {"t": " ", "n": [1], "l": [], "p": [{"s": "x"}, 3]})))
    assert row.text("t", "else") == "else"
    assert row.part("p", 0, row.items("p")[0]).text("s") == "x"
    for ask, says in (
        (lambda: row.text("gone"), "line 1: 'gone' is missing"),
        (lambda: row.text("t"), "'t' is empty"),
        (lambda: row.text("n"), "'n' has to be text, not a list"),
        (lambda: row.items("l"), "'l' is empty"),
        (lambda: row.items("t"), "'t' has to be a list"),
        (lambda: row.part("p", 1, row.items("p")[1]), "'p' item 2 has to be an object, not a number"),
        (lambda: row.part("p", 0, {"s": "x"}).text("q"), "line 1: 'p' item 1: 'q' is missing"),
    ):
        with pytest.raises(InputError, match=says):
            ask()


def test_columns_by_position(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('q\t"a ""b""\nc"\t1\nq2\n')
    rows = tsv_rows(path, ["question", "text", "label"])
    assert next(rows).values == {"question": "q", "text": 'a "b"\nc', "label": "1"}
    with pytest.raises(InputError, match="line 3: 'text' is missing: 1 columns"):
        next(rows)


# Records


def test_records_go_on_after_a_kill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.jsonl"
    with Records(path, "judge", CONFIG) as records:
        records.add("a", {"score": 0.5})
        records.add("b", {"failed": "no answer"})
    path.write_text(path.read_text() + '{"key": "c", "sco')  # killed here
    with Records(path, "judge", CONFIG) as records:
        assert set(records.done) == {"a", "b"}
        assert "line 4 was cut off" in capsys.readouterr().err
        records.add("c", {"score": 1.0})
    found, rows = read_records(path)
    assert [r["key"] for r in rows] == ["a", "b", "c"]
    assert found["config"] == CONFIG
    assert found["prompts"] == prompt_hashes()
    assert found["versions"]["numpy"] == np.__version__


@pytest.mark.parametrize(
    ("suite", "config", "says"),
    [
        ("answers", CONFIG, "of the suite 'judge'"),
        ("judge", CONFIG | {"seed": 2}, "another config: seed was 1 and is 2"),
        ("judge", {"seed": 1}, r"sets was \['a'\] and is None"),
    ],
)
def test_records_of_something_else_are_left_alone(
    tmp_path: Path, suite: str, config: dict[str, object], says: str
) -> None:
    path = tmp_path / "r.jsonl"
    with Records(path, "judge", CONFIG) as records:
        records.add("a", {})
    before = path.read_bytes()
    with pytest.raises(InputError, match=says):
        Records(path, suite, config)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["notes of mine", "notes\nwithout an end", '{"key": "a"}\n', ""])
def test_a_file_that_holds_no_records_is_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)
    if not content:  # an empty file is one to begin
        with Records(path, "judge", CONFIG):
            pass
        assert read_records(path)[1] == []
        return
    with pytest.raises(InputError, match=r"notes\.txt"):
        Records(path, "judge", CONFIG)
    assert path.read_text() == content


def test_a_record_without_its_key_is_named(tmp_path: Path) -> None:
    path = lines(tmp_path / "r.jsonl", header("judge", CONFIG), {"key": "a"}, {"score": 1})
    with pytest.raises(InputError, match=r"r\.jsonl line 3: 'key' is missing"):
        read_records(path)


def test_a_record_of_another_shape_is_named(tmp_path: Path) -> None:
    shape = Shape(always={"set": (str,)}, whole={"ids": (list,), "sure": (bool,)})
    good, failed = {"key": "a", "set": "s", "ids": [], "sure": True}, {"key": "b", "set": "s", "failed": "no answer"}
    path = lines(tmp_path / "r.jsonl", header("judge", CONFIG), good, failed)
    assert len(read_records(path, shape)[1]) == 2
    for wrong, said in (
        ({"key": "c", "ids": [], "sure": True}, "'set' is missing"),
        ({"key": "c", "set": "s", "sure": True}, "'ids' is missing"),
        ({"key": "c", "set": "s", "ids": "p1", "sure": True}, "'ids' has to be a list, not text"),
        ({"key": "c", "set": "s", "ids": [], "sure": 1}, "'sure' has to be true or false, not a number"),
        ({"key": "c", "set": True, "ids": [], "sure": True}, "'set' has to be text, not true or false"),
        (good, "'key' is 'a', as in line 2 already"),
    ):
        lines(path, header("judge", CONFIG), good, failed, wrong)
        before = path.read_bytes()
        with pytest.raises(InputError, match=rf"r\.jsonl line 4: {said}"):
            Records(path, "judge", CONFIG, shape)
        assert path.read_bytes() == before


def test_a_folder_is_no_file_of_records(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read .* Name another file"):
        Records(tmp_path, "judge", CONFIG)


def test_a_header_that_a_kill_cut_off_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"records": 1, "suite": "jud')
    with Records(path, "judge", CONFIG) as records:
        records.add("a", {})
    assert read_records(path)[0]["config"] == CONFIG


def test_a_key_comes_once(tmp_path: Path) -> None:
    with Records(tmp_path / "r.jsonl", "judge", CONFIG) as records:
        records.add("a", {})
        with pytest.raises(InputError, match="holds 'a' already"):
            records.add("a", {})


def test_without_a_path_records_are_held_in_memory(tmp_path: Path) -> None:
    with Records(None, "judge", CONFIG) as records:
        records.add("1", {"score": 0.5})
        with pytest.raises(InputError, match="holds '1' already"):
            records.add("1", {"score": 0.5})
    assert records.done == {"1": {"key": "1", "score": 0.5}}
    assert not list(tmp_path.iterdir())


# Intervals


def test_an_interval_of_what_never_changes_is_a_point() -> None:
    assert mean_interval([0.25] * 10) == (0.25, 0.25)


def test_the_interval_of_a_mean_is_that_of_theory() -> None:
    values = np.random.default_rng(0).normal(0, 1, 400)
    low, high = mean_interval(values)
    assert values.mean() - low == pytest.approx(1.96 / 20, rel=0.15)
    assert high - values.mean() == pytest.approx(1.96 / 20, rel=0.15)
    assert mean_interval(values) == (low, high)  # seeded


def test_questions_are_drawn_whole() -> None:
    """Ten questions whose four items are alike hold no more than ten items do."""
    values = [float(i % 2) for i in range(10)]
    alike = mean_interval([v for v in values for _ in range(4)], [i for i in range(10) for _ in range(4)])
    assert alike == mean_interval(values)
    apart = mean_interval([v for v in values for _ in range(4)])
    assert apart[1] - apart[0] < 0.7 * (alike[1] - alike[0])


def test_rounds_in_which_nothing_is_defined_are_left_out() -> None:
    values = np.array([1.0, np.nan, np.nan])
    first = interval(lambda chosen: float(np.nanmean(values[chosen])) if 0 in chosen else float("nan"), [0, 1, 2])
    assert first == (1.0, 1.0)
    assert np.isnan(interval(lambda _: float("nan"), [0, 1])).all()
    assert np.isnan(mean_interval([])).all()
