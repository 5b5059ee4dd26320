"""Whether the owner of a run is alive: by its process on this machine, by its heartbeat elsewhere."""

import os
import signal
import time

import pytest
from conftest import Spawn

from agent.runs import owners
from agent.runs.owners import is_alive, new_owner

HOUR = 3600.0


def test_this_process_is_alive_though_the_clock_was_set_back() -> None:
    assert is_alive(new_owner(), time.time(), 10)
    assert is_alive(new_owner(), time.time() + HOUR, 10)
    assert not is_alive(new_owner(), time.time() - 11, 10)  # it hangs
    assert not is_alive(None, None, 10)
    assert new_owner() != new_owner()


@pytest.mark.parametrize("reaped", [True, False])
@pytest.mark.parametrize("ahead", [0.0, HOUR, -HOUR])
def test_a_killed_process_is_gone_at_once_whatever_the_clock_says(spawn: Spawn, reaped: bool, ahead: float) -> None:
    code = "import sys; from agent.runs.owners import new_owner; print(new_owner(), flush=True); sys.stdin.read()"
    process = spawn(code)
    assert process.stdout is not None
    owner = process.stdout.readline().strip()
    assert is_alive(owner, time.time(), 10)
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    if reaped:
        process.wait()
    assert not is_alive(owner, time.time() + ahead, 10)


def test_a_later_process_of_the_same_id_is_another() -> None:
    assert not is_alive(f"{new_owner()}0", time.time(), 10)


@pytest.mark.parametrize("owner", ["host:12:abcdef", "deletion:abc", "somebody", "host:x:y:elsewhere/1:22"])
def test_whoever_cannot_be_looked_for_is_judged_by_the_heartbeat(owner: str) -> None:
    assert is_alive(owner, time.time(), 10)
    assert is_alive(owner, time.time() + 5, 10)  # clocks differ a little
    assert not is_alive(owner, time.time() - 11, 10)
    assert not is_alive(owner, time.time() + HOUR, 10)


def test_where_processes_cannot_be_told_apart_the_heartbeat_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "_machine", lambda: "")
    owner = new_owner()
    assert is_alive(owner, time.time(), 10)
    assert not is_alive(owner, time.time() + HOUR, 10)
