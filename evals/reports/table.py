"""Results as text: the blocks that suites print, and the lines of several results side by side."""

import math
from collections.abc import Mapping, Sequence

from evals.reports.lines import Line

_SHOWN = {
    "judge": ("accuracy", "f1", "precision", "recall", "auc", "average_precision", "ece", "contrast_consistency"),
    "retrieval": ("mrecall@5", "coverage@5", "precision@5", "alpha_ndcg@5", "mrecall@10", "mrecall@20"),
}


def block(titles: Sequence[str], rows: Mapping[str, Sequence[str]], corner: str = "") -> list[str]:
    """A line a row under a line of titles, columns as wide as what is in them."""
    first = max(map(len, [corner, *rows]), default=0)
    widths = [max(map(len, column)) + 2 for column in zip(titles, *rows.values(), strict=True)]
    lines = [(corner, titles), *rows.items()]
    return ["".join([f"{name:{first}}", *map(str.rjust, cells, widths)]).rstrip() for name, cells in lines]


def percent(value: float | None, bounds: Sequence[float | None] = (), mark: str = "", digits: int = 1) -> str:
    """'32.3 [19.6, 42.1]'; a dash where it is not defined."""
    if value is None or math.isnan(value):
        return "–"
    return number(100 * value, [100 * b for b in bounds if b is not None], mark, digits)


def number(value: float | None, bounds: Sequence[float | None] = (), mark: str = "", digits: int = 3) -> str:
    """'0.323 [0.196, 0.421]'; a dash where it is not defined."""
    if value is None or math.isnan(value):
        return "–"
    ends = ", ".join("–" if b is None or math.isnan(b) else f"{b:.{digits}f}" for b in bounds)
    return f"{value:.{digits}f}{mark}{f' [{ends}]' if ends else ''}"


def sure(bounds: Sequence[float]) -> str:
    """A star where an interval leaves zero out."""
    return "*" if bounds[0] > 0 or bounds[1] < 0 else ""


def text_table(lines: Sequence[Line]) -> str:
    """A block for each suite and data: measures down, those that count or all that have an interval; names across."""
    blocks = []
    for suite, data in dict.fromkeys((line.suite, line.data) for line in lines):
        group = [line for line in lines if (line.suite, line.data) == (suite, data)]
        wanted = _SHOWN.get(suite) or dict.fromkeys(m for line in group for m in line.intervals)
        known = [m for m in wanted if suite not in _SHOWN or any(line.defines(m) for line in group)]
        rows = {m: [number(line.metrics.get(m), line.intervals.get(m, ())) for line in group] for m in known}
        blocks.append("\n".join([f"{suite} on {data}", *block([line.name for line in group], rows)]))
    return "\n\n".join(blocks)
