"""Who works on a run: a process that other processes can tell to be alive or gone.

The name of an owner says where its process is, so that a process of this machine is looked for itself. Owners on other
machines, and where processes cannot be told apart, are judged by their heartbeat alone.
"""

import os
import socket
import time
import uuid
from functools import cache
from pathlib import Path

_PARTS = 5


def new_owner() -> str:
    """A name for this process, another one each time: host:process:random:machine:began."""
    return ":".join((socket.gethostname(), str(os.getpid()), uuid.uuid4().hex[:6], _machine(), _began(os.getpid())))


def is_alive(owner: str | None, heartbeat: float | None, patience: float) -> bool:
    """Whether the owner still works, as far as can be told here.

    `heartbeat` is when it was last heard of, by the clock of its machine; `patience`: the seconds after which silence
    means that it is gone. A heartbeat in the future, as where the clock was set back, says nothing: then only a process
    that is found on this machine counts as alive.
    """
    if owner is None or heartbeat is None:
        return False
    age = time.time() - heartbeat
    parts = owner.rsplit(":", _PARTS - 1)
    if len(parts) == _PARTS and parts[3] and parts[3] == _machine():
        return age <= patience and _lives(int(parts[1]), parts[4])
    return abs(age) <= patience


@cache
def _machine() -> str:
    """This machine since its start, and the part of it whose process ids this process sees; empty where unknown."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{started}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # not Linux
        return ""


def _lives(process: int, began: str) -> bool:
    """Whether there is this process, and not a later one of the same id."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's
    return not began or _began(process) in (began, "")


def _began(process: int) -> str:
    """When the process began, in ticks since the machine's start; 'ended' where it waits to be forgotten, empty where
    this is not to be known."""
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "ended" if fields[0] in (b"Z", b"X") else fields[19].decode()
