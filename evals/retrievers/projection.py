"""Query vectors that lean towards a perspective: PAP, and the interventions that PIR compares with PAP (§3.1, table 4).

r, p, q, c: vectors of the root query, the perspective, the query with both, and a passage.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
FORMS = ("none", "add", "concat", "cast", "cast+", "dual-sum", "tri-sum", "pap", "pap+")
_LEAST = 1e-12  # smaller norms count as 0: the vector has no direction, and its cosines are 0


def leaning_scores(
    form: str, root: Vector, perspective: Vector, query: Vector, passages: Vector, strength: float = 1.0
) -> NDArray[np.float32]:
    """Returns the passages' scores under an intervention, float32 of shape (n,).

    none: cos(q, c). add: cos(r + p, c). concat: cos([r; p], [c; p]). cast: cos(q − p, c). cast+: cos(q − p, c − p).
    dual-sum: cos(r, c) + cos(p, c). tri-sum: dual-sum + cos(q, c). pap: cos(q − s · proj, c), where proj is q's
    component along p. pap+: like pap, and c loses its component in the same way.

    root, perspective, query: shape (dimensions,). passages: shape (n, dimensions). strength: s of pap and pap+; 1
    removes the component, a negative value adds to it, as in the released code.
    """
    r, p, q = (np.asarray(v, np.float64) for v in (root, perspective, query))
    scores: dict[str, Callable[[], NDArray[np.float64]]] = {
        "none": lambda: _cosines(passages, q),
        "add": lambda: _cosines(passages, r + p),
        "concat": lambda: (
            (passages @ r + p @ p) / _norms(r @ r + p @ p, np.einsum("nd,nd->n", passages, passages) + p @ p)
        ),
        "cast": lambda: _cosines(passages, q - p),
        "cast+": lambda: _cosines(passages - p, q - p),
        "dual-sum": lambda: _cosines(passages, r) + _cosines(passages, p),
        "tri-sum": lambda: _cosines(passages, r) + _cosines(passages, p) + _cosines(passages, q),
        "pap": lambda: _cosines(passages, without(q, p, strength)),
        "pap+": lambda: _cosines(without(passages, p, strength), without(q, p, strength)),
    }
    return np.asarray(scores[form](), np.float32)


def without(
    vectors: NDArray[np.floating], direction: NDArray[np.floating], strength: float = 1.0
) -> NDArray[np.float64]:
    """Returns v − s · (v·p / ‖p‖²) p, for a vector or for rows, or v if p is 0."""
    length = float(direction @ direction)
    if length < _LEAST:
        return np.asarray(vectors, np.float64)
    share = np.asarray(vectors @ direction / length, np.float64)
    return np.asarray(vectors - strength * np.multiply.outer(share, direction), np.float64)


def _cosines(passages: NDArray[np.floating], vector: NDArray[np.floating]) -> NDArray[np.float64]:
    squares = np.einsum("nd,nd->n", passages, passages)
    return np.asarray(passages @ vector / _norms(vector @ vector, squares), np.float64)


def _norms(square: Any, squares: NDArray[np.floating]) -> NDArray[np.float64]:
    """Returns √(a · b), or infinity if a norm is 0."""
    product = np.asarray(square * squares, np.float64)
    return np.where(product > _LEAST, np.sqrt(product), np.inf)
