"""Measures of rankings with a judge's verdicts as gold."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from evals.datasets.perspectives import GoldRow
from evals.datasets.retrieval import GoldPerspective, GoldQuestion
from evals.metrics.measure import Chosen, Figure
from evals.models import PairJudge, all_scores
from tools.models.cache import VectorCache
from tools.models.judges.judge import Pair
from tools.passages import SourceDocument

Pools = Mapping[str, Mapping[str, SourceDocument]]
"""Maps a row's key to its passages of any ranking by id. An empty place in a ranking has no text."""


def pairs_of(row: GoldRow, passage: SourceDocument) -> list[Pair]:
    """Returns a (perspective, passage) pair for each perspective, or no pairs if the place in the ranking is empty. The
    text precedes the title, as in BERDS' evaluator. For a question with two perspectives, the judge reads both."""
    others = row.gold[::-1] if len(row.gold) == 2 else [""] * len(row.gold)
    told, text = zip(row.gold, others, strict=True), f"{passage.text} {passage.title}".strip()
    return [Pair(statement, text, other) for statement, other in told if passage.text.strip()]


def judged_gold(
    rows: Sequence[GoldRow], pools: Pools, judge: PairJudge, threshold: float, cache: VectorCache
) -> tuple[list[GoldQuestion], int]:
    """Returns the questions, and the number of pairs without a verdict, which count as No. The gold of a perspective is
    all passages, from any ranking, that support the perspective. Raises the errors of `all_scores`."""
    pairs = {row.key: {id_: pairs_of(row, p) for id_, p in pools[row.key].items()} for row in rows}
    wanted = list(dict.fromkeys(pair for of in pairs.values() for some in of.values() for pair in some))
    scores = dict(zip(wanted, all_scores(judge, cache, wanted).tolist(), strict=True))
    questions = []
    for row in rows:
        gold = (
            frozenset(id_ for id_, some in pairs[row.key].items() if some and scores[some[n]] >= threshold)
            for n in range(len(row.gold))
        )
        perspectives = (GoldPerspective(statement, ids) for statement, ids in zip(row.gold, gold, strict=True))
        questions.append(GoldQuestion(row.key, row.question, tuple(perspectives)))
    return questions, sum(map(math.isnan, scores.values()))


def macro_average(sets: Sequence[Mapping[str, Mapping[str, Figure]]]) -> dict[str, dict[str, Figure]]:
    """Returns the mean over sets, with equal weight, by method and measure. NaN if a measure is undefined for a set."""

    def averaged(figures: Sequence[Figure]) -> Figure:
        ends = np.cumsum([0, *(len(f.groups) for f in figures)])

        def of(chosen: Chosen) -> float:
            parts = (chosen[(chosen >= a) & (chosen < b)] - a for a, b in pairwise(ends))
            return float(np.mean([f.statistic(part) for f, part in zip(figures, parts, strict=True)]))

        return Figure(of, [group for f in figures for group in f.groups])

    return {name: {m: averaged([s[name][m] for s in sets]) for m in of} for name, of in sets[0].items()}
