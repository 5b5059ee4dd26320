"""The papers' tables, from `published.toml`, beside the figures measured here."""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Any

from evals.reports.lines import Line, lines_of
from evals.reports.records import Record
from evals.reports.table import block, percent

_BY = ("encoder", "judge", "corpus")
_wrapped = partial(wrap, width=120, break_on_hyphens=False)
Cells = dict[str, float]
"""Title of a column to a figure."""
_COLUMN = re.compile(r"(.+?) = (?:(.+) / )?(.+)")


@dataclass(frozen=True, slots=True)
class Column:
    """Where a result has a figure. data: empty where any will do. plain: no share, which the file has in percent."""

    title: str
    data: str
    measure: str
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A published table, at one k. rows: name to a figure a column, shares from 0 to 1; NaN where none was published.
    also: names of ours that it does not have and that are shown beside."""

    of: str
    title: str
    suites: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: dict[str, tuple[float, ...]]
    command: str
    differs: str
    also: str

    def measures(self, name: str) -> dict[str, float]:
        """Measure to figure of a row; none for a name that it does not have."""
        return dict(zip((c.measure for c in self.columns), self.rows.get(name, ()), strict=False))


@cache
def published() -> tuple[tuple[Table, ...], Mapping[str, str], Mapping[str, list[str]]]:
    """All tables in the order of the file; what is known of data by their names; and of what data each mean is."""
    read = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
    ones = [one | read["shapes"].get(one.get("shape"), {}) for one in read["table"]]
    tables = tuple(_table(one, place) for one in ones for place in range(len(one.get("k", "-"))))
    return tables, read["known"], read["means"]


def _table(one: dict[str, Any], place: int) -> Table:
    """At the k of that place, where there are several."""
    k, plain = one["k"][place] if "k" in one else None, one.get("plain", ())
    texts = [text.format(k=k, data=one.get("data")) for text in one["columns"]]
    found = [of.groups("") for text in texts if (of := _COLUMN.fullmatch(text))]
    columns = tuple(Column(title, data, measure, measure in plain) for title, data, measure in found)
    shares = [1 if c.plain else 100 for c in columns]
    rows = {name: values[place] if k else values for name, values in one["rows"].items()}
    return Table(
        of=one["of"],
        title=one["title"] + (f", at {k}" if k else ""),
        suites=tuple(one["suites"]),
        columns=columns,
        rows={n: tuple(round(v / of, 6) for v, of in zip(row, shares, strict=True)) for n, row in rows.items()},
        command=one["command"],
        differs=one["differs"],
        also=one.get("also", ".*"),
    )


def beside(results: Mapping[str, Record]) -> list[Record]:
    """A record a table: `of`, `title`, `columns`, `rows` (name to those of `paper` and `here`, a value a column), what
    `differs`, the `command`, `by` whom and on what it was measured, and the names of the results that were `left_out`;
    without results of it the rows are the paper's. results: by the name of each."""
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
    here, left_out, by = dict[str, Cells](), list[str](), dict[str, None]()
    for name in (name for name, result in results.items() if result["suite"] in table.suites):
        found = measured(table, lines[name])
        for row, cells in found.items():
            here[row] = here.get(row, {}) | cells
        by |= dict.fromkeys(_made(results[name]) if found else ())
        left_out += [] if found else [name]
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
        if none := dict.fromkeys(name for one in group for name in one["left_out"]):
            lines += _wrapped(f"Without figures for some of it: {', '.join(none)}.")
        lines.append("")
    return lines[:-1]


def _digits(shares: Sequence[float]) -> int:
    """After the point, as the paper has them in percent."""
    return 2 if any(abs(100 * v - round(100 * v, 1)) > 1e-6 for v in shares) else 1


def _cell(value: float, plain: bool, digits: int) -> str:
    return f"{round(value, 3):g}" if plain and not math.isnan(value) else percent(value, digits=digits)
