"""Reads results of suites, and compares two of them with paired intervals."""

import json
import math
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evals.metrics.measure import ItemRow, Ratio
from evals.reports.records import Record
from tools.errors import InputError

SUITES = "judge retrieval berds answers expand news pir favour responses preference".split()
_VERSION = re.compile(r"-[0-9a-f]{6,}(-[0-9a-f]{4})?(?=-closely$|$)")


@dataclass(frozen=True, slots=True)
class Measured:
    """The measures of one method, judge or agent (`name`) on one data set. Undefined measures are NaN.

    intervals: 95 %. items: rows (question, numerator, denominator) whose sums make the measure.
    """

    suite: str
    data: str
    name: str
    metrics: dict[str, float]
    intervals: dict[str, list[float]]
    items: dict[str, list[ItemRow]] = field(default_factory=dict)


def read_result(path: Path) -> Record:
    """The output of a suite's `--json`. Raises InputError."""
    remedy = f"Make it with `python -m evals SUITE … --json > {shlex.quote(str(path))}`."
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise InputError(f"{path} cannot be opened ({exc.strerror or exc}).") from exc
    except ValueError as exc:
        raise InputError(f"{path} is not JSON ({exc}). {remedy}") from exc
    parts = ("metrics", "intervals", "config", "items")
    if not isinstance(result, dict) or result.get("suite") not in SUITES:
        raise InputError(f"{path} is not a result of a suite. {remedy}")
    if missing := [part for part in parts if not isinstance(result.get(part), dict)]:
        raise InputError(f"{path} has no '{missing[0]}': another version wrote it. {remedy}")
    return result


def measured(result: Record) -> list[Measured]:
    """One object for each data set and method."""
    suite, config, parts = result["suite"], result["config"], ("metrics", "intervals", "items")
    if not any(isinstance(of, dict) for of in result["metrics"].values()):
        data = str(config.get("data") or config.get("set") or "")
        return [Measured(suite, data, _name(config), **_figures(result))]
    return [
        Measured(suite, data, name, **_figures({part: result[part][data][name] for part in parts}))
        for data, methods in result["metrics"].items()
        for name in methods
    ]


def _figures(one: Record) -> Record:
    return {
        "metrics": {m: math.nan if v is None else float(v) for m, v in one["metrics"].items()},
        "intervals": {m: v for m, v in one["intervals"].items() if v and None not in v},
        "items": {m: [(str(q), float(n), float(d)) for q, n, d in rows] for m, rows in one["items"].items()},
    }


def _name(config: Record) -> str:
    """The judge or expander, without the version of its weights."""
    judge = config.get("scored_by", {}).get("judge") or config.get("judge") or config.get("expander", "")
    named = _VERSION.sub("", str(judge))
    return f"{named}, told the contrary" if config.get("contrary") else named


def compared(old: Sequence[Measured], new: Sequence[Measured], seed: int = 1) -> list[Record]:
    """A row for each measure of both: data, name, measure, old, new, difference, interval, common questions. Raises
    InputError without any.

    Data and name must agree. The names may differ if both have only one on the data, such as two judges.
    """
    rows = [row for first, second in _pairs(old, new) for row in _differences(first, second, seed)]
    if not rows:
        raise InputError("the two results have no questions in common: their suites or data differ.")
    return rows


def _pairs(old: Sequence[Measured], new: Sequence[Measured]) -> Iterator[tuple[Measured, Measured]]:
    for second in new:
        same, others = ([x for x in of if (x.suite, x.data) == (second.suite, second.data)] for of in (old, new))
        named = [first for first in same if first.name == second.name]
        if named or (len(same) == len(others) == 1):
            yield (named or same)[0], second


def _differences(first: Measured, second: Measured, seed: int) -> Iterator[Record]:
    name = second.name if first.name == second.name else f"{first.name} → {second.name}"
    for measure in (m for m in second.items if m in first.items):
        both = sorted({q for q, *_ in first.items[measure]} & {q for q, *_ in second.items[measure]})
        before, after = (_over(of.items[measure], both) for of in (first, second))
        if not math.isnan(before.value + after.value):
            change = after.less(before)
            row = {"data": second.data, "name": name, "measure": measure, "old": before.value, "new": after.value}
            yield row | {"difference": change.value, "interval": list(change.interval(seed)), "questions": len(both)}


def _over(rows: Sequence[ItemRow], questions: Sequence[str]) -> Ratio:
    """The ratio over these questions, each one item."""
    sums = dict.fromkeys(questions, (0.0, 0.0))
    for question, above, below in rows:
        if question in sums:
            sums[question] = sums[question][0] + above, sums[question][1] + below
    return Ratio.of((q, *sums[q]) for q in questions)
