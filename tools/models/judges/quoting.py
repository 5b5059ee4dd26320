"""The probability that a quotation argues for a side, from the judge's scores of the sentence and its context.

A sentence alone is often ambiguous: 'Workers would lose their evenings.' may be for or against a rule. So the
probability combines three leanings. A leaning is the log odds of a side minus the log odds of the opposing side.

1. The leaning of the sentence.
2. The mean leaning of the rest of the passage. Sentences that argue more for either side weigh more.
3. The mean leaning of all sentences of the same speaker in the document.

If the rest of the passage leans towards the opposing side, Steelman does not quote the sentence for the side.

Relevance to the dispute is estimated separately, because most retrieved passages are not relevant
(`relevance_features`).
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
"""A leaning in log odds. A sentence with a lower leaning argues for the other side, whatever its context."""
CENTRAL = 5
RELEVANCE_FEATURES = 4
"""Number of features of `relevance_features`."""
_EXTREME = 0.002
"""Probabilities are clipped to at least this distance from 0 and 1."""


@dataclass(frozen=True, slots=True)
class QuotingWeights:
    """Weights of the leanings, weights and offset of the relevance features, and thresholds.

    near: if the cosine of the nearest sentence to the question is lower, no side gets any evidence. case, alone: a
    sentence belongs to a side's evidence (the case) if the probability that it is relevant and argues for the side is
    at least `case`, and its own leaning is at least `alone`. told: a speaker in a document argues for a side if (the
    speaker's leaning + `closer` · the leaning of a sentence that the larger model has judged) · relevance is at least
    `told`. All but `near`, `alone` and `closer` were fitted (docs/decisions/0025-what-was-taken-out.md).
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
    """For each text: the log odds of the first side against the second, and how much the text argues for either side.

    stances: probabilities of support for each side, (n, 2); NaN if unknown.
    """
    odds = np.clip(stances, _EXTREME, 1 - _EXTREME)
    logits = np.log(odds / (1 - odds))
    return logits[:, 0] - logits[:, 1], np.max(odds, axis=1)


def mean_log_odds(lean: Floats, weight: Floats, of: Iterable[Sequence[int]]) -> Floats:
    """The weighted mean log odds of each selection of texts, shape (n,); 0 if no value is known."""
    known = [[i for i in rows if not np.isnan(lean[i])] for rows in of]
    return np.array([np.average(lean[rows], weights=weight[rows]) if rows else 0.0 for rows in known], np.float64)


def side_probability(features: Floats, quoting: QuotingWeights) -> Floats:
    """The probability that each text argues for the first side rather than the second, shape (n,).

    features: the leanings of the sentence, of the rest of its passage and of its speaker, shape (n, 3). The regression
    has no intercept, so exchanged sides get exchanged probabilities.
    """
    return _sigmoid(features @ np.array([quoting.own, quoting.passage, quoting.document]))


def relevance_probability(grounds: Floats, quoting: QuotingWeights) -> Floats:
    """The probability that each text is relevant to the dispute, shape (n,); 0 if no passage is similar enough to the
    question.

    grounds: of `relevance_features`, (n, RELEVANCE_FEATURES).
    """
    weights = np.array([quoting.centre, quoting.nearness, quoting.judged, quoting.foremost])
    beyond = grounds - np.array([0, 0, 0, quoting.near])
    return np.where(beyond[:, -1] >= 0, _sigmoid(beyond @ weights + quoting.offset), 0.0)


def relevance_features(vectors: Floats, nearness: Floats, judged: Floats, asked: Floats) -> Floats:
    """The features of relevance, shape (n, RELEVANCE_FEATURES): the cosine to the mean of the CENTRAL passages nearest
    to the question (pseudo-relevance feedback, Rocchio 1971), `nearness` minus the mean of its CENTRAL highest values,
    the judge's score, and the highest value of `asked`, which is low if no document is about the topic.

    vectors: the passages' unit vectors, shape (n, dimensions). nearness: the highest cosine of any sentence of a
    passage to the question or a statement, shape (n,). judged: the higher probability of support of the two sides, 0 if
    not judged, shape (n,). asked: the highest cosine of any sentence of a passage to the question, shape (n,).
    """
    if not len(vectors):
        return np.zeros((0, RELEVANCE_FEATURES))
    first = np.argsort(-nearness, kind="stable")[:CENTRAL]
    centre = vectors[first].mean(axis=0)
    centre = centre / max(float(np.linalg.norm(centre)), 1e-9)
    foremost = np.full(len(vectors), asked.max())
    return np.stack([vectors @ centre, nearness - nearness[first].mean(), judged, foremost], axis=1).astype(np.float64)


def case_of(sure: Floats, features: Floats, quoting: QuotingWeights) -> NDArray[np.bool_]:
    """Which texts belong to a side's evidence, shape (n,). Such a text is probable enough, argues for the side by
    itself, and the rest of the passage does not contradict it. sure: the output of `side_confidence`, NaN if not
    judged. features: as in `side_probability`."""
    return np.asarray((np.nan_to_num(sure) >= quoting.case) & (features[:, 0] >= quoting.alone) & (features[:, 1] >= 0))


def argues(features: Floats, grounds: Floats, closely: NDArray[np.bool_], quoting: QuotingWeights) -> NDArray[np.bool_]:
    """Whether each text's speaker argues for the first side, shape (n,). closely: whether the larger model judged
    it."""
    speaker = features[:, 2] + quoting.closer * np.where(closely, features[:, 0], 0.0)
    return np.asarray(speaker * relevance_probability(grounds, quoting) >= quoting.told)


def side_confidence(features: Floats, grounds: Floats, quoting: QuotingWeights) -> Floats:
    """The probability that each text is relevant and argues for its first side, shape (n,)."""
    return side_probability(features, quoting) * relevance_probability(grounds, quoting)


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -30, 30))), np.float64)


@cache
def load_quoting_weights(path: Path = FILE) -> QuotingWeights:
    """Raises ModelError for an unreadable file."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return QuotingWeights(**{field.name: float(stored[field.name]) for field in fields(QuotingWeights)})
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise ModelError(f"{path} cannot be read ({exc}). Restore it from the project.") from exc
