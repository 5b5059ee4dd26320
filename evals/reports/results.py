"""Reads results of suites."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from evals.datasets.rows import read_json, whole_text
from evals.metrics.measure import ItemRow
from evals.reports.records import Record


class _Result(BaseModel, extra="allow"):
    suite: str
    metrics: dict[str, Any]
    intervals: dict[str, Any]
    items: dict[str, Any]
    config: dict[str, Any]


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
    items: dict[str, list[ItemRow]]


def read_result(path: Path) -> Record:
    """Reads the output of a suite's `--json`. Raises InputError."""
    return read_json(_Result, whole_text(path).encode(), path).model_dump()


def measured(result: Record) -> list[Measured]:
    """Returns one object for each data set and method."""
    parts, config = {part: result[part] for part in ("metrics", "intervals", "items")}, result["config"]
    if not any(isinstance(of, dict) for of in result["metrics"].values()):
        data = str(config.get("data") or config.get("set") or "")
        judge = str(config.get("scored_by", config).get("judge") or "")
        name = f"{judge}, told the contrary" if config.get("contrary") else judge
        parts = {part: {data: {name: of}} for part, of in parts.items()}
    return [
        Measured(
            suite=result["suite"],
            data=data,
            name=name,
            metrics={m: math.nan if v is None else float(v) for m, v in of.items()},
            intervals={m: v for m, v in parts["intervals"][data][name].items() if v and None not in v},
            items=parts["items"][data][name],
        )
        for data, methods in parts["metrics"].items()
        for name, of in methods.items()
    ]
