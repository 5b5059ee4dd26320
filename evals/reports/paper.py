"""The papers' tables with what was measured here beside them."""

import math
from collections.abc import Sequence
from itertools import groupby
from textwrap import wrap

from evals.reports.lines import Line, lines_of
from evals.reports.published import Table, tables
from evals.reports.records import Record
from evals.reports.table import block, percent

_MEAN = "macro-average"  # the berds suite's
Cells = dict[str, float]
"""Title of a column to a figure."""


def beside(results: Sequence[Record]) -> list[Record]:
    """A record a table: `of`, `title`, `columns`, `rows` (name to those of `paper` and `here`, a value a column), what
    `differs`, the `command`, and `by` whom it was measured; without results of it the rows are the paper's."""
    lines = [line for result in results for line in _lines(result)]
    return [_beside(table, lines, results) for table in tables()]


def _lines(result: Record) -> list[Line]:
    """A result's lines, and one for the union of its retrievers."""
    found = lines_of(result)
    for data, of in result.get("union", {}).items():
        values = {name: float(v) for name, v in of.items() if isinstance(v, int | float)}
        found.append(Line(result["suite"], data, "union", values, {}))
    return found


def _beside(table: Table, lines: Sequence[Line], results: Sequence[Record]) -> Record:
    here = {name: cells for name, cells in measured(table, lines).items() if table.shows(name)}
    rows = {
        name: {
            "paper": list(table.rows.get(name, [math.nan] * len(table.columns))),
            "here": [here.get(name, {}).get(c.title, math.nan) for c in table.columns],
        }
        for name in dict.fromkeys((*table.rows, *here))
    }
    configs = [r["config"] for r in results if here and r["suite"] in table.suites]
    by = {f"{what} {of[what]}" for of in configs for what in ("encoder", "judge") if of.get(what)}
    told: Record = {name: getattr(table, name) for name in ("of", "title", "differs", "command")}
    columns = [{"title": c.title, "plain": c.plain} for c in table.columns]
    return told | {"columns": columns, "rows": rows, "by": sorted(by), "measured": bool(here)}


def measured(table: Table, lines: Sequence[Line]) -> dict[str, Cells]:
    """Name to what was measured of it: of the paper's data, or its mean over them, under the method's name, else after
    the name of the data, in the columns that are of any."""
    named = {c.data for c in table.columns if c.data}
    rows: dict[str, Cells] = {}
    for line in (one for one in lines if one.suite in table.suites):
        wanted = line.data if line.data in named else ""
        name = line.name if wanted or line.data == _MEAN else f"{line.data}: {line.name}"
        for c in table.columns:
            if c.data == wanted and line.defines(c.measure):
                rows.setdefault(name, {})[c.title] = line.metrics[c.measure]
    return rows


def table_lines(told: Sequence[Record]) -> list[str]:
    """The paper's figures before ours, a block at each k, and what differs; or the command that makes a result."""
    lines: list[str] = []
    for of, some in groupby(told, lambda one: one["of"]):
        group = list(some)
        known = [one for one in group if one["measured"]]
        for one in known:
            exact = [_digits(values) for values in zip(*(row["paper"] for row in one["rows"].values()), strict=True)]
            rows = {
                name: [
                    f"{_cell(paper, c['plain'], digits)} | {_cell(here, c['plain'], digits)}"
                    for paper, here, c, digits in zip(row["paper"], row["here"], one["columns"], exact, strict=True)
                ]
                for name, row in one["rows"].items()
            }
            lines += [f"{of}: {one['title']} (paper | here)", *block([c["title"] for c in one["columns"]], rows), ""]
        if known:
            lines += wrap(
                f"Differs: {known[0]['differs']}. Here: {', '.join(known[0]['by'])}.", 120, break_on_hyphens=False
            )
        else:
            lines += [
                f"{of}: {group[0]['title'].partition(', at ')[0]}",
                f"No result of it; make one: {group[0]['command']}",
            ]
        lines.append("")
    return lines[:-1]


def _digits(shares: Sequence[float]) -> int:
    """After the point, as the paper has them in percent."""
    return 2 if any(abs(100 * v - round(100 * v, 1)) > 1e-6 for v in shares) else 1


def _cell(value: float, plain: bool, digits: int) -> str:
    return f"{round(value, 3):g}" if plain and not math.isnan(value) else percent(value, digits=digits)
