"""What documents answer to a question: a thesis each, the evidence for it, and groups of theses that say the same.

The parts of a multi-perspective search engine (its paper, §4.2), over arrays that a caller brings: no model is asked.

§4.2.2 has a summariser write the thesis, trained to keep to the question and to the stance of the document. Here the
same two are what a sentence of the document is chosen by, and its place as a third, so that the thesis can be quoted
word for word. How the three are weighed is this project's. §4.2.4 shows up to three of the other sentences as evidence.

§4.2.3 clusters what the last layer of a stance classifier makes of question and thesis, by k-means with k = 3; its
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

from tools.language.copies import average_linkage

MOST = 3
"""Sentences that are shown as the evidence for one thesis."""


def likelihood(support: NDArray[np.floating]) -> NDArray[np.float64]:
    """How likely each sentence is evidence at all, shape (n,): the larger of its probabilities, NaN where one is.

    The paper's regression is not told which side a sentence is on either. support: shape (sides, n).
    """
    return np.asarray(np.max(support, axis=0), np.float64)


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


_SPEAKING = 3  # sentences that tell a document's stand; the others mostly speak of something else


@dataclass(frozen=True, slots=True)
class Weights:
    """What each part of a sentence's score counts for."""

    relevance: float = 1.0
    stance: float = 1.0
    place: float = 0.25


@dataclass(frozen=True, slots=True)
class Thesis:
    """The sentence at `position`, and what it was chosen by.

    side: the one that the document takes, a row of the probabilities; None for a question without sides. relevance,
    stance, place: the parts of `score` before they are weighed, each from 0 to 1.
    """

    position: int
    side: int | None
    score: float
    relevance: float
    stance: float
    place: float


def choose_thesis(
    vectors: Floats,
    question: Floats,
    support: Floats,
    allowed: NDArray[np.bool_] | None = None,
    weights: Weights = Weights(),
) -> Thesis | None:
    """The sentence of the highest weighted sum of relevance, stance and place; None for a document without sentences.

    Relevance is the cosine to the question, at least 0; stance the probability that the sentence supports the side
    that the document takes (`side_taken`), 0 for a question without sides; place as in `places`. Of equals the earlier
    sentence is chosen.

    vectors: unit, of the sentences in their order, shape (n, dimensions). question: its unit vector, (dimensions,).
    support: for each side the probability that a sentence supports it, shape (sides, n), (0, n) without sides; NaN,
    which a judge gives that did not answer, counts as 0. allowed: shape (n,), the sentences that may be chosen; where
    there is none, all may. Raises ValueError for shapes that differ.
    """
    n = len(vectors)
    if support.ndim != 2 or support.shape[1] != n or (allowed is not None and len(allowed) != n):
        raise ValueError(f"support has the shape {support.shape}, not (sides, {n}), or `allowed` not ({n},)")
    if n == 0:
        return None
    known = np.nan_to_num(support, nan=0.0)
    side = side_taken(known)
    relevance, place = np.clip(vectors @ question, 0.0, 1.0), places(n)
    stance = np.zeros(n) if side is None else known[side]
    score = weights.relevance * relevance + weights.stance * stance + weights.place * place
    open_to = np.ones(n, bool) if allowed is None or not allowed.any() else allowed
    best = int(np.argmax(np.where(open_to, score, -np.inf)))
    return Thesis(best, side, float(score[best]), float(relevance[best]), float(stance[best]), float(place[best]))


def side_taken(support: Floats) -> int | None:
    """The side that the document's three surest sentences support most, on average; of equals the first.

    support: shape (sides, n), without NaN. None without sides.
    """
    if not support.size:
        return None
    return int(np.argmax(np.sort(support, axis=1)[:, -_SPEAKING:].mean(axis=1)))


def places(n: int) -> NDArray[np.float64]:
    """|2i − (n − 1)| / (n − 1) of n sentences: 1 for the first and the last, where a text says what it wants to say,
    0 in the middle. Shape (n,)."""
    if n < 2:
        return np.ones(n)
    return np.asarray(np.abs(2 * np.arange(n) - (n - 1)) / (n - 1), np.float64)
