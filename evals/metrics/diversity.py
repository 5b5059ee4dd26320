"""How relevant and how diverse the paragraphs are that were found for a news event (NEWSCOPE, §6.2).

P, R and F1 are counted in two ways. The strict one goes by the label: relevant to the headline or not. The published
one, that of the released code, takes every paragraph of the event that was annotated for a hit, whatever its label.
Where a value is not defined it is NaN, never 0.
"""

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from evals.metrics.coverage import hits
from evals.metrics.measure import Figure, Values, mean
from evals.reports.paper import published
from evals.retrievers.news import OUTSIDE, Ready
from evals.retrievers.published_selections import NOISE, Clustered

COMPARED = ("published_f1", "distance", "density", "coverage")

_PAPERS_NAMES = {"scs": "scs-released", "greedyplus-calibrated": "greedyplus"}  # of which the paper tells once


def precision(ranked: Sequence[str], relevant: AbstractSet[str], k: int) -> float:
    """Paragraphs of the top k that are among the relevant / k: one that is missing is a miss."""
    return hits(ranked, relevant, k) / k


def recall(ranked: Sequence[str], relevant: AbstractSet[str], k: int) -> float:
    """Relevant paragraphs in the top k / relevant paragraphs, of which there may be more than k. NaN without any."""
    return hits(ranked, relevant, k) / len(relevant) if relevant else math.nan


def f1(precision: float, recall: float) -> float:
    """2PR / (P + R), of the mean P and the mean R over events, as the paper has it; 0 where both are 0."""
    both = precision + recall
    return 0.0 if both == 0 else 2 * precision * recall / both


def distance(vectors: NDArray[np.floating]) -> float:
    """D: 2 / (k(k − 1)) · Σ over pairs i < j of 1 − cos(pᵢ, pⱼ).

    vectors: unit, of shape (k, dimensions). NaN for fewer than two.
    """
    if len(vectors) < 2:
        return math.nan
    first, second = np.triu_indices(len(vectors), 1)
    return float(1 - (np.asarray(vectors, np.float64) @ np.asarray(vectors, np.float64).T)[first, second].mean())


def density(clusters: Clustered, chosen: Sequence[int]) -> float:
    """I: different clusters covered / sentences of the paragraphs that were chosen.

    Only sentences that were clustered count, and those that are like no other are together one cluster, as in the
    released code; one of a paragraph that is no candidate is of none. NaN where the chosen have no such sentence.
    """
    labels = _labels(clusters, chosen)
    return len(np.unique(labels[labels != OUTSIDE])) / len(labels) if len(labels) else math.nan


def coverage(clusters: Clustered, chosen: Sequence[int], noise: bool = True) -> float:
    """C: clusters of the relevant paragraphs that are covered / all of them.

    clusters: of the event's relevant paragraphs. chosen: which of those were found. noise: sentences that are like no
    other are one cluster here too; else they are none. The paper's own script was not released. NaN without clusters.
    """
    every, covered = (set(found.tolist()) for found in (clusters.label, _labels(clusters, chosen)))
    left_out = set[int]() if noise else {NOISE}
    return len(covered - left_out) / len(every - left_out) if every - left_out else math.nan


def figures(ready: Ready, chosen: list[int], k: int) -> dict[str, float]:
    """Measure to its value for the candidates at these positions, at most k of them."""
    ids, relevant = [ready.ids[i] for i in chosen], ready.place.keys()
    found = [ready.place[i] for i in ids if i in relevant]
    return {
        f"precision@{k}": precision(ids, relevant, k),
        f"recall@{k}": recall(ids, relevant, k),
        f"published_precision@{k}": precision(ids, ready.event.annotated, k),
        f"published_recall@{k}": recall(ids, ready.event.annotated, k),
        f"distance@{k}": distance(ready.vectors[chosen]),
        f"density@{k}": density(ready.clusters, chosen),
        f"coverage@{k}": coverage(ready.positives, found),
        f"coverage_without_noise@{k}": coverage(ready.positives, found, noise=False),
        f"chosen@{k}": float(len(chosen)),
    }


def measures(rows: Mapping[str, Values], cutoffs: Sequence[int], events: Sequence[str]) -> dict[str, Figure]:
    """The mean of each row over the events, and F1 of the mean P and the mean R.

    rows: measure to a value an event, shape (events,), NaN for events that do not count in it.
    """
    means = {name: mean(values, events) for name, values in rows.items()}

    def harmonic(precisions: Figure, recalls: Figure) -> Figure:
        return Figure(lambda chosen: f1(precisions.statistic(chosen), recalls.statistic(chosen)), events)

    kinds = [(reading, k) for reading in ("", "published_") for k in cutoffs]
    return means | {f"{of}f1@{k}": harmonic(means[f"{of}precision@{k}"], means[f"{of}recall@{k}"]) for of, k in kinds}


def ratios(data: str, name: str, dense: dict[str, float], other: dict[str, float]) -> dict[str, dict[str, float]]:
    """The figures of the method `name` / dense retrieval's, `here` and in the `paper` (NEWSCOPE, tables 2 and 3).

    Absolute figures are not comparable: the released paragraphs are fewer, the encoder is another one, and the clusters
    were not released. NaN where the paper has none.
    """
    kept = [m for m in other if m.partition("@")[0] in COMPARED]
    theirs: dict[str, float] = {}
    tables = [t for t in published()[0] if t.of in ("NEWSCOPE, table 2", "NEWSCOPE, table 3")]
    for one in (t for t in tables if t.columns[0].data == data):
        row, base = one.measures(_PAPERS_NAMES.get(name, name)), one.measures("dense")
        theirs |= {m: row[m] / base[m] for m in row}
    return {m: {"here": other[m] / dense[m] if dense[m] else math.nan, "paper": theirs.get(m, math.nan)} for m in kept}


def _labels(clusters: Clustered, chosen: Sequence[int]) -> NDArray[np.int64]:
    return clusters.label[np.isin(clusters.paragraph, np.asarray(chosen, np.int64))]
