"""Measures of the quotation thresholds, on questions whose documents have known sides.

`QuotableParts` contains all quotable parts, so the suite can evaluate any weights and thresholds without asking again.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evals.metrics.measure import ItemRow, Ratio
from tools.models.judges.quoting import Floats, QuotingWeights, argues, case_of, side_confidence

MOST = 3
"""The largest number of quotations of a side that count, each from a different document."""


@dataclass(frozen=True, slots=True)
class QuotableParts:
    """A question's n quotable parts.

    features: how much the part, its passage and its document lean to the first side, (n, 3). grounds: relevance
    features, (n, RELEVANCE_FEATURES). rank: quality as a quotation, (n,). documents: the document of each part. sides:
    1 if the document is known to argue for the first side, -1 if for the second, 0 otherwise, (n,). closely: whether
    the larger model (the closer reading) scored the part, (n,).
    """

    key: str
    features: Floats
    grounds: Floats
    rank: Floats
    documents: tuple[str, ...]
    sides: NDArray[np.int_]
    closely: NDArray[np.bool_]


def measures(questions: Sequence[QuotableParts], quoting: QuotingWeights) -> dict[str, Ratio]:
    """Returns the measures of `evals/suites/quotes.py`, and told and told_right. Measures without items are absent.

    A document with a known side counts once for each side for which its text argues clearly enough. told: (document,
    side) pairs of told documents / known documents. told_right: pairs with the document's own side / pairs.
    """
    rows = defaultdict[str, list[ItemRow]](list)
    for q in questions:
        right, shown, missing, swapped, told = list[bool](), list[bool](), list[bool](), list[bool](), list[bool]()
        known = {d: int(side) for d, side in zip(q.documents, q.sides, strict=True) if side}
        for sign in (1, -1):
            features = sign * q.features
            quoted, without = (_picked(q, features, quoting, left_out) for left_out in (0, sign))
            right += [side == sign for side in quoted if side]
            shown.append(sign in quoted)
            missing.append(bool(without))
            swapped.append(-sign in without)
            clear = {q.documents[i] for i in np.flatnonzero(argues(features, q.grounds, q.closely, quoting))}
            told += [known[d] == sign for d in clear & known.keys()]
        shares = {"right": right, "sides": shown, "both": [all(shown)], "missing": missing, "swapped": swapped}
        for name, of in shares.items():
            rows[name].append((q.key, sum(of), len(of)))
        rows["told"].append((q.key, len(told), len(known)))
        rows["told_right"].append((q.key, sum(told), len(told)))
    return {name: Ratio.of(of) for name, of in rows.items()}


def _picked(q: QuotableParts, features: Floats, quoting: QuotingWeights, left_out: int) -> list[int]:
    """Returns the gold sides of the documents that the agent would quote for a side, 0 if unknown. Each document gives
    its best part; at most MOST documents count. features: how much the parts lean to the side, (n, 3). left_out: the
    gold side whose documents do not count; 0 for none."""
    sure = side_confidence(features, q.grounds, quoting)
    fit = q.closely & ((q.sides != left_out) | (left_out == 0)) & case_of(sure, features, quoting)
    order = np.argsort(-sure * q.rank, kind="stable")
    picked: dict[str, int] = {}
    for i in order[fit[order]]:
        if len(picked) < MOST:
            picked.setdefault(q.documents[i], int(q.sides[i]))
    return list(picked.values())
