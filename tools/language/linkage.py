"""Average linkage for the few dozen texts of one answer.

SciPy has it too, but to import that takes longer than everything else that an answer computes.
"""

import numpy as np
from numpy.typing import NDArray


def average_linkage(similarity: NDArray[np.floating], threshold: float) -> list[list[int]]:
    """Clusters by average linkage (Sokal and Michener 1958), each with its members in order, by their first members.

    The two clusters with the highest mean similarity between their members are joined while it is at least the
    threshold; of equals the earlier. similarity: symmetric, shape (n, n). Raises ValueError for another shape.
    """
    n = len(similarity)
    if similarity.shape != (n, n):
        raise ValueError(f"similarities have the shape {similarity.shape}, not (n, n)")
    mean = np.array(similarity, np.float64)
    np.fill_diagonal(mean, -np.inf)
    clusters: list[list[int]] = [[i] for i in range(n)]
    while n > 1:
        one, other = sorted(divmod(int(np.argmax(mean)), n))
        if mean[one, other] < threshold:
            break
        sizes = len(clusters[one]), len(clusters[other])
        mean[one] = (sizes[0] * mean[one] + sizes[1] * mean[other]) / sum(sizes)
        mean[:, one] = mean[one]
        mean[one, one] = mean[other] = mean[:, other] = -np.inf
        clusters[one] = clusters[one] + clusters[other]
        clusters[other] = []
    return sorted(sorted(c) for c in clusters if c)
