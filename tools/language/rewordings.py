"""Passages that say the same in other words, by the vectors of their sentences: one piece of evidence, whoever says it.

Two passages on one matter share a point or two; one that was rewritten says all of the other, sentence by sentence. How
near a sentence has to be depends on how many there are: single sentences that make one point are nearer to each other
than passages ever are that differ. Where both are one sentence that gives a reason, the reasons are compared: by their
common thesis different arguments are near, and by synonyms in it the same one is far.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

SAME = (0.89, 0.76, 0.67, 0.65)
"""The mean cosine of the shorter passage's sentences to their nearest in the other from which the two say the same: of
one sentence, of two, of three, of more. By the embedded encoder."""

SAME_REASON = 0.58
"""The cosine of two reasons (`tools.language.reasons`) from which they are the same."""

_SAME_MATTER = 0.5  # cosine of sentences that want the same for the same reason, at least

NEAR = 0.12
"""By how much less two passages are near each other without saying the same: the nearest different arguments for one
view of the gold lie 0.19 below, and its farthest wordings of one argument 0.07."""


def margin(
    one: Vectors,
    other: Vectors,
    reasons: tuple[Vectors | None, Vectors | None] = (None, None),
    *,
    either: bool = False,
) -> float:
    """By how much two passages are nearer than such that differ; from 0 on they say the same. Unit vectors of their
    sentences, (n, dimensions); of the reason of a passage that is one sentence, (dimensions,), None where it gives
    none. either: by their reasons or as a whole, whichever is nearer; else by their reasons where both give one."""
    if not len(one) or not len(other):
        return -1.0
    short, long = sorted((one, other), key=len)
    near = float((short @ long.T).max(axis=1).mean())
    whole = near - SAME[min(len(short), len(SAME)) - 1]
    if reasons[0] is None or reasons[1] is None:
        return whole
    by_reason = min(float(reasons[0] @ reasons[1]) - SAME_REASON, near - _SAME_MATTER)
    return max(whole, by_reason) if either else by_reason


def same_groups(
    passages: Sequence[Vectors], slack: float = 0.0, reasons: Sequence[Vectors | None] | None = None
) -> list[int]:
    """For each passage the index of the first of those that say the same (its own index when it is alone).

    A passage joins the group that it is nearest to, by the mean over the group's members, so that no chain of passages
    that are each a little like the next becomes one group. `slack`: by how much the margin may fall short, and then in
    either way. `reasons`: as `margin` takes them, for each passage.
    """
    why = reasons or [None] * len(passages)
    groups: dict[int, list[int]] = {}
    for i, mine in enumerate(passages):
        near = {
            first: float(np.mean([margin(mine, passages[j], (why[i], why[j]), either=slack > 0) for j in have]))
            for first, have in groups.items()
        }
        best = max(near, key=near.__getitem__, default=i)
        groups.setdefault(best if near.get(best, -1.0) >= -slack else i, []).append(i)
    first = {i: group for group, members in groups.items() for i in members}
    return [first[i] for i in range(len(passages))]
