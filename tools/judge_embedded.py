"""The embedded judge: features of a statement and a text, weighed by a small network fitted on labelled pairs.

`tools/judge_features.py` says what the features are, `python -m evals judge-fit` fits them. It tells three cases apart:
the text supports the statement, opposes it, does neither.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tools.encoder import Encoder
from tools.judge import Pair
from tools.judge_features import WEIGHTS, FeatureModel, features, load_feature_model

THRESHOLD = 0.42
SENTENCE_THRESHOLD = 0.5


class EmbeddedJudge:
    """Probabilities of support from features of the pair."""

    threshold = THRESHOLD
    sentence_threshold = SENTENCE_THRESHOLD

    def __init__(self, model: FeatureModel, encoder: Encoder, name: str) -> None:
        self._model = model
        self._encoder = encoder
        self.name = name

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Where a contrary statement is known, the mean of 'supports the one' and 'opposes the other', so that a text
        is not taken to support both."""
        if not pairs:
            return np.zeros(0, np.float32)
        asked = dict.fromkeys([(s, p.text) for p in pairs for s in (p.statement, p.contrary) if s])
        rows = dict(zip(asked, self.classify(list(asked)), strict=True))
        support = [
            (rows[p.statement, p.text][0] + rows[p.contrary, p.text][1]) / 2
            if p.contrary
            else rows[p.statement, p.text][0]
            for p in pairs
        ]
        return np.asarray(support, np.float32)

    def classify(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Probabilities of support, opposition and neither, shape (n, 3), of (statement, text) pairs."""
        return self._model.classify(features(pairs, self._encoder))


def load_judge(encoder: Encoder) -> EmbeddedJudge:
    """The judge over the given encoder. Raises ModelError when its weights cannot be used."""
    version = hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()[:8] if WEIGHTS.exists() else "none"
    return EmbeddedJudge(load_feature_model(), encoder, f"embedded-features-{version}")
