"""Data files, records and intervals of the evals: what is wrong is said with file, line and field; nothing is lost."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from evals.datasets.rows import Row, Shape, Text, json_rows
from evals.metrics.measure import Figure, mean
from evals.reports.records import Records, header, read_records
from evals.suite import ask_in_parts
from tools.errors import InputError, ProviderReplyError

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
        ("[1]\n", r"line 1: an object is needed"),
        ('{"a": 1}\n\xff\xfe', r"line 2: cannot be read"),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=rf"bad\.jsonl {says}"):
        list(json_rows(path))


class Boat(Shape):
    name: Text
    ports: tuple[Text, ...] = ()


def test_a_line_is_read_as_a_shape(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", {"name": 7, "ports": None, "more": 1}, {"name": " "}, {"ports": ["x", 3.5, []]})
    whole, blank, wrong = json_rows(path)
    assert whole.read(Boat) == Boat(name="7")
    with pytest.raises(InputError, match=r"a\.jsonl line 2: 'name': it is empty"):
        blank.read(Boat)
    with pytest.raises(InputError, match=r"a\.jsonl line 3: 'name': Field required"):
        wrong.read(Boat)
    with pytest.raises(InputError, match="'ports' item 3: Input should be a valid string"):
        Row(path, 4, wrong.values | {"name": "x"}).read(Boat)
    with pytest.raises(InputError, match="line 2: 'name' is missing, or no text"):
        blank.text("name")


# Records


def test_records_go_on_after_a_kill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.jsonl"
    with Records(path, "judge", CONFIG) as records:
        records.add("a", {"score": 0.5})
        records.add("b", {"failed": "no answer"})
    path.write_text(path.read_text() + '{"key": "c", "sco')  # killed here
    with Records(path, "judge", CONFIG) as records:
        assert set(records.done) == {"a"}, "what failed is asked again"
        assert "line 4 was cut off" in capsys.readouterr().err
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


@pytest.mark.parametrize(("record", "says"), [({"score": 1}, "'key' is missing"), ({"key": "a"}, "'key' is 'a'")])
def test_a_record_without_a_key_of_its_own_is_named(tmp_path: Path, record: dict[str, object], says: str) -> None:
    path = lines(tmp_path / "r.jsonl", header("judge", CONFIG), {"key": "a"}, record)
    with pytest.raises(InputError, match=rf"r\.jsonl line 3: {says}"):
        read_records(path)


# Intervals


def of(values: Sequence[float], groups: Sequence[str] = ()) -> tuple[float, float]:
    return mean(values, groups or [str(i) for i in range(len(values))]).interval()


def test_the_interval_of_a_mean_is_that_of_theory() -> None:
    values = list(np.random.default_rng(0).normal(0, 1, 400))
    low, high = of(values)
    assert np.mean(values) - low == pytest.approx(1.96 / 20, rel=0.15)
    assert high - np.mean(values) == pytest.approx(1.96 / 20, rel=0.15)
    assert of(values) == (low, high)  # seeded


def test_questions_are_drawn_whole() -> None:
    """Ten questions whose four items are alike hold no more than ten items do."""
    values = [float(i % 2) for i in range(10)]
    alike = of([v for v in values for _ in range(4)], [str(i) for i in range(10) for _ in range(4)])
    assert alike == of(values)
    apart = of([v for v in values for _ in range(4)])
    assert apart[1] - apart[0] < 0.7 * (alike[1] - alike[0])


def test_rounds_in_which_nothing_is_defined_are_left_out() -> None:
    assert of([1.0, np.nan, np.nan]) == (1.0, 1.0)
    assert np.isnan(Figure(lambda _: float("nan"), [0, 1]).interval()).all()
    assert np.isnan(of([])).all()
    assert np.isnan(mean([], []).value)


# Asking in parts


@dataclass(frozen=True)
class Asked:
    key: str


def test_what_is_answered_is_kept_and_a_part_that_was_cut_is_asked_whole(tmp_path: Path) -> None:
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
