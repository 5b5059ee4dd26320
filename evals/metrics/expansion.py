"""Are a question's perspectives the gold ones? The suite `expand` says how that is read."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evals.metrics.measure import Ratio
from tools.language.polarity import same_polarity

CLOSE = 0.9


@dataclass(frozen=True, slots=True)
class GoldRow:
    """A question with its gold perspectives, from line `number` of the file that `source` begins the name of."""

    source: str
    question: str
    gold: tuple[str, ...]
    number: int = 0

    @property
    def key(self) -> str:
        return f"{self.source} line {self.number}"


@dataclass(frozen=True, slots=True)
class Found:
    """The perspectives that an expander gave for a row, each gold one's cosine to the one it is matched with (0 where
    there is none), and how many are close. `failed` says why there are none."""

    row: GoldRow
    predicted: tuple[str, ...] = ()
    cosines: tuple[float, ...] = field(default=())
    close: int = 0
    failed: str = ""


def match(row: GoldRow, predicted: Sequence[str], cosines: NDArray[np.float32]) -> Found:
    """Gold and predicted perspectives matched one to one so that the cosines' sum is largest (Kuhn 1955); `cosines` has
    shape (predicted, gold). Close is a cosine of 0.9 or more, of one polarity where the gold ones differ in it."""
    from scipy.optimize import linear_sum_assignment

    opposed = any(not same_polarity(row.gold[0], other) for other in row.gold[1:])
    matched, close = [0.0] * len(row.gold), 0
    for ours, theirs in zip(*linear_sum_assignment(-cosines), strict=True) if predicted else ():
        matched[theirs] = round(float(cosines[ours, theirs]), 4)
        right = not opposed or same_polarity(predicted[ours], row.gold[theirs])
        close += right and cosines[ours, theirs] >= CLOSE
    return Found(row, tuple(predicted), tuple(matched), int(close))


def perspective_measures(found: Sequence[Found]) -> dict[str, Ratio]:
    """perspectives_recall = close / gold perspectives; perspectives_precision = close / predicted ones;
    perspectives_cosine = the mean cosine of a gold perspective to its match; perspectives_given = predicted ones a
    question. A question that failed has all its gold perspectives missed."""
    rows = [(f.row.question, f) for f in found]
    return {
        "perspectives_recall": Ratio.of((q, f.close, len(f.row.gold)) for q, f in rows),
        "perspectives_precision": Ratio.of((q, f.close, len(f.predicted)) for q, f in rows),
        "perspectives_cosine": Ratio.of((q, sum(f.cosines), len(f.row.gold)) for q, f in rows),
        "perspectives_given": Ratio.of((q, len(f.predicted), 1) for q, f in rows),
    }
