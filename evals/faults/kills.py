"""What is killed in the middle of its work, by name, and what each has to hold afterwards.

A writer is a function (kills, folder, seed) → report: it works in the folder, is killed so often at moments that the
seed decides, is started again each time, and tells what was lost or doubled. One that is added here is part of
`python -m evals faults --kills N`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from evals.benchmarks.kills_of_indexes import kill_while_replacing
from evals.benchmarks.kills_of_runs import kill_while_asking
from evals.benchmarks.kills_of_server import kill_server


class KillsReport(Protocol):
    """What a writer tells: each violation in words, and figures of what was done."""

    @property
    def violations(self) -> Sequence[str]: ...

    @property
    def figures(self) -> Mapping[str, Any]: ...


Writer = Callable[[int, Path, int], KillsReport]
WRITERS: dict[str, Writer] = {
    "server": kill_server,
    "indexes": kill_while_replacing,
    "runs": kill_while_asking,
}


def table(reports: Mapping[str, KillsReport]) -> str:
    """A line a writer, and below it what was violated."""
    lines = [
        f"{name:<12}{len(report.violations):>4} violations  "
        + ", ".join(f"{what} {value}" for what, value in report.figures.items())
        for name, report in reports.items()
    ]
    return "\n".join([*lines, *(f"{name}: {v}" for name, report in reports.items() for v in report.violations)]) + "\n"
