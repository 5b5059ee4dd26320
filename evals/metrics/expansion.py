"""Are a question's two sides, or its perspectives, the gold ones? The suite `expand` says how each verdict is read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evals.metrics.ratio import Ratio
from tools.language.grammar import Framing, same_polarity, tidy

CLOSE = 0.9
MEASURES = ("exact", "close", "wrong_polarity", "nearest_opposite", "no_claim")


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
class Verdict:
    """How one row came out. `cosines` belong to the better order; empty when nothing was predicted."""

    row: GoldRow
    form: str
    predicted: tuple[str, ...]
    cosines: tuple[float, ...]
    exact: bool = False
    close: bool = False
    wrong_polarity: bool = False
    nearest_opposite: bool = False

    @property
    def no_claim(self) -> bool:
        return not self.predicted


@dataclass(frozen=True, slots=True)
class Found:
    """The perspectives that an expander gave for a row, each gold one's cosine to the one it is matched with (0 where
    there is none), and how many are close. `failed` says why there are none."""

    row: GoldRow
    predicted: tuple[str, ...] = ()
    cosines: tuple[float, ...] = field(default=())
    close: int = 0
    failed: str = ""


def predict(framing: Framing) -> tuple[str, ...]:
    """The two sides that the framing offers, or nothing."""
    if framing.form in ("polar", "claim") and framing.claim:
        return (framing.claim, framing.negation)
    return framing.alternatives if len(framing.alternatives) == 2 else ()


def verdict_of(row: GoldRow, form: str, pair: tuple[str, ...], cosines: NDArray[np.float32]) -> Verdict:
    """The verdict over a predicted pair; `cosines` has shape (predicted, gold)."""
    if not pair:
        return Verdict(row, form, (), ())
    opposed = not same_polarity(row.gold[0], row.gold[1])
    found = [_ordered(row, pair, cosines, order, opposed) for order in ((0, 1), (1, 0))]
    exact = any(one.exact for one in found)
    alike = max(found, key=lambda one: sum(one.cosines))
    best = max(found, key=lambda one: (one.right, min(one.cosines)))
    nearest = [row.gold[int(np.argmax(line))] for line in cosines]
    strict = opposed and any(not same_polarity(ours, theirs) for ours, theirs in zip(pair, nearest, strict=True))
    close = exact or any(one.right and min(one.cosines) >= CLOSE for one in found)
    return Verdict(row, form, pair, best.cosines, exact, close, not alike.right and not exact, strict and not exact)


@dataclass(frozen=True, slots=True)
class _Ordered:
    cosines: tuple[float, ...]
    right: bool
    exact: bool


def _ordered(
    row: GoldRow, pair: tuple[str, ...], cosines: NDArray[np.float32], order: tuple[int, int], opposed: bool
) -> _Ordered:
    matched = [(pair[i], row.gold[order[i]]) for i in range(2)]
    return _Ordered(
        cosines=tuple(round(float(cosines[i, order[i]]), 4) for i in range(2)),
        right=not opposed or all(same_polarity(ours, theirs) for ours, theirs in matched),
        exact=all(folded(ours) == folded(theirs) for ours, theirs in matched),
    )


def folded(text: str) -> str:
    """Lower case without punctuation, contractions written out."""
    return " ".join(re.findall(r"\w+", tidy(text).casefold().replace("cannot", "can not")))


def verdict_shares(verdicts: Sequence[Verdict]) -> dict[str, Ratio]:
    """The share of rows of which each verdict is true; the denominator is every row."""
    return {m: Ratio.of((v.row.question, float(getattr(v, m)), 1) for v in verdicts) for m in MEASURES}


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
