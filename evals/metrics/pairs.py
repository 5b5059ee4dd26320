"""Computes the measures of a judge's records on labelled pairs, and baselines."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from evals.metrics import classification as m
from evals.metrics.measure import Figure, Ratio, figures
from evals.reports.records import Record

_RANKED: dict[str, Callable[[m.Flags, m.Floats], float]] = {"auc": m.roc_auc, "average_precision": m.average_precision}
MEASURES = ("accuracy", "f1", "precision", "recall", "positive_share", *_RANKED, "ece", "contrast_consistency")
_COMPARED = ("accuracy", "f1", "precision", "recall")


def labels_of(records: Sequence[Record]) -> m.Flags:
    return np.array([bool(r["label"]) for r in records])


def scores_of(records: Sequence[Record], lowest: float) -> NDArray[np.float64]:
    """Returns scores, shape (n,). A failed pair gets the lowest score, so it counts as No."""
    return np.array([lowest if r["score"] is None else float(r["score"]) for r in records])


def measures(records: Sequence[Record], threshold: float, probabilities: bool, seed: int) -> Record:
    """Returns `metrics`, `intervals` clustered by question, and `items`. A record has `label`, `score` (None if
    failed), `question`, `passage`, `perspective`, `contrary` and `seconds`."""
    labels, questions = labels_of(records), [r["question"] for r in records]
    scores = scores_of(records, 0.0 if probabilities else -1.0)
    accepted = np.array([r["score"] is not None for r in records]) & (scores >= threshold)

    def of(measure: Callable[[m.Flags, m.Floats], float]) -> Figure:
        return Figure(lambda chosen: measure(labels[chosen], scores[chosen]), questions)

    passages = [(r["question"], r["passage"], r["perspective"]) for r in records]
    outcomes, judged = m.contrast_outcomes(passages, accepted, [r["contrary"] for r in records])
    found: dict[str, Figure] = {
        **m.yes_or_no(labels, accepted, questions),
        **{name: of(measure) for name, measure in _RANKED.items()},
        "ece": of(m.expected_calibration_error if probabilities else lambda *_: math.nan),
        "contrast_consistency": Ratio.of((q, float(both), 1) for q, both in outcomes),
    }
    told = figures(found, seed)
    seconds, failed = sum(r["seconds"] for r in records), sum(r["score"] is None for r in records)
    told["metrics"] |= {
        "contrast_passages": judged,
        "contrast_accepted": len(outcomes),
        "label_share": float(labels.mean()),
        "pairs_per_second": (len(records) - failed) / seconds if seconds else math.nan,
        "pairs": len(records),
        "failed": failed,
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
