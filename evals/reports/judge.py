"""The measures of a judge's records, beside its baselines and the published rows, as an object and as a table."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.metrics import classification as m
from evals.metrics.bootstrap import interval, mean_interval
from evals.metrics.classification import best_f1

Record = dict[str, Any]
Figures = dict[str, float]

SHOWN = ("accuracy", "f1", "precision", "recall", "positive_share", "auc", "average_precision")
_YES_OR_NO: dict[str, Callable[[m.Flags, m.Flags], float]] = {
    "accuracy": m.accuracy,
    "f1": m.f1,
    "precision": m.precision,
    "recall": m.recall,
    "positive_share": lambda _, accepted: m.positive_share(accepted),
}
_RANKED: dict[str, Callable[[m.Flags, m.Floats], float]] = {"auc": m.roc_auc, "average_precision": m.average_precision}
_UNDEFINED = {
    "f1": "no pair is positive and none was accepted",
    "precision": "nothing was accepted",
    "recall": "no pair is positive",
    "auc": "the pairs are all of one label",
    "average_precision": "no pair is positive",
    "ece": "its scores are no probabilities",
    "contrast_consistency": "no passage was judged against a statement and its contrary with one of them accepted",
    "pairs_per_second": "it does not look at the pairs",
}
SOURCE = "BERDS, table 4: its whole human-labelled set, 16.8 % of it positive; F1 compares on the same pairs only"
PUBLISHED: list[Record] = [
    {"judge": name, "positive_share": share / 100, "accuracy": accuracy / 100, "f1": f1 / 100, "pairs": pairs}
    for name, share, accuracy, f1, pairs in (
        ("another human", 22.7, 85.2, 65.8, 176),
        ("random", 16.8, 72.1, 16.9, 542),
        ("NLI T5-11B", 7.2, 85.2, 38.5, 542),
        ("Llama-2-13b-chat", 31.1, 70.7, 42.6, 542),
        ("Llama-2-70b-chat", 27.4, 77.7, 52.6, 542),
        ("Zephyr", 22.4, 80.6, 53.3, 542),
        ("Gemma", 58.4, 48.9, 37.2, 542),
        ("Mistral-7B zero-shot", 19.2, 82.2, 52.0, 542),
        ("GPT-4 zero-shot", 17.4, 87.6, 65.6, 542),
        ("GPT-4 one-shot", 15.4, 89.1, 67.8, 542),
        ("Mistral-7B fine-tuned", 15.8, 87.6, 62.2, 542),
    )
]


def labels_of(records: Sequence[Record]) -> m.Flags:
    return np.array([bool(r["label"]) for r in records])


def scores_of(records: Sequence[Record], lowest: float) -> NDArray[np.float64]:
    """The scores, shape (n,); a pair that failed has the lowest there can be, which is a No."""
    return np.array([lowest if r["score"] is None else float(r["score"]) for r in records])


def measures(records: Sequence[Record], threshold: float, probabilities: bool, seed: int) -> Record:
    """`metrics`, their `intervals` clustered by question, the `reliability` curve, and why a measure is `undefined`.

    records: `label`, `score` (None where it failed), `question`, `passage`, `perspective`, `contrary`, `seconds`.
    """
    labels, questions = labels_of(records), [r["question"] for r in records]
    scores = scores_of(records, 0.0 if probabilities else -1.0)
    accepted = np.array([r["score"] is not None for r in records]) & (scores >= threshold)
    statistics: dict[str, Callable[[NDArray[np.int64]], float]] = {
        **{name: partial(_chosen, measure, labels, accepted) for name, measure in _YES_OR_NO.items()},
        **{name: partial(_chosen, measure, labels, scores) for name, measure in _RANKED.items()},
    }
    if probabilities:
        statistics["ece"] = partial(_chosen, m.expected_calibration_error, labels, scores)
    everything = np.arange(len(records))
    metrics: Figures = {name: statistic(everything) for name, statistic in statistics.items()}
    metrics.setdefault("ece", math.nan)
    intervals = {name: interval(statistic, questions, seed) for name, statistic in statistics.items()}
    both, of, judged = m.contrast_outcomes(
        [(r["question"], r["passage"], r["perspective"]) for r in records], accepted, [r["contrary"] for r in records]
    )
    metrics["contrast_consistency"] = float(np.mean(both)) if both else math.nan
    intervals["contrast_consistency"] = mean_interval([float(b) for b in both], of, seed)
    metrics |= {"contrast_passages": judged, "contrast_accepted": len(both)} | _counts(records)
    return {
        "metrics": metrics,
        "intervals": {name: bounds for name, bounds in intervals.items() if not math.isnan(bounds[0])},
        "reliability": m.reliability(labels, scores) if probabilities else [],
        "items": _items(labels, accepted, questions),
        "undefined": {name: why for name, why in _UNDEFINED.items() if math.isnan(metrics[name])},
    }


def _items(labels: m.Flags, accepted: m.Flags, questions: Sequence[str]) -> dict[str, list[tuple[str, float, float]]]:
    """Measure to rows of (question, numerator, denominator) whose sums make it, for comparing two judges."""
    both, either = labels & accepted, labels.astype(int) + accepted
    rows = {
        "accuracy": (labels == accepted, np.ones(len(labels))),
        "f1": (2 * both, either),
        "precision": (both, accepted),
        "recall": (both, labels),
    }
    return {
        name: [(q, float(n), float(d)) for q, n, d in zip(questions, above, below, strict=True)]
        for name, (above, below) in rows.items()
    }


def _chosen(measure: Callable[[Any, Any], float], labels: Any, said: Any, chosen: NDArray[np.int64]) -> float:
    return measure(labels[chosen], said[chosen])


def _counts(records: Sequence[Record]) -> Figures:
    seconds, failed = sum(r["seconds"] for r in records), sum(r["score"] is None for r in records)
    return {
        "label_share": float(labels_of(records).mean()),
        "pairs_per_second": (len(records) - failed) / seconds if seconds else math.nan,
        "pairs": len(records),
        "failed": failed,
    }


def optimistic(records: Sequence[Record]) -> Record:
    """The figures at the threshold of the highest F1 on these very pairs, and the `threshold`: better than in use."""
    labels, scores = labels_of(records), scores_of(records, -1.0)
    _, threshold, _ = best_f1(labels, scores)
    figures = {name: measure(labels, scores >= threshold) for name, measure in _YES_OR_NO.items()}
    return figures | {name: measure(labels, scores) for name, measure in _RANKED.items()} | {"threshold": threshold}


def uninformed(rate: float) -> dict[str, Record]:
    """The baselines that look at nothing, as expected and not drawn; rate: the share of positives.

    Random says Yes at that rate: accuracy r² + (1 − r)²; precision, recall and F1 of the expected counts r.
    """
    nan = math.nan
    chance = {"auc": 0.5, "average_precision": rate if rate else nan}
    yes = rate if rate else nan
    draws = {"accuracy": rate**2 + (1 - rate) ** 2, "f1": yes, "precision": yes, "recall": yes, "positive_share": rate}
    never = {
        "accuracy": 1 - rate,
        "f1": 0.0 if rate else nan,
        "precision": nan,
        "recall": 0.0 if rate else nan,
        "positive_share": 0.0,
    }
    return {"random by rate": draws | chance, "all No": never | chance}


def table(report: Record) -> str:
    """The report for people to read."""
    config, metrics, bounds = report["config"], report["metrics"], report["intervals"]
    lines = [
        f"{config['data']}: {metrics['pairs']} pairs of {config['questions']} questions, "
        f"{metrics['label_share']:.1%} of them positive",
        f"{config['judge']}, accepts from {config['threshold']:.3f} on ({config['threshold_from']})",
        "",
    ]
    for name in (*SHOWN, "ece", "contrast_consistency"):
        low, high = bounds.get(name, (math.nan, math.nan))
        told = f"  95 % {low:.3f} to {high:.3f}" if name in bounds else ""
        lines.append(f"{name:<24}{_cell(metrics[name], 8)}{told}")
    lines += [
        f"{'pairs_per_second':<24}{_cell(metrics['pairs_per_second'], 8, 1)}",
        "",
        f"Contrast: {metrics['contrast_passages']} passages judged against both sides, "
        f"{metrics['contrast_accepted']} with a side accepted. Intervals are clustered by question.",
    ]
    lines += [f"{name} is not defined: {why}." for name, why in report["undefined"].items()]
    lines += _failures(report["failures"])
    return "\n".join([*lines, "", *_comparison(report)]) + "\n"


def _comparison(report: Record) -> list[str]:
    own = {**report["metrics"], "judge": "this judge"}
    rows = [own, *({**row, "judge": name, "pairs": own["pairs"]} for name, row in report["baselines"].items())]
    head = f"{'':<32}{'accuracy':>10}{'F1':>8}{'% pos':>8}{'pairs':>7}"

    def line(row: Record) -> str:
        figures = "".join(
            f"{_cell(100 * row[k], w, 1)}" for k, w in (("accuracy", 10), ("f1", 8), ("positive_share", 8))
        )
        return f"{row['judge']:<32}{figures}{row['pairs']:>7}"

    return [head, *map(line, rows), "", f"Published ({SOURCE})", *map(line, report["published"])]


def _failures(failures: Sequence[Record]) -> list[str]:
    if not failures:
        return []
    lines = [f"{len(failures)} pairs failed and count as No:"]
    lines += [f"  line {f['line']}: {f['why']}" for f in failures[:10]]
    return lines + ([f"  and {len(failures) - 10} more"] if len(failures) > 10 else [])


def _cell(value: float, width: int, digits: int = 3) -> str:
    return f"{'–':>{width}}" if math.isnan(value) else f"{value:>{width}.{digits}f}"
