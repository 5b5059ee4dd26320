"""The lines of results as a table for a terminal and as Markdown."""

import math
from collections.abc import Sequence
from pathlib import Path

from evals.reports.lines import Line

_SHOWN = {
    "judge": ("accuracy", "f1", "precision", "recall", "auc", "average_precision", "ece", "contrast_consistency"),
    "retrieval": ("mrecall@5", "coverage@5", "precision@5", "alpha_ndcg@5", "mrecall@10", "mrecall@20"),
}


def shown(lines: Sequence[Line]) -> list[str]:
    """The measures of a suite's lines to show, in order: the ones that count, or all that have an interval."""
    wanted = _SHOWN.get(lines[0].suite)
    if wanted:
        return [m for m in wanted if any(not math.isnan(line.metrics.get(m, math.nan)) for line in lines)]
    return list(dict.fromkeys(m for line in lines for m in line.intervals))


def grouped(lines: Sequence[Line]) -> dict[tuple[str, str], list[Line]]:
    """Lines by suite and data, in the order in which they came."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.suite, line.data), []).append(line)
    return groups


def text_table(lines: Sequence[Line]) -> str:
    """A block for each suite and data: measures down, names across."""
    blocks = []
    for (suite, data), group in grouped(lines).items():
        rows = [f"{suite} on {data}", f"{'':<26}" + "".join(f"{_short(line.name):>26}" for line in group)]
        rows += [f"{m:<26}" + "".join(f"{cell(line, m):>26}" for line in group) for m in shown(group)]
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks)


def markdown(lines: Sequence[Line], pictures: Sequence[Path]) -> str:
    """The report as a document beside its pictures."""
    parts = ["# Report", "", "In brackets 95 % intervals, bootstrapped by question.", ""]
    for (suite, data), group in grouped(lines).items():
        parts += [f"## {suite} on {data}", "", "| | " + " | ".join(line.name or data for line in group) + " |"]
        parts += ["|---|" + "---|" * len(group)]
        parts += [f"| {m} | " + " | ".join(cell(line, m) for line in group) + " |" for m in shown(group)]
        parts.append("")
    parts += [f"![{p.stem.replace('-', ' ')}]({p.name})\n" for p in pictures]
    return "\n".join(parts)


def cell(line: Line, measure: str) -> str:
    """'0.323 [0.196, 0.421]'; a dash where it is not defined."""
    value = line.metrics.get(measure, math.nan)
    if math.isnan(value):
        return "–"
    bounds = line.intervals.get(measure)
    return f"{value:.3f}" + (f" [{bounds[0]:.3f}, {bounds[1]:.3f}]" if bounds else "")


def _short(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:23]}…"
