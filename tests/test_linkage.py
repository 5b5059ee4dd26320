"""Average linkage against SciPy's, and by hand."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.language.copies import average_linkage


def test_by_hand() -> None:
    """0 and 1 are joined at 0.9; to 2 their mean is (0.8 + 0.4) / 2 = 0.6, and 3 is like nothing."""
    similarity = np.array([[1, 0.9, 0.8, 0], [0.9, 1, 0.4, 0], [0.8, 0.4, 1, 0.1], [0, 0, 0.1, 1]])
    assert average_linkage(similarity, 0.6) == [[0, 1, 2], [3]]
    assert average_linkage(similarity, 0.61) == [[0, 1], [2], [3]]
    assert average_linkage(similarity, 0.95) == [[0], [1], [2], [3]]
    assert average_linkage(similarity, -1) == [[0, 1, 2, 3]]


@settings(deadline=None)  # a busy machine is no failure
@given(st.integers(2, 25), st.floats(-0.5, 0.95), st.integers(0, 2**31))
def test_as_scipy_has_it(n: int, threshold: float, seed: int) -> None:
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    vectors = np.random.default_rng(seed).normal(size=(n, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    tree = linkage(squareform(np.clip(1 - cosines, 0, None), checks=False), "average")
    labels = fcluster(tree, t=1 - threshold, criterion="distance")
    theirs = sorted([int(i) for i in np.flatnonzero(labels == label)] for label in np.unique(labels))
    assert average_linkage(cosines, threshold) == theirs
