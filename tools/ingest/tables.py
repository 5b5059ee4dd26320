"""The rows of a table as its cells come, for formats that tell which cells are merged."""

from tools.passages import Block

_MOST_REPEATED = 200  # characters: a longer cell that is merged over many rows stands in the first of them only


class TableLines:
    """Builds a table block; a merged cell stands once in each row that it covers, so that each row says all it says."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._cells: list[str] = []
        self._above: dict[int, str] = {}
        self._column = 0

    def skip(self, columns: int) -> None:
        """Columns that this row has no cell in."""
        self._column += max(columns, 0)

    def cell(self, text: str, columns: int = 1, goes_on: bool = False) -> None:
        """The next cell of the row; `goes_on`: it belongs to the cell above it."""
        folded = " ".join(text.split())
        if goes_on:
            folded = folded or self._above.get(self._column, "")
        else:
            self._above[self._column] = folded if len(folded) <= _MOST_REPEATED else ""
        self._cells.append(folded)
        self._column += max(columns, 1)

    def end_row(self) -> None:
        if any(self._cells):
            self._lines.append(" | ".join(self._cells))
        self._cells, self._column = [], 0

    def blocks(self) -> list[Block]:
        """The table, or nothing where no cell has text."""
        if self._cells:
            self.end_row()
        return [Block("\n".join(self._lines), "table")] if self._lines else []
