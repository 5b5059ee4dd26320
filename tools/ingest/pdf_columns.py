"""Finds the columns of a page: strips of white that many lines respect, one below the other, and where each ends.

The strips are looked for between words, not between pieces: a gutter may be narrower than the spaces of a justified
line, and what tells it from them is that line after line begins at its right edge.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from tools.ingest.pdf_pages import Piece

Row = list[Piece]
"""Pieces on one baseline, from left to right."""

_GUTTER, _CLEAR = 0.3, 0.9  # of the size: the narrowest, and one that few lines tell
_FEWEST, _MORE = 3, 8  # lines of a column, beside a clear gutter and a narrow one
_CELL = 1.2  # times the size: a gap that may part cells
_LOWER = re.compile(r"[(\"'“‘]?[^\W\d_]*[^\W\dA-Z_][^\W\d_]*(?:[-'’][^\W\d_]*)*[.,;:!?)\"'”’]*")
_MOST_EDGES = 12
_NEAR = 1.2  # points by which lines of a column begin apart
_KNOWN = 10  # lines that tell a gutter so well that one line is a column
_WIDER = 1.3  # than the usual space
_TEXTY, _ALIGNED, _REGULAR = 0.35, 0.3, 0.6  # of the lines of a column: are text, begin at its edge, begin like others
_HALF, _MOSTLY = 0.5, 0.6  # of them, where the gutter is narrow, and where they are few
_FILL, _SHORTEST = 0.6, 6.0  # what of a line of text words cover; its width, times the size


@dataclass(slots=True)
class Strip:
    """A gutter: where the column right of it begins, and the rows (first, last + 1) of each band that it parts.

    gutter: its width, points. lines: how many it parts for sure.
    """

    edge: float
    bands: list[tuple[int, int]]
    gutter: float
    lines: int


_Span = tuple[float, float, bool]
"""Left and right edge of a word, and whether it is one of running text."""


@dataclass(slots=True)
class _Words:
    """The words of a row."""

    spans: list[_Span]
    base: float
    size: float

    def sides(self, edge: float) -> tuple[list[_Span], list[_Span]]:
        """The words left of the edge and right of it."""
        at = bisect_left(self.spans, (edge - _NEAR,))
        return self.spans[:at], self.spans[at:]


def strips_of(pages: Sequence[Sequence[Row]]) -> tuple[list[Strip | None], dict[float, float]]:
    """The gutter of each page, and where columns begin for sure, with the widths of the gutters before them.

    What is known from one page counts on the others, too.
    """
    found = [strip_of(rows) for rows in pages]
    known: dict[float, float] = {}
    for strip in found:
        if strip and strip.lines >= _KNOWN:
            edge = strip.edge + _NEAR
            known[edge] = min(strip.gutter, known.get(edge, strip.gutter))
    again = [
        strip if not known or (strip and strip.lines >= _KNOWN) else strip_of(rows, known)
        for rows, strip in zip(pages, found, strict=True)
    ]
    return again, known


def strip_of(rows: Sequence[Row], known: Mapping[float, float] | None = None) -> Strip | None:
    """The gutter that parts most lines; known: edges of columns with their gutters, which few lines may tell."""
    words = [_words(row) for row in rows]
    if not words or (len(words) < _FEWEST and not known):
        return None
    gaps = [second[0] - first[1] for w in words for first, second in pairwise(w.spans)]
    space = median(gaps) if gaps else 0.0
    best: Strip | None = None
    left, right = min(w.spans[0][0] for w in words), max(w.spans[-1][1] for w in words)
    for edge, gutter in (known or {}).items():
        if not left < edge < right:
            continue
        strip = _Bands(words, edge, space, gutter).found()
        if strip.bands and (best is None or strip.lines > best.lines):
            best = strip
    if best:
        return best
    for edge in _edges(words, median(w.size for w in words)):
        strip = _Bands(words, edge, space).found()
        if strip.bands and strip.lines > (best.lines if best else 0):
            best = strip
    return best


def _words(row: Row) -> _Words:
    spans = sorted(
        (left, right, _LOWER.fullmatch(word) is not None)
        for piece in row
        for word, (left, right) in zip(piece.text.split(" "), piece.spans, strict=True)
    )
    longest = max(row, key=lambda p: len(p.text))
    return _Words(spans, row[0].base, longest.size)


def _edges(words: Sequence[_Words], size: float) -> list[float]:
    """Where several lines begin or go on after a gap, those first at which most do."""
    begins: Counter[float] = Counter()
    margin = min(w.spans[0][0] for w in words)
    for w in words:
        right = margin
        for left, end, _ in w.spans:
            if left - right >= _GUTTER * size:
                begins[round(2 * left) / 2] += 1
            right = max(right, end)
    counted = {at: sum(begins[at + shift / 2] for shift in (-2, -1, 0, 1, 2)) for at in begins}
    found: list[float] = []
    for at in sorted(counted, key=lambda at: (-counted[at], -begins[at])):
        if counted[at] < _FEWEST or len(found) == _MOST_EDGES:
            break
        if all(abs(at - other) > 2 for other in found):
            found.append(at)
    return found


class _Bands:
    """The bands of rows that one strip parts."""

    def __init__(self, words: Sequence[_Words], edge: float, space: float, gutter: float = 0.0) -> None:
        self._words, self._edge, self._space = words, edge, space
        self._size = median(w.size for w in words)
        self._sides = [w.sides(edge) for w in words]
        self._gutter, self._strict, self._left = gutter, False, 0.0
        self._across = [self._stands_across(*sides) for sides in self._sides]

    def found(self) -> Strip:
        """The strip with its bands, none where it is no gutter."""
        for start, end in self._runs():
            self._trim(start, end)
        strong = [run for run in self._runs() if self._are_columns(*run)]
        lines = sum(min(self._counts(*run)) for run in strong)
        if lines < _KNOWN and not self._gutter:
            self._strict = True
            strong = [run for run in strong if self._are_columns(*run)]
            return Strip(self._edge - _NEAR, strong, 0.0, lines if strong else 0)
        gaps = sorted(self._gap(i) for start, end in strong for i in range(start, end) if self._sides[i][0])
        self._gutter = gaps[len(gaps) // 10] if gaps else self._gutter
        self._left = min((w.spans[0][0] for start, end in strong for w in self._words[start:end]), default=0.0)
        for start, end in self._runs():
            self._trim(start, end)
        self._set_lines_across()
        for start, end in self._runs():
            self._set_tables_across(start, end)
        bands = [run for run in self._runs() if self._are_columns(*run) or self._are_rest(*run)]
        return Strip(self._edge - _NEAR, bands, self._gutter, lines)

    def _gap(self, i: int) -> float:
        """How far the left column's line ends before the edge."""
        left, _ = self._sides[i]
        return self._edge - left[-1][1] if left else self._edge

    def _stands_across(self, left: Sequence[_Span], right: Sequence[_Span]) -> bool:
        end = max((span[1] for span in left), default=0.0)
        if end <= self._edge - _GUTTER * self._size:
            return False
        # A line that nearly touches the next column is still beside it.
        return end > self._edge or not right or abs(right[0][0] - self._edge) > _NEAR

    def _runs(self) -> list[tuple[int, int]]:
        runs, start = [], 0
        for i, across in enumerate([*self._across, True]):
            if across:
                if i > start:
                    runs.append((start, i))
                start = i + 1
        return runs

    def _trim(self, start: int, end: int) -> None:
        """Sets across what goes on with the paragraph that stands across the columns, above or below."""
        while 0 < start < end and self._goes_on(start - 1, start):
            self._across[start] = True
            start += 1
        while start < end < len(self._words) and self._goes_on(end, end - 1) and self._sides[end - 1][1]:
            end -= 1
            self._across[end] = True

    def _goes_on(self, across: int, other: int) -> bool:
        first, second = self._words[across], self._words[other]
        if abs(second.size - first.size) > 0.08 * first.size or abs(second.base - first.base) > 1.5 * first.size:
            return False
        left, right = self._sides[other]
        if not left or abs(second.spans[0][0] - first.spans[0][0]) > 2.0:
            return False
        # What begins elsewhere than the columns do, as a summary with wider margins does, is none of theirs.
        as_wide = right and abs(second.spans[-1][1] - first.spans[-1][1]) <= _NEAR
        if not right or (self._left and as_wide and abs(first.spans[0][0] - self._left) > _NEAR):
            return True
        return abs(right[0][0] - self._edge) > _NEAR and right[0][0] - left[-1][1] < self._size

    def _counts(self, start: int, end: int) -> tuple[int, int]:
        sides = self._sides[start:end]
        return sum(bool(left) for left, _ in sides), sum(bool(right) for _, right in sides)

    def _are_columns(self, start: int, end: int) -> bool:
        """Whether lines of text stand beside each other here."""
        sides = self._sides[start:end]
        lefts, rights = [left for left, _ in sides if left], [right for _, right in sides if right]
        if min(len(lefts), len(rights)) < _FEWEST:
            return False
        gutter = sorted(self._edge - left[-1][1] for left in lefts)[len(lefts) // 10]
        if gutter < 0.7 * self._gutter:
            return False
        narrow = gutter < max(_CLEAR * self._size, _WIDER * self._space)
        if narrow and not self._gutter and min(len(lefts), len(rights)) < _MORE:
            return False
        both = [i for i in range(start, end) if all(self._sides[i])]
        if narrow and not self._gutter and sum(self._is_widest(i) for i in both) < _ALIGNED * len(both):
            return False
        aligned = sum(abs(right[0][0] - self._edge) <= _NEAR for right in rights)
        begins = Counter(round(right[0][0] / 2) for right in rights)
        regular = sum(n for at, n in begins.items() if begins[at - 1] + n + begins[at + 1] >= _FEWEST)
        if aligned < max(_FEWEST, (_HALF if narrow else _ALIGNED) * len(rights)) or regular < _REGULAR * len(rights):
            return False
        return self._beside(start, end) and all(self._is_text(side) for side in (lefts, rights))

    def _is_widest(self, i: int) -> bool:
        """Whether the gap before the edge is wider than those between the words of the row."""
        left, right = self._sides[i]
        gaps = [second[0] - first[1] for side in (left, right) for first, second in pairwise(side)]
        return not gaps or right[0][0] - left[-1][1] > _WIDER * median(gaps)

    def _beside(self, start: int, end: int) -> bool:
        bases = [[self._words[i].base for i in range(start, end) if self._sides[i][side]] for side in (0, 1)]
        shared = min(side[-1] for side in bases) - max(side[0] for side in bases)
        return shared > 0.4 * min(side[-1] - side[0] for side in bases)

    def _is_text(self, lines: Sequence[Sequence[_Span]]) -> bool:
        extent = max(line[-1][1] for line in lines) - min(line[0][0] for line in lines)
        return sum(self._holds_line(line, extent) for line in lines) >= max(
            2.0, (_MOSTLY if self._strict else _TEXTY) * len(lines)
        )

    def _holds_line(self, line: Sequence[_Span], extent: float) -> bool:
        """Whether a part of it, between gaps that may part further columns, is a line of running text."""
        gaps = [second[0] - first[1] for first, second in pairwise(line)]
        widest = max(_CELL * self._size, 2 * median(gaps)) if gaps else 0.0
        starts = [0, *(i for i, gap in enumerate(gaps, start=1) if gap > widest), len(line)]
        return any(self._is_line(line[start:end], extent) for start, end in pairwise(starts))

    def _is_line(self, line: Sequence[_Span], extent: float) -> bool:
        """Whether words of running text fill the line, and no gap in it is wider than the others."""
        if len(line) < 3 or sum(lower for _, _, lower in line) < 0.5 * len(line):
            return False
        gaps = [second[0] - first[1] for first, second in pairwise(line)]
        if max(gaps) > max(_CELL * self._size, 2 * median(gaps)):
            return False
        wide = line[-1][1] - line[0][0]
        covered = sum(right - left for left, right, _ in line)
        return wide >= max(_SHORTEST * self._size, 0.25 * extent) and covered >= _FILL * wide

    def _are_rest(self, start: int, end: int) -> bool:
        """Whether these are a few more lines of columns that are known."""
        sides = self._sides[start:end]
        if all(not left or (self._left and abs(left[0][0] - self._left) > _NEAR) for left, _ in sides):
            return False
        return all(self._gap(i) >= 0.7 * self._gutter for i in range(start, end)) and any(
            right and abs(right[0][0] - self._edge) <= _NEAR for _, right in sides
        )

    def _set_lines_across(self) -> None:
        """Lines that have a space, and no gutter, before the edge stand across the columns."""
        for i, (left, right) in enumerate(self._sides):
            if left and right and self._gutter > _CLEAR * self._size:
                self._across[i] = self._across[i] or right[0][0] - left[-1][1] < 0.5 * self._gutter

    def _set_tables_across(self, start: int, end: int) -> None:
        """Rows of cells on both sides, of which neither is text, are those of one wide table."""
        lefts = [left for left, _ in self._sides[start:end] if left]
        rights = [right for _, right in self._sides[start:end] if right]
        if min(len(lefts), len(rights)) < _FEWEST:
            return
        extents = [max(x[-1][1] for x in side) - min(x[0][0] for x in side) for side in (lefts, rights)]
        run: list[int] = []
        for i in range(start, end + 1):
            texty = (
                [self._is_line(side, extent) for side, extent in zip(self._sides[i], extents, strict=True)]
                if i < end and all(self._sides[i])
                else [True, True]
            )
            if not all(texty):
                run.append(i)
                continue
            if len(run) >= _FEWEST and self._is_wide_table(run, extents):
                for row in run:
                    self._across[row] = True
            run = []

    def _is_wide_table(self, run: Sequence[int], extents: Sequence[float]) -> bool:
        for side, extent in enumerate(extents):
            lines = [self._sides[i][side] for i in run]
            if sum(self._is_line(line, extent) for line in lines) >= 0.5 * len(lines):
                return False
        lines = [self._sides[i][side] for i in run for side in (0, 1)]
        gaps = [max((second[0] - first[1] for first, second in pairwise(line)), default=0.0) for line in lines]
        return sum(gap > self._size for gap in gaps) >= 0.5 * len(run)
