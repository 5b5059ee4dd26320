"""Measures of the parts of a multi-perspective search engine: theses, stances, evidence (its paper, table 1).

What is not defined is NaN, never 0; what failed counts as wrong as it can be, and is told apart by whoever reports it.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evals.datasets.responses import SIDES, Item
from evals.metrics.classification import yes_or_no
from evals.metrics.measure import Figure, Ratio
from evals.reports.records import Record

_TOKEN = re.compile(r"[a-z0-9]+")


def rouge2(gold: str, predicted: str) -> float:
    """ROUGE-2 F1 (Lin 2004) of one reference: 2PR / (P + R), with the bigrams that both have, each as often as in the
    one that has it less often, divided by those of `predicted` (P) and by those of `gold` (R).

    Words are lower-case runs of a–z and 0–9, as in the package rouge-score without its stemmer; which package and which
    variant were published is not said. 0 where nothing is shared; NaN where `gold` has no two words.
    """
    wanted, found = (Counter(pairwise(_TOKEN.findall(text.lower()))) for text in (gold, predicted))
    if not wanted:
        return float("nan")
    return 2 * (wanted & found).total() / (wanted.total() + found.total())


def thesis_measures(items: Sequence[Item], records: Sequence[Record]) -> dict[str, Figure]:
    """The mean ROUGE-2 F1 over theses, those left out that have no bigram. A document that failed has no thesis, which
    shares nothing with the gold one."""

    def overlap(theses: Iterable[str]) -> Ratio:
        scores = ((item.group, rouge2(item.gold, thesis)) for item, thesis in zip(items, theses, strict=True))
        return Ratio.of((question, score, 1) for question, score in scores if score == score)

    best = (max(item.texts, key=partial(rouge2, item.gold)) for item in items)
    return {
        "theses_rouge2": overlap(record.get("thesis", "") for record in records),
        "theses_rouge2_lead": overlap(item.texts[0] for item in items),
        "theses_rouge2_best": overlap(best),
    }


def stance_measures(items: Sequence[Item], records: Sequence[Record]) -> dict[str, Figure]:
    """stance_accuracy, stance_f1 as the mean of the two, NaN where a stance is neither gold nor predicted,
    stance_f1_support, stance_f1_oppose, stance_undecided (the share without a prediction, which is wrong in all of
    them), and stance_majority, the accuracy of always predicting the commoner stance.

    There are two stances, so that the likelier one is predicted, however close they are; none where it failed. The
    published 91.6 is called accuracy in the text and F1 in table 1. Pooled over both stances the two are the same.
    """
    supports, contradicts = _supports(records)
    told = [{1.0: SIDES[0], -1.0: SIDES[1]}.get(float(sign)) for sign in np.sign(supports - contradicts)]
    claims, golds = [item.group for item in items], [item.stance for item in items]
    rows, common = list(zip(claims, golds, told, strict=True)), Counter(golds).most_common(1)[0][0]
    sides = {side: np.array([[gold == side, said == side] for _, gold, said in rows], bool).T for side in SIDES}
    each = {side: yes_or_no(of[0], of[1], claims)["f1"] for side, of in sides.items()}
    return {
        "stance_accuracy": Ratio.of((claim, float(gold == said), 1) for claim, gold, said in rows),
        "stance_f1": Figure(lambda chosen: sum(f1.statistic(chosen) for f1 in each.values()) / len(each), claims),
        **{f"stance_f1_{side}": f1 for side, f1 in each.items()},
        "stance_undecided": Ratio.of((claim, float(said is None), 1) for claim, _, said in rows),
        "stance_majority": Ratio.of((claim, float(gold == common), 1) for claim, gold, _ in rows),
    }


def evidence_measures(items: Sequence[Item], records: Sequence[Record]) -> dict[str, Figure]:
    """evidence_mse, the mean of (predicted − gold)², both from 0 to 1 (the paper, §4.2.4), and evidence_mse_mean, that
    of always predicting the mean of the gold scores, which is their variance.

    How likely a sentence is evidence is the larger of its probabilities: the paper's regression is not told which side
    it is on either. Where it failed, the square is the largest that there can be, max(gold, 1 − gold)².
    """
    mean = float(np.mean([item.score for item in items]))
    rows = [(i.group, i.score, float(said)) for i, said in zip(items, _supports(records).max(axis=0), strict=True)]
    errors = [(claim, max(gold, 1 - gold) if math.isnan(said) else said - gold) for claim, gold, said in rows]
    return {
        "evidence_mse": Ratio.of((claim, error**2, 1) for claim, error in errors),
        "evidence_mse_mean": Ratio.of((claim, (mean - gold) ** 2, 1) for claim, gold, _ in rows),
    }


MEASURES: dict[str, Callable[[Sequence[Item], Sequence[Record]], dict[str, Figure]]] = {
    "theses": thesis_measures,
    "stances": stance_measures,
    "evidence": evidence_measures,
}
"""Of what the models said of each item."""


def _supports(records: Sequence[Record]) -> NDArray[np.float64]:
    """The probabilities of the claim and of its contrary, shape (2, records); NaN where they failed."""
    return np.array([record.get("support", (math.nan, math.nan)) for record in records], np.float64).T
