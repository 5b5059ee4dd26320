"""How likely each of the passages found speaks to the question at all, from several scores of it and its neighbours.

One search alone ranks passages high that share the question's words and not its subject. Two things correct it: what
other searches say of the passage, and the company that it keeps, since passages on one subject lie near each other
(the cluster hypothesis, van Rijsbergen 1979).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

SIGNALS = ("words", "centre", "neighbours")
_CENTRAL = 5  # passages nearest to the question, whose mean is the pool's centre
_NEIGHBOURS, _STEPS, _OWN = 8, 3, 0.3
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class RelevanceWeights:
    """A logistic regression over the signals of `signals`, in the order of SIGNALS, and its offset.

    Fitted by `python -m evals select-fit`, which prints what it was fitted on and how well it does elsewhere.
    """

    signals: tuple[float, ...]
    offset: float


def relevance(cosine: Floats, words: Floats, vectors: Floats, weights: RelevanceWeights) -> NDArray[np.float64]:
    """The probability that each passage speaks to the question, shape (n,). Of the arguments see `signals`."""
    logits = signals(cosine, words, vectors) @ np.asarray(weights.signals) + weights.offset
    return np.asarray(1 / (1 + np.exp(-logits)), np.float64)


def signals(cosine: Floats, words: Floats, vectors: Floats) -> NDArray[np.float64]:
    """What tells a passage that speaks to the question, each standardised over the pool; shape (n, len(SIGNALS)).

    words: its BM25 score. centre: its cosine to the mean of the five passages nearest to the question (pseudo-relevance
    feedback, Rocchio 1971). neighbours: its own cosine to the question, mixed with those of its eight nearest passages,
    of theirs, and of theirs (score regularisation, Diaz 2005).

    cosine: to the question; words: BM25 scores, 0 where a passage was not found by words; both of shape (n,). vectors:
    unit, shape (n, dimensions). Raises ValueError for lengths that differ.
    """
    if not len(cosine) == len(words) == len(vectors):
        raise ValueError(f"{len(cosine)} cosines and {len(words)} word scores for {len(vectors)} vectors")
    if not len(cosine):
        return np.zeros((0, len(SIGNALS)))
    centre = vectors[np.argsort(-cosine, kind="stable")[:_CENTRAL]].mean(axis=0)
    centre = centre / max(float(np.linalg.norm(centre)), _NOTHING)
    found = (words, vectors @ centre, _spread(cosine, vectors))
    return np.stack([_standardised(np.asarray(values, np.float64)) for values in found], axis=1)


def _spread(scores: Floats, vectors: Floats) -> NDArray[np.float64]:
    """Each passage's score mixed, three times, with the mean of its nearest neighbours', weighted by cosine squared."""
    kept = np.asarray(scores, np.float64)
    if len(kept) < 2:
        return kept
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    near = np.argsort(-cosines, axis=1, kind="stable")[:, : min(_NEIGHBOURS, len(kept) - 1)]
    weight = np.clip(np.take_along_axis(cosines, near, axis=1), 0, None) ** 2
    weight = weight / np.maximum(weight.sum(axis=1, keepdims=True), _NOTHING)
    spread = kept
    for _ in range(_STEPS):
        spread = _OWN * kept + (1 - _OWN) * (weight * spread[near]).sum(axis=1)
    return spread


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    deviation = float(values.std())
    return (values - values.mean()) / deviation if deviation > _NOTHING else np.zeros(len(values))
