"""The rows of a csv file, of which a quotation mark that is closed nowhere does not swallow those below it."""

import csv
from collections.abc import Iterator, Sequence

from tools.errors import SourceError

Line = tuple[int, list[str]]
"""The number of the line that a row begins on, and its cells."""

_HALF = 0.5  # of the lines below the mark that are rows by themselves, where the quotation is wrong for sure
_MANY = 8  # lines of one cell that are rows one by one, which no text happens to be


def width_of(cells: Sequence[str], usual: int) -> int:
    """The number of a row's cells, without empty ones at its end past the usual number: programs that write tables put
    a separator after the last cell of some rows."""
    width = len(cells)
    while width > usual and not cells[width - 1].strip():
        width -= 1
    return width


class _Fed:
    """Lines that csv takes one by one; `at`, the next one, can be set back also after the last was taken."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self.at = 0

    def __iter__(self) -> "_Fed":
        return self

    def __next__(self) -> str:
        if self.at >= len(self._lines):
            raise StopIteration
        self.at += 1
        return self._lines[self.at - 1]


class Lines:
    """The rows of a table's lines, those without any cell that says something left out; iterable once.

    separator, quoting: as csv has them. before: lines of the file above these. width: the usual number of cells, or 0
    where that is to be found out and quotation marks are taken as they are. A row is then mended whose quotation marks
    cannot be meant as such: of its first line they are taken for plain signs, and the lines below it are read as rows.
    """

    def __init__(self, lines: Sequence[str], form: tuple[str, int], name: str, before: int = 0, width: int = 0) -> None:
        self._lines, self._name, self._before, self._width = lines, name, before, width
        self._separator, self._quoting = form
        self._plain: list[int] = []
        self._open = 0

    def __iter__(self) -> Iterator[Line]:
        """Raises SourceError where the lines are no csv."""
        fed = _Fed(self._lines)
        reader = csv.reader(fed, delimiter=self._separator, quoting=self._quoting)  # type: ignore[arg-type]
        start = 0
        try:
            for cells in reader:
                if fed.at - start > 1 and self._runs_on(start, fed.at, cells):
                    self._plain.append(self._before + start + 1)
                    fed.at = start + 1
                    [cells] = csv.reader(
                        self._lines[start : start + 1], delimiter=self._separator, quoting=csv.QUOTE_NONE
                    )
                if any(cell.strip() for cell in cells):
                    yield self._before + start + 1, cells
                start = fed.at
        except csv.Error as exc:
            raise SourceError(f"{self._name}, line {self._before + start + 1}: not valid csv ({exc}).") from exc

    def told(self) -> list[str]:
        """What was made of quotation marks that are closed nowhere, once all is read."""
        found = []
        if self._plain:
            shown = ", ".join(map(str, self._plain[:10])) + (" …" if len(self._plain) > 10 else "")
            found.append(
                f"a quotation mark that opens a cell is not closed before the next row (line {shown}), so it was taken "
                "for a plain sign and the lines below it for rows"
            )
        if self._open:
            found.append(
                f"a quotation mark that opens in line {self._open} is closed nowhere: all that follows is one cell, "
                "close the mark if it should not be"
            )
        return found

    def _runs_on(self, start: int, end: int, cells: Sequence[str]) -> bool:
        """Whether a row of several lines is several rows, joined by a quotation mark."""
        if not self._width or self._quoting == csv.QUOTE_NONE:
            return False
        taken = self._lines[start:end]
        own = [row for row in (self._alone(line) for line in taken[1:] if line.strip()) if row]
        usual = sum(self._is_usual(row) for row in own)
        if not self._is_closed(taken):
            if usual > _HALF * len(own):
                return True
            if end == len(self._lines) and self._is_open(taken):
                self._open = self._before + start + 1
            return False
        if self._width == 1:
            return False
        if not self._is_usual(cells):
            return usual > _HALF * len(own)
        return len(own) >= _MANY and all(self._is_usual(row) and all(map(str.strip, row[: self._width])) for row in own)

    def _is_usual(self, cells: Sequence[str]) -> bool:
        return width_of(cells, self._width) == self._width

    def _alone(self, line: str) -> list[str]:
        return next(csv.reader([line], delimiter=self._separator))

    def _is_closed(self, taken: Sequence[str]) -> bool:
        """Whether each quotation ends where its cell does."""
        try:
            list(csv.reader(taken, delimiter=self._separator, strict=True))
        except csv.Error:
            return False
        return True

    def _is_open(self, taken: Sequence[str]) -> bool:
        """Whether a quotation goes on at the end."""
        return len(list(csv.reader([*taken, "x"], delimiter=self._separator))) == 1
