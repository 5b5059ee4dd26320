"""p-Recall: are passages found for every perspective on a query, and not for one of them only (PIR, §2.3)?"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.metrics.measure import LEVEL, ROUNDS, Interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
AVERAGE = "average of tasks"


def first_gold(scores: NDArray[np.floating], gold: Ints) -> int:
    """The rank, from 1, of the best passage that is gold; of equals the earlier passage comes first.

    scores: shape (passages,), higher is better. gold: positions among them, one or more.
    """
    order = np.argsort(-scores, kind="stable")
    return int(np.isin(order, gold).argmax()) + 1


def p_recall(ranks: Sequence[Ints], k: int) -> Floats:
    """p-Recall@k of each root (PIR, eq. 1): the share of its perspectives with a gold passage in the top k.

    ranks: for each root the ranks of its perspectives' first gold passages, shape (perspectives, columns). Returns
    shape (roots, columns). A root with one perspective is 0, as in the released code; the suite leaves such roots out
    unless the published reading is asked for.
    """
    return np.stack([(of_root <= k).mean(axis=0) * (len(of_root) > 1) for of_root in ranks])


def figures(
    ranks: Mapping[str, Sequence[Ints]],
    columns: Sequence[str],
    cutoffs: Sequence[int],
    seed: int,
    bases: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(metrics, intervals), both by task and AVERAGE, column, measure.

    p_recall@k: the mean over roots, and in AVERAGE over tasks, each of them weighing the same (PIR, §2.3, table 2).
    ranks: for each task those of `p_recall`. columns: their names. bases: a measure's name to columns and what is
    subtracted from each, with a paired interval; if not given, gain@k is that of a column less that of the first.
    """
    bases = {"gain": dict.fromkeys(columns[1:], columns[0])} if bases is None else bases
    places = {column: i for i, column in enumerate(columns)}
    metrics: dict[str, Any] = {task: {column: {} for column in columns} for task in [*ranks, AVERAGE]}
    intervals: dict[str, Any] = {task: {column: {} for column in columns} for task in metrics}
    for k in cutoffs:
        roots = {task: p_recall(of_task, k) for task, of_task in ranks.items()}
        means = _with_average({task: values.mean(axis=0) for task, values in roots.items()})
        rounds = _with_average(drawn_means(roots, seed))
        for task in metrics:
            for i, column in enumerate(columns):
                metrics[task][column][f"p_recall@{k}"] = _number(means[task][i])
                intervals[task][column][f"p_recall@{k}"] = _ends(rounds[task][:, i])
                for name in (name for name, of in bases.items() if column in of):
                    j = places[bases[name][column]]
                    metrics[task][column][f"{name}@{k}"] = _number(means[task][i] - means[task][j])
                    intervals[task][column][f"{name}@{k}"] = _ends(rounds[task][:, i] - rounds[task][:, j])
    return metrics, intervals


def drawn_means(roots: Mapping[str, Floats], seed: int, rounds: int = ROUNDS) -> dict[str, Floats]:
    """The means of bootstrap rounds, in each of which a task's roots are drawn from among themselves, as many as there
    are, with replacement: for each task shape (rounds, columns).

    roots: for each task the values of its roots, shape (roots, columns). A round draws the same roots for all columns,
    so that differences between columns are paired. A task's draws do not depend on the other tasks.
    """
    found = {}
    for task, values in roots.items():
        generator = np.random.default_rng([seed, zlib.crc32(task.encode())])
        size = len(values)
        times = generator.multinomial(size, np.full(size, 1 / size), rounds)  # how often each root is drawn
        found[task] = times @ values / size
    return found


def _with_average(by_task: dict[str, Floats]) -> dict[str, Floats]:
    return by_task | {AVERAGE: np.mean(list(by_task.values()), axis=0)}


def _ends(rounds: Floats) -> Interval:
    low, high = np.percentile(rounds, [100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2])
    return _number(low), _number(high)


def _number(value: float) -> float:
    """Without the last digits, in which sums that are equal differ: no gain of 1e-17 is a gain."""
    return round(float(value), 12) + 0.0
