"""Files of strangers are read in a process of its own: whatever happens to it is one problem of one file."""

import logging
import os
import re
import resource
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT, Spawn, hear

from tools.documents.sandbox import ReaderLimits, ReaderPool, ReadingCancelledError, read_in_process, stop_readers
from tools.errors import ReaderFailedError, SourceError
from tools.passages import SourceDocument

LIMITS = ReaderLimits(
    seconds=1.0, megabytes=512, output=1 << 20, more_time="Ask for more time.", more_memory="Ask for more memory."
)


@pytest.fixture(scope="module")
def readers() -> Iterator[ReaderPool]:
    with pytest.MonkeyPatch.context() as patched:
        made = ReaderPool("tests.planted_readers", at_once=2)
        patched.setattr("tools.documents.sandbox.FILE_READERS", made)
        yield made
        stop_readers()
        for process in (made._turns.get_nowait() for _ in range(2)):
            if process is not None:
                process.end()


def read(folder: Path, words: str, limits: ReaderLimits = LIMITS) -> list[SourceDocument]:
    path = folder / f"{words}.txt"
    path.write_text(words)
    return list(read_in_process(path, path.name, limits=limits))


def reader_of(folder: Path) -> int:
    """The number of the process that reads."""
    return int(read(folder, "plain")[1].text.split()[1])


ENDINGS = {
    "segfault": r"damaged.*512 MB.*SIGSEGV.*Split it.*Ask for more memory",
    "exit": r"damaged.*status 3",
    "spin": r"takes too long to read \(over 1 seconds\)\. Split it.*Ask for more time",
    "sleep": r"takes too long",
    "allocate": r"unpacks to more than the 512 MB.*Split it.*Ask for more memory",
    "recurse": r"reader failed unexpectedly \(RecursionError\)",
    "forge": r"damaged",
    "garbage": r"damaged",
    "flood": r"more text than one file may have",
    "odd": r"reader failed unexpectedly \(TypeError\)",
}


@pytest.mark.parametrize("harm", ENDINGS)
def test_harm_to_a_reader_is_one_problem(readers: ReaderPool, tmp_path: Path, harm: str) -> None:
    limits = {"sleep": replace(LIMITS, seconds=0.1), "allocate": replace(LIMITS, seconds=60.0)}.get(harm, LIMITS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(SourceError, match=rf"^{harm}\.txt: .*{ENDINGS[harm]}"):
        read(tmp_path, harm, limits)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB
    assert [d.text.split()[0] for d in read(tmp_path, "plain")] == ["plain", "plain"]


def test_a_reader_that_fails_reads_the_next_file(
    readers: ReaderPool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = reader_of(tmp_path)
    for words in ("odd", "recurse"):
        caplog.clear()
        with pytest.raises(ReaderFailedError, match="Please report"):
            read(tmp_path, words)
        [record] = caplog.records
        assert (record.levelno, "Traceback" in record.getMessage()) == (logging.ERROR, True)
    assert reader_of(tmp_path) == before


def test_a_reader_that_keeps_much_of_a_file_reads_no_other(readers: ReaderPool, tmp_path: Path) -> None:
    kept = int(read(tmp_path, "keep")[1].text.split()[1])
    assert reader_of(tmp_path) != kept  # with less memory than its limit says, the next file would not be read


def test_a_reader_knows_no_key_of_a_service(
    readers: ReaderPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_readers()
    named = set(re.findall(r"^# ?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    for name in named | {"AWS_SECRET_ACCESS_KEY"}:
        monkeypatch.setenv(name, "secret")
    known = Path(f"/proc/{reader_of(tmp_path)}/environ").read_text()
    assert "OPENAI_API_KEY" in named
    assert "PATH=" in known
    assert "secret" not in known


def test_a_reader_imports_nothing_of_strangers(
    readers: ReaderPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_readers()
    for name in ("json.py", "sitecustomize.py", "tools.py"):
        (tmp_path / name).write_text("raise SystemExit('a stranger')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert reader_of(tmp_path)


def test_a_reader_that_does_not_start_is_a_problem_of_the_file(readers: ReaderPool, tmp_path: Path) -> None:
    stop_readers()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    (tmp_path / "plain.txt").write_text("plain")
    reading = read_in_process(tmp_path / "plain.txt", "plain.txt")
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(SourceError, match=r"^plain\.txt: .*does not start \(Too many open files\).*Try again"):
            next(reading)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(read(tmp_path, "plain")) == 2


def test_a_reading_that_nobody_waits_for_neither_goes_on_nor_begins(readers: ReaderPool, tmp_path: Path) -> None:
    gone, ended = threading.Event(), []
    (tmp_path / "sleep.txt").write_text("sleep")
    number = reader_of(tmp_path)

    def wait() -> None:
        try:
            list(read_in_process(tmp_path / "sleep.txt", "sleep.txt", is_cancelled=gone.is_set))
        except ReadingCancelledError:
            ended.append(True)

    threads = [threading.Thread(target=wait) for _ in range(5)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    gone.set()
    for thread in threads:
        thread.join(20)
    assert len(ended) == 5
    assert not Path(f"/proc/{number}").exists()
    assert len(read(tmp_path, "plain")) == 2


def test_readers_are_stopped_once(readers: ReaderPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    number, killed, kill = reader_of(tmp_path), list[int](), os.killpg

    def heard(group: int, sign: int) -> None:
        killed.append(group)
        kill(group, sign)

    monkeypatch.setattr(os, "killpg", heard)
    stop_readers()
    stop_readers()
    assert killed.count(number) == 1
    assert not Path(f"/proc/{number}").exists()


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_readers_end_with_their_parent(tmp_path: Path, spawn: Spawn, sign: signal.Signals) -> None:
    (tmp_path / "sleep.txt").write_text("sleep")
    (tmp_path / "plain.txt").write_text("plain")
    code = """
import sys
from pathlib import Path
from tools.documents import sandbox
sandbox.FILE_READERS = sandbox.ReaderPool("tests.planted_readers", at_once=2)
print(list(sandbox.read_in_process(Path(sys.argv[1]) / "plain.txt", "a"))[1].text.split()[1], flush=True)
for document in sandbox.read_in_process(Path(sys.argv[1]) / "sleep.txt", "b"):
    print(document.text, flush=True)
"""
    parent = spawn(code, tmp_path)
    number, begun = hear(parent), hear(parent)
    assert (begun, Path(f"/proc/{number}").exists()) == ("sleep", True)
    assert os.getpgid(int(number)) != os.getpgid(parent.pid)  # so that Ctrl-C does not reach it
    parent.send_signal(sign)
    assert parent.wait(20) != 0
    end = time.monotonic() + 20
    while Path(f"/proc/{number}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{number}").exists()
