"""NLI models as judges, in PyTorch: any classifier of entailment that is on this machine (extra `models`).

A text supports a statement as surely as it entails it, the text read as the premise and the statement as the
hypothesis: zero-shot stance by entailment (Yin, Hay and Roth 2019, arXiv:1909.00161).
"""

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.errors import ModelError
from tools.inference.encoders.transformers import find_model, fingerprint, hide_progress, require_extra, usable
from tools.inference.judges.judge import Pair
from tools.inference.judges.presets import DEFAULT, NLI, NliPreset
from tools.inference.judges.windows import strongest, windowed

_MAX_LENGTH = 512
"""Tokens of a pair that are read at most: more than a statement and a window have."""
_KNOWN = ({"entailment", "contradiction", "neutral"}, {"entailment", "not_entailment"})


@dataclass(frozen=True, slots=True)
class Labels:
    """The outputs of a model that matter. `contradiction` is None where it only tells whether a text entails."""

    entailment: int
    contradiction: int | None = None


class NliJudge:
    """Probabilities of entailment as those of support; satisfies `Judge` and `StanceJudge`.

    model: a preset, the folder of a model, or the name of one that was downloaded, with @REVISION for another than the
    last one; nothing is downloaded here. threshold: the probability from which a text counts as support. device:
    'cpu', 'cuda', …; left empty, the best there is. batch: pairs of one pass.

    The model is found when the judge is made and loaded when it is first asked. Raises SettingsError without the extra,
    ModelError for a model that is missing, has other labels or cannot be used.
    """

    def __init__(self, model: str = DEFAULT, threshold: float = 0.5, device: str = "", batch: int = 32) -> None:
        require_extra(f"the judge {model}")
        name, self._folder = _find(model)
        self._labels = read_labels(self._folder)
        self._device = device
        self._batch = batch
        self._loaded: tuple[Any, Any] | None = None
        self._using = threading.RLock()  # tokenizers refuse two threads at once
        digest = hashlib.sha256(f"{fingerprint(self._folder)}:{_MAX_LENGTH}".encode()).hexdigest()[:12]
        self.name = f"nli-{name}-{digest}"
        self.threshold = self.sentence_threshold = threshold

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Probabilities that each text entails its statement, shape (n,); long texts count by their best window."""
        parts, places = windowed(pairs)
        rows = self._probabilities([(p.text, p.statement) for p in parts])
        return strongest(rows[:, self._labels.entailment], places, len(pairs))

    def stances(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Probabilities that each text supports the statement, and that it supports its contrary, shape (n, 2).

        Of three labels they are entailment and contradiction, told by one reading. A model with two reads the contrary
        too; the second is NaN where there is none.
        """
        parts, places = windowed(pairs)
        return strongest(self._both(parts), places, len(pairs))

    def _both(self, parts: Sequence[Pair]) -> NDArray[np.float32]:
        stated = [(p.text, p.statement) for p in parts]
        entails, denies = self._labels.entailment, self._labels.contradiction
        if denies is not None:
            return self._probabilities(stated)[:, [entails, denies]]
        rows = self._probabilities([*stated, *((p.text, p.contrary) for p in parts)])
        both = rows[:, entails].reshape(2, len(parts)).T.copy()
        both[[not p.contrary for p in parts], 1] = np.nan
        return both

    def _probabilities(self, asked: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Of every label, shape (n, labels), in the order of the (premise, hypothesis) pairs."""
        model, tokenizer = self._models()
        unlike = sorted(set(asked), key=lambda p: (len(p[0]) + len(p[1]), p))  # of a length: little padding
        rows = np.zeros((len(unlike), model.config.num_labels), np.float32)
        for i in range(0, len(unlike), self._batch):
            with self._using, usable(self._folder):
                rows[i : i + self._batch] = _read(model, tokenizer, unlike[i : i + self._batch])
        if not np.isfinite(rows).all():
            raise ModelError(f"the judge in {self._folder} gives numbers that are not finite. Use another model.")
        place = {pair: i for i, pair in enumerate(unlike)}
        return rows[np.array([place[pair] for pair in asked], np.intp)]

    def _models(self) -> tuple[Any, Any]:
        """The classifier and its tokenizer."""
        with self._using:
            if self._loaded is None:
                self._loaded = _load(self._folder, self._device)
            return self._loaded


def read_labels(folder: Path) -> Labels:
    """What the outputs of the model in a folder mean, by its config.json.

    Raises ModelError for a model that does not classify or has no labels of entailment.
    """
    with usable(folder):
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        labels = {int(i): str(label) for i, label in (config.get("id2label") or {}).items()}
        classes = [str(name) for name in config.get("architectures") or ()]
    if not any(name.endswith("ForSequenceClassification") for name in classes):
        raise ModelError(f"the model in {folder} is no NLI model: it has no weights that classify a pair. Use another.")
    places = {label.strip().lower().replace("-", "_").replace(" ", "_"): i for i, label in labels.items()}
    if places.keys() not in _KNOWN or sorted(labels) != list(range(len(places))):
        raise ModelError(
            f"the model in {folder} has {'the labels ' + ', '.join(labels.values()) if labels else 'no named labels'}. "
            "A judge needs entailment, contradiction and neutral, or entailment and not_entailment: use another model, "
            "or name the labels in its config.json."
        )
    return Labels(places["entailment"], places.get("contradiction"))


def _find(model: str) -> tuple[str, Path]:
    """The short name and the folder of a model. Raises ModelError that says how to get one that is missing."""
    if Path(model).expanduser().is_dir() and model not in NLI:
        folder = find_model(model)
        return folder.name, folder
    name, _, revision = model.partition("@")
    preset = NLI.get(name) or NliPreset(name)
    return Path(preset.model).name, find_model(preset.model, NLI, revision or preset.revision)


def _load(folder: Path, device: str) -> tuple[Any, Any]:
    """The classifier and its tokenizer, in single precision whatever the weights are stored in."""
    with usable(folder):
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        hide_progress()
        here: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        model = AutoModelForSequenceClassification.from_pretrained(str(folder), dtype=torch.float32, **here)
        best = torch.accelerator.current_accelerator(check_available=True) or "cpu"
        return model.eval().to(device or best), AutoTokenizer.from_pretrained(str(folder), **here)


def _read(model: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
    """Probabilities of the labels, shape (n, labels); of a pair that is too long the longer text is cut."""
    import torch

    reads = getattr(model.config, "max_position_embeddings", None) or _MAX_LENGTH
    tokens = tokenizer(
        [premise for premise, _ in pairs],
        [hypothesis for _, hypothesis in pairs],
        padding=True,
        truncation="longest_first",
        max_length=min(_MAX_LENGTH, tokenizer.model_max_length, reads),
        return_tensors="pt",
    )
    with torch.inference_mode():
        logits = model(**tokens.to(model.device)).logits
    return np.asarray(logits.softmax(dim=-1).cpu().numpy(), np.float32)
