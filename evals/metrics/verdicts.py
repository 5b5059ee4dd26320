"""Measures of rankings with a judge's verdicts as gold."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from evals.datasets.perspectives import GoldRow
from evals.datasets.retrieval import GoldPerspective, GoldQuestion
from evals.metrics.measure import Chosen, Figure
from evals.models import PairJudge, cached_scores
from evals.suite import progress
from tools.budget import batches
from tools.errors import ProviderReplyError
from tools.models.cache import VectorCache
from tools.models.judges.judge import Pair
from tools.passages import SourceDocument

Pools = Mapping[str, Mapping[str, SourceDocument]]
"""Maps a row's key to its passages of any ranking by id. An empty place in a ranking has no text."""


class Verdicts:
    """A judge's verdicts on (perspective, passage) pairs. scores: NaN for a missing verdict, which counts as No."""

    def __init__(self, judge: PairJudge) -> None:
        self.judge = judge
        self.threshold = judge.threshold or 0.5
        self.told = {"judge": judge.name, "threshold": self.threshold}
        self.scores: dict[Pair, float] = {}

    def pairs(self, row: GoldRow, passage: SourceDocument) -> list[Pair]:
        """Returns one (perspective, passage) pair for each perspective, or no pairs if the place in the ranking is
        empty. The text precedes the title, as in BERDS' evaluator. For a question with two perspectives, the judge
        reads both perspectives."""
        others = row.gold[::-1] if len(row.gold) == 2 else [""] * len(row.gold)
        told, text = zip(row.gold, others, strict=True), f"{passage.text} {passage.title}".strip()
        return [Pair(statement, text, other) for statement, other in told if passage.text.strip()]

    def supports(self, row: GoldRow, passage: SourceDocument) -> list[bool]:
        """Returns for each perspective whether the passage supports the perspective."""
        said = [self.scores[pair] >= self.threshold for pair in self.pairs(row, passage)]
        return said or [False] * len(row.gold)

    def ask(self, rows: Sequence[GoldRow], pools: Pools, cache: VectorCache) -> None:
        """Judges the passages. Raises ProviderDownError and ModelError. Raises ProviderReplyError only before the first
        usable reply."""
        found = ((row, p) for row in rows for p in pools[row.key].values())
        wanted = list(dict.fromkeys(pair for row, p in found for pair in self.pairs(row, p)))
        self.scores.update(dict.fromkeys(wanted, math.nan))
        with progress(total=len(wanted), desc="judging", unit="pair") as bar:
            for part in batches(wanted, self.judge.together):
                try:
                    self.scores.update(zip(part, map(float, cached_scores(self.judge, cache, part)), strict=True))
                except ProviderReplyError:
                    if all(map(math.isnan, self.scores.values())):
                        raise
                bar.update(len(part))


def gold_of(rows: Sequence[GoldRow], pools: Pools, verdicts: Verdicts) -> list[GoldQuestion]:
    """Returns the questions. The gold of a perspective is all passages, from any ranking, that support the
    perspective."""
    questions = []
    for row in rows:
        said = {id_: verdicts.supports(row, passage) for id_, passage in pools[row.key].items()}
        gold = (frozenset(i for i, yes in said.items() if yes[n]) for n in range(len(row.gold)))
        perspectives = (GoldPerspective(statement, ids) for statement, ids in zip(row.gold, gold, strict=True))
        questions.append(GoldQuestion(row.key, row.question, tuple(perspectives)))
    return questions


def macro_average(sets: Sequence[Mapping[str, Mapping[str, Figure]]]) -> dict[str, dict[str, Figure]]:
    """Returns the mean over sets, with equal weight, by method and measure. NaN if a measure is undefined for a set."""

    def averaged(figures: Sequence[Figure]) -> Figure:
        ends = np.cumsum([0, *(len(f.groups) for f in figures)])

        def of(chosen: Chosen) -> float:
            parts = (chosen[(chosen >= a) & (chosen < b)] - a for a, b in pairwise(ends))
            return float(np.mean([f.statistic(part) for f, part in zip(figures, parts, strict=True)]))

        return Figure(of, [group for f in figures for group in f.groups])

    return {name: {m: averaged([s[name][m] for s in sets]) for m in of} for name, of in sets[0].items()}
