"""Relevance and diversity of the paragraphs retrieved for a news event (NEWSCOPE, §6.2).

P, R and F1 have two definitions. Under the strict definition, a paragraph is a hit if its label says that the paragraph
is relevant to the headline. Under the published definition (the released code), every annotated paragraph of the event
is a hit. Undefined measures are NaN.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from evals.metrics.measure import Chosen, Figure, Values, mean
from evals.metrics.perspective_coverage import hits
from evals.retrievers.news import OUTSIDE, EventCandidates
from evals.retrievers.published_selections import NOISE, Clustered


def distance(vectors: NDArray[np.floating]) -> float:
    """Returns D: 2 / (k(k − 1)) · Σ over pairs i < j of 1 − cos(pᵢ, pⱼ). vectors: unit, shape (k, dimensions). NaN for
    fewer than two vectors."""
    if len(vectors) < 2:
        return math.nan
    first, second = np.triu_indices(len(vectors), 1)
    return float(1 - (np.asarray(vectors, np.float64) @ np.asarray(vectors, np.float64).T)[first, second].mean())


def density(clusters: Clustered, chosen: Sequence[int]) -> float:
    """Returns I: distinct clusters / clustered sentences of the chosen paragraphs.

    All sentences without a cluster count as one cluster, as in the released code. Sentences of non-candidates count in
    no cluster. NaN without sentences.
    """
    labels = _labels(clusters, chosen)
    return len(np.unique(labels[labels != OUTSIDE])) / len(labels) if len(labels) else math.nan


def coverage(clusters: Clustered, chosen: Sequence[int], noise: bool = True) -> float:
    """Returns C: clusters that the chosen paragraphs cover / clusters of the event's relevant paragraphs.

    chosen: the retrieved relevant paragraphs. noise: whether sentences without a cluster count as one cluster. The
    paper's script was not released. NaN without clusters.
    """
    every, covered = (set(found.tolist()) for found in (clusters.label, _labels(clusters, chosen)))
    left_out = set[int]() if noise else {NOISE}
    return len(covered - left_out) / len(every - left_out) if every - left_out else math.nan


def figures(ready: EventCandidates, chosen: list[int], k: int) -> dict[str, float]:
    """Returns measure to value for the candidates at these positions, at most k.

    precision: relevant paragraphs in the top k / k. Missing ranks count as misses. recall: relevant paragraphs in the
    top k / relevant paragraphs. NaN without relevant paragraphs.
    """
    ids, relevant, annotated = [ready.ids[i] for i in chosen], ready.place.keys(), ready.event.annotated
    found = [ready.place[i] for i in ids if i in relevant]
    return {
        f"precision@{k}": hits(ids, relevant, k) / k,
        f"recall@{k}": hits(ids, relevant, k) / len(relevant) if relevant else math.nan,
        f"published_precision@{k}": hits(ids, annotated, k) / k,
        f"published_recall@{k}": hits(ids, annotated, k) / len(annotated),
        f"distance@{k}": distance(ready.vectors[chosen]),
        f"density@{k}": density(ready.clusters, chosen),
        f"coverage@{k}": coverage(ready.positives, found),
        f"coverage_without_noise@{k}": coverage(ready.positives, found, noise=False),
        f"chosen@{k}": float(len(chosen)),
    }


def measures(rows: Mapping[str, Values], cutoffs: Sequence[int], events: Sequence[str]) -> dict[str, Figure]:
    """Returns the mean of each row over events. Adds F1 = 2PR / (P + R) of the mean P and the mean R, as in the paper;
    0 if P and R are 0. rows: measure to values, shape (events,), with NaN for events that do not count."""
    means = {name: mean(values, events) for name, values in rows.items()}

    def harmonic(precisions: Figure, recalls: Figure) -> Figure:
        def f1(chosen: Chosen) -> float:
            p, r = precisions.statistic(chosen), recalls.statistic(chosen)
            return 2 * p * r / (p + r) if p + r else 0.0

        return Figure(f1, events)

    kinds = [(reading, k) for reading in ("", "published_") for k in cutoffs]
    return means | {f"{of}f1@{k}": harmonic(means[f"{of}precision@{k}"], means[f"{of}recall@{k}"]) for of, k in kinds}


def _labels(clusters: Clustered, chosen: Sequence[int]) -> NDArray[np.int64]:
    return clusters.label[np.isin(clusters.paragraph, np.asarray(chosen, np.int64))]
