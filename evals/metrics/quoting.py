"""Of quotations whose documents' sides are known: how many stand right, and how many sides have one.

`Question.parts` are what could be quoted, read once; everything here is over them, for any weights and probabilities.
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
"""Quotations of a side that are counted, each of another document."""
CASE_RIGHT = 0.97
"""The share of the quotations that have to stand right on the sets that are fitted to."""
TOLD_RIGHT = 0.93
"""The same of the documents that are told to argue for a side."""
_COMMON = 20  # quotations, or documents
ALONE = 3.0
"""Log odds of a quotation by itself, at least. Chosen, not fitted: of 96 questions on 48 disputes whose sentences have
known sides, 68 % of the quotations are then right and 10 % opposed, without it 47 and 17 %; on the other sets it costs
few sides."""
CLOSER = 0.3
"""Weight of a sentence that the larger model read, beside all that its speaker says. Chosen of 0, 0.1, 0.2, 0.3 and 0.5
on three sets of debates and the samples."""
NEAR = 0.42
"""Cosine of the nearest sentence to the question below which no side has a case. Chosen: of 96 questions on six
documents each, 2 fall below it; of 96 on other topics 95."""
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
    """right, sides, both, missing, swapped, told and told_right over questions with documents of known sides; astray
    over those that no document answers; those alone of which there is something."""
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
    """A question read for one of its sides by the weights: the same from whatever probability on it is shown.

    features: as of the question, to this side, (n, 3). sure: of `side_confidence`, (n,). order: the best parts first.
    """

    question: Question
    sign: int
    features: Floats
    sure: Floats
    order: NDArray[np.int_]


_Read = list[tuple[_Side, _Side]]
_Count = Callable[[tuple[_Side, _Side], QuotingWeights], tuple[int, int]]
"""How many stand right, and how many there are."""


def _read(questions: Sequence[Question], quoting: QuotingWeights) -> _Read:
    return [(_side(q, 1, quoting), _side(q, -1, quoting)) for q in questions]


def _side(q: Question, sign: int, quoting: QuotingWeights) -> _Side:
    features = sign * q.features
    sure = side_confidence(features, q.grounds, quoting)
    return _Side(q, sign, features, sure, np.argsort(-sure * q.rank, kind="stable"))


def _picked(side: _Side, quoting: QuotingWeights, left_out: int = 0) -> list[int]:
    """The known sides of the documents that would be quoted for a side: the best of each, at most MOST of them."""
    q = side.question
    fit = q.closely & ((q.sides != left_out) | (left_out == 0)) & case_of(side.sure, side.features, quoting)
    picked: dict[str, int] = {}
    for i in side.order[fit[side.order]]:
        if len(picked) < MOST:
            picked.setdefault(q.documents[i], int(q.sides[i]))
    return list(picked.values())


def _right(pair: tuple[_Side, _Side], verdicts: Sequence[Sequence[int]]) -> tuple[int, int]:
    """How many quotations of known sides stand right, and how many there are."""
    known = [(side.sign, of) for side, sides in zip(pair, verdicts, strict=True) for of in sides if of]
    return sum(sign == of for sign, of in known), len(known)


def _told(pair: tuple[_Side, _Side], quoting: QuotingWeights) -> tuple[int, int, int]:
    """How many documents are told to argue for their known side, how many for either side, how many there are."""
    q, found = pair[0].question, list[bool]()
    known = {d: int(side) for d, side in zip(q.documents, q.sides, strict=True) if side}
    for side in pair:
        told = {q.documents[i] for i in np.flatnonzero(argues(side.features, q.grounds, q.closely, quoting))}
        found += [known[d] == side.sign for d in told & known.keys()]
    return sum(found), len(found), len(known)


def fit(questions: Sequence[Question], own: float = 0.26, passage: float = 0.3) -> QuotingWeights:
    """Weights and thresholds fitted on these questions.

    The shares of the three leanings are given: fitted ones put nearly all on the speaker, and then fewer sides show a
    quotation at the same share of right ones. Fitted are their scale (a logistic regression without an intercept on
    the known documents, each question with the same weight); what tells known documents from the others that were read
    (logistic regressions); then the lowest thresholds from which CASE_RIGHT of the quotations, and TOLD_RIGHT of the
    documents, stand right.
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


def _known(questions: Sequence[Question]) -> Iterator[tuple[Floats, Floats]]:
    """The leanings of known parts to their own side, and their weights."""
    for q in questions:
        known = np.flatnonzero(q.closely & (q.sides != 0))
        yield q.features[known] * q.sides[known, None], np.full(len(known), 1 / max(1, len(known)))


def _quoted(pair: tuple[_Side, _Side], quoting: QuotingWeights) -> tuple[int, int]:
    return _right(pair, [_picked(side, quoting) for side in pair])


def _lowest(
    questions: Sequence[Question], stricter: Sequence[QuotingWeights], count: _Count, wanted: float
) -> QuotingWeights:
    """The last of the weights, from the strictest on, before less than the share `wanted` of what is counted stands
    right. A single error is let pass, and so are counts below _COMMON."""
    best = stricter[0]
    for weights in stricter:
        right, total = map(sum, zip(*(count(pair, weights) for pair in _read(questions, weights)), strict=True))
        if total >= _COMMON and wanted * total - right > 1:
            break
        best = weights
    return best
