"""What every kind of table comes to: named columns and rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tools.errors import SourceError

Value = str | tuple[str, ...]
"""What a row has under a column: a text, or the texts of a list."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its number, counted from 1, where it stands in the file, and its values by column."""

    number: int
    where: str
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a file, in order, an error in the place of each that is broken.

    names: of the columns; empty where each row names its own. notes: what the reader has to tell of the file, which may
    grow until all rows were taken.
    """

    rows: Iterator[Row | SourceError]
    names: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)
