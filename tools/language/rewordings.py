"""Passages that say the same in other words, by the vectors of their sentences: one piece of evidence, whoever says it.

Two passages on one matter share a point or two; one that was rewritten says all of the other, sentence by sentence. How
near a sentence has to be depends on how many there are: single sentences that make one point are nearer to each other
than passages ever are that differ. `python -m evals copies` measures it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

SAME = (0.89, 0.76, 0.67, 0.65)
"""The mean cosine of the shorter passage's sentences to their nearest in the other from which the two say the same: of
one sentence, of two, of three, of more. By the embedded encoder."""

NEAR = 0.12
"""By how much less two passages are near each other without saying the same: the nearest different arguments for one
view of the gold lie 0.19 below, and its farthest wordings of one argument 0.07."""


def margin(one: Vectors, other: Vectors) -> float:
    """By how much two passages are nearer than such that differ; from 0 on they say the same. Unit vectors of their
    sentences, (n, dimensions)."""
    if not len(one) or not len(other):
        return -1.0
    short, long = sorted((one, other), key=len)
    return float((short @ long.T).max(axis=1).mean()) - SAME[min(len(short), len(SAME)) - 1]


def same_groups(passages: Sequence[Vectors], slack: float = 0.0) -> list[int]:
    """For each passage the index of the first of those that say the same (its own index when it is alone).

    A passage joins the group that it is nearest to, by the mean over the group's members, so that no chain of passages
    that are each a little like the next becomes one group. `slack`: by how much the margin may fall short.
    """
    groups: dict[int, list[int]] = {}
    for i, mine in enumerate(passages):
        near = {first: float(np.mean([margin(mine, passages[j]) for j in have])) for first, have in groups.items()}
        best = max(near, key=near.__getitem__, default=i)
        groups.setdefault(best if near.get(best, -1.0) >= -slack else i, []).append(i)
    first = {i: group for group, members in groups.items() for i in members}
    return [first[i] for i in range(len(passages))]
