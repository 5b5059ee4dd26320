"""What does a neutral query favour? Of the gold passages that a root query finds, the share of each label: stances,
ideologies (PIR, §2.5, table 3).

The paper compares shares with each other, its passages being even by design. A release of it need not be, so a share is
compared with an even one: what it would be had every root found the same number of passages, drawn evenly from its own.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from evals.datasets.pir import Root, RootPerspective
from evals.metrics.measure import Figure, Ratio

_ROUNDS = 10_000


class LabelCounts(NamedTuple):
    """Of a root query by label: its gold passages among those found, and all of them."""

    root: str
    found: Counter[str]
    gold: Counter[str]


def label_counts(root: Root, top: Collection[int], label: Callable[[RootPerspective], str]) -> LabelCounts:
    """Of the passages at the positions `top`. A perspective whose gold holds all that another one's does is no side
    beside it (such as 'general' beside two stances) and is left out."""
    golds = [(label(one), set(one.gold)) for one in root.perspectives]
    sides = [
        (name, gold)
        for i, (name, gold) in enumerate(golds)
        if not any(other <= gold for j, (_, other) in enumerate(golds) if j != i)
    ]
    return LabelCounts(
        root.key,
        Counter({name: sum(len(gold & set(top)) for n, gold in sides if n == name) for name, _ in sides}),
        Counter({name: sum(len(gold) for n, gold in sides if n == name) for name, _ in sides}),
    )


def favoured(rows: Sequence[LabelCounts], label: str) -> dict[str, Figure]:
    """share = Σ found of the label / Σ found; even = Σ found · (gold of the label / gold) / Σ found; excess = share −
    even. Over root queries; NaN where none finds a gold passage."""
    share = Ratio.of((r.root, r.found[label], r.found.total()) for r in rows)
    even = Ratio.of((r.root, _even(r, label), r.found.total()) for r in rows)
    return {"share": share, "even": even, "excess": share.less(even)}


def even_test(rows: Sequence[LabelCounts], labels: Sequence[str], seed: int) -> float:
    """p of the shares being even: how often Σ_labels (found − even)² / even is as large when each root's differences
    are turned round by chance (a sign-flip test; Cameron, Gelbach and Miller 2008 for clusters). NaN without any."""
    expected = np.array([[_even(r, name) for name in labels] for r in rows])
    known = expected.sum(axis=0) > 0
    less = (np.array([[r.found[name] for name in labels] for r in rows]) - expected)[:, known]
    if not known.any():
        return float("nan")
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), (_ROUNDS, len(rows)))
    weights = 1 / expected.sum(axis=0)[known]
    drawn, seen = (signs @ less) ** 2 @ weights, less.sum(axis=0) ** 2 @ weights
    return float((1 + (drawn >= seen - 1e-9).sum()) / (1 + _ROUNDS))


def _even(row: LabelCounts, label: str) -> float:
    return row.found.total() * row.gold[label] / row.gold.total()
