"""The lock of the data directory, over real processes."""

import time
from pathlib import Path

import pytest
from conftest import Spawn, hear

from tools.errors import StoreBusyError
from tools.store.index_sync import index_lock

HOLD = """
import sys
from pathlib import Path
from tools.store.index_sync import index_lock
with index_lock(Path(sys.argv[1]), exclusive=sys.argv[2] == "write", timeout=5):
    print("held", flush=True)
    sys.stdin.readline()
print("let go", flush=True)
"""


@pytest.mark.parametrize(("held", "wanted"), [("write", False), ("write", True), ("read", True)])
def test_a_writer_excludes(tmp_path: Path, spawn: Spawn, held: str, wanted: bool) -> None:
    assert hear(spawn(HOLD, tmp_path / "lock", held)) == "held"
    begun = time.monotonic()
    with (
        pytest.raises(
            StoreBusyError, match=r"was locked by another process for \d+ s. Wait for it to end.*nothing is lost"
        ),
        index_lock(tmp_path / "lock", exclusive=wanted, timeout=0.2),
    ):
        pass
    assert time.monotonic() - begun >= 0.2


READ_ON = """
import sys, threading
from pathlib import Path
from tools.store.index_sync import index_lock
def read():
    while not (Path(sys.argv[1]) / "stop").exists():
        with index_lock(Path(sys.argv[1]) / "lock", exclusive=False, timeout=20):
            (Path(sys.argv[1]) / "read").touch()
threads = [threading.Thread(target=read) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_readers_that_never_pause_do_not_keep_a_writer_out(tmp_path: Path, spawn: Spawn) -> None:
    readers = spawn(READ_ON, tmp_path)
    while not (tmp_path / "read").exists():
        time.sleep(0.01)
    for _ in range(5):
        with index_lock(tmp_path / "lock", exclusive=True, timeout=10):
            pass
    (tmp_path / "stop").touch()
    assert readers.wait(20) == 0
