"""The suite 'faults': what a cell of its table says, and the short form of the whole."""

import contextlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT
from written_files import pdf

from agent.answer.model import Answer, Note
from evals.__main__ import main
from evals.benchmarks.kills_of_commands import kill_while_ingesting
from evals.benchmarks.kills_of_indexes import killed_at
from evals.benchmarks.kills_of_jobs import kill_at_jobs
from evals.benchmarks.kills_of_server import Killed, Write, kill_server
from evals.benchmarks.stored import kill, unlike
from evals.faults.doors_here import drawn, here, taken
from evals.faults.fuzz import CHUNK, Findings, chunks, fuzzed, part_of
from evals.faults.fuzz import table as fuzz_table
from evals.faults.injected import FAULTS, OWN
from evals.faults.kills import WRITERS, shares
from evals.faults.kills import table as kills_table
from evals.faults.matrix import Cell, Matrix, _answer_told, _error_told
from evals.faults.parts import KEY, PARTS
from evals.suites.faults import table
from tools.errors import InputError, ProviderError
from tools.ingest.apart import Readers

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


@pytest.mark.parametrize(
    ("fault", "stage", "told"),
    [
        ("wrong count", "write", "The model wrote nothing for 'Build them': its sources are quoted instead."),
        ("wrong count", "verify", "The model did not check all that was written: the embedded checks stood in for it."),
    ],
)
def test_a_model_that_leaves_its_work_undone_is_told(matrix: Matrix, fault: str, stage: str, told: str) -> None:
    found = matrix.cell("chat model", fault, stage)
    assert (found.ended, found.said, found.broken) == ("noted", told, "")


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
    assert broken(summary=f"{well.summary} {KEY}") == "a key is shown"


def test_what_a_good_day_notes_too_is_no_note_of_a_failure(matrix: Matrix) -> None:
    usual, new = (Note(kind="scope", text=f"scripted chose {what}.") for what in ("the usual", "what was left"))
    well = answer(matrix, notes=[usual])
    assert _answer_told(well, well, CHAT)[0] == "unharmed"
    assert "nothing tells" in _answer_told(answer(matrix, notes=[usual], coverage=[]), well, CHAT)[2]
    assert _answer_told(answer(matrix, notes=[usual, new]), well, CHAT)[0] == "noted"


def test_a_key_that_is_stored_breaks_the_rule(matrix: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evals.faults.matrix.QUESTION", f"Should towns build bridges of {KEY}?")
    cell = matrix.cell("search engine", "500", "retrieve")
    assert "a key is stored" in cell.said
    assert cell.broken


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


# Hostile inputs


def test_parts_of_the_inputs_are_all_of_them_once() -> None:
    doors = {"one": 3.0, "two": 1.0}
    whole = list(chunks(doors, 4_000, (1, 1)))
    assert sum(c.inputs for c in whole if c.door == "one") == 3_000
    parts = [list(chunks(doors, 4_000, part_of(f"{k}/3"))) for k in (1, 2, 3)]
    assert sorted(c.key for part in parts for c in part) == sorted(c.key for c in whole)
    for wrong in ("0/3", "4/3", "x", "1"):
        with pytest.raises(InputError, match="--part is K/N"):
            part_of(wrong)


def test_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    record, asked = tmp_path / "done.jsonl", []

    def door(inputs: int, seed: int) -> Findings:
        asked.append(seed)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return Findings(inputs, Counter({"fine": inputs}), ["odd"], 2)

    wanted = list(chunks({"door": 1.0}, 3 * CHUNK, (1, 1)))
    stopped = fuzzed(contextlib.nullcontext({"door": door}), wanted, 1, record)
    assert stopped["door"].inputs == CHUNK
    found = fuzzed(contextlib.nullcontext({"door": door}), wanted, 1, record)
    assert found["door"].inputs == 3 * CHUNK
    assert found["door"].wrong == ["odd"]
    assert len(asked) == 4
    assert "door               750      6  fine 750" in fuzz_table(found)


def test_all_that_is_wrong_is_counted_and_some_of_it_shown(tmp_path: Path) -> None:
    def door(inputs: int, seed: int) -> Findings:
        found = Findings(inputs)
        for n in range(inputs):
            found.went_wrong(f"{seed} {n}")
        return found

    wanted = list(chunks({"door": 1.0}, 2 * CHUNK, (1, 1)))
    record = tmp_path / "done.jsonl"
    for _ in range(2):  # measured, then as recorded
        found = fuzzed(contextlib.nullcontext({"door": door}), wanted, 1, record)
        assert found["door"].wrong_count == 2 * CHUNK
        assert len(found["door"].wrong) == 20
    earlier = {"seed": 1, "chunk": "door/0/250", "door": "door", "inputs": 250, "outcomes": {"fine": 250}}
    record.write_text(json.dumps({**earlier, "wrong": [f"{n}" for n in range(30)], "seconds": 0.1}) + "\n")
    found = fuzzed(contextlib.nullcontext({}), wanted[:1], 1, record)
    assert found["door"].wrong_count == 30
    assert "door               250     30  fine 250" in fuzz_table(found)


def test_doors_of_this_process_take_whatever_comes() -> None:
    for name, door in here().items():
        found = door(12, 3)
        assert found.inputs >= 12, name
        assert found.wrong == [], name


def test_an_exception_that_is_none_of_ours_is_wrong() -> None:
    from hypothesis import strategies as st

    def take(number: int) -> str:
        if number:
            raise ZeroDivisionError("oops")
        return "fine"

    found = drawn(st.sampled_from([0, 1]), 10, 1, take)
    assert any("ZeroDivisionError: oops for 1" in w for w in found.wrong)


# Kills


def test_what_does_not_hold_after_kills_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def writer(kills: int, folder: Path, seed: int) -> Killed:
        assert folder.is_dir()
        return Killed(["d7 is stored 2 times"] * (seed == 2), kills=kills)

    for name in set(WRITERS) - {"server"}:
        monkeypatch.delitem(WRITERS, name)
    monkeypatch.setitem(WRITERS, "server", writer)
    assert main(["faults", "--kills", "3"]) == 0
    assert main(["faults", "--kills", "3", "--seed", "2"]) == 1
    shown = kills_table({"server": writer(3, tmp_path, 2)}, {"server": 2.5})
    assert "2.5 s a kill" in shown
    assert "server: d7 is stored 2 times" in shown


def test_kills_are_divided_among_the_writers() -> None:
    assert shares(200, list(WRITERS)) == dict.fromkeys(WRITERS, 40)
    assert shares(8, ["runs", "jobs", "ingest"]) == {"runs": 3, "jobs": 3, "ingest": 2}
    with pytest.raises(InputError, match="2 or more, not 1"):
        shares(1, ["runs", "jobs"])


def test_a_writer_that_ends_by_itself_was_not_killed(tmp_path: Path) -> None:
    (tmp_path / "steelman.db").write_text("no database")
    died = killed_at(tmp_path, 1, 1.0)
    assert "ended by itself (1)" in died
    assert "Error" in died
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        assert not kill(process)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        assert kill(process)


def test_which_versions_a_document_may_have() -> None:
    first, second = Write(0.0, 1.0, confirmed=True), Write(2.0, 3.0, confirmed=True)
    beside, refused, open_yet = Write(0.5, 2.5), Write(0.5, 1.5), Write(0.5)
    killed = Killed(sent={"d1": [first, second, beside, refused, open_yet], "d2": [refused]})
    assert killed.allowed("d1") == [1, 2, 4]
    assert killed.allowed("d2") == [0]


def test_what_is_not_as_it_was_stored_is_told() -> None:
    wanted = {"d1": ["one"], "d2": ["two"], "d3": ["three"], "d4": ["four"]}
    found = unlike([("d1", "one"), ("d1", "one"), ("d2", "another"), ("d5", "five")], wanted, {"d4"})
    assert found == [
        "document d3 is lost",
        "document d1 is stored 2 times",
        "document d2 is 'another'",
        "document d5 is 'five'",
    ]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_server_loses_nothing(tmp_path: Path) -> None:
    killed = kill_server(2, tmp_path, 1)
    assert killed.violations == []
    assert killed.kills == 2


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_server_ends_the_jobs_that_it_confirmed(tmp_path: Path) -> None:
    report = kill_at_jobs(2, tmp_path, 1)
    assert report.violations == []
    assert report.kills == 2
    assert report.jobs


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_ingest_loses_nothing(tmp_path: Path) -> None:
    report = kill_while_ingesting(2, tmp_path, 1)
    assert report.violations == []
    assert report.kills == 2


def test_a_fuzzed_file_that_harms_its_reader_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    readers = Readers("planted_readers", at_once=1)
    monkeypatch.setattr("tools.ingest.apart.FILES", readers)
    for harm in ("odd", "recurse", "segfault", "allocate"):
        (tmp_path / f"{harm}.txt").write_text(harm)
        with pytest.raises(AssertionError, match=rf"its reader failed: {harm}\.txt"):
            taken(tmp_path / f"{harm}.txt")
    (tmp_path / "a.pdf").write_bytes(pdf("Schools should ban phones."))
    (tmp_path / "b.pdf").write_bytes(b"nothing of the kind")
    assert [taken(tmp_path / f"{name}.pdf") for name in "ab"] == ["documents", "problem"]
    readers.close()
