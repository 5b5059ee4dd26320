"""Is a question read as a careful person reads it? `evals/datasets/readings.py` says how each verdict is read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evals.metrics.expansion import CLOSE, folded
from evals.metrics.ratio import Ratio
from tools.language.grammar import Framing, same_polarity

SIDED = ("polar", "claim")


@dataclass(frozen=True, slots=True)
class GoldReading:
    """A question with its gold kind, neutral form and sides, from line `number` of the file that `source` begins the
    name of. The affirmative side is first; questions of other kinds have none."""

    source: str
    question: str
    kind: str
    neutral: str
    sides: tuple[str, ...]
    number: int = 0


@dataclass(frozen=True, slots=True)
class ReadingVerdict:
    """How one question came out. `yes_no`: its sides are Yes and No to `neutral`, or options that it names."""

    row: GoldReading
    kind: str
    neutral: str
    sides: tuple[str, ...]
    cosines: tuple[float, ...]
    right_kind: bool
    yes_no: bool
    exact: bool
    close: bool


def framed_sides(framing: Framing) -> tuple[str, ...]:
    """The statements that the framing makes, in its order."""
    return (framing.claim, framing.negation) if framing.claim else framing.alternatives


def reading_verdict(
    row: GoldReading, framing: Framing, gold: NDArray[np.float32], framed: NDArray[np.float32]
) -> ReadingVerdict:
    """The verdict over a framing; `gold` and `framed` have the vectors of the neutral form and then of the sides."""
    sides = framed_sides(framing)
    stands_in = not sides and (framing.form in SIDED or len(framing.options) == len(row.sides) > 0)
    fits = framing.form == row.kind or {framing.form, row.kind} <= set(SIDED)
    if stands_in:
        pairs, vectors = [(framing.neutral, row.neutral)], [(framed[0], gold[0])]
    else:
        pairs = list(zip(sides, row.sides, strict=False))
        vectors = list(zip(framed[1:], gold[1:], strict=False))
        fits = fits and len(sides) == len(row.sides)
    cosines = tuple(round(float(a @ b), 4) for a, b in vectors)
    exact = fits and bool(pairs) and all(folded(ours) == folded(theirs) for ours, theirs in pairs)
    opposed = len(row.sides) == 2 and not same_polarity(*row.sides)
    right = stands_in or not opposed or all(same_polarity(ours, theirs) for ours, theirs in pairs)
    close = exact or (fits and right and bool(cosines) and min(cosines) >= CLOSE)
    return ReadingVerdict(
        row, framing.form, framing.neutral, sides, cosines, framing.form == row.kind, stands_in, exact, close
    )


def reading_shares(verdicts: Sequence[ReadingVerdict]) -> dict[str, Ratio]:
    """kinds over every question; sides_exact and sides_close over those with gold sides; yes_no over the polar ones and
    the claims."""
    sided = [v for v in verdicts if v.row.sides]
    return {
        "kinds": Ratio.of((v.row.question, float(v.right_kind), 1) for v in verdicts),
        "sides_exact": Ratio.of((v.row.question, float(v.exact), 1) for v in sided),
        "sides_close": Ratio.of((v.row.question, float(v.close), 1) for v in sided),
        "yes_no": Ratio.of((v.row.question, float(v.yes_no), 1) for v in verdicts if v.row.kind in SIDED),
    }
