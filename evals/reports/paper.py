"""Shows the papers' tables (`published.toml`) next to the figures measured here."""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from evals.reports.records import Record
from evals.reports.results import Measured, measured
from evals.reports.table import markdown

_COLUMN = re.compile(r"(.+?) = (?:(.+) / )?(.+)")


class TableColumn(NamedTuple):
    """A measure. data: the data set of the column; empty for any data set."""

    title: str
    data: str
    measure: str


class PaperTable(NamedTuple):
    """A published table at one k. rows: figures as printed, NaN if not published. plain: measures that are numbers, not
    percentages. also: a regular expression for further names to show."""

    of: str
    title: str
    suites: Sequence[str]
    columns: Sequence[TableColumn]
    rows: Mapping[str, Sequence[float]]
    command: str
    differs: str
    also: str
    plain: Sequence[str]


@cache
def published() -> tuple[tuple[PaperTable, ...], Mapping[str, str], Mapping[str, list[str]]]:
    """Returns the papers' tables, a note on each known data set and, for each mean, its data sets."""
    read = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
    ones = [one | read["shapes"].get(one.get("shape"), {}) for one in read["table"]]
    tables = tuple(_table(one, place) for one in ones for place in range(len(one.get("k", "-"))))
    return tables, read["known"], read["means"]


def _table(one: dict[str, Any], place: int) -> PaperTable:
    k = one["k"][place] if "k" in one else None
    matches = [_COLUMN.fullmatch(text.format(k=k, data=one.get("data"))) for text in one["columns"]]
    columns = [TableColumn(*match.groups("")) for match in matches if match]
    rows = {name: values[place] if k else values for name, values in one["rows"].items()}
    title, usual = one["title"] + (f", at {k}" if k else ""), {"also": ".*", "plain": ()}
    told = {name: (usual | one)[name] for name in ("of", "suites", "command", "differs", "also", "plain")}
    return PaperTable(title=title, columns=columns, rows=rows, **told)


def beside(results: Mapping[str, Record]) -> list[str]:
    """Returns Markdown tables of the papers' figures next to the results, with the differences. For a table without a
    result, returns the command that makes the result."""
    lines = list[str]()
    for of, some in groupby(published()[0], lambda table: table.of):
        group = list(some)
        mine = {name: result for name, result in results.items() if result["suite"] in group[0].suites}
        found = {name: [_cells(table, _with_union(result)) for table in group] for name, result in mine.items()}
        used = {name: cells for name, cells in found.items() if any(cells)}
        for table, each in zip(group, zip(*used.values(), strict=True), strict=True) if used else ():
            lines += _table_lines(table, each) if any(each) else ()
        if used:
            by = dict.fromkeys(text for name in used for text in _made(results[name]))
            lines.append(f"Differs: {group[0].differs}. Here: {'; '.join(by)}.")
        else:
            title = group[0].title.partition(", at ")[0]
            lines += [f"{of}: {title}", f"No result of it; make one: {group[0].command}"]
        left_out = ", ".join(name for name, cells in found.items() if not all(cells))
        lines += [f"Without figures for some of it: {left_out}.", ""] if left_out else [""]
    return lines[:-1]


def _with_union(result: Record) -> list[Measured]:
    """Returns the measures of a result, including the union of all methods. A mean stays only if it covers exactly the
    paper's data sets."""
    means, data = published()[2], {*result["metrics"]}
    found = [x for x in measured(result) if x.data not in means or data == {x.data, *means[x.data]}]
    for name, of in result.get("union", {}).items():
        values = {measure: float(v) for measure, v in of.items() if isinstance(v, int | float)}
        found.append(Measured(result["suite"], name, "union", values, {}, {}))
    return found


def _cells(table: PaperTable, lines: Sequence[Measured]) -> dict[str, dict[TableColumn, float]]:
    """Maps each row's name to its figures by column. A data set that the paper lacks gets a row with its own name."""
    named = {c.data for c in table.columns if c.data}
    rows: dict[str, dict[TableColumn, float]] = {}
    for line in lines:
        wanted = line.data if line.data in named else ""
        name = line.name if wanted or line.data in published()[2] else f"{line.data}: {line.name}"
        for c in table.columns if name in table.rows or re.fullmatch(table.also, name) else ():
            value = line.metrics.get(c.measure, math.nan)
            if c.data == wanted and not math.isnan(value):
                rows.setdefault(name, {})[c] = value if c.measure in table.plain else 100 * value
    return rows


def _made(result: Record) -> Iterator[str]:
    """Yields the models and data of a result."""
    config, (_, known, means) = result["config"], published()
    yield from (f"{what} {config[what]}" for what in ("encoder", "judge", "corpus") if config.get(what))
    data = config.get("data") or result["metrics"]
    names = [data] if isinstance(data, str) else [name for name in data if name not in means]
    yield from (f"{name} is {known[name]}" for name in names if name in known)
    if others := ", ".join(name for name in names if name not in known):
        yield f"{others}: no data of the paper's, which does not compare"


def _table_lines(table: PaperTable, each: Sequence[Mapping[str, Mapping[TableColumn, float]]]) -> list[str]:
    here: dict[str, dict[TableColumn, float]] = {}
    for name, found in (row for of in each for row in of.items()):
        here[name] = {**here.get(name, {}), **found}
    decimals = [
        max(int(c.measure not in table.plain), *(len(str(v).partition(".")[2]) for v in theirs))
        for c, theirs in zip(table.columns, zip(*table.rows.values(), strict=True), strict=True)
    ]
    rows = list[list[str]]()
    for name in dict.fromkeys((*table.rows, *here)):
        paper, cells = table.rows.get(name, (math.nan,) * len(table.columns)), list[str]()
        for c, theirs, digits in zip(table.columns, paper, decimals, strict=True):
            both = (theirs, here.get(name, {}).get(c, math.nan))
            cells.append(" / ".join("–" if math.isnan(v) else f"{v:.{digits}f}" for v in both))
        rows.append([name, *cells])
    return [*markdown([f"{table.of}: {table.title} (paper / here)", *(c.title for c in table.columns)], rows), ""]
