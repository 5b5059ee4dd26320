"""Freed memory goes back to the machine."""

import os
import statistics
import sys
import threading
from pathlib import Path

import httpx
import pytest
from api_on_loopback import api
from conftest import Spawn
from server_process import resident_memory, server_process

from agent.settings import Settings

glibc = pytest.mark.skipif(
    sys.platform != "linux" or "CS_GNU_LIBC_VERSION" not in os.confstr_names, reason="glibc's allocator"
)

# Each of many threads takes and frees as services do; what is held is printed before and after the word to glibc.
THREADS = """
import os, re, sys, threading
from pathlib import Path
from tools.memory import give_back, use_few_heaps
if sys.argv[1] == "few":
    use_few_heaps()
started, gone = threading.Barrier(16), threading.Barrier(16)
kept = []
def work():
    started.wait()
    mine = [bytes(50_000) for _ in range(60)]
    kept.append(mine[::20])  # a few that live on keep the others' heap from shrinking
    gone.wait()
threads = [threading.Thread(target=work) for _ in range(16)]
[t.start() for t in threads]
[t.join() for t in threads]
def held():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
before = held()
give_back()
print(before, held())
"""


@glibc
def test_what_threads_freed_is_given_back(spawn: Spawn) -> None:
    out, err = spawn(THREADS, "few").communicate(timeout=60)
    before, after = map(float, out.split())
    assert not err
    assert after < before - 20


def test_a_server_gives_back_now_and_then(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    given = threading.Event()
    monkeypatch.setattr("tools.memory._SECONDS", 0.01)
    monkeypatch.setattr("tools.memory.give_back", given.set)
    with api(settings):
        assert given.wait(20)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("cached")
def test_a_server_does_not_grow_over_two_hundred_questions(tmp_path: Path) -> None:
    """Each is another one, so that nothing is answered from what was kept; the second hundred adds next to nothing."""
    held = []
    body = {"depth": "quick", "web": False}
    with (
        server_process(["-m", "api", "--port", "0"], str(tmp_path / "data")) as (address, process),
        httpx.Client(base_url=address, timeout=300) as client,
    ):
        for number in range(200):
            question = f"Should schools in district {number} ban smartphones?"
            client.post("/v1/ask", json=body | {"question": question}).raise_for_status()
            held.append(resident_memory(process.pid))
    first, second = statistics.median(held[80:100]), statistics.median(held[180:])
    assert first > 100
    assert second < 1.05 * first
