"""The embedded judge: a small cross-encoder that reads a statement and a text together, int8 on ONNX Runtime.

It tells three cases apart (the text supports the statement, opposes it, does neither) and was trained by
`python -m evals judge-train`; `weights/judge/MODEL_CARD.md` says on what, and how well it does.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.encoders.encoder import minilm_recipe
from tools.errors import ModelError
from tools.judges.judge import Pair
from tools.onnx_models.model import OnnxModel, Recipe, load_model

FOLDER = Path(__file__).parents[1] / "weights" / "judge"
_WORTH_ASKING_TWICE = 0.2  # below it a text supports nothing, whatever the contrary statement would say
_AGREES = 0.2  # largest difference to the stored fp32 probabilities; a wrong build is off by far more


@dataclass(frozen=True, slots=True)
class Calibration:
    """P = 1 / (1 + exp(-(slope · logit(p) + offset))), fitted on development data (Platt 1999), and the thresholds."""

    slope: float
    offset: float
    threshold: float
    sentence_threshold: float


class EmbeddedJudge:
    """Probabilities of support from the cross-encoder."""

    def __init__(self, model: OnnxModel, name: str, calibration: Calibration) -> None:
        self._model = model
        self._calibration = calibration
        self.name = name
        self.threshold = calibration.threshold
        self.sentence_threshold = calibration.sentence_threshold

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Where a contrary statement is known, the mean of 'supports the one' and 'opposes the other', so that a text
        is not taken to support both. A text supports the statement that it is, word for word."""
        if not pairs:
            return np.zeros(0, np.float32)
        rows = self._rows(dict.fromkeys((p.statement, p.text) for p in pairs))
        doubted = [p for p in pairs if p.contrary and rows[p.statement, p.text][0] >= _WORTH_ASKING_TWICE]
        rows |= self._rows(dict.fromkeys((p.contrary, p.text) for p in doubted if (p.contrary, p.text) not in rows))
        return self._calibrated(np.asarray([_support(rows, p) for p in pairs], np.float32))

    def _rows(self, asked: "dict[tuple[str, str], None]") -> "dict[tuple[str, str], NDArray[np.float32]]":
        return dict(zip(asked, self.classify(list(asked)), strict=True))

    def classify(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Probabilities of support, opposition and neither, shape (n, 3), of (statement, text) pairs."""
        return softmax(self._model.run(list(pairs)))

    def _calibrated(self, support: NDArray[np.float32]) -> NDArray[np.float32]:
        p = np.clip(support, 1e-6, 1 - 1e-6)
        logit = np.log(p / (1 - p))
        return np.asarray(1 / (1 + np.exp(-(self._calibration.slope * logit + self._calibration.offset))), np.float32)


def _support(rows: dict[tuple[str, str], NDArray[np.float32]], pair: Pair) -> float:
    if pair.text == pair.statement:
        return 1.0
    supports = float(rows[pair.statement, pair.text][0])
    against = rows.get((pair.contrary, pair.text))
    return supports if against is None else (supports + float(against[1])) / 2


def judge_recipe() -> Recipe:
    """The judge's packed weights with the encoder's tokenizer, which it was trained with."""
    return Recipe(FOLDER / "model.safetensors", minilm_recipe().tokenizer, heads=12, head="classifier", max_length=160)


def load_judge(cache_dir: Path) -> EmbeddedJudge:
    """The judge, built into `cache_dir` on first use. Raises ModelError when its weights cannot be used."""
    recipe = judge_recipe()
    try:
        model = load_model(recipe, cache_dir, _agrees, "judge")
        calibration = Calibration(**json.loads((FOLDER / "calibration.json").read_text()))
    except (OSError, ValueError, TypeError) as exc:
        raise ModelError(
            f"the judge's files in {FOLDER} cannot be read ({exc}). Restore them from the project."
        ) from exc
    return EmbeddedJudge(model, f"embedded-judge-{recipe.fingerprint()}", calibration)


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows that sum to 1."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True), np.float32)


def _agrees(model: OnnxModel) -> bool:
    reference = json.loads((FOLDER / "reference.json").read_text())
    got = softmax(model.run([(row["statement"], row["text"]) for row in reference]))
    return bool(np.abs(got - np.array([row["probabilities"] for row in reference])).max() <= _AGREES)
