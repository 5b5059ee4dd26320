"""Matches a model's perspectives on a question with the gold ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.metrics.measure import Ratio
from tools.language.question import same_polarity

CLOSE = 0.9


def match(gold: Sequence[str], predicted: Sequence[str], cosines: NDArray[np.float32]) -> dict[str, Any]:
    """Matches gold and predicted perspectives one to one with the largest sum of cosines (Kuhn 1955); `cosines` has
    shape (predicted, gold). Close: cosine of at least 0.9, and equal polarity if the gold ones differ in it. Returns
    the predictions, each gold one's cosine to its match (0 without one), and the number of close ones."""
    from scipy.optimize import linear_sum_assignment

    opposed = any(not same_polarity(gold[0], other) for other in gold[1:])
    matched, close = [0.0] * len(gold), 0
    for ours, theirs in zip(*linear_sum_assignment(-cosines), strict=True) if predicted else ():
        matched[theirs] = round(float(cosines[ours, theirs]), 4)
        right = not opposed or same_polarity(predicted[ours], gold[theirs])
        close += bool(right and cosines[ours, theirs] >= CLOSE)
    return {"predicted": list(predicted), "cosines": matched, "close": close}


def perspective_measures(found: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Ratio]:
    """perspectives_recall: close / gold. perspectives_precision: close / predicted. perspectives_cosine: mean cosine of
    gold perspectives to their matches. perspectives_given: predicted ones per question. A failed question misses all
    gold perspectives."""
    return {
        "perspectives_recall": Ratio.of((q, r["close"], len(r["cosines"])) for q, r in found),
        "perspectives_precision": Ratio.of((q, r["close"], len(r["predicted"])) for q, r in found),
        "perspectives_cosine": Ratio.of((q, sum(r["cosines"]), len(r["cosines"])) for q, r in found),
        "perspectives_given": Ratio.of((q, len(r["predicted"]), 1) for q, r in found),
    }
