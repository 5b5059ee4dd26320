"""The papers' tables (`published.toml`) next to the figures measured here."""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from evals.reports.records import Record
from evals.reports.results import Measured, measured
from evals.reports.table import markdown, percent

_BY = ("encoder", "judge", "corpus")
_COLUMN = re.compile(r"(.+?) = (?:(.+) / )?(.+)")


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A measure, on `data` or on any. plain: a number, not a share in percent."""

    title: str
    data: str
    measure: str
    plain: bool = False


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A published table at one k. rows: shares from 0 to 1, NaN if not published. also: further names shown."""

    of: str
    title: str
    suites: tuple[str, ...]
    columns: tuple[TableColumn, ...]
    rows: dict[str, tuple[float, ...]]
    command: str
    differs: str
    also: str

    def measures(self, name: str) -> dict[str, float]:
        """The figures of a row by measure; empty for another name."""
        return dict(zip((c.measure for c in self.columns), self.rows.get(name, ()), strict=False))


@cache
def published() -> tuple[tuple[PaperTable, ...], Mapping[str, str], Mapping[str, list[str]]]:
    """The tables, notes on known data, and the data sets of each mean."""
    read = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
    ones = [one | read["shapes"].get(one.get("shape"), {}) for one in read["table"]]
    tables = tuple(_table(one, place) for one in ones for place in range(len(one.get("k", "-"))))
    return tables, read["known"], read["means"]


def _table(one: dict[str, Any], place: int) -> PaperTable:
    k = one["k"][place] if "k" in one else None
    matches = [_COLUMN.fullmatch(text.format(k=k, data=one.get("data"))) for text in one["columns"]]
    found = [match.groups("") for match in matches if match]
    columns = tuple(TableColumn(t, data, m, m in one.get("plain", ())) for t, data, m in found)
    rows = {name: values[place] if k else values for name, values in one["rows"].items()}
    shares = {
        name: tuple(round(v / (1 if c.plain else 100), 6) for v, c in zip(row, columns, strict=True))
        for name, row in rows.items()
    }
    title = one["title"] + (f", at {k}" if k else "")
    suites, also = tuple(one["suites"]), one.get("also", ".*")
    return PaperTable(one["of"], title, suites, columns, shares, one["command"], one["differs"], also)


def beside(results: Mapping[str, Record]) -> list[str]:
    """Markdown tables of the papers' figures next to the results', and the differences; or the command for a result."""
    measures, lines = {name: _with_union(result) for name, result in results.items()}, list[str]()
    for of, some in groupby(published()[0], lambda table: table.of):
        group, shown = list(some), list[str]()
        by, left_out = dict[str, None](), dict[str, None]()
        for table in group:
            here = dict[str, dict[str, float]]()
            for name in (name for name, result in results.items() if result["suite"] in table.suites):
                found = _cells(table, measures[name])
                for row, cells in found.items():
                    here[row] = here.get(row, {}) | cells
                (by if found else left_out).update(dict.fromkeys(_made(results[name]) if found else [name]))
            shown += _table_lines(table, here) if here else ()
        if shown:
            lines += [*shown, f"Differs: {group[0].differs}. Here: {'; '.join(by)}."]
        else:
            title = group[0].title.partition(", at ")[0]
            lines += [f"{of}: {title}", f"No result of it; make one: {group[0].command}"]
        lines += [f"Without figures for some of it: {', '.join(left_out)}.", ""] if left_out else [""]
    return lines[:-1]


def _with_union(result: Record) -> list[Measured]:
    """Also the union of all methods. A mean counts only over exactly the paper's data sets."""
    means, data = published()[2], {*result["metrics"]}
    found = [x for x in measured(result) if x.data not in means or data == {x.data, *means[x.data]}]
    for name, of in result.get("union", {}).items():
        values = {measure: float(v) for measure, v in of.items() if isinstance(v, int | float)}
        found.append(Measured(result["suite"], name, "union", values, {}))
    return found


def _cells(table: PaperTable, lines: Sequence[Measured]) -> dict[str, dict[str, float]]:
    """Row to figures by column. Other data than the paper's get a row with their name."""
    named = {c.data for c in table.columns if c.data}
    rows: dict[str, dict[str, float]] = {}
    for line in lines:
        wanted = line.data if line.data in named else ""
        name = line.name if wanted or line.data in published()[2] else f"{line.data}: {line.name}"
        for c in table.columns if name in table.rows or re.fullmatch(table.also, name) else ():
            value = line.metrics.get(c.measure, math.nan)
            if c.data == wanted and not math.isnan(value):
                rows.setdefault(name, {})[c.title] = value
    return rows


def _made(result: Record) -> Iterator[str]:
    """The models and data of a result."""
    config, (_, known, means) = result["config"], published()
    yield from (f"{what} {config[what]}" for what in _BY if config.get(what))
    data = config.get("data") or result["metrics"]
    names = [data] if isinstance(data, str) else [name for name in data if name not in means]
    yield from (f"{name} is {known[name]}" for name in names if name in known)
    if others := ", ".join(name for name in names if name not in known):
        yield f"{others}: no data of the paper's, which does not compare"


def _table_lines(table: PaperTable, here: Mapping[str, Mapping[str, float]]) -> list[str]:
    exact = [_digits(values) for values in zip(*table.rows.values(), strict=True)]
    rows = []
    for name in dict.fromkeys((*table.rows, *here)):
        paper = table.rows.get(name, (math.nan,) * len(table.columns))
        ours = [here.get(name, {}).get(c.title, math.nan) for c in table.columns]
        cells = zip(zip(paper, ours, strict=True), table.columns, exact, strict=True)
        rows.append([name, *(" / ".join(_cell(v, c.plain, digits) for v in pair) for pair, c, digits in cells)])
    titles = [f"{table.of}: {table.title} (paper / here)", *(c.title for c in table.columns)]
    return [*markdown(titles, rows), ""]


def _digits(shares: Sequence[float]) -> int:
    """Decimal places of the paper's percentages."""
    return 2 if any(abs(100 * v - round(100 * v, 1)) > 1e-6 for v in shares) else 1


def _cell(value: float, plain: bool, digits: int) -> str:
    return f"{round(value, 3):g}" if plain and not math.isnan(value) else percent(value, digits=digits)
