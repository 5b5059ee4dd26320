"""Measures of the parts of a multi-perspective search engine: theses, stances, evidence (its paper, table 1).

What is not defined is NaN, never 0; what failed counts as wrong as it can be, and is told apart by whoever reports it.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evals.datasets.responses import SIDES, Item, Side
from evals.metrics.measure import Chosen, Figure, Ratio
from evals.reports.records import Record

_TOKEN = re.compile(r"[a-z0-9]+")


def bigrams(text: str) -> Counter[tuple[str, str]]:
    """The pairs of neighbouring words. Words are lower-case runs of a–z and 0–9; nothing is stemmed or left out."""
    words = _TOKEN.findall(text.lower())
    return Counter(pairwise(words))


def rouge2(gold: str, predicted: str) -> float:
    """ROUGE-2 F1 (Lin 2004) of one reference: 2PR / (P + R), with the bigrams that both have, each as often as in the
    one that has it less often, divided by those of `predicted` (P) and by those of `gold` (R).

    The words are those of the package rouge-score without its stemmer, so that letters with accents part them; which
    package and which variant were published is not said. 0 where nothing is shared; NaN where `gold` has no two words.
    """
    wanted, found = bigrams(gold), bigrams(predicted)
    if not wanted:
        return float("nan")
    return 2 * (wanted & found).total() / (wanted.total() + found.total())


def thesis_overlap(theses: Iterable[tuple[str, str, str]]) -> Ratio:
    """The mean ROUGE-2 F1 over (question, gold thesis, ours); those without a gold bigram are left out."""
    scores = ((question, rouge2(gold, predicted)) for question, gold, predicted in theses)
    return Ratio.of((question, score, 1) for question, score in scores if score == score)


def macro_f1(rows: Sequence[tuple[str, Side, Side | None]]) -> Figure:
    """The mean over the two stances of 2·TP / (gold + predicted), over rows of (claim, gold, predicted).

    `predicted` is None where nothing was said, or nothing that is one of the two. NaN where a stance is neither gold
    nor predicted.
    """
    parts = np.array([[_f1_parts(g, p, side) for side in SIDES] for _, g, p in rows], float).reshape(-1, len(SIDES), 2)

    def mean_f1(chosen: Chosen) -> float:
        sums = parts[chosen].sum(axis=0)
        return float(np.mean(sums[:, 0] / sums[:, 1])) if sums[:, 1].all() else float("nan")

    return Figure(mean_f1, [claim for claim, *_ in rows])


def stance_measures(rows: Sequence[tuple[str, Side, Side | None]]) -> dict[str, Figure]:
    """Of (claim, gold, predicted): stance_accuracy, stance_f1 as the mean of the two, stance_f1_support,
    stance_f1_oppose, stance_undecided (the share without a prediction, which is wrong in all of them), and
    stance_majority, the accuracy of always predicting the commoner stance.

    The published 91.6 is called accuracy in the text and F1 in table 1. Pooled over both stances the two are the same.
    """
    most = Counter(gold for _, gold, _ in rows).most_common(1)
    measures: dict[str, Figure] = {
        "stance_accuracy": Ratio.of((claim, float(gold == predicted), 1) for claim, gold, predicted in rows),
        "stance_f1": macro_f1(rows),
    }
    for side in SIDES:
        measures[f"stance_f1_{side}"] = Ratio.of(
            (claim, *_f1_parts(gold, predicted, side)) for claim, gold, predicted in rows
        )
    measures["stance_undecided"] = Ratio.of((claim, float(predicted is None), 1) for claim, _, predicted in rows)
    measures["stance_majority"] = Ratio.of((claim, float(gold == most[0][0]), 1) for claim, gold, _ in rows)
    return measures


def _f1_parts(gold: Side, predicted: Side | None, side: Side) -> tuple[float, float]:
    """2·TP and gold + predicted, of one item."""
    return 2.0 * (gold == predicted == side), float(gold == side) + float(predicted == side)


def evidence_measures(rows: Sequence[tuple[str, float, float | None]]) -> dict[str, Ratio]:
    """Of (claim, gold, predicted), both from 0 to 1: evidence_mse, the mean of (predicted − gold)² (the paper, §4.2.4),
    and evidence_mse_mean, that of always predicting the mean of the gold scores, which is their variance.

    `predicted` is None where it failed: then the square is the largest that there can be, max(gold, 1 − gold)².
    """
    mean = float(np.mean([gold for _, gold, _ in rows])) if rows else float("nan")
    return {
        "evidence_mse": Ratio.of((claim, _square(gold, predicted), 1) for claim, gold, predicted in rows),
        "evidence_mse_mean": Ratio.of((claim, (mean - gold) ** 2, 1) for claim, gold, _ in rows),
    }


def _square(gold: float, predicted: float | None) -> float:
    return max(gold, 1 - gold) ** 2 if predicted is None else (predicted - gold) ** 2


# Of what the models said of each item


def _theses_measures(items: Sequence[Item], records: Sequence[Record]) -> dict[str, Figure]:
    """A document that failed has no thesis, which shares nothing with the gold one."""
    ours = [(item.group, item.gold, record.get("thesis", "")) for item, record in zip(items, records, strict=True)]
    best = [(item.group, item.gold, max(item.texts, key=lambda text: rouge2(item.gold, text))) for item in items]
    return {
        "theses_rouge2": thesis_overlap(ours),
        "theses_rouge2_lead": thesis_overlap((item.group, item.gold, item.texts[0]) for item in items),
        "theses_rouge2_best": thesis_overlap(best),
    }


def _stances_measures(items: Sequence[Item], records: Sequence[Record]) -> dict[str, Figure]:
    """There are two stances, so that the likelier one is said, however close they are; None where it failed."""
    supports, contradicts = _supports(records)
    said = [{1.0: SIDES[0], -1.0: SIDES[1]}.get(float(sign)) for sign in np.sign(supports - contradicts)]
    golds = [item.stance for item in items]
    return dict(stance_measures([(i.group, gold, one) for i, gold, one in zip(items, golds, said, strict=True)]))


def _evidence_measures(items: Sequence[Item], records: Sequence[Record]) -> dict[str, Figure]:
    """How likely a sentence is evidence is the larger of its probabilities: the paper's regression is not told which
    side it is on either."""
    said = [None if math.isnan(p) else float(p) for p in _supports(records).max(axis=0)]
    return dict(evidence_measures([(i.group, i.score, one) for i, one in zip(items, said, strict=True)]))


MEASURES: dict[str, Callable[[Sequence[Item], Sequence[Record]], dict[str, Figure]]] = {
    "theses": _theses_measures,
    "stances": _stances_measures,
    "evidence": _evidence_measures,
}


def _supports(records: Sequence[Record]) -> NDArray[np.float64]:
    """The probabilities of the claim and of its contrary, shape (2, records); NaN where they failed."""
    return np.array([record.get("support", (math.nan, math.nan)) for record in records], np.float64).T
