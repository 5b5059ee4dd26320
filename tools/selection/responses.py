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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.language.copies import average_linkage

Floats = NDArray[np.floating]

MOST = 3
"""Sentences that are shown as the evidence for one thesis."""
_NOTHING = 1e-6  # a length below it is rounding: the vector says nothing beside the question
_SPEAKING = 3  # sentences that tell a document's stand; the others mostly speak of something else


def group_theses(vectors: Floats, question: Floats, threshold: float) -> list[list[int]]:
    """Positions of theses that say the same, every thesis in one group, the one that stands for its group first; the
    largest group first.

    By average linkage (Sokal and Michener 1958) of what each says beside the question (`without_question`): the two
    groups with the highest mean cosine between their members are joined while it is at least the threshold. What
    says nothing beside the question is like its own kind only.

    vectors: of the theses, shape (n, dimensions). question: shape (dimensions,). threshold: from −1 to 1. Raises
    ValueError for a question of zeros.
    """
    left = without_question(vectors, question)
    empty = ~left.any(axis=1)
    cosines = np.minimum(left @ left.T, 1.0)
    cosines[np.ix_(empty, empty)] = 1.0
    groups = []
    for members in sorted(average_linkage(cosines, threshold), key=lambda m: (-len(m), m[0])):
        near = left[members] @ left[members].mean(axis=0)
        order = np.argsort(-np.round(near, 9), kind="stable")  # rounding makes no order among equals
        groups.append([members[i] for i in order])
    return groups


def without_question(vectors: Floats, question: Floats) -> NDArray[np.float64]:
    """v − (v·q / ‖q‖²) q of each vector v, q being the question's, then of unit length; shape (n, dimensions).

    A thesis that says nothing beside the question becomes a row of zeros. Raises ValueError for a q of zeros.
    """
    square = float(question @ question)
    if square == 0:
        raise ValueError("the question's vector is zero: nothing can be taken out along it")
    left = vectors - np.multiply.outer(vectors @ question / square, question)
    lengths = np.linalg.norm(left, axis=1, keepdims=True)
    return np.where(lengths > _NOTHING, left / np.maximum(lengths, _NOTHING), 0.0).astype(np.float64)


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
