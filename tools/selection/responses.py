"""Groups of theses that say the same, after a multi-perspective search engine's paper (§4.2.3), over arrays that a
caller brings: no model is asked.

The paper clusters what the last layer of a stance classifier makes of question and thesis, by k-means with k = 3; its
released code does so for open questions only, and sorts the theses of a yes-or-no question by their stance instead.
Here groups are made by average linkage, so that their number need not be known. In the place of the classifier's layer
stand an encoder's vectors without their component along the question's vector: what the question says already makes no
two theses alike.
"""

import numpy as np
from numpy.typing import NDArray

from tools.language.copies import average_linkage

Floats = NDArray[np.floating]

_NOTHING = 1e-6  # a length below it is rounding: the vector says nothing beside the question


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
