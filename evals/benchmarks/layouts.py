"""Papers as they are set in columns: what stands beside, between and across columns, on pages whose words are known.

Narrow gutters, justified lines without hyphens, ragged ones, tables and figures within a column, a summary and a table
across all of them, footnotes, numbered headings, references with a hanging indent, letter-spaced capitals. Nothing
here reads PDF.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from evals.benchmarks.typeset import SANS, pdf_of, width

_WIDE, _HIGH, _MARGIN = 612, 792, 60
_LEADING = 1.2
_ROWS = [
    ("Option", "Cost", "Year"),
    ("Close the old bridge", "210", "2015"),
    ("Mend it in part", "1,350", "2017"),
    ("Leave it", "0", "2018"),
    ("Build another", "24,900", "2021"),
]
_WIDE_ROWS = [
    ("Town", "Voters", "For", "Against", "Remarks"),
    ("Aldham", "12,204", "54.1", "45.9", "after a second count in May"),
    ("Brook", "3,310", "48.0", "52.0", "none"),
    ("Carrow", "870", "61.3", "38.7", "two boxes were lost"),
    ("Denby", "22,001", "50.2", "49.8", "none"),
]
_LABELS = ("1990", "1995", "2000", "2005", "boats", "harvest")

Paper = Sequence[tuple[str, str]]
"""Parts of a paper, each with its form: `heading`, `paragraph`, `table`, `figure`, `reference`, `across`, `wide`."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a paper is set.

    gutter: times the size. order: what is drawn one after the other, `columns`, `lines` or `words`. spaced: whether
    headings are capitals set apart. indent: of first lines, times the size. notes: `column` for one below each column,
    `across` for one a page.
    """

    columns: int = 2
    gutter: float = 1.0
    size: float = 10.0
    justified: bool = True
    sans: bool = False
    order: str = "columns"
    spaced: bool = False
    indent: float = 0.0
    notes: str = ""
    kerned: bool = False
    margin: float = _MARGIN
    seed: int = 1


LAYOUTS = {
    "narrow gutter": Layout(gutter=0.5),
    "narrow gutter, drawn by lines": Layout(gutter=0.7, order="lines", notes="column"),
    "ragged, drawn by words": Layout(gutter=0.8, justified=False, order="words", sans=True),
    "narrow columns with wide gaps": Layout(columns=3, gutter=1.2, sans=True, notes="column"),
    "three columns, kerned": Layout(columns=3, gutter=0.8, size=9.0, kerned=True, indent=1.2),
    "spaced capitals, notes across": Layout(gutter=2.0, size=11.0, spaced=True, notes="across", indent=1.5),
    "narrow page": Layout(columns=2, gutter=1.0, margin=130.0, size=10.5, order="words"),
    "one column, narrow": Layout(columns=1, margin=210.0, size=11.0, notes="column"),
    "one column": Layout(columns=1, sans=True, kerned=True, indent=1.2),
}


@dataclass(slots=True)
class _Run:
    """A text at a place from the left edge and the baseline of its box; space: points between its words."""

    x: float
    text: str
    size: float
    font: str
    space: float
    spread: float = 0.0
    rise: float = 0.0


@dataclass(slots=True)
class _Box:
    """A line or a row, as high as it is with its room."""

    height: float
    runs: list[_Run] = field(default_factory=list)
    stays: bool = False  # with the next one


def set_paper(paper: Paper, layout: Layout) -> bytes:
    """A PDF of the paper."""
    return pdf_of(["\n".join(page).encode("cp1252", "replace") for page in _Setter(layout).pages(paper)])


class _Setter:
    def __init__(self, layout: Layout) -> None:
        self._layout, self._size = layout, layout.size
        self._font, self._bold = SANS if layout.sans else ("F1", "F2")
        self._rng = random.Random(layout.seed)
        self._full = _WIDE - 2 * layout.margin
        gutter = layout.gutter * layout.size
        self._measure = (self._full - (layout.columns - 1) * gutter) / layout.columns
        self._step = self._measure + gutter
        self._note = 0

    def pages(self, paper: Paper) -> Iterator[list[str]]:
        """The drawing operations of each page."""
        page: list[str] = []
        y, floor = float(_HIGH - _MARGIN), _MARGIN + (3 * self._size if self._layout.notes else 0.0)
        for across, parts in groupby(paper, key=lambda part: part[0] in ("across", "wide", "title")):
            measure = self._full if across else self._measure
            boxes = [box for form, text in parts for box in self._boxes(form, text, measure)]
            while boxes:
                columns = [boxes] if across else self._columns(boxes, y - floor)
                taken = sum(map(len, columns))
                if not taken or (across and sum(b.height for b in boxes) > y - floor):
                    yield page + self._notes()
                    page, y = [], float(_HIGH - _MARGIN)
                    continue
                page += self._drawn(columns, y)
                y -= max(sum(b.height for b in column) for column in columns)
                boxes = boxes[taken:]
                if boxes:
                    yield page + self._notes()
                    page, y = [], float(_HIGH - _MARGIN)
        yield page + self._notes()

    def _notes(self) -> list[str]:
        """Footnotes at the foot of a page."""
        size, made = 0.8 * self._size, []
        for i in range({"column": self._layout.columns, "across": 1}.get(self._layout.notes, 0)):
            self._note += 1
            x = self._layout.margin + i * self._step
            made.append(self._shown(x, _MARGIN + 0.3 * size, _Run(0, str(self._note), 0.6 * size, self._font, 2.0)))
            text = _Run(0, f"See volume {self._note} of the minutes.", size, self._font, 0.3 * size)
            made.append(self._shown(x + 0.5 * size, _MARGIN, text))
        return made

    def _columns(self, boxes: Sequence[_Box], room: float) -> list[list[_Box]]:
        """As many of the boxes as have room, in columns of much the same height."""
        count, total = self._layout.columns, sum(b.height for b in boxes)
        height = min(room, max(total / count + 2 * self._size, 20 * self._size))
        columns: list[list[_Box]] = []
        at = 0
        for _ in range(count):
            column: list[_Box] = []
            while at < len(boxes) and sum(b.height for b in column) + boxes[at].height <= height:
                column.append(boxes[at])
                at += 1
            while column and column[-1].stays and at < len(boxes):
                column.pop()
                at -= 1
            columns.append(column)
        return columns if columns[0] else [[] for _ in columns]

    def _drawn(self, columns: Sequence[Sequence[_Box]], y: float) -> list[str]:
        placed: list[tuple[float, float, _Run]] = []
        for i, column in enumerate(columns):
            base = y
            for box in column:
                base -= box.height
                placed += [(self._layout.margin + i * self._step + run.x, base + run.rise, run) for run in box.runs]
        if self._layout.order != "columns":
            placed.sort(key=lambda p: (-round(p[1], 1), p[0]))
        return [self._shown(*place) for place in placed]

    def _shown(self, x: float, y: float, run: _Run) -> str:
        begin = f"BT /{run.font} {run.size:g} Tf {run.spread:.2f} Tc "
        natural = width(" ", run.size, run.font)
        words = run.text.split(" ")
        if self._layout.order == "words":
            made = []
            for word in words:
                made.append(f"{begin}{x:.2f} {y:.2f} Td ({_escaped(word)}) Tj ET")
                x += width(word, run.size, run.font) + run.spread * len(word) + run.space
            return "\n".join(made)
        if self._layout.kerned:
            gap = -1000 * run.space / run.size
            pairs = f" {gap:.0f} ".join(" 18 ".join(f"({_escaped(half)})" for half in _halves(w)) for w in words)
            return f"{begin}{x:.2f} {y:.2f} Td [{pairs}] TJ ET"
        return f"{begin}{run.space - natural - run.spread:.3f} Tw {x:.2f} {y:.2f} Td ({_escaped(run.text)}) Tj ET"

    def _boxes(self, form: str, text: str, measure: float) -> Iterator[_Box]:
        size, leading = self._size, _LEADING * self._size
        if form == "title":
            yield from self._lines(text, measure, 1.8 * size, self._bold, justified=False)
            yield _Box(leading)
        elif form == "heading":
            spread = 0.2 * size if self._layout.spaced else 0.0
            shown = text.upper() if spread else text
            yield _Box(0.6 * leading, stays=True)
            for box in self._lines(shown, measure, size, self._bold, justified=False, spread=spread):
                box.stays = True
                yield box
        elif form in ("table", "wide"):
            yield from self._table(_ROWS if form == "table" else _WIDE_ROWS, measure)
        elif form == "figure":
            yield from self._figure(text, measure)
        elif form == "reference":
            yield from self._lines(text, measure, 0.9 * size, self._font, hang=1.5 * size)
        elif form == "note":
            yield from self._lines(text, measure, 0.8 * size, self._font)
        else:
            yield from self._lines(text, measure, size, self._font, first=self._layout.indent * size)
            yield _Box(0.0 if self._layout.indent else 0.5 * leading)

    def _lines(
        self, text: str, measure: float, size: float, font: str, *,
        justified: bool | None = None, hang: float = 0.0, first: float = 0.0, spread: float = 0.0,
    ) -> Iterator[_Box]:  # fmt: skip
        justified = self._layout.justified if justified is None else justified
        space = width(" ", size, font) + 2 * spread
        left, line, used = first, list[str](), 0.0
        for word in [*text.split(" "), ""]:
            needed = width(word, size, font) + spread * len(word)
            if line and (not word or left + used + space + needed > measure):
                gap = space
                if justified and word and len(line) > 1:
                    gap += (measure - left - used) / (len(line) - 1)
                yield _Box(_LEADING * size, [_Run(left, " ".join(line), size, font, gap, spread)])
                left, line, used = hang, [], 0.0
            used += needed + (space if line else 0.0)
            line.append(word)

    def _table(self, rows: Sequence[Sequence[str]], measure: float) -> Iterator[_Box]:
        size = 0.9 * self._size
        lengths = [max(width(row[i], size, self._font) for row in rows) for i in range(len(rows[0]))]
        room = max(0.6 * size, (measure - sum(lengths)) / len(lengths))
        yield _Box(0.6 * size)
        for row in rows:
            x, runs = 0.0, []
            for i, cell in enumerate(row):
                shift = 0.0 if not cell[:1].isdigit() else lengths[i] - width(cell, size, self._font)
                font = self._bold if row is rows[0] else self._font
                runs.append(_Run(x + shift, cell, size, font, width(" ", size, font)))
                x += lengths[i] + room
            yield _Box(1.4 * size, runs, stays=row is not rows[-1])
        yield _Box(size)

    def _figure(self, caption: str, measure: float) -> Iterator[_Box]:
        small = 0.7 * self._size
        yield _Box(small)
        for i in range(5):
            runs = [_Run(0.0, str(100 - 20 * i), small, self._font, 2.0)]
            if i in (1, 3):
                label = _LABELS[4 + i // 2]
                runs.append(_Run(self._rng.uniform(0.3, 0.7) * measure, label, small, self._font, 2.0))
            yield _Box(2 * self._size, runs, stays=True)
        ticks = [_Run((0.1 + 0.24 * i) * measure, _LABELS[i], small, self._font, 2.0) for i in range(4)]
        yield _Box(1.5 * self._size, ticks, stays=True)
        for box in self._lines(caption, measure, 0.85 * self._size, self._font, justified=False):
            box.stays = True
            yield box
        yield _Box(self._size)


def _halves(word: str) -> list[str]:
    return [word[: len(word) // 2], word[len(word) // 2 :]] if len(word) > 3 else [word]


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
