"""The thesis of a document for a question: the one sentence of it that best says where it stands.

The paper (multi-perspective search, §4.2.2) has a summariser write it, trained to keep to the question and to the
stance of the document. Here the same two are what a sentence of the document is chosen by, and its place as a third,
so that the thesis can be quoted word for word. How the three are weighed is this project's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

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
