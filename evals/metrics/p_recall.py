"""Measures of PIR: p-Recall (are passages retrieved for every perspective on a query? §2.3) and QA-F1 (A.8)."""

import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.metrics.measure import LEVEL, ROUNDS, Figure, Interval, Ratio

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
AVERAGE = "average of tasks"


def first_gold(scores: NDArray[np.floating], gold: Ints) -> int:
    """Returns the rank, from 1, of the best gold passage. Ties go to the earlier passage. scores: shape (passages,),
    higher is better. gold: positions."""
    order = np.argsort(-scores, kind="stable")
    return int(np.isin(order, gold).argmax()) + 1


def p_recall(ranks: Sequence[Ints], k: int) -> Floats:
    """Returns p-Recall@k of each root (PIR, eq. 1): the share of its perspectives with a gold passage in the top k.

    ranks: for each root the ranks of first gold passages, shape (perspectives, columns). The result has shape (roots,
    columns). The released code counts roots with one perspective as 0; the suite excludes such roots.
    """
    return np.stack([(of_root <= k).mean(axis=0) for of_root in ranks])


@dataclass(frozen=True)
class TaskMean(Figure):
    """The mean over tasks of each task's mean over roots of `values`. Tasks have equal weight (PIR, §2.3, table 2).
    Resampling draws roots within tasks. Every figure uses the same draws, so differences between columns are paired."""

    values: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def value(self) -> float:
        return _number(np.mean([of.mean() for of in self.values.values()]))

    def interval(self, seed: int = 1) -> Interval:
        each = [times(task, len(of), seed) @ of / len(of) for task, of in self.values.items()]
        low, high = np.percentile(np.mean(each, axis=0), [100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2])
        return _number(low), _number(high)


@cache
def times(task: str, size: int, seed: int) -> Ints:
    """Returns how often each root of a task is drawn, with replacement: shape (ROUNDS, size)."""
    generator = np.random.default_rng([seed, zlib.crc32(task.encode())])
    return generator.multinomial(size, np.full(size, 1 / size), ROUNDS)


def measures(
    ranks: Mapping[str, Sequence[Ints]],
    keys: Mapping[str, Sequence[str]],
    columns: Sequence[str],
    cutoffs: Sequence[int],
    bases: Mapping[str, Mapping[str, str]],
) -> dict[str, dict[str, dict[str, Figure]]]:
    """Returns figures by task (or AVERAGE), column and measure. ranks: as for `p_recall`, by task. keys: the roots.
    bases: for each difference, maps a column to the column that is subtracted."""
    found: dict[str, dict[str, dict[str, Figure]]] = {
        task: {column: {} for column in columns} for task in (*ranks, AVERAGE)
    }
    for k, (task, of_task) in product(cutoffs, found.items()):
        tasks = {name: p_recall(ranks[name], k) for name in ranks if task in (name, AVERAGE)}
        for i, (column, of) in enumerate(of_task.items()):
            values = {name: roots[:, i] for name, roots in tasks.items()}
            rows = ((key, float(v), 1.0) for key, v in zip(keys.get(task, ()), values.get(task, ()), strict=True))
            of[f"p_recall@{k}"] = TaskMean(lambda _: math.nan, (), tuple(rows), values)
            for name in (name for name in bases if column in bases[name]):
                j = list(of_task).index(bases[name][column])
                less = {task: values[task] - roots[:, j] for task, roots in tasks.items()}
                of[f"{name}@{k}"] = TaskMean(lambda _: math.nan, (), (), less)
    return found


def words(text: str) -> list[str]:
    """Returns lower-case words without punctuation and articles, as in SQuAD (Rajpurkar et al. 2016)."""
    return [w for w in re.sub(r"[^\w\s]", "", text.lower()).split() if w not in ("a", "an", "the")]


def qa_f1(rows: Iterable[tuple[str, str, str]]) -> Ratio:
    """Returns the mean of |T ∩ G| / |T ∪ G| over rows of (question, extracted text T, gold text G), as sets of words. A
    row with an empty T counts 0. PIR calls this Jaccard index QA-F1 (A.8)."""
    sets = [(question, {*words(drawn)}, {*words(gold)}) for question, drawn, gold in rows]
    return Ratio.of((question, len(t & g) / len(t | g) if t else 0, 1) for question, t, g in sets)


def _number(value: Any) -> float:
    """Rounds a value, so that equal sums do not differ in the last digits."""
    return round(float(value), 12) + 0.0
