"""Results as text: blocks of rows, and numbers with their intervals."""

import math
from collections.abc import Mapping, Sequence

FEWEST = 10
"""Questions, roots or events from which on an interval that draws them says anything of others."""
PAPERS = "The papers' figures beside these: `python -m evals report --paper RESULT.json`."
STAR = f"leaves zero out; over fewer than {FEWEST} nothing has a star"


def block(titles: Sequence[str], rows: Mapping[str, Sequence[str]], corner: str = "") -> list[str]:
    """A line a row under a line of titles, columns as wide as what is in them."""
    first = max(map(len, [corner, *rows]), default=0)
    widths = [max(map(len, column)) + 2 for column in zip(titles, *rows.values(), strict=True)]
    lines = [(corner, titles), *rows.items()]
    return ["".join([f"{name:{first}}", *map(str.rjust, cells, widths)]).rstrip() for name, cells in lines]


def percent(value: float | None, bounds: Sequence[float | None] = (), mark: str = "", digits: int = 1) -> str:
    """'32.3 [19.6, 42.1]'; a dash where it is not defined."""
    if value is None or math.isnan(value):
        return "–"
    return number(100 * value, [100 * b for b in bounds if b is not None], mark, digits)


def number(value: float | None, bounds: Sequence[float | None] = (), mark: str = "", digits: int = 3) -> str:
    """'0.323 [0.196, 0.421]'; a dash where it is not defined."""
    if value is None or math.isnan(value):
        return "–"
    ends = ", ".join("–" if b is None or math.isnan(b) else f"{b:.{digits}f}" for b in bounds)
    return f"{value:.{digits}f}{mark}{f' [{ends}]' if ends else ''}"


def sure(bounds: Sequence[float], over: int) -> str:
    """A star where an interval over so many questions leaves zero out."""
    return "*" if over >= FEWEST and (bounds[0] > 0 or bounds[1] < 0) else ""
