"""Up to three sentences of a document that are evidence for its thesis (multi-perspective search, §4.2.4).

As in the paper the sentences that support the thesis are kept, and ranked by their relevance to it. A sentence that
opens with a pronoun, or with 'this' or 'these', is then given what it leans on, in square brackets: words that are
added are never mixed with those of the document.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.language.decontextualising import Shown, decontextualised

Floats = NDArray[np.floating]

MOST = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentence at `position` of the document: its cosine to the thesis, the probability that it supports it, and
    how it is shown."""

    position: int
    relevance: float
    support: float
    shown: Shown


def find_evidence(
    sentences: Sequence[str],
    vectors: Floats,
    thesis: Floats,
    support: Floats,
    threshold: float,
    title: str = "",
    left_out: Collection[int] = (),
    most: int = MOST,
) -> list[Evidence]:
    """At most `most` sentences that support the thesis, by their relevance to it, best first; see `ranked`.

    sentences: of the document, n in their order. title: the document's. left_out: positions that may not be chosen,
    such as the thesis itself. Raises ValueError for shapes that differ.
    """
    if len(sentences) != len(vectors):
        raise ValueError(f"{len(sentences)} sentences for {len(vectors)} vectors")
    relevance = vectors @ thesis
    chosen = [i for i in ranked(relevance, support, threshold) if i not in left_out][:most]
    return [
        Evidence(i, float(relevance[i]), float(support[0, i]), decontextualised(sentences[i], before, title))
        for i in chosen
        for before in [sentences[i - 1] if i else ""]
    ]


def ranked(relevance: Floats, support: Floats, threshold: float) -> list[int]:
    """Positions of the sentences that support the thesis, the most relevant first; of equals the earlier.

    relevance: shape (n,). support: the probabilities that each sentence supports the thesis, and its contrary, shape
    (2, n); a sentence is kept where the first is the threshold or more, and more than the second. One without a verdict
    (NaN) is not. Raises ValueError for shapes that differ.
    """
    if support.shape != (2, len(relevance)):
        raise ValueError(f"support has the shape {support.shape}, not (2, {len(relevance)})")
    kept = np.flatnonzero((support[0] >= threshold) & ~(support[0] <= support[1]))
    return [int(i) for i in kept[np.argsort(-relevance[kept], kind="stable")]]


def likelihood(support: Floats) -> NDArray[np.float64]:
    """How likely each sentence is evidence at all, shape (n,): the larger of its probabilities, NaN where one is.

    The paper's regression is not told which side a sentence is on either. support: shape (sides, n).
    """
    return np.asarray(np.max(support, axis=0), np.float64)
