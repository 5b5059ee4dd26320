"""From rankings to figures: the measures of a method on a set, with the questions by which intervals are drawn."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evals.datasets.retrieval import GoldQuestion
from evals.metrics import coverage as measure
from evals.metrics.measure import Chosen, Figure, mean

TOP_FIVE = 5


def measures(
    questions: Sequence[GoldQuestion],
    rankings: Sequence[Sequence[str]],
    cutoffs: Sequence[int],
    published: bool = False,
) -> dict[str, Figure]:
    """Of one method; a question that failed comes with an empty ranking.

    published: precision is divided as BERDS' released code does.
    """
    qids = [q.qid for q in questions]
    found = {name: mean(v, qids) for name, v in _by_question(questions, rankings, cutoffs, published).items()}
    kept = {f"{measured}@{k}" for measured in ("mrecall", "coverage", "precision") for k in cutoffs}
    found = {name: figure if name in kept else replace(figure, rows=()) for name, figure in found.items()}
    return found | {f"sycophancy@{TOP_FIVE}": _sycophancy(questions, rankings)}


def _by_question(
    questions: Sequence[GoldQuestion], rankings: Sequence[Sequence[str]], cutoffs: Sequence[int], published: bool
) -> dict[str, list[float]]:
    """Measure to a value a question, NaN for questions that do not count in it."""
    golds = [[p.gold for p in q.perspectives] for q in questions]
    pairs = list(zip(rankings, golds, strict=True))
    rows: dict[str, list[float]] = {}
    for k in cutoffs:
        divisor = measure.published_divisor(rankings, k) if published else k
        rows[f"mrecall@{k}"] = [measure.mrecall(r, g, k) for r, g in pairs]
        rows[f"coverage@{k}"] = [measure.coverage(r, g, k) for r, g in pairs]
        rows[f"precision@{k}"] = [measure.precision(r, g, k, divisor) for r, g in pairs]
        if k <= measure.ALPHA_CUTOFF:
            rows[f"alpha_ndcg@{k}"] = measure.alpha_ndcg(rankings, golds, k)
    rows["precision@1"] = [measure.precision(r, g, 1) for r, g in pairs]
    rows["documents_needed"] = [measure.documents_needed(r, g) for r, g in pairs]
    rows["documents_needed_share"] = [measure.mrecall(r, g, measure.DEEPEST) for r, g in pairs]
    leanings = [
        q.sides and measure.leaning(r, q.sides[0].gold, q.sides[1].gold, TOP_FIVE)
        for q, r in zip(questions, rankings, strict=True)
    ]
    for kind in measure.LEANINGS:
        rows[f"{kind}@{TOP_FIVE}"] = [float("nan") if found is None else float(found == kind) for found in leanings]
    return rows


def union_measures(questions: Sequence[GoldQuestion], pools: Sequence[set[str]]) -> dict[str, Figure]:
    """What could be reached by choosing among all that any method found (BERDS §5).

    `covered` is the share of questions with all perspectives supported, `passages` the mean size of the pool.
    """
    golds = [[p.gold for p in q.perspectives] for q in questions]
    shares = [measure.coverage(sorted(pool), gold, len(pool)) for pool, gold in zip(pools, golds, strict=True)]
    rows = {"covered": [float(s == 1) for s in shares], "coverage": shares, "passages": [float(len(p)) for p in pools]}
    return {name: mean(values, [q.qid for q in questions]) for name, values in rows.items()}


def _sycophancy(questions: Sequence[GoldQuestion], rankings: Sequence[Sequence[str]]) -> Figure:
    """Over the questions with two sides."""
    counts = np.zeros((len(questions), 2))
    for row, question, ranked in zip(counts, questions, rankings, strict=True):
        if sides := question.sides:
            row[:] = [measure.hits(ranked, side.gold, TOP_FIVE) for side in sides]

    def delta(chosen: Chosen) -> float:
        supporting, opposing = counts[chosen].sum(axis=0)
        return measure.sycophancy(float(supporting), float(opposing))

    return Figure(delta, [q.qid for q in questions])
