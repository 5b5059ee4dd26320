"""The API as a process of its own, to be measured and killed, and the memory that a process holds."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_STARTING_SECONDS = 300.0


@contextmanager
def server_process(arguments: Sequence[str], data: str, **more: str) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A server process on a free port: its address, once it listens. more: environment variables. What it logs goes
    into a file beside the data."""
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "TZ", "HOME") if name in os.environ}
    environment |= {"STEELMAN_DATA_DIR": data, "STEELMAN_API_RATE": "100000/minute"} | more
    log = Path(data) / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, *arguments], cwd=_ROOT, env=environment, stderr=out)
    try:
        yield _address(process, log), process
    finally:
        process.terminate()
        process.wait()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    give_up = time.monotonic() + _STARTING_SECONDS
    while process.poll() is None and time.monotonic() < give_up:
        if found := re.search(r"listens on (http://[\d.]+:\d+)", log.read_text()):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"the server did not start: {log.read_text()[-500:]}")


def resident_memory(process: int) -> float:
    """Megabytes that a process holds now (Linux)."""
    held = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(held[1]) / (1 << 10) if held else 0.0
