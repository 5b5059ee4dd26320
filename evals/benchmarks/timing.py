"""Clocks and meters that the benchmarks share."""

import multiprocessing
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

_T = TypeVar("_T")


def seconds_of(work: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def spread(name: str, values: Sequence[float], unit: str = "", digits: int | None = 2) -> dict[str, float]:
    """The median as `NAMEunit_median`, or `NAMEunit` of a named unit, and the 95th percentile, rounded."""
    ordered = sorted(values)
    late = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    keys = (f"{name}_{unit}", f"{name}_p95_{unit}") if unit else (f"{name}_median", f"{name}_p95")
    return dict(zip(keys, (round(statistics.median(ordered), digits), round(late, digits)), strict=True))


def peak_memory(process: int | str = "self") -> float:
    """Megabytes that a process held at most, without what the one that started it held (Linux); elsewhere of this
    process. The kernel counts in kilobytes, macOS in bytes."""
    status = Path(f"/proc/{process}/status")
    if status.exists() and (own := re.search(r"VmHWM:\s+(\d+)", status.read_text())):
        return int(own[1]) / (1 << 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def resident_memory(process: int) -> float:
    """Megabytes that a process holds now (Linux); 0 where that cannot be read or the process is gone."""
    try:
        held = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0.0
    return int(held[1]) / (1 << 10) if held else 0.0


class Taken(NamedTuple):
    """What a process took: by the clock, of the processors (which others lengthen less), and of memory at most."""

    seconds: float
    processor_seconds: float
    memory_mb: float


def process(command: list[str], environment: dict[str, str]) -> Taken:
    """Runs a Python process to its end."""
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, _, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - began
    return Taken(round(seconds, 2), round(usage.ru_utime + usage.ru_stime, 2), round(usage.ru_maxrss / 1024, 1))


def apart(work: Callable[..., _T], *arguments: object) -> _T:
    """What a function of a module returns in a process of its own, so that its memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)
