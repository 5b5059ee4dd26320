"""The papers' tables with what was measured here beside them."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from textwrap import wrap

from evals.reports.lines import Line, lines_of
from evals.reports.published import Table, published
from evals.reports.records import Record
from evals.reports.table import block, percent

_BY = ("encoder", "judge", "corpus")
_wrapped = partial(wrap, width=120, break_on_hyphens=False)
Cells = dict[str, float]
"""Title of a column to a figure."""


def beside(results: Mapping[str, Record]) -> list[Record]:
    """A record a table: `of`, `title`, `columns`, `rows` (name to those of `paper` and `here`, a value a column), what
    `differs`, the `command`, `by` whom and on what it was measured, and which results were `left_out`, and why; without
    results of it the rows are the paper's. results: by the name of each."""
    lines = {name: _lines(result) for name, result in results.items()}
    return [_beside(table, lines, results) for table in published()[0]]


def _lines(result: Record) -> list[Line]:
    """A result's lines, and one for the union of its retrievers; a mean only where it is of the paper's data, all of
    them and no other."""
    means, data = published()[2], {*result["metrics"]}
    found = [x for x in lines_of(result) if x.data not in means or data == {x.data, *means[x.data]}]
    for data, of in result.get("union", {}).items():
        values = {name: float(v) for name, v in of.items() if isinstance(v, int | float)}
        found.append(Line(result["suite"], data, "union", values, {}))
    return found


def _beside(table: Table, lines: Mapping[str, Sequence[Line]], results: Mapping[str, Record]) -> Record:
    here, left_out, by = dict[str, Cells](), dict[str, str](), dict[str, None]()
    for name in (name for name, result in results.items() if result["suite"] in table.suites):
        found = measured(table, lines[name])
        for row, cells in found.items():
            here[row] = here.get(row, {}) | cells
        by |= dict.fromkeys(_made(results[name]) if found else ())
        left_out |= {} if found else {name: _why_not(table, lines[name])}
    rows = {
        name: {
            "paper": list(table.rows.get(name, [math.nan] * len(table.columns))),
            "here": [here.get(name, {}).get(c.title, math.nan) for c in table.columns],
        }
        for name in dict.fromkeys((*table.rows, *here))
    }
    told: Record = {name: getattr(table, name) for name in ("of", "title", "differs", "command")}
    columns = [{"title": c.title, "plain": c.plain} for c in table.columns]
    told |= {"columns": columns, "rows": rows, "by": list(by), "left_out": left_out}
    return told | {"measured": bool(here)}


def measured(table: Table, lines: Sequence[Line]) -> dict[str, Cells]:
    """Name to what was measured of it: of the paper's data, or its mean over them, under the method's name, else after
    the name of the data, in the columns that are of any."""
    named = {c.data for c in table.columns if c.data}
    rows: dict[str, Cells] = {}
    for line in lines:
        wanted = line.data if line.data in named else ""
        name = line.name if wanted or line.data in published()[2] else f"{line.data}: {line.name}"
        for c in table.columns if name in table.rows or re.fullmatch(table.also, name) else ():
            value = line.metrics.get(c.measure, math.nan)
            if c.data == wanted and not math.isnan(value):
                rows.setdefault(name, {})[c.title] = value
    return rows


def _made(result: Record) -> Iterator[str]:
    """By whom it was measured, and on what, as far as that is known by its name."""
    config, (_, known, means) = result["config"], published()
    yield from (f"{what} {config[what]}" for what in _BY if config.get(what))
    data = config.get("data") or result["metrics"]
    names = [data] if isinstance(data, str) else [name for name in data if name not in means]
    yield from (f"{name} is {known[name]}" for name in names if name in known)
    if others := ", ".join(name for name in names if name not in known):
        yield f"{others}: no data of the paper's, which does not compare"


def _why_not(table: Table, lines: Sequence[Line]) -> str:
    named = dict.fromkeys(c.data for c in table.columns)
    if "" not in named and not any(line.data in named for line in lines):
        return f"it has {', '.join(dict.fromkeys(line.data for line in lines))}, and the table {', '.join(named)}"
    if measured(replace(table, also=".*"), lines):
        return "its methods are none of the table's"
    measures = dict.fromkeys(c.measure for c in table.columns)
    ks = dict.fromkeys(of.partition("@")[2] for of in measures)
    return f"it has no {' or '.join(measures)}" if "" in ks else f"it has nothing at --k {', '.join(ks)}"


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
            by = dict.fromkeys(name for one in known for name in one["by"])
            lines += _wrapped(f"Differs: {known[0]['differs']}. Here: {'; '.join(by)}.")
        else:
            title = group[0]["title"].partition(", at ")[0]
            lines += [f"{of}: {title}", f"No result of it; make one: {group[0]['command']}"]
        for name in dict.fromkeys(name for one in group for name in one["left_out"]):
            why = dict.fromkeys(one["left_out"][name] for one in group if name in one["left_out"])
            lines += _wrapped(f"Left out: {name}: {'; '.join(why)}.")
        lines.append("")
    return lines[:-1]


def _digits(shares: Sequence[float]) -> int:
    """After the point, as the paper has them in percent."""
    return 2 if any(abs(100 * v - round(100 * v, 1)) > 1e-6 for v in shares) else 1


def _cell(value: float, plain: bool, digits: int) -> str:
    return f"{round(value, 3):g}" if plain and not math.isnan(value) else percent(value, digits=digits)
