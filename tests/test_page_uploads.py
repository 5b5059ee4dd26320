"""Uploads of the page whose process was killed, is closed, or is still at work."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT
from test_ui import page  # noqa: F401  # a fixture

from agent.settings import Settings
from ui.service import close_service, open_service, reopen
from ui.uploads import Sent, Upload, _keep, _lock_of, folder_of

LETTER = "Our town should sell the old pier, since repairs cost more each year than the fees bring in."
_KILLED = """
import os, signal, sys
from functools import partial
sys.path.insert(0, "tests")
from providers import build
from agent.runs import bootstrap, service
from ui.service import PageService
service.Runs, bootstrap.index_samples = partial(service.Runs, build=build()), lambda *_: None
uploads = PageService().of({person!r}).uploads
uploads.begin([("letter.txt", {letter!r}.encode()), ("notes.md", b"# Notes")], [], "mine")
os.kill(os.getpid(), signal.SIGKILL)
"""

pytestmark = pytest.mark.usefixtures("page")


def killed(settings: Settings, person: str = "") -> Path:
    code = _KILLED.format(person=person, letter=LETTER)
    told = {"PATH": os.environ["PATH"], "STEELMAN_DATA_DIR": str(settings.data_dir)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=told, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    [folder] = folder_of(settings).iterdir()
    return folder


def ended(upload: Upload | None) -> Upload:
    until = time.monotonic() + 30
    while upload is None or not upload.ended:
        assert time.monotonic() < until
        time.sleep(0.02)
    return upload


def test_an_upload_of_a_killed_page_is_finished(settings: Settings) -> None:
    folder = killed(settings, "ann")
    assert {f.name for f in folder.iterdir()} == {"0.txt", "1.md", "lock", "upload.json"}
    assert [f.stat().st_mode & 0o77 for f in (folder.parent, folder)] == [0, 0]
    ann = open_service().of("ann")
    upload = ended(ann.uploads.latest)
    assert (upload.error, upload.report.stored, upload.collection) == (None, 2, ann.named("mine"))
    assert list(folder_of(settings).iterdir()) == []
    assert [row.shown_id for row in ann.store.documents(ann.named("mine"), 9)] == ["letter.txt", "notes.md"]
    assert open_service().uploads.latest is None  # nobody else's


def test_an_upload_that_ends_each_page_is_given_up_and_said_to_be(
    settings: Settings,
    page: Callable[..., object],  # noqa: F811
) -> None:
    folder = killed(settings)
    _keep(folder, Sent.model_validate_json((folder / "upload.json").read_bytes()).model_copy(update={"tries": 3}))
    upload = ended(open_service().uploads.latest)
    assert "interrupted three times" in str(upload.error)
    assert upload.report.stored == 0
    assert not folder.exists()


def test_half_an_upload_is_removed_and_one_at_work_stays(settings: Settings) -> None:
    half, at_work = (folder_of(settings) / name for name in ("half", "at-work"))
    for folder in (half, at_work):
        folder.mkdir(parents=True)
        (folder / "0.txt").write_text(LETTER)
    _keep(at_work, Sent(person="", collection="mine", files=["letter.txt"], addresses=[]))
    with _lock_of(at_work):
        assert open_service().uploads.latest is None
        assert [f.name for f in folder_of(settings).iterdir()] == ["at-work"]


def test_a_page_that_is_closed_leaves_the_rest_to_the_next_one(settings: Settings) -> None:
    open_service().uploads.begin([(f"{n}.txt", f"{LETTER} {n}".encode()) for n in range(40)], [], "mine")
    close_service()
    assert len(list(folder_of(settings).iterdir())) == 1
    upload = ended(open_service().uploads.latest)
    assert (upload.error, upload.report.stored + upload.report.unchanged) == (None, 40)
    assert list(folder_of(settings).iterdir()) == []


def test_other_settings_keep_what_was_deleted_and_how_far_an_upload_is(settings: Settings) -> None:
    service = open_service()
    asked = service.start("Should towns build bridges?")
    while not service.rows.get(asked).answer:
        time.sleep(0.05)
    service.remove_thread(asked)
    ended(service.uploads.begin([("a.txt", LETTER.encode()), ("b.pdf", b"no pdf")], [], "mine"))
    ended(service.of("ann").uploads.begin([(f"{n}.txt", f"{LETTER} {n}".encode()) for n in range(40)], [], "mine"))
    reopen(settings)
    service = open_service()
    told = service.uploads.latest
    assert told is not None
    assert (told.report.stored, len(told.report.problems)) == (1, 1)
    service.threads.set_removed(asked, None)  # Undo
    assert [thread.id for thread in service.threads.latest(9)] == [asked]
    bob = service.of("bob")
    bob.uploads.begin([(f"{n}.txt", f"{LETTER} {n}".encode()) for n in range(40)], [], "mine")
    reopen(settings)
    upload = ended(open_service().of("bob").uploads.latest)
    assert (upload.error, upload.report.stored, upload.report.unchanged) == (None, 40, 0)
