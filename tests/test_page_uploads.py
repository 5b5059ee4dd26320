"""Uploads of the page whose process was killed, is closed, or leaves them to workers."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing

import pytest
from conftest import ROOT
from providers import build
from sqlalchemy import func, select, update
from test_ui import page  # noqa: F401  # a fixture

from agent.runs.job_table import MOST_TRIES, JobRow, JobTable
from agent.runs.jobs import Jobs
from agent.runs.service import Runs
from agent.settings import Settings
from tools.errors import InputError
from tools.store.database import Database
from tools.store.schema import job_files, jobs
from ui.service import PageService, close_service, open_service, reopen

LETTER = "Our town should sell the old pier, since repairs cost more each year than the fees bring in."
_KILLED = """
import os, signal, sys, time
from functools import partial
sys.path.insert(0, "tests")
from providers import build
from agent.runs import bootstrap, service
from ui.service import PageService
service.Runs, bootstrap.index_samples = partial(service.Runs, build=build()), lambda *_: None
files = [("letter.txt", {letter!r}.encode()), ("notes.md", b"# Notes")]
service = PageService().of({person!r})
if {stored}:  # dies when the files are in the database and not yet counted
    from tools.store.hybrid import HybridSearch
    HybridSearch.refresh = lambda _: service.store.documents(service.named("mine")) and os.kill(os.getpid(), 9)
service.upload(files, [], "mine")
time.sleep({stored} * 60)
os.kill(os.getpid(), signal.SIGKILL)
"""

pytestmark = pytest.mark.usefixtures("page")


def killed(settings: Settings, person: str = "", tries: int = 1, *, stored: bool = False) -> None:
    """A page that was killed while it, or the tries-th one, worked on an upload; long enough ago. stored: just after
    the files were stored."""
    code = _KILLED.format(person=person, letter=LETTER, stored=stored)
    told = {"PATH": os.environ["PATH"], "STEELMAN_DATA_DIR": str(settings.data_dir)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=told, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    with closing(Database(settings.database)) as database, database.write() as db:
        assert db.execute(update(jobs).values(status="running", owner="gone", heartbeat=0, tries=tries)).rowcount == 1


def ended(service: PageService) -> JobRow:
    until = time.monotonic() + 30
    while (upload := service.latest_upload()) is None or not upload.state.ended or upload.owner:
        assert time.monotonic() < until
        time.sleep(0.02)
    return upload


def numbers(upload: JobRow) -> tuple[int, int]:
    report = upload.state.result
    assert report
    return report.stored, report.unchanged


def letters(count: int) -> list[tuple[str, bytes]]:
    return [(f"{n}.txt", f"{LETTER} {n}".encode()) for n in range(count)]


def files_kept(settings: Settings) -> int:
    with closing(Database(settings.database)) as database:
        return int(database.rows(select(func.count()).select_from(job_files))[0][0])


@pytest.mark.slow
@pytest.mark.parametrize("stored", [False, True])
def test_an_upload_of_a_killed_page_is_finished(settings: Settings, stored: bool) -> None:
    killed(settings, "ann", stored=stored)
    ann = open_service().of("ann")
    upload = ended(ann)
    assert (upload.state.failure, numbers(upload), upload.state.collection) == (None, (2, 0), ann.named("mine"))
    assert files_kept(settings) == 0
    assert upload.state.result.passages == 2
    assert [row.shown_id for row in ann.store.documents(ann.named("mine"), 9)] == ["letter.txt", "notes.md"]
    assert open_service().latest_upload() is None  # nobody else's


def test_an_upload_that_ends_each_page_is_given_up_and_said_to_be(
    settings: Settings,
    page: Callable[..., object],  # noqa: F811
) -> None:
    killed(settings, tries=MOST_TRIES)
    upload = ended(open_service())
    assert upload.state.failure
    assert "processes ended while they worked on this upload" in upload.state.failure.error
    assert (numbers(upload), files_kept(settings)) == ((0, 0), 0)


@pytest.mark.slow
def test_a_page_that_is_closed_leaves_the_rest_to_the_next_one(settings: Settings) -> None:
    open_service().upload(letters(40), [], "mine")
    close_service()
    assert files_kept(settings) == 40
    upload = ended(open_service())
    assert (upload.state.failure, numbers(upload)) == (None, (40, 0))
    assert files_kept(settings) == 0


async def test_a_worker_takes_what_the_page_leaves(settings: Settings) -> None:
    service = PageService(settings.model_copy(update={"workers": True}))
    try:
        ann = service.of("ann")
        ann.upload(letters(3), [], "mine")
        with pytest.raises(InputError, match="an upload is going on"):
            ann.upload(letters(1), [], "mine")
        waiting = ann.latest_upload()
        assert waiting
        assert waiting.state.status == "queued"
        async with Runs(settings, build(), role="worker") as runs, Jobs(runs).running():
            assert numbers(await asyncio.to_thread(ended, ann)) == (3, 0)
        assert service.latest_upload() is None
        assert len(ann.store.documents(ann.named("mine"), 9)) == 3
    finally:
        service.close()


def test_a_table_waits_for_the_choice_of_its_text(settings: Settings) -> None:
    service = open_service()
    row = LETTER.replace(",", "")
    table = f"date,uno,due\n2026-01-02,{row},So we say. {row}\n2026-01-03,No. {row},We agree. {row}\n".encode()
    service.upload([("letter.txt", LETTER.encode()), ("letters.csv", table)], [], "mine")
    first = ended(service)
    assert first.state.result
    assert ([*first.state.result.unsure], numbers(first), files_kept(settings)) == (["letters.csv"], (1, 0), 1)
    service.read_again(first, {"letters.csv": ["due"]})
    second = ended(service)
    assert second.state.result
    assert (second.state.result.unsure, numbers(second), files_kept(settings)) == ({}, (2, 0), 0)
    service.upload([("letters.csv", table)], [], "mine")
    assert (ended(service).id, files_kept(settings)) != (second.id, 0)
    service.upload(letters(1), [], "mine")  # nobody chose: the table goes
    ended(service)
    assert files_kept(settings) == 0


def test_a_program_without_a_key_sees_no_upload_of_the_page(settings: Settings) -> None:
    service = open_service()
    service.upload(letters(1), [], "mine")
    upload = ended(service)
    with closing(Database(settings.database)) as database:
        assert JobTable(database).find("", upload.id) is None


@pytest.mark.slow
def test_other_settings_keep_what_was_deleted_and_how_far_an_upload_is(settings: Settings) -> None:
    service = open_service()
    asked = service.start("Should towns build bridges?")
    while not service.rows.get(asked).answer:
        time.sleep(0.05)
    service.remove_thread(asked)
    service.upload([("a.txt", LETTER.encode()), ("b.pdf", b"no pdf")], [], "mine")
    ended(service)
    reopen(settings)
    service = open_service()
    told = ended(service)
    assert told.state.result
    assert (told.state.result.stored, len(told.state.result.problems)) == (1, 1)
    service.threads.set_removed(asked, None)  # Undo
    assert [thread.id for thread in service.threads.latest(9)] == [asked]
    bob = service.of("bob")
    bob.upload(letters(40), [], "mine")
    reopen(settings)
    upload = ended(bob)  # a page that was drawn before sees the end, though nobody opens another
    assert (upload.state.failure, numbers(upload)) == (None, (40, 0))
