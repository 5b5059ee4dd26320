"""What a judge of (statement, text) pairs is measured by."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Labels = NDArray[np.integer[Any]]

SUPPORT, OPPOSE, NONE = 0, 1, 2


def roc_auc(positive: NDArray[np.bool_], score: Floats) -> float:
    """Chance that a positive scores above a negative, ties counting half; NaN without both kinds."""
    above = score[positive][:, None] - score[~positive][None, :]
    return float(np.mean((above > 0) + 0.5 * (above == 0))) if above.size else float("nan")


def best_f1(positive: NDArray[np.bool_], score: Floats) -> tuple[float, float, float]:
    """The highest F1 over thresholds, the threshold, and the accuracy there.

    Optimistic: the threshold is read off the same pairs.
    """
    order = np.argsort(-score)
    hits = np.cumsum(positive[order])
    f1 = 2 * hits / (np.arange(1, len(order) + 1) + positive.sum())
    at = int(np.argmax(f1))
    threshold = float(score[order][at])
    return float(f1[at]), threshold, float(np.mean((score >= threshold) == positive))


def stance_accuracy(labels: Labels, probabilities: Floats, share: float = 1.0) -> float:
    """How often the likelier of support and oppose is right, over pairs that are either, on the surest `share` of them.

    Sureness is the larger of the two probabilities minus the smaller.
    """
    taken = labels != NONE
    lead = probabilities[taken, SUPPORT] - probabilities[taken, OPPOSE]
    right = (lead > 0) == (labels[taken] == SUPPORT)
    surest = np.argsort(-np.abs(lead))[: max(1, round(share * len(lead)))]
    return float(np.mean(right[surest])) if len(lead) else float("nan")
