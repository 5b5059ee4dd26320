"""The processes that own runs: their names, and whether one is still there."""

import os
import socket
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path


def new_owner() -> str:
    """A name for this process, another one each time: machine:process:random."""
    return ":".join((_machine() or socket.gethostname(), str(os.getpid()), uuid.uuid4().hex[:6]))


@cache
def _machine() -> str:
    """The host and the namespace of its process ids; empty where the system does not show who is alive."""
    with suppress(OSError):
        return f"{socket.gethostname()}:{Path('/proc/self/ns/pid').stat().st_ino}"
    return ""


def is_alive(owner: str | None, heartbeat: float | None, patience: float) -> bool:
    """Whether an owner still works that was last heard of at `heartbeat`, by the clock of its machine. A process of
    this machine that ended is gone at once, any other after so many seconds of silence; a heartbeat in the future says
    nothing, since the clock was set back."""
    machine, _, process = (owner or "").rpartition(":")[0].rpartition(":")
    if machine and machine == _machine() and not Path(f"/proc/{process}").exists():
        return False
    return heartbeat is not None and abs(time.time() - heartbeat) <= patience
