"""Of quotations whose documents' sides are known: how many stand right, and how many sides have one.

`Question.parts` are what could be quoted, read once; everything here is over them, for any weights and probabilities.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from evals.metrics.measure import Ratio
from tools.models.judges.quoting import AGAINST_ITSELF, Floats, QuotingWeights, case_of, side_confidence

MOST = 3
"""Quotations of a side that are counted, each of another document."""
CASE_RIGHT = 0.96
"""The share of the quotations that have to stand right on the sets that are fitted to."""
CASE_MISSING = 0.16
"""Of the sides whose documents are left out, the share whose case may be shown all the same where it is fitted."""
_COMMON = 20  # quotations
NEAR = 0.36
"""Cosine of the nearest sentence to the question below which nothing is shown. Chosen, not fitted, and low, so that few
roundabout questions are refused: where nothing that is shown is sure, the answer says so."""
Kind = Literal["sided", "topical", "elsewhere"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question's n quotable parts.

    features: how each leans to its first side, of itself, its passage, its document, (n, 3). grounds: its
    features of relevance, (n, RELEVANCE_FEATURES). rank: how good a quotation each makes besides, (n,). documents:
    which it is of. sides: 1 for documents that are known for the first side, -1 for the second, 0 for the others,
    (n,). closely: whether it was read as closely as what is shown has to be, (n,).
    """

    key: str
    features: Floats
    grounds: Floats
    rank: Floats
    documents: tuple[str, ...]
    sides: NDArray[np.int_]
    closely: NDArray[np.bool_]
    kind: Kind = "sided"
    """What is known: the documents of each side, documents of the topic on unknown sides, or that there are none."""


def measures(questions: Sequence[Question], quoting: QuotingWeights) -> dict[str, Ratio]:
    """right, sides, both, missing and swapped over questions with documents of known sides; astray over those that no
    document answers; those alone of which there is something."""
    names = ("right", "sides", "both", "missing", "swapped", "astray")
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
    return {name: Ratio.of(of) for name, of in rows.items() if of}


@dataclass(frozen=True, slots=True)
class _Side:
    """A question read for one of its sides by the weights: the same from whatever probability on it is shown.

    features: as of the question, to this side, (n, 3). sure: of `side_confidence`, (n,). order: the best parts first.
    """

    question: Question
    sign: int
    features: Floats
    sure: Floats
    order: NDArray[np.int_]


_Read = list[tuple[_Side, _Side]]


def _read(questions: Sequence[Question], quoting: QuotingWeights) -> _Read:
    return [(_side(q, 1, quoting), _side(q, -1, quoting)) for q in questions]


def _side(q: Question, sign: int, quoting: QuotingWeights) -> _Side:
    features = sign * q.features
    sure = side_confidence(features, q.grounds, quoting)
    return _Side(q, sign, features, sure, np.argsort(-sure * q.rank, kind="stable"))


def _picked(side: _Side, quoting: QuotingWeights, left_out: int = 0) -> list[int]:
    """The known sides of the documents that would be quoted for a side: the best of each, at most MOST of them."""
    q = side.question
    allowed = q.closely & (side.features[:, 0] >= AGAINST_ITSELF) & ((q.sides != left_out) | (left_out == 0))
    fit = allowed & case_of(side.sure, side.features, quoting)
    picked: dict[str, int] = {}
    for i in side.order[fit[side.order]]:
        if len(picked) < MOST:
            picked.setdefault(q.documents[i], int(q.sides[i]))
    return list(picked.values())


def _right(pair: tuple[_Side, _Side], verdicts: Sequence[Sequence[int]]) -> tuple[int, int]:
    """How many quotations of known sides stand right, and how many there are."""
    known = [(side.sign, of) for side, sides in zip(pair, verdicts, strict=True) for of in sides if of]
    return sum(sign == of for sign, of in known), len(known)


def fit(questions: Sequence[Question], own: float = 0.26, passage: float = 0.3) -> QuotingWeights:
    """Weights and probabilities fitted on these questions.

    The shares of the three leanings are given: documents of one side alone would put all on the document, which is
    wrong of those that speak for both. Fitted are their scale (a logistic regression without an intercept on the known
    documents, each question with the same weight, each document too); what tells known documents from the others that
    were read (logistic regressions); then the lowest probability from which CASE_RIGHT of the quotations stand right
    and CASE_MISSING holds.
    """
    shares = np.array([own, passage, 1 - own - passage])
    sided = [q for q in questions if q.kind == "sided"]
    lean, side, weight = (np.concatenate(part) for part in zip(*_known(sided, shares), strict=True))

    def loss(scale: NDArray[np.float64]) -> float:
        return float(np.average(np.log1p(np.exp(-scale[0] * lean * side)), weights=weight))

    scale = float(minimize(loss, np.array([1.0]), method="Nelder-Mead").x[0])
    speaks = _speaks(sided)
    names = ("own", "passage", "document", "centre", "nearness", "judged", "offset")
    fitted = [*(scale * shares), *speaks.coef_[0], speaks.intercept_[0]]
    weights = {name: round(float(w), 4) for name, w in zip(names, fitted, strict=True)}
    made = QuotingWeights(**weights, foremost=0.0, near=-1.0, case=0.5, told=99.0)
    return _thresholds(sided, replace(made, foremost=_foremost(questions, made), near=NEAR))


def _speaks(questions: Sequence[Question]) -> LogisticRegression:
    """What tells known documents from the others that were read of the same question."""
    grounds = np.concatenate([q.grounds[:, :-1] for q in questions])
    return LogisticRegression(C=10, max_iter=1000).fit(grounds, np.concatenate([q.sides != 0 for q in questions]))


def _foremost(questions: Sequence[Question], quoting: QuotingWeights) -> float:
    """The weight of how near the nearest passage comes, each question with the same weight, those included that no
    document answers.

    Its intercept is not kept. With it, both sides of reworded questions are shown half as often, and a side without
    its documents hardly less (docs/results.md): it says how seldom documents of a whole pool speak to the question,
    not how seldom those do that would be shown.
    """
    grounds = np.concatenate([q.grounds for q in questions])
    side = np.where(np.concatenate([q.sides != 0 for q in questions]), 1.0, -1.0)
    each = np.concatenate([np.full(len(q.sides), 1 / max(1, len(q.sides))) for q in questions])
    known = grounds[:, :-1] @ np.array([quoting.centre, quoting.nearness, quoting.judged]) + quoting.offset

    def loss(weights: NDArray[np.float64]) -> float:
        values = known + weights[0] * grounds[:, -1] + weights[1]
        return float(np.average(np.logaddexp(0, -side * values), weights=each))

    return round(max(0.0, float(minimize(loss, np.zeros(2), method="Nelder-Mead").x[0])), 4)


def _thresholds(questions: Sequence[Question], quoting: QuotingWeights) -> QuotingWeights:
    read = _read(questions, quoting)
    return replace(quoting, case=max(_lowest(read, quoting, CASE_RIGHT), _seldom(read, quoting)))


def _known(questions: Sequence[Question], shares: Floats) -> Iterator[tuple[Floats, Floats, Floats]]:
    for q in questions:
        known = np.flatnonzero(q.closely & (q.sides != 0))
        counts = {d: sum(q.documents[i] == d for i in known) for d in {q.documents[i] for i in known}}
        weight = np.array([1 / (counts[q.documents[i]] * len(counts)) for i in known], np.float64)
        yield q.features[known] @ shares, q.sides[known].astype(float), weight


def _lowest(read: _Read, quoting: QuotingWeights, wanted: float) -> float:
    """The lowest probability, in hundredths, from which on as many stand right at every higher one that is common, give
    or take a single quotation."""

    def too_few(shown: QuotingWeights) -> bool:
        counts = [_right(pair, [_picked(side, shown) for side in pair]) for pair in read]
        right, total = map(sum, zip(*counts, strict=True))
        return total >= _COMMON and wanted * total - right > 1

    return _until(too_few, quoting)


def _seldom(read: _Read, quoting: QuotingWeights) -> float:
    """The lowest probability, in hundredths, from which on a side's case is shown without its documents for at most
    CASE_MISSING of the sides."""

    def too_many(shown: QuotingWeights) -> bool:
        missing = [bool(_picked(side, shown, left_out=side.sign)) for pair in read for side in pair]
        return sum(missing) > CASE_MISSING * len(missing)

    return _until(too_many, quoting)


def _until(wrong: Callable[[QuotingWeights], bool], quoting: QuotingWeights) -> float:
    """The lowest probability, in hundredths down to 0.3, before it goes wrong; 0.99 where it does at once."""
    steps = (step / 100 for step in range(99, 29, -1))
    return [0.99, *takewhile(lambda least: not wrong(replace(quoting, case=least)), steps)][-1]
