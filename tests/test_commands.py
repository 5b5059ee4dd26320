"""The command line: what it prints where, its exit status, and one line for everything that the user did wrong."""

import io
import json
import logging
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from agent_fixtures import QUESTION
from conftest import Spawn
from providers import build
from sqlalchemy import delete

from agent.__main__ import BAD_INPUT, FAILED, INTERRUPTED, NOTHING_FOUND, OK, main
from agent.answer.model import Answer
from agent.runs import service as session
from agent.runs.service import Runs
from agent.runs.store import RunStore
from agent.settings import Settings
from tools.store.database import Database
from tools.store.schema import passages

Cli = Callable[..., "tuple[int, str, str]"]


@pytest.fixture
def cli(
    settings: Settings, shared_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Cli:
    """Runs a command in this process, over instant providers; returns status, output and error output."""
    monkeypatch.setattr(session, "Runs", partial(Runs, build=build()))
    monkeypatch.setattr(
        "agent.runs.bootstrap.index_samples", lambda *_: None
    )  # the instant collection stands in for them
    (settings.data_dir / "cache").symlink_to(shared_cache)
    # A server that another test had in this process leaves a handler, which would tell all once more.
    handlers = [handler for handler in logging.root.handlers if type(handler) is not logging.StreamHandler]
    monkeypatch.setattr(logging.root, "handlers", handlers)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(list(arguments))
        return status, *capsys.readouterr()

    return run


LAUNCHER = """
import sys, time
from functools import partial
from agent.__main__ import main
from agent.runs import service as session, bootstrap
from agent.runs.service import Runs
from providers import build

def before(query):
    if sys.argv[1] in query:
        time.sleep(6)  # the caller has to see the search and send its signal by then

session.Runs = partial(Runs, build=build(before_search=before))
bootstrap.index_samples = lambda *_: None
sys.exit(main(sys.argv[2:]))
"""


def one_line(error: str) -> bool:
    return error.startswith("steelman: ") and error.count("\n") == 1 and "Traceback" not in error


# Asking


def test_ask_prints_the_answer_and_nothing_else_when_nobody_watches(cli: Cli) -> None:
    status, out, err = cli("ask", QUESTION)
    assert (status, err) == (OK, "")
    assert out.splitlines()[0] == QUESTION
    assert "\x1b" not in out


def test_ask_exits_with_three_when_nothing_was_found(cli: Cli, settings: Settings) -> None:
    database = Database(settings.database)
    with database.write() as db:
        db.execute(delete(passages))
    database.close()
    status, out, _ = cli("ask", QUESTION)
    assert status == NOTHING_FOUND
    assert "Nothing on this was found" in out
    assert "The nearest questions that the samples answer:" in out


def test_a_finished_run_is_shown_again(cli: Cli) -> None:
    _, out, _ = cli("ask", QUESTION, "--json")
    run_id = json.loads(out)["run_id"]
    assert cli("ask", "--resume", run_id, "--json")[1] == out
    assert f"{run_id}  " in cli("runs")[1]


BAD = {
    "no domain": ["ask", QUESTION, "--only", "not a domain"],
    "a domain and no web": ["ask", QUESTION, "--only", "gov.uk", "--no-web"],
    "empty": ["ask", ""],
    "too long": ["ask", "x" * 4001],
    "control characters": ["ask", "Should \x07 schools ban phones?"],
    "greeting": ["ask", "Hello there!"],
    "question and resume": ["ask", QUESTION, "--resume", "abc"],
    "no text": ["ask", "Should \udcff schools?"],
    "unknown collection": ["ask", QUESTION, "--collection", "shelf"],
    "unknown run": ["ask", "--resume", "zzz"],
    "bad ending": ["ask", QUESTION, "--out", "answer.pdf"],
    "missing folder": ["ask", QUESTION, "--out", "missing/answer.md"],
    "missing batch": ["batch", "missing.jsonl", "--out", "out.jsonl"],
    "unknown delete": ["delete", "shelf"],
    "missing path": ["ingest", "missing.txt"],
    "no runs": ["runs", "--limit", "0"],
}


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line_and_status_two(
    cli: Cli, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = cli(*arguments)
    assert (status, out) == (BAD_INPUT, "")
    assert one_line(err)
    assert "\x1b" not in err


# Batch


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def write_questions(path: Path, *questions: str) -> str:
    path.write_text("".join(json.dumps({"question": q}, ensure_ascii=False) + "\n" for q in questions))
    return str(path)


def test_batch_answers_goes_on_and_asks_failed_lines_again(cli: Cli, tmp_path: Path) -> None:
    questions = write_questions(tmp_path / "q.jsonl", "Should  towns build bridges?", "Are bridges good?\u2028", "???")
    out = tmp_path / "a.jsonl"
    status, _, err = cli("batch", questions, "--out", str(out))
    assert status == FAILED
    assert "2 answered, 1 failed, 0 were there already" in err
    assert sorted("error" in row for row in lines(out)) == [False, False, True]
    out.write_text(out.read_text() + '{"schema_version": "1.0", "quest')  # as a kill leaves it
    status, _, err = cli("batch", questions, "--out", str(out))
    assert "0 answered, 1 failed, 2 were there already" in err
    assert len(lines(out)) == 3
    fewer = write_questions(tmp_path / "q.jsonl", "Should towns build bridges?", "Are bridges good?")
    status, _, err = cli("batch", fewer, "--out", str(out))
    assert status == OK
    assert "0 answered, 0 failed, 2 were there already" in err
    assert {Answer.model_validate(row).question for row in lines(out)} == {
        "Should towns build bridges?",
        "Are bridges good?",
    }


def test_batch_never_overwrites_what_it_did_not_write(cli: Cli, tmp_path: Path) -> None:
    questions = write_questions(tmp_path / "q.jsonl", QUESTION)
    before = Path(questions).read_bytes()
    for out in (questions, str(tmp_path), str(tmp_path / "missing" / "a.jsonl")):
        status, _, err = cli("batch", questions, "--out", out)
        assert status == BAD_INPUT
        assert one_line(err)
    assert cli("batch", questions, "--out", str(tmp_path / "a.jsonl"), "--parallel", "0")[0] == BAD_INPUT
    assert Path(questions).read_bytes() == before


# Chat, and what is stored


def test_chat_answers_follows_up_and_survives_a_bad_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys, "stdin", io.StringIO(f"{QUESTION}\n\n???\nWhat about the cost?\n/only 1\nnew\nShould ferries run?\n")
    )
    status, out, err = cli("chat")
    assert status == OK
    assert one_line(err)
    assert "Claims that cite source [1]\n  • " in out
    assert [line for line in out.splitlines() if line.endswith("?")] == [
        QUESTION,
        "What about the cost?",
        f"Follows up on: {QUESTION}",
        "Should ferries run?",
    ]


def test_documents_come_are_listed_and_go(cli: Cli, tmp_path: Path) -> None:
    about = "---\ntitle: Ferries\nauthor: A. Moen\ndate: 2025-03-14\n---\n"
    (tmp_path / "note.md").write_text(f"{about}Ferries leave room for ships. They ask for patience.\n")
    (tmp_path / "broken.pdf").write_bytes(b"no pdf")
    status, out, err = cli("ingest", str(tmp_path / "note.md"), str(tmp_path / "broken.pdf"))
    assert status == FAILED
    assert out.startswith("1 document stored (1 passage), 0 unchanged")
    assert "broken.pdf" in err
    assert "mine: 1 document, 1 passage," in cli("collections")[1]
    listed = "note.md (1 passages) Ferries, by A. Moen, 14 March 2025\n"
    assert listed in cli("collections", "mine")[1]
    assert cli("delete", "mine", "nothing")[0] == BAD_INPUT
    assert cli("delete", "mine", str(tmp_path / "note.md"))[1] == "1 passages removed.\n"
    assert cli("delete", "mine")[1] == "0 passages removed.\n"
    assert cli("rebuild")[0] == OK


def test_sync_follows_a_changed_folder(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("old", "new"):
        (notes / f"{name}.txt").write_text(f"Ferries of the {name} kind ask for patience.")
    (notes / ".draft.txt").write_text("Not meant.")
    assert "hidden files (1)" in cli("ingest", str(notes))[1]
    (notes / "old.txt").unlink()
    (notes / "bad.pdf").write_bytes(b"no pdf")
    status, _, err = cli("ingest", str(notes), "--sync")
    assert (status, "old.txt" in err, "--yes" in err) == (BAD_INPUT, True, True)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "n")
    assert "0 documents removed" in cli("ingest", str(notes), "--sync")[1]
    monkeypatch.setattr("builtins.input", lambda _: "y")
    _, out, err = cli("ingest", str(notes), "--sync")
    assert ["1 document removed" in out, "1 unchanged" in out, err.count("not read: ")] == [True, True, 1]
    assert cli("collections", "mine")[1].count("passages)") == 1


def test_sync_removes_rows_that_are_gone(cli: Cli, tmp_path: Path) -> None:
    rows, note = tmp_path / "rows.csv", tmp_path / "note.txt"
    rows.write_text("id,text\n1,Ferries ask for patience.\n2,Bridges hurry people over the river.\n")
    note.write_text("Ferries leave room for ships.")
    cli("ingest", str(tmp_path))
    rows.write_text("id,text\n1,Ferries ask for patience.\n")
    note.write_text("")
    assert "2 documents removed" in cli("ingest", str(tmp_path), "--sync", "--yes")[1]
    assert cli("collections", "mine")[1].count("passages)") == 1


def test_the_text_column_is_asked_for(cli: Cli, tmp_path: Path) -> None:
    survey = tmp_path / "the survey.csv"
    survey.write_text("nr,for,against\n1,Ferries leave room for ships.,Ferries ask for patience.\n")
    status, _, err = cli("ingest", str(survey), "--collection", "tables")
    typed = f"Type: python -m agent ingest '{survey}' --collection tables --text for ('for,against' takes both.)\n"
    assert (status, err.endswith(typed)) == (FAILED, True)
    status, out, _ = cli("ingest", str(survey), "--text", "against", "--text", "for")
    assert (status, out.startswith("1 document stored")) == (OK, True)


def test_an_emptied_folder_does_not_delete_its_documents(cli: Cli, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    note = disk / "note.txt"
    note.write_text("Ferries ask for patience.")
    cli("ingest", str(disk))
    note.unlink()
    status, _, err = cli("ingest", str(disk), "--sync", "--yes")
    assert (status, "holds no file any more" in err) == (BAD_INPUT, True)
    assert "note.txt" in cli("collections", "mine")[1]


def test_a_file_that_cannot_be_read_this_time_keeps_its_documents(cli: Cli, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("id,text\n1,Ferries ask for patience.\n2,Bridges hurry people over the river.\n")
    cli("ingest", str(tmp_path))
    rows.write_text("id,text\n1,Ferries ask for patience.\n3,too,many,cells\n")
    status, out, err = cli("ingest", str(tmp_path), "--sync", "--yes")
    assert (status, "0 documents removed" in out, "not to their end: 1 document" in err) == (FAILED, True, True)


def as_an_older_version_left_it(data: Path) -> None:
    """The store with the schema of before, its documents made by older readers."""
    with closing(sqlite3.connect(data / "steelman.db")) as db, db:
        for table in ("corrections", "job_files", "jobs", "api_rates", "alembic_version"):
            db.execute(f"DROP TABLE {table}")
        for name in ("venue", "extent"):
            db.execute(f"ALTER TABLE web_documents DROP COLUMN {name}")
        db.execute("PRAGMA user_version = 4")
        db.execute("UPDATE documents SET content_hash = 'older', readers = 1")


def test_what_an_older_version_read_is_read_again(cli: Cli, tmp_path: Path) -> None:
    note, rows = tmp_path / "Café.md", tmp_path / "rows.csv"
    note.write_text("Ferries ==ask== for patience. ^a1")
    rows.write_text("text\nBridges hurry people over the river.\nQ7\n")
    gone = tmp_path / "gone.txt"
    gone.write_text("Boats leave at noon.")
    cli("ingest", str(tmp_path), "--collection", "own")
    gone.unlink()
    rows.write_text("text\nBridges hurry people over the river.\n")
    as_an_older_version_left_it(Path(os.environ["STEELMAN_DATA_DIR"]))
    status, out, _ = cli("ingest", str(tmp_path), "--sync", "--yes", "--collection", "own")
    assert (status, "2 documents stored" in out, "2 of them in place" in out) == (OK, True, True)
    assert "2 documents removed" in out
    listed = cli("collections", "own")[1]
    assert [name in listed for name in ("Café.md", "row 1", "row 2", "gone.txt")] == [True, True, False, False]
    assert cli("ingest")[0] == BAD_INPUT


# As processes


def searching(settings: Settings) -> str:
    """Waits until a run searches for its sides; returns its id."""
    store = RunStore(Database(settings.database))
    for _ in range(400):
        for row in store.latest(1):
            if any(e.kind == "searching" for e in store.events(row.id, 0)):
                return row.id
        time.sleep(0.05)
    raise AssertionError("no run searches")


def test_ctrl_c_says_how_to_go_on_and_that_works(cli: Cli, spawn: Spawn, settings: Settings) -> None:
    process = spawn(LAUNCHER, "should not", "ask", QUESTION)
    run_id = searching(settings)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == INTERRUPTED
    assert (out, "Traceback" in err) == ("", False)
    command = re.search(r"python -m agent (ask --resume \w+)", err)
    assert command is not None
    assert command[1].endswith(run_id)
    status, shown, _ = cli(*command[1].split())
    assert status == OK
    assert shown.startswith(QUESTION)


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_command_needs_no_open_streams(closed: str) -> None:
    command = [sys.executable, "-m", "agent", "collections"]
    assert subprocess.run(["bash", "-c", f'"$0" "$@" {closed}', *command], check=False).returncode == 0


@pytest.mark.slow
def test_a_closed_pipe_ends_the_command_in_silence(spawn: Spawn, settings: Settings) -> None:
    process = spawn(LAUNCHER, "nowhere", "ask", QUESTION)
    assert process.stdout is not None
    process.stdout.close()  # as `head` does
    process.wait(20)
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.returncode == 128 + signal.SIGPIPE
    process.stdout = None


def test_a_mistake_and_a_refusal_of_the_system_are_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for raised, says in ((TypeError("odd"), "TypeError: odd"), (OSError(28, "No space left", "x.db"), "(x.db)")):

        def breaks(_: object, raised: Exception = raised) -> int:
            raise raised

        monkeypatch.setattr("agent.commands.housekeeping.runs", breaks)
        status, out, err = cli("runs")
        assert (status, out) == (FAILED, "")
        assert one_line(err)
        assert says in err


@pytest.mark.parametrize("beside", ["--no-web", "--sources=news", "--only=a.example", "--collection=mine"])
def test_given_pages_and_other_places_exclude_each_other(cli: Cli, beside: str) -> None:
    status, _, said = cli("ask", QUESTION, "--url", "https://a.example/1", beside)
    assert (status, said) == (
        BAD_INPUT,
        "steelman: --url reads only that page: leave out --no-web, --only, --sources and --collection.\n",
    )
