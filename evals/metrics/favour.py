"""Which labels (stances, ideologies) does a neutral query favour (PIR, §2.5, table 3)?

The measure is each label's share of the gold passages that root queries retrieve. The paper compares the shares with
each other, because the paper's passages are balanced. Released data may be unbalanced, so this module compares each
share with an even share. The even share is expected if the same number of passages is drawn at random from the root's
gold.
"""

from collections.abc import Collection, Sequence

import numpy as np

from evals.datasets.pir import Root
from evals.metrics.measure import Figure, Ratio
from evals.metrics.p_recall import Floats

_ROUNDS = 10_000


def sides_of(root: Root) -> dict[str, set[int]]:
    """Returns the gold passages by label. Excludes a perspective (for example 'general') that contains all gold
    passages of another label."""
    golds, sides = [(one.label, {*one.gold}) for one in root.perspectives], dict[str, set[int]]()
    for label, gold in golds:
        if not any(other <= gold for another, other in golds if another != label):
            sides[label] = sides.get(label, set()) | gold
    return sides


def favoured(roots: Sequence[Root], tops: Sequence[Collection[int]], seed: int) -> tuple[dict[str, Figure], float]:
    """Returns figures for each label, and the p-value of `even_test`. share = Σ retrieved of the label / Σ retrieved of
    all labels. even = Σ retrieved of all · (gold of the label / gold) / Σ retrieved of all. excess = share − even. NaN
    if nothing is retrieved. tops: for each root the positions of the retrieved passages."""
    sides = [sides_of(root) for root in roots]
    labels = dict.fromkeys(label for of in sides for label in of)
    gold = np.array([[len(of.get(label, ())) for label in labels] for of in sides], float)
    tops_of = list(zip(sides, map(set, tops), strict=True))
    found = np.array([[len(top & of.get(label, set())) for label in labels] for of, top in tops_of], float)
    totals = found.sum(axis=1)
    even = totals[:, None] * gold / gold.sum(axis=1, keepdims=True)
    keys, measures = [root.key for root in roots], dict[str, Figure]()
    for i, label in enumerate(labels):
        share, level = (Ratio.of(zip(keys, of[:, i].tolist(), totals.tolist(), strict=True)) for of in (found, even))
        measures |= {f"{label}, share": share, f"{label}, even": level, f"{label}, excess": share.less(level)}
    return measures, even_test(found, even, seed)


def even_test(found: Floats, even: Floats, seed: int) -> float:
    """Returns the p-value for 'all shares are even': a sign-flip test (Fisher 1935) of Σ_labels (retrieved − even)² /
    even over roots. Shapes (roots, labels). NaN if nothing is retrieved."""
    known = even.sum(axis=0) > 0
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), (_ROUNDS, len(found)))
    sums = np.vstack([np.ones(len(found)), signs]) @ (found - even)[:, known]
    statistics = sums**2 @ (1 / even.sum(axis=0)[known])
    return float((statistics >= statistics[0] - 1e-9).mean()) if known.any() else float("nan")
