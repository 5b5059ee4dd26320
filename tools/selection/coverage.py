"""Steelman's own selection: the k passages that together are likeliest to cover every perspective.

For passages S the value is

    F(S) = Σ over perspectives p of w_p · (1 − Π over i in S of (1 − P[p, i]))      expected coverage
         + Σ over i in S of relevance[i]                                             relevance
         + c · number of different sources in S                                      independence

with P[p, i] the probability that passage i supports perspective p. Every term is monotone and submodular, so the greedy
choice has at least 1 − 1/e (63 %) of the best possible value (Nemhauser, Wolsey and Fisher 1978).
"""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from tools.passages import Passage

INDEPENDENCE = 0.05
"""What a new source weighs."""
_DIGITS = 9  # of a gain: rounding makes no order among equals


def select(
    support: NDArray[np.floating],
    weights: NDArray[np.floating],
    relevance: NDArray[np.floating],
    sources: Sequence[Hashable],
    k: int,
) -> list[int]:
    """Positions of up to k passages in the order in which they were chosen; see the module for the value.

    Fewer than k only where there are fewer passages. Of equals the earlier passage is chosen.

    support: probabilities of shape (perspectives, n). weights: of the perspectives. relevance: shape (n,), 0 or more.
    sources: who published each; none where that is not known.
    """
    n = len(relevance)
    by_passage = np.asarray(support.T, np.float64, order="C")
    missed, left, known = np.ones(len(weights)), np.ones(n, bool), set[Hashable]()
    chosen: list[int] = []
    while len(chosen) < min(k, n):
        new = np.array([source not in known for source in sources] or [False] * n)
        gains = np.round(by_passage @ (weights * missed) + relevance + INDEPENDENCE * new, _DIGITS)
        best = int(np.argmax(np.where(left, gains, -np.inf)))
        chosen.append(best)
        missed *= 1 - by_passage[best]
        left[best] = False
        known.update(sources[best : best + 1])
    return chosen


def independent_first(passages: Sequence[Passage]) -> list[int]:
    """Ids in the order of the passages, reordered so that each source comes once before any source comes again."""
    turns = Counter[str]()
    keyed = []
    for rank, passage in enumerate(passages):
        keyed.append((turns[passage.source], rank, passage.id))
        turns[passage.source] += 1
    return [i for _, _, i in sorted(keyed)]
