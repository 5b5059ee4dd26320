"""Who works on a run: a process that shows by a heartbeat that it is there."""

import os
import socket
import time
import uuid


def new_owner() -> str:
    """A name for this process, another one each time: host:process:random."""
    return ":".join((socket.gethostname(), str(os.getpid()), uuid.uuid4().hex[:6]))


def is_alive(heartbeat: float | None, patience: float) -> bool:
    """Whether an owner still works that was last heard of at `heartbeat`, by the clock of its machine. After so many
    seconds of silence it is gone; one in the future says nothing, since the clock was set back."""
    return heartbeat is not None and abs(time.time() - heartbeat) <= patience
