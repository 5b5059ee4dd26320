"""A suite's result as lines of one form, one for each thing that was measured on each set; and two results compared,
questions drawn together."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evals.metrics.measure import Ratio, Row
from evals.reports.records import Record
from tools.errors import InputError

_VERSION = re.compile(r"-[0-9a-f]{6,}(-[0-9a-f]{4})?(?=-closely$|$)")


@dataclass(frozen=True, slots=True)
class Line:
    """What was measured of `name` on `data`.

    intervals: 95 %, by measure. items: by measure the rows (question, numerator, denominator) whose sums make it.
    """

    suite: str
    data: str
    name: str
    metrics: dict[str, float]
    intervals: dict[str, list[float]]
    items: dict[str, list[Row]] = field(default_factory=dict)


def lines_of(result: Record) -> list[Line]:
    """The lines of what a suite printed."""
    suite, config, parts = result["suite"], result["config"], ("metrics", "intervals", "items")
    if not any(isinstance(of, dict) for of in result["metrics"].values()):
        return [Line(suite, str(config.get("data") or config.get("set") or ""), _name(config), **_figures(result))]
    return [
        Line(suite, data, name, **_figures({part: result[part][data][name] for part in parts}))
        for data, methods in result["metrics"].items()
        for name in methods
    ]


def _figures(one: Record) -> Record:
    """What is not defined is NaN here and null in the file."""
    return {
        "metrics": {m: math.nan if v is None else float(v) for m, v in one["metrics"].items()},
        "intervals": {m: v for m, v in one["intervals"].items() if v and None not in v},
        "items": {m: [(str(q), float(n), float(d)) for q, n, d in rows] for m, rows in one["items"].items()},
    }


def _name(config: Record) -> str:
    """Who was measured, without what only tells one version of its weights from another."""
    judge = config.get("scored_by", {}).get("judge") or config.get("judge") or config.get("expander", "")
    named = _VERSION.sub("", str(judge))
    return f"{named}, told the contrary" if config.get("contrary") else named


def compared(old: Sequence[Line], new: Sequence[Line], seed: int = 1) -> list[Record]:
    """A row for every measure that both have: data, name, measure, old, new, difference, interval, questions in both.
    Raises InputError where they have no line of one suite and data in common.

    Lines are matched by data and name; where each result has a single line of a set, the names may differ, as of two
    judges on the same pairs.
    """
    rows = [row for first, second in _pairs(old, new) for row in _differences(first, second, seed)]
    if not rows:
        raise InputError("the two results have no questions in common: they are of other suites or other data.")
    return rows


def _pairs(old: Sequence[Line], new: Sequence[Line]) -> Iterator[tuple[Line, Line]]:
    for second in new:
        same, others = ([x for x in of if (x.suite, x.data) == (second.suite, second.data)] for of in (old, new))
        named = [first for first in same if first.name == second.name]
        if named or (len(same) == len(others) == 1):
            yield (named or same)[0], second


def _differences(first: Line, second: Line, seed: int) -> Iterator[Record]:
    name = second.name if first.name == second.name else f"{first.name} → {second.name}"
    for measure in (m for m in second.items if m in first.items):
        both = sorted({q for q, *_ in first.items[measure]} & {q for q, *_ in second.items[measure]})
        before, after = (_of_questions(line.items[measure], both) for line in (first, second))
        if not math.isnan(before.value + after.value):
            change = after.less(before)
            row = {"data": second.data, "name": name, "measure": measure, "old": before.value, "new": after.value}
            yield row | {"difference": change.value, "interval": list(change.interval(seed)), "questions": len(both)}


def _of_questions(rows: Sequence[Row], questions: Sequence[str]) -> Ratio:
    """The ratio over these questions, each an item of its own."""
    sums = dict.fromkeys(questions, (0.0, 0.0))
    for question, above, below in rows:
        if question in sums:
            sums[question] = sums[question][0] + above, sums[question][1] + below
    return Ratio.of((q, *sums[q]) for q in questions)
