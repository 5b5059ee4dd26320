"""Clocks and meters that the benchmarks share."""

import re
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path


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
