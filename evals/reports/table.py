"""Formats tables and numbers as text."""

import math
from collections.abc import Iterable, Mapping, Sequence

FEWEST = 10
"""An interval over fewer questions, roots or events gets no star."""
PAPERS = "The papers' figures next to these: `python -m evals report --paper RESULT.json`."
STAR = f"excludes zero; no star for fewer than {FEWEST}"


def block(titles: Sequence[str], rows: Mapping[str, Sequence[str]], corner: str = "") -> list[str]:
    """Returns aligned lines: the titles, then one line a row."""
    first = max(map(len, [corner, *rows]), default=0)
    widths = [max(map(len, column)) + 2 for column in zip(titles, *rows.values(), strict=True)]
    lines = [(corner, titles), *rows.items()]
    return ["".join([f"{name:{first}}", *map(str.rjust, cells, widths)]).rstrip() for name, cells in lines]


def markdown(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns the lines of a Markdown table."""
    lines = [titles, ["---"] * len(titles), *rows]
    return [f"| {' | '.join(cell.replace('|', '¦') for cell in cells)} |" for cells in lines]


def percent(value: float | None, bounds: Sequence[float | None] = (), mark: str = "") -> str:
    """Returns text such as '32.3 [19.6, 42.1]', or a dash for an undefined value."""
    return number(None if value is None else 100 * value, [100 * b for b in bounds if b is not None], mark, digits=1)


def number(value: float | None, bounds: Sequence[float | None] = (), mark: str = "", digits: int = 3) -> str:
    """Returns text such as '0.323 [0.196, 0.421]', or a dash for an undefined value."""
    if value is None or math.isnan(value):
        return "–"
    ends = ", ".join("–" if b is None or math.isnan(b) else f"{b:.{digits}f}" for b in bounds)
    return f"{value:.{digits}f}{mark}{f' [{ends}]' if ends else ''}"


def sure(bounds: Sequence[float], over: int) -> str:
    """Returns a star if the interval excludes zero and covers enough questions. over: the number of questions."""
    return "*" if over >= FEWEST and (bounds[0] > 0 or bounds[1] < 0) else ""
