"""What is killed in the middle of its work, by name, and what each has to hold afterwards.

A writer is a function (kills, folder, seed) → report: it works in the folder, is killed so often at moments that the
seed decides, is started again each time, and tells what was lost or doubled. One that is added here is part of
`python -m evals faults --kills N`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from evals.benchmarks.kills_of_commands import kill_while_ingesting
from evals.benchmarks.kills_of_indexes import kill_while_replacing
from evals.benchmarks.kills_of_jobs import kill_at_jobs
from evals.benchmarks.kills_of_runs import kill_while_asking
from evals.benchmarks.kills_of_server import kill_server
from tools.errors import InputError


class KillsReport(Protocol):
    """What a writer tells: each violation in words, and figures of what was done, `kills` among them."""

    @property
    def violations(self) -> Sequence[str]: ...

    @property
    def figures(self) -> Mapping[str, Any]: ...


def killed(reports: Mapping[str, KillsReport]) -> int:
    """The kills of all writers."""
    return sum(report.figures["kills"] for report in reports.values())


Writer = Callable[[int, Path, int], KillsReport]
WRITERS: dict[str, Writer] = {
    "server": kill_server,
    "jobs": kill_at_jobs,
    "ingest": kill_while_ingesting,
    "indexes": kill_while_replacing,
    "runs": kill_while_asking,
}


def shares(kills: int, writers: Sequence[str]) -> dict[str, int]:
    """The kills of each writer: as many as of the others, or one more. Raises InputError where there are too few."""
    if kills < len(writers):
        raise InputError(f"--kills is divided among {', '.join(writers)}: {len(writers)} or more, not {kills}.")
    least, more = divmod(kills, len(writers))
    return {name: least + (turn < more) for turn, name in enumerate(writers)}


def table(reports: Mapping[str, KillsReport], seconds: Mapping[str, float]) -> str:
    """A line a writer with the seconds that a kill took, all in all, and below it what was violated."""
    lines = [
        f"{name:<9}{len(report.violations):>3} violations  {seconds[name]:>5.1f} s a kill  "
        + ", ".join(f"{what} {value}" for what, value in report.figures.items())
        for name, report in reports.items()
    ]
    lines.append(f"{'all':<9}{sum(len(r.violations) for r in reports.values()):>3} violations  kills {killed(reports)}")
    return "\n".join([*lines, *(f"{name}: {v}" for name, report in reports.items() for v in report.violations)]) + "\n"
