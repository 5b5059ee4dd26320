"""Are a model's perspectives on a question the gold ones?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.metrics.measure import Ratio
from tools.language.polarity import same_polarity

CLOSE = 0.9


def match(gold: Sequence[str], predicted: Sequence[str], cosines: NDArray[np.float32]) -> dict[str, Any]:
    """Gold and predicted perspectives matched one to one so that the cosines' sum is largest (Kuhn 1955); `cosines` has
    shape (predicted, gold). Close is a cosine of 0.9 or more, of one polarity where the gold ones differ in it.

    The predicted ones, each gold one's cosine to the one it is matched with (0 where there is none), and how many are
    close.
    """
    from scipy.optimize import linear_sum_assignment

    opposed = any(not same_polarity(gold[0], other) for other in gold[1:])
    matched, close = [0.0] * len(gold), 0
    for ours, theirs in zip(*linear_sum_assignment(-cosines), strict=True) if predicted else ():
        matched[theirs] = round(float(cosines[ours, theirs]), 4)
        right = not opposed or same_polarity(predicted[ours], gold[theirs])
        close += bool(right and cosines[ours, theirs] >= CLOSE)
    return {"predicted": list(predicted), "cosines": matched, "close": close}


def perspective_measures(found: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Ratio]:
    """Over questions with what `match` found: perspectives_recall = close / gold perspectives; perspectives_precision =
    close / predicted ones; perspectives_cosine = the mean cosine of a gold perspective to its match; perspectives_given
    = predicted ones a question. A question that failed has all its gold perspectives missed."""
    return {
        "perspectives_recall": Ratio.of((q, r["close"], len(r["cosines"])) for q, r in found),
        "perspectives_precision": Ratio.of((q, r["close"], len(r["predicted"])) for q, r in found),
        "perspectives_cosine": Ratio.of((q, sum(r["cosines"]), len(r["cosines"])) for q, r in found),
        "perspectives_given": Ratio.of((q, len(r["predicted"]), 1) for q, r in found),
    }
