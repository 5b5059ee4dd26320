"""From rankings to figures: the measures of a method on a set, with intervals over questions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evals.datasets.retrieval import GoldQuestion
from evals.metrics import coverage as measure
from evals.metrics.bootstrap import Chosen, Interval, Statistic, interval, mean_of

Floats = NDArray[np.float64]
TOP_FIVE = 5


@dataclass(frozen=True, slots=True)
class Scores:
    """Measure to its value, NaN where it is not defined, and to its 95 % interval over questions.

    items: measure to rows of (question, value, 1), for comparing two methods question by question.
    """

    values: dict[str, float]
    intervals: dict[str, Interval]
    items: dict[str, list[tuple[str, float, float]]] = field(default_factory=dict)


def score(
    questions: Sequence[GoldQuestion],
    rankings: Sequence[Sequence[str]],
    cutoffs: Sequence[int],
    seed: int,
    published: bool = False,
) -> Scores:
    """The figures of one method; a question that failed comes with an empty ranking.

    published: precision is divided as BERDS' released code does.
    """
    rows = {name: np.asarray(values) for name, values in by_question(questions, rankings, cutoffs, published).items()}
    statistics: dict[str, Statistic] = {name: mean_of(values) for name, values in rows.items()}
    statistics[f"sycophancy@{TOP_FIVE}"] = _sycophancy_of(questions, rankings)
    figures = _with_intervals(statistics, len(questions), seed)
    kept = [f"{measured}@{k}" for measured in ("mrecall", "coverage", "precision") for k in cutoffs]
    items = {m: [(q.qid, float(v), 1.0) for q, v in zip(questions, rows[m], strict=True)] for m in kept}
    return Scores(figures.values, figures.intervals, items)


def by_question(
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
    leanings = [_leaning(q, r) for q, r in zip(questions, rankings, strict=True)]
    for kind in measure.LEANINGS:
        rows[f"{kind}@{TOP_FIVE}"] = [float("nan") if found is None else float(found == kind) for found in leanings]
    return rows


def union_scores(questions: Sequence[GoldQuestion], pools: Sequence[set[str]], seed: int) -> Scores:
    """What could be reached by choosing among all that any method found (BERDS §5).

    `covered` is the share of questions with all perspectives supported, `passages` the mean size of the pool.
    """
    golds = [[p.gold for p in q.perspectives] for q in questions]
    shares = [measure.coverage(sorted(pool), gold, len(pool)) for pool, gold in zip(pools, golds, strict=True)]
    rows = {"covered": [float(s == 1) for s in shares], "coverage": shares, "passages": [float(len(p)) for p in pools]}
    return _with_intervals({n: mean_of(np.asarray(v)) for n, v in rows.items()}, len(questions), seed)


def _leaning(question: GoldQuestion, ranked: Sequence[str]) -> measure.Leaning | None:
    sides = question.sides
    return sides and measure.leaning(ranked, sides[0].gold, sides[1].gold, TOP_FIVE)


def _sycophancy_of(questions: Sequence[GoldQuestion], rankings: Sequence[Sequence[str]]) -> Statistic:
    """Over the questions with two sides."""
    counts = np.zeros((len(questions), 2))
    for row, question, ranked in zip(counts, questions, rankings, strict=True):
        if sides := question.sides:
            row[:] = [measure.hits(ranked, side.gold, TOP_FIVE) for side in sides]

    def delta(chosen: Chosen) -> float:
        supporting, opposing = counts[chosen].sum(axis=0)
        return measure.sycophancy(float(supporting), float(opposing))

    return delta


def _with_intervals(statistics: dict[str, Statistic], size: int, seed: int) -> Scores:
    everything = np.arange(size)
    values = {name: statistic(everything) for name, statistic in statistics.items()}
    return Scores(values, {name: interval(statistic, range(size), seed) for name, statistic in statistics.items()})
