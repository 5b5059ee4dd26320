"""Ingest on Ray: a real cluster stores the same as one process, also after a worker or the command is killed."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from sqlalchemy import func, select
from toys import House, ToyEncoder

from agent.__main__ import main
from tools.documents.document import InputFile
from tools.documents.ingest import IngestReport
from tools.documents.ray_cluster import Worker
from tools.store.database import Database, from_float16
from tools.store.schema import documents, passages, vectors
from tools.store.store import PreparedDocument

WITHOUT = importlib.util.find_spec("ray") is None
with_ray = pytest.mark.skipif(WITHOUT, reason="needs the extra 'ray'")
EXAMPLES = ROOT / "evals" / "gold" / "ingest"
LARGEST = 12_000  # bytes of an example; larger ones only take longer


def rows_file(path: Path, rows: int) -> Path:
    path.write_text(
        "".join(json.dumps({"id": f"r{n}", "text": f"Row {n} of {path.name}."}) + "\n" for n in range(rows))
    )
    return path


def input_file(path: Path) -> InputFile:
    return InputFile(path, path.name, str(path))


# Without a cluster


@pytest.mark.parametrize("address", ["here", "localhost", "http://127.0.0.1:1", "ray://", "127.0.0.1:port"])
def test_an_address_that_is_none(tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows_file(tmp_path / "rows.jsonl", 1)
    assert main(["ingest", str(tmp_path), "--ray", address]) == 2
    assert "--ray is auto, local, HOST:PORT or ray://HOST:PORT" in capsys.readouterr().err


@pytest.mark.skipif(not WITHOUT, reason="the extra is installed")
def test_without_the_extra(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows_file(tmp_path / "rows.jsonl", 1)
    assert main(["ingest", str(tmp_path), "--ray", "local"]) == 2
    assert re.search(r"needs the extra 'ray'.*pip install 'ray\[client\]", capsys.readouterr().err)


def test_a_worker_that_starts_again_makes_each_part_once(tmp_path: Path) -> None:
    files = [input_file(rows_file(tmp_path / f"{n}.jsonl", 400)) for n in range(2)]
    (tmp_path / "broken.pdf").write_text("text")
    work = [*files, input_file(tmp_path / "broken.pdf")]

    def parts(next_worker: Callable[[Worker], Worker]) -> list[Any]:
        worker, made = Worker(ToyEncoder), list[Any]()
        while not made or isinstance(made[-1], list):
            made.append(worker.part(0, work, {}, len(made)))
            worker = next_worker(worker)
        return made

    whole, restarted = parts(lambda same: same), parts(lambda _: Worker(ToyEncoder))
    assert [len(part) for part in whole[:-1]] == [256, 256, 256, 32]
    assert restarted[-1] == whole[-1]
    assert restarted[-1].problems == ["broken.pdf: this is not a PDF, despite its ending. Correct the ending."]

    def names(made: list[Any]) -> list[str]:
        return [each.source.identity for part in made[:-1] for each in part]

    assert names(restarted) == names(whole)
    assert len(set(names(whole))) == 800
    assert all(np.array_equal(a.vectors, b.vectors) for a, b in zip(whole[3], restarted[3], strict=True))


def test_a_worker_skips_what_is_stored(tmp_path: Path) -> None:
    file, house = input_file(rows_file(tmp_path / "rows.jsonl", 5)), House(tmp_path / "data")
    house.ingest_files([file.origin], "c")
    known = house.ingester.known("c")
    report = Worker(ToyEncoder).part(0, [file], known, 0)
    assert isinstance(report, IngestReport)
    assert (report.unchanged, len(report.seen)) == (5, 5)
    rows_file(Path(file.path), 6)
    made = Worker(ToyEncoder).part(0, [file], known, 0)
    assert isinstance(made, list)
    assert [(type(each), each.replaces) for each in made] == [(PreparedDocument, False)]


# With a real one


class Place:
    """A data folder for each way to ingest a folder of files."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, folder / "files"
        self.files.mkdir()

    def start(self, name: str, *options: str) -> "subprocess.Popen[str]":
        """An ingest in a session of its own, as a terminal's."""
        command = [sys.executable, "-m", "agent", "ingest", str(self.files), *options]
        environment = os.environ | {"STEELMAN_DATA_DIR": str(self.folder / name)}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, **pipes)  # type: ignore[call-overload,no-any-return]

    def whole(self, name: str, *options: str) -> tuple[int, str, str]:
        process = self.start(name, *options)
        out, err = process.communicate()
        return process.returncode, out, err

    def count(self, name: str) -> int:
        with suppress(Exception), closing(Database(self.folder / name / "steelman.db")) as database:
            return int(database.rows(select(func.count()).select_from(documents))[0][0])
        return 0  # not made yet

    def stored(self, name: str) -> tuple[dict[str, Any], dict[tuple[str, int], Any]]:
        """Documents by identity, and passages with their vectors by document and position; each once."""
        with closing(Database(self.folder / name / "steelman.db")) as database:
            kept = database.rows(select(documents))
            joined = passages.join(documents).join(vectors)
            found = database.rows(select(documents.c.external_id, passages, vectors.c.vector).select_from(joined))
        texts = {row.external_id: (row.content_hash, row.title, row.language, row.origin) for row in kept}
        cut = {(row.external_id, row.position): row for row in found}
        assert (len(texts), len(cut)) == (len(kept), len(found))
        return texts, cut


def assert_same(place: Place, name: str, other: str) -> None:
    (texts, cut), (texts_of_other, cut_of_other) = place.stored(name), place.stored(other)
    assert texts == texts_of_other
    assert cut.keys() == cut_of_other.keys()
    for key, row in cut.items():
        same = cut_of_other[key]
        assert (row.text, row.section, row.form, row.page) == (same.text, same.section, same.form, same.page)
        assert from_float16(row.vector) @ from_float16(same.vector) > 0.999


def wait(until: Callable[[], Any], seconds: float = 300.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := until()):
        assert time.monotonic() < end
        time.sleep(0.2)
    return found


def session(number: int) -> dict[int, str]:
    """The names of a session's processes."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getsid(int(folder.name)) == number and "\nState:\tZ" not in (folder / "status").read_text():
                found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
    return found


def listened(number: int) -> set[str]:
    """The local addresses, in hexadecimal, at which a session's processes listen."""
    sockets = set()
    for pid in session(number):
        with suppress(OSError):
            sockets |= {str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir()}
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return {line[1].partition(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets}


@with_ray
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_same_as_one_process(tmp_path: Path) -> None:
    place = Place(tmp_path)
    for file in EXAMPLES.iterdir():
        if ".expected." not in file.name and file.is_file() and file.stat().st_size < LARGEST:
            shutil.copy(file, place.files)
    for n in range(260):
        (place.files / f"{n}.{('txt', 'md', 'html')[n % 3]}").write_text(f"Letter {n} praises the harbour of town {n}.")
    rows_file(place.files / "rows.jsonl", 300)
    (place.files / "broken.pdf").write_text("text")
    (place.files / "twice.csv").write_text("id,text\na,Owls wait.\nb,Moths fly.\na,Larks rise.\n")
    plain, ray = place.whole("plain"), place.whole("ray", "--ray", "local")
    assert place.count("plain") > 580
    assert len(list(place.files.iterdir())) >= 290
    assert plain == ray
    assert ray[0] == 1
    assert "broken.pdf: this is not a PDF" in ray[2]
    assert "already has the id 'a'" in ray[2]
    assert_same(place, "ray", "plain")
    assert (
        f"0 documents stored (0 passages), {place.count('plain')} unchanged" in place.whole("ray", "--ray", "local")[1]
    )


@with_ray
@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_nothing_is_lost_or_comes_twice(tmp_path: Path) -> None:
    """Ctrl-C, then a killed command, then a killed worker."""
    place = Place(tmp_path)
    for n in range(16):
        rows_file(place.files / f"rows{n}.jsonl", 100)
    assert place.whole("plain")[0] == 0

    def begun() -> "subprocess.Popen[str]":
        before, process = place.count("ray"), place.start("ray", "--ray", "local")
        wait(lambda: place.count("ray") > before or process.poll() is not None)
        assert process.poll() is None
        return process

    def gone(process: "subprocess.Popen[str]") -> None:
        """Nobody of the session is left, and all was not yet stored."""
        wait(lambda: not session(process.pid))
        assert 0 < place.count("ray") < 1600

    stopped = begun()
    assert listened(stopped.pid) <= {"0100007F", "0000000000000000FFFF00000100007F", "0" * 24 + "01000000"}
    assert listened(stopped.pid)
    os.killpg(stopped.pid, signal.SIGINT)
    said, trouble = stopped.communicate()
    assert (said, trouble.endswith("\nStopped.\n")) == ("", True), trouble  # Ray may add lines of its own before
    assert stopped.returncode == 130
    gone(stopped)

    killed = begun()
    killed.kill()
    killed.communicate()
    gone(killed)

    last, before = place.start("ray", "--ray", "local"), place.count("ray")
    at_work = wait(lambda: [pid for pid, name in session(last.pid).items() if name.startswith("ray::Worker.part")])
    os.kill(at_work[0], signal.SIGKILL)
    out, err = last.communicate()
    assert last.returncode == 0, err
    assert f"{1600 - before:,} documents stored" in out
    assert_same(place, "ray", "plain")
