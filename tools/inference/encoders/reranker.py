"""The re-ranker: how well each of some texts answers a query, by a cross-encoder that reads the two together."""

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.errors import ModelError
from tools.inference.encoders.transformers import find_model, fingerprint, hide_progress, require_extra, usable

_SCORING = ("ForSequenceClassification", "ForCausalLM", "ForConditionalGeneration")


class Reranker:
    """A cross-encoder of the sentence-transformers kind that is on this machine (extra `models`).

    model: the folder of a model, or the name of one that was downloaded; nothing is downloaded here. batch:
    pairs of one pass. max_length: tokens of a pair; what is longer is cut. The model is found when this is made and
    loaded when it is first used. Raises SettingsError without the extra, ModelError for a model that is missing or
    cannot be used.
    """

    def __init__(self, model: str, batch: int = 32, max_length: int = 512) -> None:
        require_extra(f"the re-ranker {model}")
        self._folder = find_model(model)
        self._batch = batch
        self._max_length = max_length
        self._loaded: Any = None
        self._using = threading.RLock()  # tokenizers refuse two threads at once
        digest = hashlib.sha256(f"{fingerprint(self._folder)}:{max_length}".encode()).hexdigest()[:12]
        self.name = f"{Path(model).name}-{digest}"

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Scores in [0, 1], shape (n,), in the order of the texts.

        The logistic function of the logit of a model with one output; the probability of the second label of a model
        with two (Nogueira and Cho 2019).
        """
        if not texts:
            return np.zeros(0, np.float32)
        model = self._model()
        with self._using, usable(self._folder):
            import torch

            to_scores = torch.nn.Sigmoid() if model.num_labels == 1 else torch.nn.Softmax(dim=-1)
            pairs = [(query, text) for text in texts]
            rows = model.predict(pairs, batch_size=self._batch, activation_fn=to_scores, show_progress_bar=False)
        return np.asarray(rows, np.float32).reshape(len(texts), -1)[:, -1]

    def _model(self) -> Any:
        with self._using:
            if self._loaded is None:
                with usable(self._folder):
                    from sentence_transformers import CrossEncoder

                    hide_progress()
                    model = CrossEncoder(str(self._folder), max_length=self._max_length, local_files_only=True)
                _check(model, self._folder)
                self._loaded = model
            return self._loaded


def _check(model: Any, folder: Path) -> None:
    """A model without weights for scores would be given random ones, and a classifier's labels are no scores."""
    import transformers

    scoring = [name for name in model.config.architectures or () if name.endswith(_SCORING)]
    if not scoring:
        raise ModelError(f"the model in {folder} is no cross-encoder: it has no weights that score a pair.")
    if not any(hasattr(transformers, name) for name in scoring):  # as TART-full
        raise ModelError(
            f"the model in {folder} is of the class {scoring[0]}, which Transformers does not know. Use another."
        )
    if model.num_labels > 2:
        raise ModelError(f"the model in {folder} has {model.num_labels} labels; a re-ranker has one or two.")
