"""The suite 'faults': what a cell of its table says, and the short form of the whole."""

import json
from pathlib import Path

import pytest

from agent.answer.model import Answer, Note
from evals.__main__ import main
from evals.faults.injected import FAULTS, OWN
from evals.faults.matrix import Cell, Matrix, _answer_told, _error_told
from evals.faults.parts import KEY, PARTS
from evals.suites.faults import table
from tools.errors import ProviderError

CHAT = PARTS["chat model"]


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return Matrix(tmp_path_factory.mktemp("faults"), deadline=20.0)


def test_every_cell_of_the_search_engine_and_what_a_row_says(matrix: Matrix) -> None:
    cells = matrix.cells_of("search engine")
    assert set(cells) == {(fault, stage) for fault in FAULTS for stage in ("retrieve", "requery")}
    found = [matrix.cell("search engine", fault, "retrieve") for fault in ("500", "wrong count")]
    assert [(c.ended, c.broken) for c in found] == [("noted", ""), ("unharmed", "")]
    assert "Tavily failed (status 500" in found[0].said
    shown = table(found)
    assert "500" in shown
    assert "2 runs, 0 against the rule" in shown


def test_a_fault_that_is_not_met_breaks_the_rule(matrix: Matrix) -> None:
    assert matrix.cell("search engine", "500", "nowhere").broken == "the part was not asked at this stage"


def answer(matrix: Matrix, **changes: object) -> Answer:
    return matrix.well("search engine").answer.model_copy(update=changes)


def test_what_breaks_the_rule(matrix: Matrix) -> None:
    well = answer(matrix, notes=[])
    noted = Note(kind="degraded", text="scripted failed.")

    def broken(**changes: object) -> str:
        return _answer_told(answer(matrix, **{"notes": [], **changes}), well, CHAT)[2]

    assert broken() == ""
    assert broken(coverage=[], notes=[noted]) == ""
    assert "nothing tells" in broken(coverage=[])
    assert "nothing tells" in broken(providers=well.providers | {"judge": "another"})
    assert "Nothing" in broken(outcome="nothing_found", summary="Nothing was found.", notes=[noted])
    assert broken(notes=[Note(kind="degraded", text=f"scripted: {KEY}")]) == "a key is shown"


def test_which_errors_are_clear() -> None:
    assert _error_told(ProviderError("the judge failed. Mend it."))[2] == ""
    assert _error_told(ProviderError("one\ntwo"))[2]
    assert _error_told(ValueError("oops"))[2]
    assert _error_told(TimeoutError())[2] == "the run did not end"
    assert _error_told(ProviderError(KEY))[2]


def test_the_table_tells_what_broke() -> None:
    cells = [Cell("judge", "hang", "judge", "noted", 3.0, "slow", "ended 9.0 s past its deadline")]
    assert "BROKEN 3.0" in table(cells)
    assert "1 runs, 1 against the rule\njudge, hang, judge: ended 9.0 s past its deadline. slow" in table(cells)


def test_what_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults", "--parts", "teapot"]) == 1
    assert "there is no 'teapot'" in capsys.readouterr().err


def test_own_faults_have_a_name() -> None:
    assert set(OWN) <= set(FAULTS)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_short_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults", "--quick", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["broken"] == 0
    assert found["cells"] >= 36
