"""A suite's result as lines of one form: one for each thing that was measured on each set."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_VERSION = re.compile(r"-[0-9a-f]{6,}(-[0-9a-f]{4})?$")
Items = list[tuple[str, float, float]]


@dataclass(frozen=True, slots=True)
class Line:
    """What was measured of `name` on `data`.

    intervals: 95 %, by measure. items: by measure the rows (question, numerator, denominator) whose sums make it.
    reliability: rows of a calibration curve. per_second: how many it does in a second, NaN where it was not timed.
    """

    suite: str
    data: str
    name: str
    metrics: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    items: dict[str, Items] = field(default_factory=dict)
    reliability: list[dict[str, float]] = field(default_factory=list)
    per_second: float = math.nan

    def summary(self) -> dict[str, Any]:
        """Without the items."""
        bounds = {m: list(v) for m, v in self.intervals.items()}
        return {"suite": self.suite, "data": self.data, "name": self.name, "metrics": self.metrics, "intervals": bounds}


def lines_of(result: dict[str, Any]) -> list[Line]:
    """The lines of what a suite printed."""
    return list(_retrieval(result) if result["suite"] in ("retrieval", "news", "pir") else _single(result))


def _single(result: dict[str, Any]) -> Iterator[Line]:
    config, metrics = result["config"], _numbers(result["metrics"])
    yield Line(
        suite=result["suite"],
        data=str(config.get("data") or config.get("set") or ""),
        name=_name(config),
        metrics=metrics,
        intervals=_bounds(result["intervals"]),
        items=_items(result["items"]),
        reliability=result.get("reliability", []),
        per_second=metrics.get("pairs_per_second", math.nan),
    )


def _retrieval(result: dict[str, Any]) -> Iterator[Line]:
    seconds, sizes, searched = result["seconds"]["search"], result["config"]["sizes"], result.get("searched", {})
    for data, methods in result["metrics"].items():
        for name, metrics in methods.items():
            spent = seconds.get(data, {}).get(name, 0.0)
            number = searched.get(data, {}).get(name, sizes.get(data, {}).get("questions", 0))  # 0: of several sets
            yield Line(
                suite=result["suite"],
                data=data,
                name=name,
                metrics=_numbers(metrics),
                intervals=_bounds(result["intervals"][data][name]),
                items=_items(result["items"][data][name]),
                per_second=number / spent if number and spent > 0.01 else math.nan,  # else read from records
            )


def _name(config: dict[str, Any]) -> str:
    """Who was measured, without what only tells one version of its weights from another."""
    judge = config.get("scored_by", {}).get("judge") or config.get("judge") or config.get("expander", "")
    named = _VERSION.sub("", str(judge))
    return f"{named}, told the contrary" if config.get("contrary") else named


def _numbers(metrics: dict[str, Any]) -> dict[str, float]:
    """What is not defined is NaN here and null in the file."""
    return {m: math.nan if v is None else float(v) for m, v in metrics.items()}


def _bounds(intervals: dict[str, Any]) -> dict[str, tuple[float, float]]:
    known = {m: v for m, v in intervals.items() if v and None not in v}
    return {m: (float(v[0]), float(v[1])) for m, v in known.items()}


def _items(items: dict[str, Any]) -> dict[str, Items]:
    return {m: [(str(q), float(n), float(d)) for q, n, d in rows] for m, rows in items.items()}
