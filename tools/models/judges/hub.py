"""A larger judge of the user's choice: a classifier of text pairs, from a folder or downloaded (extra `models`).

It takes the place of the closer reading, of the few sentences that may be shown, and scores pairs that are asked
outright; the embedded judge reads everything else. One with labels for entailment is given the text as premise and the
statement as hypothesis; one with a single score the statement and the text.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tools.errors import ModelError
from tools.models.encoders.transformers import find_model, fingerprint, hide_progress, model_errors, require_extra
from tools.models.judges.embedded import EmbeddedJudge, sigmoid
from tools.models.judges.judge import Floats, LocalJudge, Pair, best_window_scores, split_into_windows, swapped

_READING = 1  # counts up whenever what the model is asked, or what is made of its answers, changes


class HubJudge(LocalJudge):
    """Probabilities of support by the classifier, once `calibrate` has fitted them."""

    reads_closely = True

    def __init__(self, model: str, embedded: EmbeddedJudge) -> None:
        """The model is loaded when it is first asked. Raises SettingsError without the extra, ModelError for a model
        that is missing or cannot judge."""
        require_extra(f"the judge {model}")
        self._folder, self._model = find_model(model), None
        self._entails, self._contradicts = _labels(self._folder)
        made_of = f"{_READING} {embedded.name} {fingerprint(self._folder)}"
        self.name = f"hub-judge-{Path(model).name}-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}"
        self.threshold, self.sentence_threshold = embedded.threshold, embedded.sentence_threshold
        self.read = embedded.read  # type: ignore[method-assign]  # of the many passages
        self._first = embedded.score_both

    def calibrate(self, cases: Sequence[tuple[Pair, bool]], kept: Path) -> None:
        """Fits the probabilities (Platt 1999) to pairs whose text argues for the statement (True) or is about something
        else, and keeps the fit in the file; one that is there is used."""
        known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        if self.name not in known:
            from sklearn.linear_model import LogisticRegression

            leanings, sided = self._leanings([pair for pair, _ in cases]), np.array([label for _, label in cases])
            truth = np.concatenate([sided, np.zeros_like(sided)])  # no text argues for both
            fit = LogisticRegression().fit(np.vstack([leanings, leanings[:, ::-1]]), truth)
            right = float((leanings[sided, 0] > leanings[sided, 1]).mean())
            known[self.name] = [*map(float, (*fit.coef_[0], fit.intercept_[0])), right]
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(known), encoding="utf-8")
        *self._weights, right = known[self.name]
        self.told = (
            f"What is shown was read by the judge {self._folder.name}. It was calibrated on the samples, of whose "
            f"sentences it put {right:.0%} on the right side; on other texts it was not measured."
        )

    def score(self, pairs: Sequence[Pair]) -> Floats:
        return self.score_both(pairs, closely=True)[:, 0]

    def score_both(self, pairs: Sequence[Pair], closely: bool = False) -> Floats:
        if not closely or not pairs:
            return self._first(pairs)
        parts, places = split_into_windows(pairs)
        leanings, (own, other, offset) = self._leanings(parts), self._weights
        return best_window_scores(sigmoid(own * leanings + other * leanings[:, ::-1] + offset), places, len(pairs))

    def _leanings(self, pairs: Sequence[Pair]) -> Floats:
        """How much each text leans to the statement, and to its contrary or denial, (n, 2): the log odds of the label
        for the one, with those of the label against the other."""
        from sentence_transformers import CrossEncoder
        from torch.nn import Identity

        asked = [self._texts(pair) for pair in (*pairs, *map(_opposite, pairs))]
        with model_errors(self._folder):
            if self._model is None:
                hide_progress()
                self._model = CrossEncoder(str(self._folder), local_files_only=True)
            found = self._model.predict(asked, activation_fn=Identity(), show_progress_bar=False)
        logits = np.asarray(found, np.float32).reshape(2, len(pairs), -1)

        def odds(place: int) -> Floats:
            others = np.delete(logits, place, axis=2)
            return (logits[:, :, place] - (np.logaddexp.reduce(others, axis=2) if others.size else 0)).T

        return odds(self._entails) + (0 if self._contradicts is None else odds(self._contradicts)[:, ::-1])

    def _texts(self, pair: Pair) -> tuple[str, str]:
        if self._entails is None:
            return pair.statement, pair.text
        answer = f'The answer to the question "{pair.query}" is {"yes" if pair.affirms else "no"}.'
        return pair.text, answer if pair.form == "answer" else pair.statement
