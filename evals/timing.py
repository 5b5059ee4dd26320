"""Clocks and meters that suites share."""

import re
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def peak_memory() -> float:
    """Megabytes that this process held at most, without its parent's (Linux). ru_maxrss: kilobytes, on macOS bytes."""
    status = Path("/proc/self/status")
    if status.exists() and (own := re.search(r"VmHWM:\s+(\d+)", status.read_text())):
        return int(own[1]) / (1 << 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


class Clock(dict[str, float]):
    """Seconds by stage. Concurrent work on one stage adds up."""

    @contextmanager
    def on(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self[stage] = self.get(stage, 0.0) + time.perf_counter() - began
