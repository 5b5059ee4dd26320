"""Speed of the parts and of the whole, each figure with the machine it was measured on.

Whole commands are timed as processes of their own, several times; medians are reported. Timings on a shared machine are
noisy: compare figures of one run.
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evals.benchmarks.berds import PAGES, QUESTIONS, bench_berds
from evals.benchmarks.judge import measure_judge
from evals.benchmarks.scale import PASSAGES, bench_scale
from evals.benchmarks.timing import apart, process
from evals.reports.records import Record
from evals.suite import check_known

_ROUNDS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    which = f"of {', '.join(PARTS)} (default: {', '.join(_USUAL)}; berds takes half an hour)"
    parser.add_argument("parts", nargs="*", metavar="PART", help=which)
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--passages", type=int, default=PASSAGES, help="of the part scale (default: %(default)s)")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of the part berds (default: %(default)s)")
    parser.add_argument("--pages", type=int, default=PAGES, help="of it, a question (default: %(default)s)")
    kept = "where scale has its store and berds its pages and caches; a folder that is filled is measured as it is"
    parser.add_argument("--data", type=Path, help=kept)


def measure(args: argparse.Namespace) -> Record:
    """The figures of each part, which is printed as it comes."""
    check_known(args.parts, PARTS, "part")
    results: Record = {"machine": machine()}
    for part in args.parts or _USUAL:
        results[part] = PARTS[part](args)
        if not args.json:
            print(part, json.dumps(results[part]), flush=True)
    return results


def table(result: Record) -> list[str]:
    """The machine; the parts were printed before."""
    return [f"machine {json.dumps(result['machine'])}"]


def machine() -> Record:
    """The size of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    named = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    model = named[0] if named else platform.processor()
    cores = len(os.sched_getaffinity(0))
    return {"cores": cores, "memory_gib": round(memory), "processor": model, "python": platform.python_version()}


def bench_ask() -> dict[str, float]:
    """A second `ask`: samples indexed, a question that was not asked before, process start included."""
    from agent.samples import sample_questions

    questions = list(sample_questions().values())
    with tempfile.TemporaryDirectory() as data:
        first, *taken = (
            process(["-m", "agent", "ask", q], {"STEELMAN_DATA_DIR": data}) for q in questions[: _ROUNDS + 1]
        )
    return {
        "first_seconds": first.seconds,
        "second_seconds": statistics.median(t.seconds for t in taken),
        "slowest_seconds": max(t.seconds for t in taken),
        "processor_seconds": statistics.median(t.processor_seconds for t in taken),
        "peak_memory_mb": max(t.memory_mb for t in taken),
    }


PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "ask": lambda _: bench_ask(),
    "judge": lambda _: apart(measure_judge),
    "scale": lambda args: bench_scale(args.passages, args.data),
    "berds": lambda args: bench_berds(args.questions, args.pages, args.data),
}
_USUAL = ("ask", "judge", "scale")
