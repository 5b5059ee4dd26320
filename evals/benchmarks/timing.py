"""Clocks and meters that the benchmarks share."""

import multiprocessing
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

from tools.disk import ROOT

_T = TypeVar("_T")


def seconds_of(work: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def peak_memory() -> float:
    """Megabytes that this process held at most, without what the one that started it held (Linux). The kernel counts in
    kilobytes, macOS in bytes."""
    status = Path("/proc/self/status")
    if status.exists() and (own := re.search(r"VmHWM:\s+(\d+)", status.read_text())):
        return int(own[1]) / (1 << 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


class Clock(dict[str, float]):
    """Seconds by stage; of what goes on side by side the sum."""

    @contextmanager
    def on(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self[stage] = self.get(stage, 0.0) + time.perf_counter() - began


class Taken(NamedTuple):
    """What a process took: by the clock, of the processors (which others lengthen less), and of memory at most."""

    seconds: float
    processor_seconds: float
    memory_mb: float


def process(command: list[str], environment: dict[str, str], said: IO[bytes] | None = None) -> Taken:
    """Runs a Python process to its end. said: takes what it prints, and its errors are shown."""
    began = time.perf_counter()
    out, errors = (said, None) if said else (subprocess.DEVNULL, subprocess.DEVNULL)
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    child = subprocess.Popen([sys.executable, "-P", *command], env=environment, stdout=out, stderr=errors)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    return Taken(round(seconds, 2), round(usage.ru_utime + usage.ru_stime, 2), round(usage.ru_maxrss / 1024, 1))


def apart(work: Callable[..., _T], *arguments: object) -> _T:
    """What a function of a module returns in a process of its own, so that its memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)
