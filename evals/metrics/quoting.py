"""Of quotations whose documents' sides are known: how many stand right, and how many sides have one.

`Question.parts` are what could be quoted, read once; everything here is over them, for any weights and probabilities.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from evals.metrics.ratio import Ratio
from tools.inference.judges.quoting import AGAINST_ITSELF, Floats, Quoting, sureness, tiers

STEPS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
MOST = 3
"""Quotations of a side, each of another document, as the embedded writer shows them where they only lean."""
CASE_RIGHT, LEANING_RIGHT, LEAST_RIGHT = 0.96, 0.9, 0.86
"""Shares of the quotations of a tier that have to stand right where it is fitted, and of the surest that stand in for
it: readers find about as many of the case right, and fewer of the rest, since some take no side (docs/results.md)."""
CASE_MISSING = 0.16
"""Of the sides whose documents are left out, the share whose case may be shown all the same where it is fitted."""
_COMMON = 20  # quotations
_SILENCED = 0.05  # of the questions with quotations whose documents answer them
Kind = Literal["sided", "topical", "elsewhere"]
Tier = Literal["case", "leaning"]
TIERS: tuple[Tier, ...] = ("case", "leaning")


@dataclass(frozen=True, slots=True)
class Question:
    """A question's n quotable parts.

    features: how each leans to its first side, of itself, its passage, its document, (n, 3). grounds: what tells
    whether it speaks to the dispute, (n, GROUNDS). rank: how good a quotation each makes besides, (n,). documents:
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


@dataclass(frozen=True, slots=True)
class Point:
    """What would be shown of a tier from a probability on, by the measures of the suite `quotes`. quoted: how many."""

    probability: float
    right: float
    quoted: int
    sides: float
    both: float
    missing: float
    swapped: float
    astray: float


Curve = list[Point]


def curve(questions: Sequence[Question], quoting: Quoting, tier: Tier) -> Curve:
    """A point for each of STEPS."""
    return [_point(questions, _from(quoting, tier, least), tier, least) for least in STEPS]


def _from(quoting: Quoting, tier: Tier, least: float) -> Quoting:
    return replace(quoting, case=least) if tier == "case" else replace(quoting, leaning=least, least=least)


def _point(questions: Sequence[Question], quoting: Quoting, tier: Tier, least: float) -> Point:
    found = measures(questions, quoting, tier)
    return Point(
        probability=least,
        right=found["right"].value,
        quoted=int(found["right"].total),
        sides=found["sides"].value,
        both=found["both"].value,
        missing=found["missing"].value,
        swapped=found["swapped"].value,
        astray=found["astray"].value,
    )


def measures(questions: Sequence[Question], quoting: Quoting, tier: Tier) -> dict[str, Ratio]:
    """right, sides, both, missing and swapped of the case, or of both tiers together ('leaning'), over questions with
    documents of known sides; astray over those that no document answers."""
    names = ("right", "sides", "both", "missing", "swapped", "astray")
    rows: dict[str, list[tuple[str, float, float]]] = {name: [] for name in names}
    for q in questions:
        if q.kind == "elsewhere":
            rows["astray"].append((q.key, float(any(_picked(q, sign, quoting, tier) for sign in (1, -1))), 1))
        if q.kind != "sided":
            continue
        verdicts = {sign: _picked(q, sign, quoting, tier) for sign in (1, -1)}
        shown = [sign in sides for sign, sides in verdicts.items()]
        known = [(sign, side) for sign, sides in verdicts.items() for side in sides if side]
        without = {sign: _picked(q, sign, quoting, tier, left_out=sign) for sign in (1, -1)}
        rows["right"].append((q.key, sum(sign == side for sign, side in known), len(known)))
        rows["sides"].append((q.key, sum(shown), 2))
        rows["both"].append((q.key, float(all(shown)), 1))
        rows["missing"].append((q.key, sum(map(bool, without.values())), 2))
        rows["swapped"].append((q.key, sum(-sign in sides for sign, sides in without.items()), 2))
    return {name: Ratio.of(of) for name, of in rows.items()}


def _picked(q: Question, sign: int, quoting: Quoting, tier: Tier, left_out: int = 0) -> list[int]:
    """The known sides of the documents that would be quoted for a side: the best of each, at most MOST of them."""
    features = sign * q.features
    allowed = q.closely & (features[:, 0] >= AGAINST_ITSELF) & ((q.sides != left_out) | (left_out == 0))
    sure = sureness(features, q.grounds, quoting)
    shown = tiers(sure, allowed, features[:, 0], quoting)
    fit = shown["case"] if tier == "case" else shown["case"] | shown["leaning"]
    rank = sure * q.rank
    picked: dict[str, int] = {}
    for i in sorted(np.flatnonzero(fit), key=lambda i: -float(rank[i])):
        if len(picked) < MOST:
            picked.setdefault(q.documents[i], int(q.sides[i]))
    return list(picked.values())


def operating_points(questions: Sequence[Question], quoting: Quoting, seed: int) -> dict[Tier, dict[str, object]]:
    """The measures with their 95 % intervals at the two probabilities in force."""
    return {
        tier: {
            name: {"value": ratio.value, "interval": ratio.interval(seed), "of": ratio.total}
            for name, ratio in measures(questions, quoting, tier).items()
            if ratio.total
        }
        for tier in TIERS
    }


def fit(questions: Sequence[Question], own: float = 0.26, passage: float = 0.3) -> Quoting:
    """Weights and probabilities fitted on these questions.

    The shares of the three leanings are given: documents of one side alone would put all on the document, which is
    wrong of those that speak for both. Fitted are their scale (a logistic regression without an intercept on the known
    documents, each question with the same weight, each document too); what tells known documents from the others that
    were read (logistic regressions); how near the nearest passage has to come; then the lowest probabilities from
    which CASE_RIGHT and LEANING_RIGHT of the quotations stand right, the case's so high that CASE_MISSING holds too.
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
    made = Quoting(**weights, foremost=0.0, near=-1.0, case=0.5, leaning=0.5, least=0.5)
    made = _silent(questions, _thresholds(sided, replace(made, foremost=_foremost(questions, made))))
    return _thresholds(sided, made)


def _speaks(questions: Sequence[Question]) -> LogisticRegression:
    """What tells known documents from the others that were read of the same question."""
    grounds = np.concatenate([q.grounds[:, :-1] for q in questions])
    return LogisticRegression(C=10, max_iter=1000).fit(grounds, np.concatenate([q.sides != 0 for q in questions]))


def _foremost(questions: Sequence[Question], quoting: Quoting) -> float:
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


def _silent(questions: Sequence[Question], quoting: Quoting) -> Quoting:
    """With the highest `near` that leaves nearly all questions their quotations that documents answer."""
    answered = [
        q for q in questions if q.kind != "elsewhere" and any(_picked(q, s, quoting, "leaning") for s in (1, -1))
    ]
    foremost = np.array([q.grounds[0, -1] for q in answered])
    return replace(quoting, near=math.floor(100 * float(np.quantile(foremost, _SILENCED, method="higher"))) / 100)


def _thresholds(questions: Sequence[Question], quoting: Quoting) -> Quoting:
    case = max(_lowest(questions, quoting, "case", CASE_RIGHT), _seldom(questions, quoting))
    made = replace(quoting, case=case)
    leaning, least = (_lowest(questions, made, "leaning", right) for right in (LEANING_RIGHT, LEAST_RIGHT))
    return replace(made, leaning=leaning, least=least)


def _known(questions: Sequence[Question], shares: Floats) -> Iterator[tuple[Floats, Floats, Floats]]:
    for q in questions:
        known = np.flatnonzero(q.closely & (q.sides != 0))
        counts = {d: sum(q.documents[i] == d for i in known) for d in {q.documents[i] for i in known}}
        weight = np.array([1 / (counts[q.documents[i]] * len(counts)) for i in known], np.float64)
        yield q.features[known] @ shares, q.sides[known].astype(float), weight


def _lowest(questions: Sequence[Question], quoting: Quoting, tier: Tier, wanted: float) -> float:
    """The lowest probability, in hundredths, from which on as many stand right at every higher one that is common, give
    or take a single quotation."""
    least = 0.99
    for step in range(99, 29, -1):
        right = measures(questions, _from(quoting, tier, step / 100), tier)["right"]
        if right.total >= _COMMON and (wanted - right.value) * right.total > 1:
            break
        least = step / 100
    return least


def _seldom(questions: Sequence[Question], quoting: Quoting) -> float:
    """The lowest probability, in hundredths, from which on a side's case is shown without its documents for at most
    CASE_MISSING of the sides."""
    least = 0.99
    for step in range(99, 29, -1):
        if measures(questions, _from(quoting, "case", step / 100), "case")["missing"].value > CASE_MISSING:
            break
        least = step / 100
    return least
