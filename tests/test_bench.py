"""The suite `bench`: which parts it takes, and the part that runs `berds` over a web of its own."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Suite

from evals.benchmarks.berds import WORDS
from evals.suites.bench import PARTS

STAGES = {"searching the web", "reading pages", "the web by the clock", "vectors", "ranking, with vectors", "judging"}


def test_the_long_part_is_taken_by_its_name_alone(run_suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in PARTS:
        monkeypatch.setitem(PARTS, part, lambda args: {"pages": args.pages})
    assert json.loads(run_suite("bench", "--json")[1]).keys() - {"seconds", "machine"} == {"ask", "judge", "scale"}
    assert json.loads(run_suite("bench", "berds", "--pages", 7, "--json")[1])["berds"] == {"pages": 7}
    assert "no part 'all'. There are: ask, judge, scale, berds." in run_suite("bench", "all")[2]


@pytest.mark.timeout(300)
def test_berds_is_timed_over_a_web_that_is_asked_once(
    run_suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    assert "numbers from 1" in run_suite("bench", "berds", "--questions", 0)[2]

    def bench() -> Any:
        status, out, error = run_suite("bench", "berds", "--questions", 2, "--pages", 11, "--data", "kept", "--json")
        assert status == 0, error
        return json.loads(out)["berds"]

    found = bench()
    first, second, anew = (found[step] for step in ("first", "second", "bm25_judged_anew"))
    assert first["stages"].keys() == STAGES
    assert (first["read"], first["unread"], first["requests"]) == (22, 0, 22 + 2 * 2)  # ten results an answer
    assert second["requests"] == anew["requests"] == 0
    assert "reading pages" not in second["stages"]
    assert anew["stages"]["judging"] > second["stages"]["judging"] == 0.0
    assert first["seconds"] > 0 < first["processor_seconds"]
    kept = [json.loads(file.read_text()) for file in (tmp_path / "kept" / "pages").iterdir()]
    texts = [page["text"] for corpus in kept for page in corpus["pages"]]
    assert len(set(texts)) == 22
    assert min(len(text.split()) for text in texts) >= WORDS
    assert all(side in "".join(texts) for side in ("Companions should come", "Combinations should come"))
    assert "first" not in bench()  # the folder is measured as it is
    (tmp_path / "file").touch()
    status, _, error = run_suite("bench", "berds", "--questions", 1, "--pages", 1, "--data", "file")
    assert (status, "stands above" in error) == (2, True)
