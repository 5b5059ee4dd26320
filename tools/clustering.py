"""Clusters by similarity."""

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 1e-9  # rounding error of similarities


def average_linkage(similarity: NDArray[np.floating], threshold: float) -> list[list[int]]:
    """Returns clusters by average linkage (Sokal and Michener 1958). Merges the two most similar clusters while their
    mean similarity is at least the threshold. Members are in order, and clusters are in the order of their first
    members. similarity: shape (n, n)."""
    from scipy.cluster.hierarchy import fcluster, linkage  # takes a third of a second

    if len(similarity) < 2:
        return [[i] for i in range(len(similarity))]
    distances = 1 - np.asarray(similarity, np.float64)[np.triu_indices(len(similarity), k=1)]
    tree = linkage(np.maximum(distances, 0.0), "average")
    clusters: dict[int, list[int]] = {}
    for i, label in enumerate(fcluster(tree, 1 - threshold + _ROUNDING, "distance")):
        clusters.setdefault(label, []).append(i)
    return list(clusters.values())
