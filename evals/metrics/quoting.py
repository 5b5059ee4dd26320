"""Measures and fit of the quotation thresholds, on questions whose documents have known sides.

`QuotableParts` contains all quotable parts, so any weights and thresholds can be evaluated without asking again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from evals.metrics.measure import Ratio
from tools.models.judges.quoting import Floats, QuotingWeights, argues, case_of, side_confidence

MOST = 3
"""Quotations of a side that count, each from another document."""
CASE_RIGHT = 0.97
"""Required share of right sides of quotations on the fitted sets."""
TOLD_RIGHT = 0.93
"""Required share of right sides of documents on the fitted sets."""
_COMMON = 20  # quotations or documents
ALONE = 3.0
"""Minimum log odds of a quotation alone. Chosen, not fitted: on 96 questions of 48 disputes with labelled sentences, 68
% of quotations are right and 10 % opposed with it, 47 % and 17 % without; on other sets few sides are lost."""
CLOSER = 0.3
"""Weight of a sentence's closer reading relative to its speaker's document. Chosen from 0, 0.1, 0.2, 0.3 and 0.5 on
three debate sets and the samples."""
NEAR = 0.42
"""Minimum cosine of the nearest sentence to the question for any side. Chosen: of 96 questions on six documents each, 2
are below; of 96 on other topics, 95."""
Kind = Literal["sided", "topical", "elsewhere"]


@dataclass(frozen=True, slots=True)
class QuotableParts:
    """A question's n quotable parts.

    features: leaning to the first side of the part, its passage and its document, (n, 3). grounds: relevance features,
    (n, RELEVANCE_FEATURES). rank: quality as a quotation, (n,). documents: of each part. sides: 1 for documents known
    for the first side, -1 for the second, 0 for others, (n,). closely: whether the closer reading scored it, (n,).
    kind: known sides, documents on the topic with unknown sides, or no documents.
    """

    key: str
    features: Floats
    grounds: Floats
    rank: Floats
    documents: tuple[str, ...]
    sides: NDArray[np.int_]
    closely: NDArray[np.bool_]
    kind: Kind = "sided"


def measures(questions: Sequence[QuotableParts], quoting: QuotingWeights) -> dict[str, Ratio]:
    """right, sides, both, missing, swapped, told and told_right over questions with known sides; astray over questions
    that no document answers. Measures without items are absent."""
    names = ("right", "sides", "both", "missing", "swapped", "told", "told_right", "astray")
    rows: dict[str, list[tuple[str, float, float]]] = {name: [] for name in names}
    for pair in _read(questions, quoting):
        key, kind = pair[0].question.key, pair[0].question.kind
        verdicts = [_picked(side, quoting) for side in pair]
        if kind == "elsewhere":
            rows["astray"].append((key, float(any(verdicts)), 1))
        if kind != "sided":
            continue
        shown = [side.sign in sides for side, sides in zip(pair, verdicts, strict=True)]
        without = [_picked(side, quoting, left_out=side.sign) for side in pair]
        rows["right"].append((key, *_right(pair, verdicts)))
        rows["sides"].append((key, sum(shown), 2))
        rows["both"].append((key, float(all(shown)), 1))
        rows["missing"].append((key, sum(map(bool, without)), 2))
        rows["swapped"].append((key, sum(-s.sign in sides for s, sides in zip(pair, without, strict=True)), 2))
        right, told, known = _told(pair, quoting)
        rows["told"].append((key, told, known))
        rows["told_right"].append((key, right, told))
    return {name: Ratio.of(of) for name, of in rows.items() if of}


@dataclass(frozen=True, slots=True)
class _Side:
    """A question for one side, with the weights applied. features: to this side, (n, 3). sure: `side_confidence`, (n,).
    order: best parts first."""

    question: QuotableParts
    sign: int
    features: Floats
    sure: Floats
    order: NDArray[np.int_]


_Read = list[tuple[_Side, _Side]]
_Count = Callable[[tuple[_Side, _Side], QuotingWeights], tuple[int, int]]
"""Right ones, and all."""


def _read(questions: Sequence[QuotableParts], quoting: QuotingWeights) -> _Read:
    return [(_side(q, 1, quoting), _side(q, -1, quoting)) for q in questions]


def _side(q: QuotableParts, sign: int, quoting: QuotingWeights) -> _Side:
    features = sign * q.features
    sure = side_confidence(features, q.grounds, quoting)
    return _Side(q, sign, features, sure, np.argsort(-sure * q.rank, kind="stable"))


def _picked(side: _Side, quoting: QuotingWeights, left_out: int = 0) -> list[int]:
    """The known sides of the documents quoted for a side: the best part of each, at most MOST."""
    q = side.question
    fit = q.closely & ((q.sides != left_out) | (left_out == 0)) & case_of(side.sure, side.features, quoting)
    picked: dict[str, int] = {}
    for i in side.order[fit[side.order]]:
        if len(picked) < MOST:
            picked.setdefault(q.documents[i], int(q.sides[i]))
    return list(picked.values())


def _right(pair: tuple[_Side, _Side], verdicts: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Quotations on the right side, and quotations from known documents."""
    known = [(side.sign, of) for side, sides in zip(pair, verdicts, strict=True) for of in sides if of]
    return sum(sign == of for sign, of in known), len(known)


def _told(pair: tuple[_Side, _Side], quoting: QuotingWeights) -> tuple[int, int, int]:
    """Documents with the right side, with any side, and all known ones."""
    q, found = pair[0].question, list[bool]()
    known = {d: int(side) for d, side in zip(q.documents, q.sides, strict=True) if side}
    for side in pair:
        told = {q.documents[i] for i in np.flatnonzero(argues(side.features, q.grounds, q.closely, quoting))}
        found += [known[d] == side.sign for d in told & known.keys()]
    return sum(found), len(found), len(known)


def fit(questions: Sequence[QuotableParts], own: float = 0.26, passage: float = 0.3) -> QuotingWeights:
    """Weights and thresholds fitted on these questions.

    The ratio of the three leanings is given: a fitted one uses almost only the document, and fewer sides then have a
    quotation at the same share of right ones. Fitted: the scale (logistic regression without intercept on known
    documents, equal weight for questions); relevance (logistic regressions of known against other documents); the
    lowest thresholds at which CASE_RIGHT of quotations and TOLD_RIGHT of documents are right.
    """
    shares = np.array([own, passage, 1 - own - passage])
    sided = [q for q in questions if q.kind == "sided"]
    lean, weight = (np.concatenate(part) for part in zip(*_known(sided), strict=True))

    def loss(scale: NDArray[np.float64]) -> float:
        return float(np.average(np.logaddexp(0, -scale[0] * (lean @ shares)), weights=weight))

    sides = float(minimize(loss, np.array([1.0]), method="Nelder-Mead").x[0]) * shares
    speaks = _speaks(sided)
    names = ("own", "passage", "document", "centre", "nearness", "judged", "offset")
    fitted = [*sides, *speaks.coef_[0], speaks.intercept_[0]]
    weights = {name: round(float(w), 4) for name, w in zip(names, fitted, strict=True)}
    made = QuotingWeights(**weights, foremost=0.0, near=-1.0, alone=ALONE, closer=CLOSER, case=0.99, told=99.0)
    made = replace(made, foremost=_foremost(questions, made), near=NEAR)
    steps = [step / 100 for step in range(99, 29, -1)]
    made = replace(made, case=_lowest(sided, [replace(made, case=t) for t in steps], _quoted, CASE_RIGHT).case)
    steps = [step / 20 for step in range(100, 5, -1)]
    return _lowest(sided, [replace(made, told=t) for t in steps], lambda *of: _told(*of)[:2], TOLD_RIGHT)


def _speaks(questions: Sequence[QuotableParts]) -> LogisticRegression:
    """Logistic regression of known documents against other documents read for the question."""
    grounds = np.concatenate([q.grounds[:, :-1] for q in questions])
    return LogisticRegression(C=10, max_iter=1000).fit(grounds, np.concatenate([q.sides != 0 for q in questions]))


def _foremost(questions: Sequence[QuotableParts], quoting: QuotingWeights) -> float:
    """The weight of the nearest passage's cosine, with equal weight for questions, including unanswerable ones.

    The intercept is dropped: with it, both sides of reworded questions appear half as often, and sides without
    documents hardly less (docs/results.md).
    """
    grounds = np.concatenate([q.grounds for q in questions])
    side = np.where(np.concatenate([q.sides != 0 for q in questions]), 1.0, -1.0)
    each = np.concatenate([np.full(len(q.sides), 1 / max(1, len(q.sides))) for q in questions])
    known = grounds[:, :-1] @ np.array([quoting.centre, quoting.nearness, quoting.judged]) + quoting.offset

    def loss(weights: NDArray[np.float64]) -> float:
        values = known + weights[0] * grounds[:, -1] + weights[1]
        return float(np.average(np.logaddexp(0, -side * values), weights=each))

    return round(max(0.0, float(minimize(loss, np.zeros(2), method="Nelder-Mead").x[0])), 4)


def _known(questions: Sequence[QuotableParts]) -> Iterator[tuple[Floats, Floats]]:
    """Leanings of known parts to their own side, and weights."""
    for q in questions:
        known = np.flatnonzero(q.closely & (q.sides != 0))
        yield q.features[known] * q.sides[known, None], np.full(len(known), 1 / max(1, len(known)))


def _quoted(pair: tuple[_Side, _Side], quoting: QuotingWeights) -> tuple[int, int]:
    return _right(pair, [_picked(side, quoting) for side in pair])


def _lowest(
    questions: Sequence[QuotableParts], stricter: Sequence[QuotingWeights], count: _Count, wanted: float
) -> QuotingWeights:
    """The least strict weights before the share of right ones falls below `wanted`. One error, and counts below
    _COMMON, are ignored."""
    best = stricter[0]
    for weights in stricter:
        right, total = map(sum, zip(*(count(pair, weights) for pair in _read(questions, weights)), strict=True))
        if total >= _COMMON and wanted * total - right > 1:
            break
        best = weights
    return best
