"""How well a judge of pairs does: does the passage support the statement, yes or no, and how surely?

Arrays have shape (n,) over pairs. `labels` and `accepted` are booleans, `scores` numbers where more is surer. What is
not defined for the input is NaN. The measures are written out because intervals call them thousands of times, and
scikit-learn's checks of its input take longer than the measures do; tests hold them to scikit-learn's.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.metrics.measure import Ratio

Flags = NDArray[np.bool_]
Floats = NDArray[np.floating[Any]]

BINS = 10
SUPPORT, OPPOSE, NONE = 0, 1, 2
"""Labels of pairs of three kinds, which number a model's answers too."""


def yes_or_no(labels: Flags, accepted: Flags, questions: Sequence[str] | None = None) -> dict[str, Ratio]:
    """Of the positive class, each question's pairs together in the intervals:

    accuracy (TP + TN) / n; f1 2·TP / (2·TP + FP + FN), which rises with the share of positives, so that figures on
    files with other shares do not compare; precision TP / (TP + FP); recall TP / (TP + FN); positive_share accepted
    / n, '% Pos' of BERDS table 4, a share of what the judge says and not of the labels.
    """
    both, every = labels & accepted, np.ones(len(labels))
    parts: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {
        "accuracy": (labels == accepted, every),
        "f1": (2 * both, labels.astype(int) + accepted),
        "precision": (both, accepted),
        "recall": (both, labels),
        "positive_share": (accepted, every),
    }
    groups = questions or [""] * len(labels)
    return {
        name: Ratio.of((q, float(n), float(d)) for q, n, d in zip(groups, *part, strict=True))
        for name, part in parts.items()
    }


def roc_auc(labels: Flags, scores: Floats) -> float:
    """Area under the ROC curve: the chance that a positive scores above a negative, ties counting half (Fawcett 2006).

    NaN without both kinds.
    """
    negatives = np.sort(scores[~labels])
    below = np.searchsorted(negatives, scores[labels], "left") + np.searchsorted(negatives, scores[labels], "right")
    return _ratio(np.sum(below) / 2, len(negatives) * np.sum(labels))


def average_precision(labels: Flags, scores: Floats) -> float:
    """Σ (Rₙ − Rₙ₋₁)·Pₙ over the distinct scores, highest first, not interpolated (scikit-learn's reading).

    NaN without a positive.
    """
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.diff(scores[order], append=np.nan))  # the last of those that share a score
    hits = np.cumsum(labels[order])[ends]
    return _ratio(np.sum(np.diff(hits, prepend=0) * hits / (ends + 1)), np.sum(labels))


def reliability(labels: Flags, probabilities: Floats, bins: int = BINS) -> list[dict[str, float]]:
    """A row for each bin of equal width that holds a pair: low, high, pairs, mean probability, share that is positive.

    A bin takes its lower bound; the last one takes 1 as well.
    """
    places = np.minimum((np.asarray(probabilities, float) * bins).astype(int), bins - 1)
    rows = []
    for place in np.unique(places):
        chosen = places == place
        row = {"low": float(place / bins), "high": float((place + 1) / bins), "pairs": int(chosen.sum())}
        rows.append(row | {"mean": float(probabilities[chosen].mean()), "positive": float(labels[chosen].mean())})
    return rows


def expected_calibration_error(labels: Flags, probabilities: Floats, bins: int = BINS) -> float:
    """Σ over bins of (pairs / n)·|mean probability − share that is positive|, bins of equal width.

    The reading for one class (Naeini et al. 2015), of the probability of support. Guo et al. (2017) use the
    confidence in whichever class was chosen instead. NaN without pairs. It is biased upwards on few pairs, and so are
    resamples of them: a percentile interval lies high.
    """
    rows = reliability(labels, probabilities, bins)
    return _ratio(sum(r["pairs"] * abs(r["mean"] - r["positive"]) for r in rows), len(labels))


def contrast_outcomes(
    passages: Sequence[tuple[Hashable, Hashable, str]], accepted: Flags, contrary: Sequence[str]
) -> tuple[list[bool], list[Hashable], int]:
    """Contrast consistency, passage by passage; the measure is the mean of what comes first, NaN without any.

    Among passages that were judged against a statement and its contrary and for which at least one is accepted: are
    both? Less is better. passages: question, passage and statement of each pair. contrary: what says the opposite of
    each statement, '' where nothing does. Gives the outcomes, their questions, and how many passages were judged
    against both.
    """
    verdicts: dict[tuple[Hashable, Hashable], dict[str, bool]] = {}
    opposite: dict[tuple[Hashable, str], str] = {}
    for (question, passage, statement), yes, other in zip(passages, accepted, contrary, strict=True):
        verdicts.setdefault((question, passage), {})[statement] = bool(yes)
        opposite[question, statement] = other
    found = []
    for (question, _), said in verdicts.items():
        first = next(iter(said))
        if (second := opposite[question, first]) in said:
            found.append((question, said[first], said[second]))
    either = [(question, one and other) for question, one, other in found if one or other]
    return [both for _, both in either], [question for question, _ in either], len(found)


def best_f(positive: Flags, score: Floats, beta: float = 1.0) -> tuple[float, float]:
    """The highest F-beta over thresholds, (1 + b²) · hits / (accepted + b² · positives), and the threshold.

    Optimistic: the threshold is read off the same pairs.
    """
    order = np.argsort(-score)
    hits, accepted = np.cumsum(positive[order]), np.arange(1, len(order) + 1)
    values = (1 + beta**2) * hits / (accepted + beta**2 * positive.sum())
    at = int(np.argmax(values))
    return float(values[at]), float(score[order][at])


def stance_accuracy(labels: NDArray[np.integer[Any]], probabilities: Floats) -> float:
    """How often the likelier of support and oppose is right, over pairs that are either."""
    taken = labels != NONE
    lead = probabilities[taken, SUPPORT] - probabilities[taken, OPPOSE]
    right = (lead > 0) == (labels[taken] == SUPPORT)
    return float(np.mean(right)) if len(lead) else float("nan")


def _ratio(part: Any, whole: Any) -> float:
    return float(part) / float(whole) if whole else float("nan")
