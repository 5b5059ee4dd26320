"""Theses that answer a question alike, put together (multi-perspective search, §4.2.3).

The paper clusters what the last layer of a stance classifier makes of question and thesis, by k-means with k = 3; its
released code does so for open questions only, and sorts the theses of a yes-or-no question by their stance instead.
Here groups are made by average linkage, so that their number need not be known. In the place of the classifier's layer
stand an encoder's vectors without their component along the question's vector: what the question says already makes no
two theses alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tools.language.linkage import average_linkage

Floats = NDArray[np.floating]
Stance = Literal["for", "against", "mixed"]

MARGIN = 0.2  # by how much one side has to be more probable than the other; this project's
_NOTHING = 1e-6  # a length below it is rounding: the vector says nothing beside the question


@dataclass(frozen=True, slots=True)
class Group:
    """Theses that say the same: their positions, the one that stands for the group best first."""

    members: tuple[int, ...]


def group_theses(vectors: Floats, question: Floats, threshold: float) -> list[Group]:
    """Every thesis in one group, by average linkage of what it says beside the question (`conditioned`, `by_linkage`).

    vectors: of the theses, shape (n, dimensions). question: shape (dimensions,). threshold: from −1 to 1. Raises
    ValueError for a question of zeros.
    """
    return by_linkage(conditioned(vectors, question), threshold)


def conditioned(vectors: Floats, question: Floats) -> NDArray[np.float64]:
    """v − (v·q / ‖q‖²) q of each vector v, q being the question's, then of unit length; shape (n, dimensions).

    A thesis that says nothing beside the question becomes a row of zeros. Raises ValueError for a q of zeros.
    """
    square = float(question @ question)
    if square == 0:
        raise ValueError("the question's vector is zero: nothing can be taken out along it")
    left = vectors - np.multiply.outer(vectors @ question / square, question)
    lengths = np.linalg.norm(left, axis=1, keepdims=True)
    return np.where(lengths > _NOTHING, left / np.maximum(lengths, _NOTHING), 0.0)


def stances(support: Floats, margin: float = MARGIN) -> list[Stance]:
    """'for' where the claim is more probable than its contrary by more than the margin, 'against' the other way round,
    else 'mixed': both, neither, or no verdict (NaN).

    support: probabilities that each thesis supports the claim and its contrary, shape (2, n).
    """
    return ["for" if d > margin else "against" if d < -margin else "mixed" for d in support[0] - support[1]]


def by_linkage(vectors: Floats, threshold: float) -> list[Group]:
    """Groups by average linkage (Sokal and Michener 1958): the two with the highest mean cosine between their members
    are joined while it is at least the threshold; largest first.

    vectors: unit or zero, of shape (n, dimensions), as `conditioned` gives them. A row of zeros is like its own kind
    only. threshold: from −1 to 1.
    """
    empty = ~vectors.any(axis=1)
    cosines = np.minimum(vectors @ vectors.T, 1.0).astype(np.float64)
    cosines[np.ix_(empty, empty)] = 1.0
    labels = np.zeros(len(vectors), np.int64)
    for label, members in enumerate(average_linkage(cosines, threshold)):
        labels[members] = label
    return _groups(vectors, labels)


def _groups(vectors: Floats, labels: Sequence[int] | NDArray[np.integer]) -> list[Group]:
    """The largest group first, of equals the one that begins earlier; in it the nearest to its mean first."""
    found = [np.flatnonzero(np.asarray(labels) == label) for label in np.unique(labels)]
    groups = []
    for members in sorted(found, key=lambda m: (-len(m), int(m[0]))):
        near = vectors[members] @ vectors[members].mean(axis=0)
        order = np.argsort(-np.round(near, 9), kind="stable")  # rounding makes no order among equals
        groups.append(Group(tuple(int(i) for i in members[order])))
    return groups
