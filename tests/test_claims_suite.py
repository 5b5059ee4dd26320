"""The suite of written claims: its gold, who judges, and what it counts."""

import json
from collections import Counter
from pathlib import Path

import pytest

from evals.__main__ import main
from evals.suite import HALVES
from evals.suites.claims import CLAIMS, JUDGES, TRUE, check, read_claims
from tools.inference.encoders.encoder import MiniLM

PAGE = {"title": "On tolls", "publisher": "The Post", "text": "The toll pays for buses. Streets are quieter now."}


def write_gold(folder: Path) -> Path:
    claims = [
        ("true", ["p1"], "The toll pays for the buses."),
        ("negation", ["p1"], "The toll does not pay for the buses."),
        ("phantom", ["p9"], "The toll pays for the buses."),
        ("address", ["p1"], "The toll pays for the buses (www.toll.example)."),
    ]
    (folder / "pages.jsonl").write_text(json.dumps({"id": "p1", **PAGE}) + "\n")
    rows = [{"half": "dev", "kind": k, "pages": pages, "text": text} for k, pages, text in claims]
    (folder / "claims.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_the_gold_has_as_many_true_claims_as_bad_ones_of_nine_kinds_in_each_half() -> None:
    for half in HALVES:
        kinds = Counter(c.kind for c in read_claims(CLAIMS, half))
        assert kinds.pop(TRUE) == 51
        assert sorted(kinds) == sorted(
            ["number", "invented", "phantom", "wrong_source", "clause", "negation", "address", "markup", "instruction"]
        )
        assert set(kinds.values()) == {6}


def test_who_judges_decides_about_claims_that_are_like_their_pages(encoder: MiniLM, tmp_path: Path) -> None:
    found = check(list(read_claims(write_gold(tmp_path), "dev")), encoder, seed=1)
    assert list(found) == list(JUDGES)
    assert found["right"] == found["all"] == [True, False, False, False]


def test_the_suite_prints_a_table_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoder: MiniLM, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("evals.suites.claims.load_encoder", lambda _: encoder)
    command = ["claims", "--data", str(write_gold(tmp_path))]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["metrics"]["all"]
    assert (told["kept"]["value"], told["bad"]["value"], told["bad"]["over"]) == (1, 0, 3)
    assert main([*command, "--misses"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["judge", *JUDGES]
    assert main([*command, "--half", "last"]) == 1
    assert "no claims of the half 'last'" in capsys.readouterr().err
