"""A judge that the user supplies: a classifier of text pairs, from a folder or downloaded (extra `models`).

This judge scores single pairs, and does the closer reading: it scores the sentences to show. The embedded judge scores
everything else. A model with entailment labels gets the text as premise and the statement as hypothesis. Any other
model gets the statement first and the text second.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tools.errors import ModelError
from tools.models.cache import VectorCache
from tools.models.encoders import find_model, fingerprint, hide_progress, model_errors, require_extra
from tools.models.judges.embedded import EmbeddedJudge, sigmoid
from tools.models.judges.judge import Floats, LocalJudge, Pair, best_window_scores, split_into_windows

_READING = 1  # version of the inputs and of the scoring, part of the judge's name


class HubJudge(LocalJudge):
    """Probabilities of support by the classifier. Call `calibrate` before scoring."""

    reads_closely = True
    first: EmbeddedJudge

    def __init__(self, model: str, embedded: EmbeddedJudge) -> None:
        """The model is loaded at its first use. Raises SettingsError if the extra `models` is not installed, ModelError
        for a missing or unsuitable model."""
        require_extra(f"the judge {model}")
        self._folder, self._name, self.first = find_model(model), Path(model).name, embedded
        self._model: Any = None
        self._infers, self._entails, self._contradicts = _labels(self._folder)
        made_of = f"{_READING} {embedded.name} {fingerprint(self._folder)}"
        self.name = f"hub-judge-{self._name}-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}"
        self.threshold = embedded.threshold

    def calibrate(self, cases: Callable[[], Sequence[tuple[Pair, bool]]], cache: VectorCache) -> None:
        """Fits the probabilities to labelled pairs (Platt 1999), or loads a cached fit. A label is True if the text
        argues for the statement, and False if the text is about something else."""
        if (kept := cache.known(self.name, ["fit"]).get("fit")) is None:
            from sklearn.linear_model import LogisticRegression

            pairs, labels = zip(*cases(), strict=True)
            leanings, sided = self._leanings(pairs), np.array(labels)
            truth = np.concatenate([sided, np.zeros_like(sided)])  # no text argues for both
            fit = LogisticRegression().fit(np.vstack([leanings, leanings[:, ::-1]]), truth)
            right = (leanings[sided, 0] > leanings[sided, 1]).mean()
            kept = np.array([*fit.coef_[0], *fit.intercept_, right], np.float32)
            cache.keep(self.name, {"fit": kept})
        *self._weights, right = map(float, kept)
        measured = f"It is right on {right:.0%} of the samples; on other texts it was not measured"
        self.answer_note = f"{self._name} judged the side of each sentence. {measured}."

    def score(self, pairs: Sequence[Pair]) -> Floats:
        return self.score_both(pairs, closely=True)[:, 0]

    def score_both(self, pairs: Sequence[Pair], closely: bool = False) -> Floats:
        if not closely or not pairs:
            return self.first.score_both(pairs)
        parts, places = split_into_windows(pairs)
        leanings, (own, other, offset) = self._leanings(parts), self._weights
        scores = sigmoid(np.asarray(own * leanings + other * leanings[:, ::-1] + offset, np.float32))
        return best_window_scores(scores, places, len(pairs))

    def _leanings(self, pairs: Sequence[Pair]) -> Floats:
        """The log odds of the supporting label minus those of the opposing label, shape (n, 2): for the statement, and
        for the opposing statement or, if unknown, the statement's denial."""
        asked = [_texts(p, infers=self._infers) for p in (*pairs, *map(_opposite, pairs))]
        with model_errors(self._folder):
            from sentence_transformers import CrossEncoder
            from torch.nn import Identity

            if self._model is None:
                hide_progress()
                self._model = CrossEncoder(str(self._folder), local_files_only=True)
            found = self._model.predict(asked, activation_fn=Identity(), show_progress_bar=False)
        logits = np.asarray(found, np.float32).reshape(2, len(pairs), -1)
        against = 0 if self._contradicts is None else _log_odds(logits, self._contradicts)[:, ::-1]
        return _log_odds(logits, self._entails) + against


def _log_odds(logits: Floats, label: int) -> Floats:
    """The log odds of the label against all other labels. A model's single score already is a log odds."""
    others = np.delete(logits, label, axis=2)
    return (logits[:, :, label] - (np.logaddexp.reduce(others, axis=2) if others.size else 0)).T


def _texts(pair: Pair, *, infers: bool) -> tuple[str, str]:
    answer = f'The answer to the question "{pair.query}" is {"yes" if pair.affirms else "no"}.'
    return (pair.text, answer if pair.form == "answer" else pair.statement) if infers else (pair.statement, pair.text)


def _opposite(pair: Pair) -> Pair:
    """The same text with the opposing statement; with the statement's denial if no opposing statement is known."""
    denied = f"{'No' if pair.affirms else 'Yes'}: {pair.query}"
    denied = denied if pair.form == "answer" else f"It is wrong to say: {pair.statement}"
    return replace(pair, statement=pair.contrary or denied)


def _labels(folder: Path) -> tuple[bool, int, int | None]:
    """Whether the classifier has entailment labels, and its supporting and opposing labels. Raises ModelError."""
    config = json.loads((folder / "config.json").read_text("utf-8")) if (folder / "config.json").is_file() else {}
    named = config.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
    labels, kind = [str(named[k]).lower() for k in sorted(named, key=int)], (config.get("architectures") or ["none"])[0]
    entails, contradicts = ([i for i, said in enumerate(labels) if said.startswith(w)] for w in ("entail", "contra"))
    infers = len(entails) == 1 and len(labels) == 2 + len(contradicts) < 4
    if not kind.endswith("ForSequenceClassification") or not (infers or (len(labels) < 3 and not entails)):
        raise ModelError(
            f"{folder} holds no model that can judge ({kind}; labels: {', '.join(labels)}). Set STEELMAN_JUDGE to a "
            "cross-encoder with one score, or to a model with the labels entailment, neutral and contradiction."
        )
    return infers, entails[0] if infers else len(labels) - 1, contradicts[0] if infers and contradicts else None
