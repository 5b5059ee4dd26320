"""Merged cells of tables in a tree of HTML, for formats that tell which cells are merged."""

from copy import deepcopy
from typing import Any

_LONGEST_REPEATED = 200  # characters: a longer cell that is merged over many rows stands in the first of them only


def repeat_merged(table: Any) -> None:
    """A cell that is merged over several rows stands in each of them, so that each row says all that it says."""
    rows = [row for row in table.iter("tr") if next(row.iterancestors("table")) is table]
    for at, row in enumerate(rows):
        column = 0
        for cell in row.iterchildren("td", "th"):
            for below in rows[at + 1 : at + int(cell.attrib.pop("rowspan", "1"))]:
                _put(deepcopy(cell), column, below)
            column += int(cell.get("colspan", "1"))


def _put(cell: Any, column: int, row: Any) -> None:
    """Inserts the copy of a cell into a row, where as many columns stand before it."""
    cell.tail = None
    if len("".join(cell.itertext())) > _LONGEST_REPEATED:
        cell[:], cell.text = [], None
    for other in row.iterchildren("td", "th"):
        if column <= 0:
            other.addprevious(cell)
            return
        column -= int(other.get("colspan", "1"))
    row.append(cell)
