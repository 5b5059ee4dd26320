"""How surely what can be quoted argues for a side, from what a judge says of it and of what stands around it.

A sentence by itself is often ambiguous: 'Workers would lose their evenings.' is for a rule or against it. The text
around it mostly is not. So three leanings are added, each the difference between the log odds that a text supports a
side and that it supports the contrary side: of the sentence itself, of the rest of its passage (the mean over the other
sentences, each weighted by how much it argues at all), and of all sentences of its speaker in the document. A sentence
is no case where the rest of its passage argues the other way.

Which side words are on is one question; whether they speak to the dispute at all is another, that most passages of a
search fail. Four things tell it: how near the passage lies to the middle of those that come nearest to the question, by
how much it is farther from the question than these, what the judge said of it as a whole, and how near the
nearest comes at all: of a topic that no document knows, it is about something else.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.errors import ModelError

Floats = NDArray[np.float64]
FILE = Path(__file__).parents[2] / "weights" / "quoting.json"
AGAINST_ITSELF = -0.4
"""Leaning of words, in log odds, below which they speak for the other side, whatever stands around them."""
CENTRAL = 5
RELEVANCE_FEATURES = 4
"""How many features `relevance_features` has."""
_EXTREME = 0.002
"""Probabilities are taken to lie at least so far from 0 and 1; a judge's certainty beyond that is no more certain."""


@dataclass(frozen=True, slots=True)
class QuotingWeights:
    """Weights of the three leanings; weights and offset of the features of relevance; and thresholds.

    near: the cosine of the nearest sentence to the question below which no side has a case. case: the probability that
    a sentence speaks to the dispute and argues for the side, from which it is of its case. alone: the log odds of the
    sentence itself that it needs besides. told: the log odds from which a document argues for a side, by its
    speaker's mean plus `closer` times a sentence that the larger model read, times the probability of relevance.
    `python -m evals quotes --fit` fits all but `near`, `alone` and `closer`, which were chosen.
    """

    own: float
    passage: float
    document: float
    centre: float
    nearness: float
    judged: float
    foremost: float
    offset: float
    near: float
    case: float
    alone: float
    closer: float
    told: float


def stance_log_odds(stances: Floats) -> tuple[Floats, Floats]:
    """For each text the log odds of the first of two contrary sides, and how much it argues for either.

    stances: the probabilities that it supports the first side, and the other, (n, 2); NaN where that is not known.
    """
    odds = np.clip(stances, _EXTREME, 1 - _EXTREME)
    logits = np.log(odds / (1 - odds))
    return logits[:, 0] - logits[:, 1], np.max(odds, axis=1)


def mean_log_odds(lean: Floats, weight: Floats, of: Iterable[Sequence[int]]) -> Floats:
    """The weighted mean log odds of each selection of texts, (n,); 0 where nothing of it is known."""
    known = [[i for i in rows if not np.isnan(lean[i])] for rows in of]
    return np.array([np.average(lean[rows], weights=weight[rows]) if rows else 0.0 for rows in known], np.float64)


def side_probability(features: Floats, quoting: QuotingWeights) -> Floats:
    """The probability that each text argues for the first side rather than for the other, shape (n,).

    features: the leanings of the sentence, of the rest of its passage and of its speaker, (n, 3). Without an intercept,
    so that exchanged sides exchange the probabilities.
    """
    return _sigmoid(features @ np.array([quoting.own, quoting.passage, quoting.document]))


def relevance_probability(grounds: Floats, quoting: QuotingWeights) -> Floats:
    """The probability that each text speaks to the dispute, shape (n,); 0 where nothing comes near enough to the
    question.

    grounds: of `relevance_features`, (n, RELEVANCE_FEATURES).
    """
    weights = np.array([quoting.centre, quoting.nearness, quoting.judged, quoting.foremost])
    beyond = grounds - np.array([0, 0, 0, quoting.near])
    return np.where(beyond[:, -1] >= 0, _sigmoid(beyond @ weights + quoting.offset), 0.0)


def relevance_features(vectors: Floats, nearness: Floats, judged: Floats, asked: Floats) -> Floats:
    """Features of relevance to the dispute, (n, RELEVANCE_FEATURES): the cosine to the mean of the CENTRAL passages
    nearest to the question (pseudo-relevance feedback, Rocchio 1971), the nearness less the mean of the CENTRAL
    highest, the judgement, and the highest of `asked`, the same for all.

    vectors: unit, of the passages, (n, dimensions). nearness: the highest cosine of a sentence of each to the question
    or a statement, (n,). judged: the higher of the judge's probabilities that it supports either side, 0 where it was
    not asked, (n,). asked: the highest cosine of a sentence of each to the question, (n,).
    """
    if not len(vectors):
        return np.zeros((0, RELEVANCE_FEATURES))
    first = np.argsort(-nearness, kind="stable")[:CENTRAL]
    centre = vectors[first].mean(axis=0)
    centre = centre / max(float(np.linalg.norm(centre)), 1e-9)
    foremost = np.full(len(vectors), asked.max())
    return np.stack([vectors @ centre, nearness - nearness[first].mean(), judged, foremost], axis=1).astype(np.float64)


def case_of(sure: Floats, features: Floats, quoting: QuotingWeights) -> NDArray[np.bool_]:
    """Which texts are of a side's case, (n,): sure enough, clear by themselves, and the rest of their passage does not
    lean the other way. sure: of `side_confidence`, NaN for what was not judged. features: as in `side_probability`."""
    return np.asarray((np.nan_to_num(sure) >= quoting.case) & (features[:, 0] >= quoting.alone) & (features[:, 1] >= 0))


def argues(features: Floats, grounds: Floats, closely: NDArray[np.bool_], quoting: QuotingWeights) -> NDArray[np.bool_]:
    """Whether the speaker of each text surely argues for the first side, by all that was read of this speaker, (n,).
    closely: which texts the larger model read, (n,)."""
    speaker = features[:, 2] + quoting.closer * np.where(closely, features[:, 0], 0.0)
    return np.asarray(speaker * relevance_probability(grounds, quoting) >= quoting.told)


def side_confidence(features: Floats, grounds: Floats, quoting: QuotingWeights) -> Floats:
    """The probability that each text speaks to the dispute and argues for its first side, shape (n,)."""
    return side_probability(features, quoting) * relevance_probability(grounds, quoting)


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -30, 30))), np.float64)


@cache
def load_quoting_weights(path: Path = FILE) -> QuotingWeights:
    """The stored weights. Raises ModelError when they cannot be read."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return QuotingWeights(**{field.name: float(stored[field.name]) for field in fields(QuotingWeights)})
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise ModelError(f"{path} cannot be read ({exc}). Restore it from the project.") from exc
