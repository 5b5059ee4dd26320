"""Two results of the same questions: each measure's difference with a paired interval, questions drawn together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.metrics.bootstrap import Chosen, interval
from evals.reports.lines import Items, Line
from tools.errors import InputError


@dataclass(frozen=True, slots=True)
class Comparison:
    """`rows`: data, name, measure, old, new, difference, interval, questions in both."""

    rows: list[dict[str, Any]]

    def text(self) -> str:
        """A line a measure; a star where the interval leaves zero out."""
        lines: list[str] = []
        for row in self.rows:
            heading = f"{row['data']}: {row['name']}"
            if heading not in lines:
                lines += [*([""] if lines else []), heading, f"{'':<26}{'old':>8}{'new':>8}{'change':>9}  95 %"]
            low, high = row["interval"]
            sure = " *" if low > 0 or high < 0 else ""
            figures = f"{row['old']:>8.3f}{row['new']:>8.3f}{row['difference']:>+9.3f}"
            lines.append(f"{row['measure']:<26}{figures}  [{low:+.3f}, {high:+.3f}] over {row['questions']}{sure}")
        return "\n".join([*lines, "", "* the paired interval leaves zero out. Over: questions that both have."])


def compared(old: Sequence[Line], new: Sequence[Line], seed: int = 1) -> Comparison:
    """Every measure that both have. Raises InputError where they have no line of one suite and data in common.

    Lines are matched by data and name; where each result has a single line of a set, the names may differ, as of two
    judges on the same pairs.
    """
    rows = [row for first, second in _pairs(old, new) for row in _differences(first, second, seed)]
    if not rows:
        raise InputError("the two results have no questions in common: they are of other suites or other data.")
    return Comparison(rows)


def _pairs(old: Sequence[Line], new: Sequence[Line]) -> list[tuple[Line, Line]]:
    found = []
    for second in new:
        same = [f for f in old if (f.suite, f.data) == (second.suite, second.data)]
        others = [n for n in new if (n.suite, n.data) == (second.suite, second.data)]
        named = [f for f in same if f.name == second.name]
        if named or (len(same) == len(others) == 1):
            found.append(((named or same)[0], second))
    return found


def _differences(first: Line, second: Line, seed: int) -> list[dict[str, Any]]:
    name = second.name if first.name == second.name else f"{first.name} → {second.name}"
    rows = []
    for measure in (m for m in second.items if m in first.items):
        a, b = _sums(first.items[measure]), _sums(second.items[measure])
        both = sorted(a.keys() & b.keys())
        parts = np.array([[*a[q], *b[q]] for q in both], float).reshape(-1, 4)
        if not both or not parts[:, 1].sum() or not parts[:, 3].sum():
            continue
        everything = np.arange(len(both))
        before, after = _ratio(parts[:, :2], everything), _ratio(parts[:, 2:], everything)
        row = {"data": second.data, "name": name, "measure": measure, "old": before, "new": after}
        bounds = interval(_difference(parts), both, seed)
        rows.append(row | {"difference": after - before, "interval": list(bounds), "questions": len(both)})
    return rows


def _difference(parts: NDArray[np.float64]) -> Any:
    def statistic(chosen: Chosen) -> float:
        return _ratio(parts[:, 2:], chosen) - _ratio(parts[:, :2], chosen)

    return statistic


def _ratio(parts: NDArray[np.float64], chosen: Chosen) -> float:
    above, below = parts[chosen].sum(axis=0)
    return float(above / below) if below else float("nan")


def _sums(items: Items) -> dict[str, tuple[float, float]]:
    """Numerators and denominators added up by question."""
    sums: dict[str, tuple[float, float]] = {}
    for question, above, below in items:
        before = sums.get(question, (0.0, 0.0))
        sums[question] = before[0] + above, before[1] + below
    return sums
