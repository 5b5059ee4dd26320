"""Measures of a judge of pairs: verdicts, ranking and calibration, and baselines.

Arrays have shape (n,) over pairs. `labels` and `accepted` are booleans. Higher `scores` are surer. Undefined measures
are NaN. The code does not call scikit-learn: intervals compute a measure thousands of times, and scikit-learn's input
checks take longer than the measure. Tests compare the results with scikit-learn's.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.datasets.pairs import LabelledPair
from evals.metrics.measure import Figure, Ratio, figures, ratio
from evals.reports.records import Record

Flags = NDArray[np.bool_]
Floats = NDArray[np.floating[Any]]

BINS = 10
SUPPORT, OPPOSE, NONE = 0, 1, 2
"""Labels of pairs, and the order of a model's outputs."""


def yes_or_no(labels: Flags, accepted: Flags, questions: Sequence[str] | None = None) -> dict[str, Ratio]:
    """Measures of the positive class, with intervals clustered by question.

    accuracy: (TP + TN) / n. precision: TP / (TP + FP). recall: TP / (TP + FN). f1: 2·TP / (2·TP + FP + FN). F1 rises
    with the share of positives, so compare it only on the same pairs. positive_share: accepted / n ('% Pos' of BERDS
    table 4).
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
    """Returns the area under the ROC curve: the probability that a positive scores above a negative. Ties count half
    (Fawcett 2006). NaN without a positive or without a negative."""
    negatives = np.sort(scores[~labels])
    below = np.searchsorted(negatives, scores[labels], "left") + np.searchsorted(negatives, scores[labels], "right")
    return ratio(np.sum(below) / 2, len(negatives) * np.sum(labels))


def average_precision(labels: Flags, scores: Floats) -> float:
    """Returns Σ (Rₙ − Rₙ₋₁)·Pₙ over the distinct scores, highest first, without interpolation (scikit-learn's
    definition). NaN without a positive."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.diff(scores[order], append=np.nan))  # the last of equal scores
    hits = np.cumsum(labels[order])[ends]
    return ratio(np.sum(np.diff(hits, prepend=0) * hits / (ends + 1)), np.sum(labels))


def expected_calibration_error(labels: Flags, probabilities: Floats) -> float:
    """Returns Σ over ten bins of (pairs / n)·|mean probability − share of positives|. Bins have equal width and include
    their lower bound. The last bin includes 1.

    This is the one-class definition (Naeini et al. 2015), on the probability of support. Guo et al. (2017) use the
    confidence in the predicted class. NaN without pairs. On few pairs, the error and its percentile intervals are
    biased upwards.
    """
    places = np.minimum((np.asarray(probabilities, float) * BINS).astype(int), BINS - 1)
    return ratio(np.abs(np.bincount(places, probabilities - labels)).sum(), len(labels))


def contrast_outcomes(
    passages: Sequence[tuple[str, str, str]], accepted: Flags, contrary: Sequence[str]
) -> tuple[list[tuple[str, bool]], int]:
    """Computes contrast consistency: does the judge accept a passage for both sides?

    Returns the questions with their outcomes, and the number of passages judged for both sides. A passage has an
    outcome if the judge accepts it for at least one side. The measure is the mean of the outcomes; lower is better.
    passages: question, passage and statement of each pair. contrary: the opposing statement, or ''.
    """
    verdicts = {pair: bool(yes) for pair, yes in zip(passages, accepted, strict=True)}
    found, seen = list[tuple[str, bool, bool]](), set[tuple[str, str]]()
    for (question, passage, statement), other in zip(passages, contrary, strict=True):
        if (question, passage) not in seen and (question, passage, other) in verdicts:
            found.append((question, verdicts[question, passage, statement], verdicts[question, passage, other]))
        seen.add((question, passage))
    return [(question, one and other) for question, one, other in found if one or other], len(found)


def best_f(positive: Flags, score: Floats, beta: float = 1.0) -> tuple[float, float]:
    """Returns the highest F-beta over thresholds, (1 + b²) · hits / (accepted + b² · positives), and the threshold. The
    value is optimistic, because the threshold is fitted on the same pairs."""
    order = np.argsort(-score)
    hits, accepted = np.cumsum(positive[order]), np.arange(1, len(order) + 1)
    values = (1 + beta**2) * hits / (accepted + beta**2 * positive.sum())
    at = int(np.argmax(values))
    return float(values[at]), float(score[order][at])


def stance_accuracy(labels: NDArray[np.integer[Any]], probabilities: Floats) -> float:
    """Returns how often the likelier of support and oppose is right, over pairs with one of these labels."""
    taken = labels != NONE
    lead = probabilities[taken, SUPPORT] - probabilities[taken, OPPOSE]
    right = (lead > 0) == (labels[taken] == SUPPORT)
    return float(np.mean(right)) if len(lead) else float("nan")


def stance_measures(rows: Sequence[tuple[str, str, str]]) -> dict[str, Figure]:
    """Computes accuracy and F1 over rows of (claim, gold stance, predicted stance) (Chen et al. 2022, table 1).

    An undecided or failed row has an empty prediction, which is wrong. stance_f1: mean of stance_f1_support and
    stance_f1_oppose, NaN if a stance is neither gold nor predicted. stance_undecided: share without a prediction.
    stance_majority: accuracy of always predicting the commoner stance. The paper calls its 91.6 accuracy in the text
    and F1 in table 1; pooled over both stances, accuracy and F1 are equal.
    """
    claims = [claim for claim, *_ in rows]
    golds, told = (np.array([row[i] for row in rows]) for i in (1, 2))
    common = Counter(golds.tolist()).most_common(1)[0][0]
    each = {side: yes_or_no(golds == side, told == side, claims)["f1"] for side in ("support", "oppose")}
    return {
        "stance_accuracy": Ratio.of((claim, float(gold == said), 1) for claim, gold, said in rows),
        "stance_f1": Figure(lambda chosen: sum(f1.statistic(chosen) for f1 in each.values()) / len(each), claims),
        **{f"stance_f1_{side}": f1 for side, f1 in each.items()},
        "stance_undecided": Ratio.of((claim, float(not said), 1) for claim, _, said in rows),
        "stance_majority": Ratio.of((claim, float(gold == common), 1) for claim, gold, _ in rows),
    }


_RANKED: dict[str, Callable[[Flags, Floats], float]] = {"auc": roc_auc, "average_precision": average_precision}
MEASURES = ("accuracy", "f1", "precision", "recall", "positive_share", *_RANKED, "ece", "contrast_consistency")
_COMPARED = ("accuracy", "f1", "precision", "recall")


def measures(
    pairs: Sequence[LabelledPair],
    scores: Floats,
    opposite: Mapping[tuple[str, str], str],
    threshold: float,
    probabilities: bool,
    seed: int,
) -> Record:
    """Returns `metrics`, `intervals` clustered by question, and `items`. scores: shape (pairs,), NaN for a failed pair,
    which counts as No. opposite: maps question and perspective to the opposing perspective."""
    labels, questions = np.array([p.label for p in pairs]), [p.question for p in pairs]
    accepted, ranked = scores >= threshold, np.nan_to_num(scores, nan=0.0 if probabilities else -1.0)

    def of(measure: Callable[[Flags, Floats], float]) -> Figure:
        return Figure(lambda chosen: measure(labels[chosen], ranked[chosen]), questions)

    passages = [(p.question, p.document, p.perspective) for p in pairs]
    outcomes, judged = contrast_outcomes(passages, accepted, [opposite.get(p.side, "") for p in pairs])
    found: dict[str, Figure] = {
        **yes_or_no(labels, accepted, questions),
        **{name: of(measure) for name, measure in _RANKED.items()},
        "ece": of(expected_calibration_error if probabilities else lambda *_: math.nan),
        "contrast_consistency": Ratio.of((q, float(both), 1) for q, both in outcomes),
    }
    told = figures(found, seed)
    told["metrics"] |= {
        "contrast_passages": judged,
        "contrast_accepted": len(outcomes),
        "label_share": float(labels.mean()),
        "pairs": len(pairs),
        "failed": int(np.isnan(scores).sum()),
    }
    told["intervals"] = {name: bounds for name, bounds in told["intervals"].items() if not math.isnan(bounds[0])}
    told["items"] = {name: rows for name, rows in told["items"].items() if name in _COMPARED}
    return told


def uninformed(rate: float) -> dict[str, Record]:
    """Returns the expected figures of baselines that read no input. 'random by rate' says Yes with probability r, the
    share `rate` of positives. Its accuracy is r² + (1 − r)²; its precision, recall and F1 are r."""
    yes, none = (rate, 0.0) if rate else (math.nan, math.nan)
    chance = {"auc": 0.5, "average_precision": yes}
    draws = {"accuracy": rate**2 + (1 - rate) ** 2, "f1": yes, "precision": yes, "recall": yes, "positive_share": rate}
    never = {"accuracy": 1 - rate, "f1": none, "precision": math.nan, "recall": none, "positive_share": 0.0}
    return {"random by rate": draws | chance, "all No": never | chance}
