"""The papers' figures that are measured here too, from `published.toml`: the one place for all of them."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

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
