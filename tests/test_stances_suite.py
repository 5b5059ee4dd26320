"""`python -m evals stances`: what is measured, by hand; the gold file; a run over the files and judges there are."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from evals.__main__ import main
from evals.suites.stances import STANCES, Item, measured, read_items
from tools.inference.judges.judge import Pair

PAIR = Pair("Ferries are better than bridges.", "A ferry can be moved.", "Bridges are better than ferries.")


def item(number: int, kind: str, label: int) -> Item:
    return Item(str(number), kind, "dev", PAIR, label)


def test_labels_sides_and_exchanged_sides() -> None:
    items = [item(1, "irony", 0), item(2, "irony", 1), item(3, "wish", 2), item(4, "wish", 0)]
    asked = np.array([[0.9, 0.1], [0.6, 0.5], [0.1, 0.2], [0.3, 0.2]], np.float32)
    turned = np.array([[0.8, 0.1], [0.2, 0.7], [0.9, 0.1], [0.3, 0.1]], np.float32)
    found = {name: (ratio.value, ratio.total) for name, ratio in measured(items, asked, turned, 0.5).items()}
    assert found == {
        "label": (0.5, 4),  # the first and the third; the last is taken for neither
        "side": (pytest.approx(2 / 3), 3),
        "exchanged": (pytest.approx(2 / 3), 3),  # of the second, another side when asked the other way
        "label irony": (0.5, 2),
        "side irony": (0.5, 2),
        "label wish": (0.5, 2),
        "side wish": (1, 1),
    }


def test_the_gold_texts_are_forty_a_kind_in_even_halves() -> None:
    items = read_items(STANCES)
    assert set(Counter(i.kind for i in items).values()) == {40}
    assert set(Counter((i.kind, i.half) for i in items).values()) == {20}
    assert len({i.pair.text for i in items}) == len(items) == 440
    assert all(i.pair.statement != i.pair.contrary for i in items)


def test_who_looks_at_nothing_says_neither(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stances", "--judge", "no", "--half", "last", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    last = [i for i in read_items(STANCES) if i.half == "last"]
    neither = sum(i.label == 2 for i in last) / len(last)
    assert told["metrics"]["label"]["value"] == pytest.approx(neither)
    assert told["config"] == {"judge": "all-no", "half": "last", "threshold": 0.5, "data": STANCES.name}
    assert main(["stances", "--judge", "no"]) == 0
    assert "comparison" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "value"), [("label", "for"), ("half", "first")])
def test_an_unknown_word_is_named_with_its_line(
    name: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"kind": "wish", "half": "dev", "statement": "A.", "contrary": "B.", "text": "C.", "label": "neither"}
    path = tmp_path / "texts.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps(row | {name: value}) + "\n")
    assert main(["stances", "--judge", "no", "--data", str(path)]) == 1
    assert f"'{name}' is '{value}'" in capsys.readouterr().err


def test_a_half_without_texts_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text("")
    assert main(["stances", "--judge", "no", "--data", str(path)]) == 1
    assert "no text of the half 'dev'" in capsys.readouterr().err
