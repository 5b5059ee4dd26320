"""The papers' figures that are measured here too, from `published.toml`: the one place for all of them."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("published.toml")


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
    also: str = ".*"

    def shows(self, name: str) -> bool:
        return name in self.rows or re.fullmatch(self.also, name) is not None

    def measures(self, name: str) -> dict[str, float]:
        """Measure to figure of a row; none for a name that it does not have."""
        return dict(zip((c.measure for c in self.columns), self.rows.get(name, ()), strict=False))


@cache
def tables() -> tuple[Table, ...]:
    """All of them, in the order of the file."""
    read = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return tuple(table for one in read["table"] for table in _at_each_k(one | read["shapes"].get(one.get("shape"), {})))


def table(of: str) -> Table:
    """The first of a paper and a number."""
    return next(one for one in tables() if one.of == of)


def _at_each_k(one: dict[str, Any]) -> Iterator[Table]:
    for place, k in enumerate(one.get("k", [0])):
        columns = tuple(
            _column(text.format(k=k, data=one.get("data", "")), one.get("plain", [])) for text in one["columns"]
        )
        rows = {name: values[place] if k else values for name, values in one["rows"].items()}
        yield Table(
            of=one["of"],
            title=one["title"] + (f", at {k}" if k else ""),
            suites=tuple(one["suites"]),
            columns=columns,
            rows={
                name: tuple(v if c.plain else round(v / 100, 6) for v, c in zip(values, columns, strict=True))
                for name, values in rows.items()
            },
            command=one["command"],
            differs=one["differs"],
            also=one.get("also", ".*"),
        )


def _column(text: str, plain: list[str]) -> Column:
    title, _, place = text.partition(" = ")
    data, _, measure = place.rpartition(" / ")
    return Column(title, data, measure, measure in plain)
