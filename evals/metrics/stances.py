"""Computes accuracy and F1 of predicted stances (Chen et al. 2022, table 1)."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from evals.metrics.classification import yes_or_no
from evals.metrics.measure import Figure, Ratio

SIDES = ("support", "oppose")


def stance_measures(rows: Sequence[tuple[str, str, str]]) -> dict[str, Figure]:
    """Computes the measures over rows of (claim, gold stance, predicted stance).

    An undecided or failed row has an empty prediction, which is wrong. stance_f1: mean of stance_f1_support and
    stance_f1_oppose, NaN if a stance is neither gold nor predicted. stance_undecided: share without a prediction.
    stance_majority: accuracy of always predicting the commoner stance. The paper calls its 91.6 accuracy in the text
    and F1 in table 1; pooled over both stances, accuracy and F1 are equal.
    """
    claims, common = [claim for claim, *_ in rows], Counter(gold for _, gold, _ in rows).most_common(1)[0][0]
    sides = {side: np.array([[gold == side, said == side] for _, gold, said in rows], bool).T for side in SIDES}
    each = {side: yes_or_no(of[0], of[1], claims)["f1"] for side, of in sides.items()}
    return {
        "stance_accuracy": Ratio.of((claim, float(gold == said), 1) for claim, gold, said in rows),
        "stance_f1": Figure(lambda chosen: sum(f1.statistic(chosen) for f1 in each.values()) / len(each), claims),
        **{f"stance_f1_{side}": f1 for side, f1 in each.items()},
        "stance_undecided": Ratio.of((claim, float(not said), 1) for claim, _, said in rows),
        "stance_majority": Ratio.of((claim, float(gold == common), 1) for claim, gold, _ in rows),
    }
