"""The thesis of a document, after a multi-perspective search engine's paper (§4.2.2), over arrays that a caller brings.

The paper has a summariser write the thesis, trained to keep to the question and to the stance of the document. Here the
same two are what a sentence of the document is chosen by, and its place as a third, so that the thesis can be quoted
word for word. How the three are weighed is this project's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

_SPEAKING = 3  # sentences that tell a document's stand; the others mostly speak of something else


@dataclass(frozen=True, slots=True)
class ThesisWeights:
    """What each part of a sentence's score counts for."""

    relevance: float = 1.0
    stance: float = 1.0
    place: float = 0.25


def choose_thesis(
    vectors: Floats,
    question: Floats,
    support: Floats,
    allowed: NDArray[np.bool_],
    weights: ThesisWeights = ThesisWeights(),
) -> tuple[int, int | None]:
    """The position of the sentence of the highest weighted sum of relevance, stance and place, and the side that the
    document takes, None for a question without sides.

    Relevance is the cosine to the question, at least 0; stance the probability that the sentence supports the side
    that the document takes (`supported_side`), 0 for a question without sides; place is 1 for the first and the
    last sentence, where a text says what it wants to say, 0 in the middle. Of equals the earlier sentence is chosen.

    vectors: unit, of the sentences in their order, of which there is one at least, shape (n, dimensions). question: its
    unit vector, (dimensions,). support: for each side the probability that a sentence supports it, shape (sides, n),
    (0, n) without sides; NaN, which a judge gives that did not answer, counts as 0. allowed: shape (n,), the sentences
    that may be chosen; where there is none, all may.
    """
    known = np.nan_to_num(support, nan=0.0)
    side = supported_side(known)
    last = len(vectors) - 1
    place = np.abs(2 * np.arange(last + 1) - last) / max(1, last)
    score = weights.relevance * np.clip(vectors @ question, 0.0, 1.0) + weights.place * place
    if side is not None:
        score = score + weights.stance * known[side]
    return int(np.argmax(np.where(allowed | ~allowed.any(), score, -np.inf))), side


def supported_side(support: Floats) -> int | None:
    """The side that the document's three surest sentences support most, on average; of equals the first.

    support: shape (sides, n), without NaN. None without sides.
    """
    if not support.size:
        return None
    return int(np.argmax(np.sort(support, axis=1)[:, -_SPEAKING:].mean(axis=1)))
