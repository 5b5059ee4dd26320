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
        key, pair = q.key, (_side(q, 1, quoting), _side(q, -1, quoting))
        verdicts = [_picked(side, quoting) for side in pair]
        shown = [side.sign in sides for side, sides in zip(pair, verdicts, strict=True)]
        without = [_picked(side, quoting, left_out=side.sign) for side in pair]
        known = [side.sign == of for side, sides in zip(pair, verdicts, strict=True) for of in sides if of]
        rows["right"].append((key, sum(known), len(known)))
        rows["sides"].append((key, sum(shown), 2))
        rows["both"].append((key, float(all(shown)), 1))
        rows["missing"].append((key, sum(map(bool, without)), 2))
        rows["swapped"].append((key, sum(-s.sign in sides for s, sides in zip(pair, without, strict=True)), 2))
        right, told, documents = _told(pair, quoting)
        rows["told"].append((key, told, documents))
        rows["told_right"].append((key, right, told))
    return {name: Ratio.of(of) for name, of in rows.items()}


@dataclass(frozen=True, slots=True)
class _Side:
    """A question's parts for one side, with the weights applied. features: how much the parts lean to this side, (n,
    3). sure: `side_confidence`, (n,). order: best parts first."""

    question: QuotableParts
    sign: int
    features: Floats
    sure: Floats
    order: NDArray[np.int_]


def _side(q: QuotableParts, sign: int, quoting: QuotingWeights) -> _Side:
    features = sign * q.features
    sure = side_confidence(features, q.grounds, quoting)
    return _Side(q, sign, features, sure, np.argsort(-sure * q.rank, kind="stable"))


def _picked(side: _Side, quoting: QuotingWeights, left_out: int = 0) -> list[int]:
    """Returns the gold sides of the documents that the agent would quote for a side, 0 if unknown. Each document gives
    its best part; at most MOST documents count."""
    q = side.question
    fit = q.closely & ((q.sides != left_out) | (left_out == 0)) & case_of(side.sure, side.features, quoting)
    picked: dict[str, int] = {}
    for i in side.order[fit[side.order]]:
        if len(picked) < MOST:
            picked.setdefault(q.documents[i], int(q.sides[i]))
    return list(picked.values())


def _told(pair: tuple[_Side, _Side], quoting: QuotingWeights) -> tuple[int, int, int]:
    """Returns three numbers: (known document, side) pairs with the document's own side, all such pairs, and known
    documents."""
    q, found = pair[0].question, list[bool]()
    known = {d: int(side) for d, side in zip(q.documents, q.sides, strict=True) if side}
    for side in pair:
        told = {q.documents[i] for i in np.flatnonzero(argues(side.features, q.grounds, q.closely, quoting))}
        found += [known[d] == side.sign for d in told & known.keys()]
    return sum(found), len(found), len(known)
