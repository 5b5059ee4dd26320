"""What packing a judge's weights takes, whichever model it is: reaches, reference, and the regression of its logits."""

import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.metrics.classification import NONE, OPPOSE, SUPPORT
from evals.training.data import Example
from evals.training.graph import HEADS, REACH, build_bert, load_weights
from tools.errors import InputError
from tools.inference.int8 import Int8Model
from tools.inference.judges import embedded
from tools.inference.judges.embedded import sigmoid

WEIGHTS, TOKENIZER, CONFIG = "model.safetensors", "tokenizer.json", "config.json"
"""What `judge-train` leaves in `RUN/weights`: half-precision weights, their tokenizer, and what was done."""
Weights = Mapping[str, NDArray[np.float32]]
Texts = Sequence[tuple[str, str]]
"""What the model reads: statement and text."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What a model has beside its weights: its tokenizer, how many tokens it reads, and its heads of attention."""

    tokenizer: Path
    max_length: int
    heads: int = HEADS


def read_trained(folder: Path) -> "tuple[dict[str, NDArray[np.float32]], Path]":
    """The weights that `judge-train` left in a run's folder, or in the weights' own, and their tokenizer.

    Raises InputError."""
    from safetensors import SafetensorError

    where = folder / "weights" if (folder / "weights" / WEIGHTS).is_file() else folder
    try:
        return load_weights(where / WEIGHTS), where / TOKENIZER
    except (OSError, SafetensorError) as exc:
        raise InputError(f"{folder} holds no weights of judge-train ({exc}).") from exc


def fit(logits: NDArray[np.float32], truth: NDArray[np.bool_], signs: tuple[int, ...]) -> tuple[float, ...]:
    """The weights of a logistic regression and its offset, each weight of its sign (1, -1) or 0.

    Left free, the weight of 'opposes' comes out positive, for what opposes is at least on the topic; a passage that
    argues for the other side would then count for this one.
    """
    from scipy.optimize import minimize

    x = np.hstack([logits.astype(float), np.ones((len(logits), 1))])
    side = np.where(truth, 1.0, -1.0)

    def loss(weights: NDArray[np.float64]) -> float:
        return float(np.logaddexp(0, -side * (x @ weights)).sum() + 0.5 * weights[:-1] @ weights[:-1])

    def slope(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        missed = -side / (1 + np.exp(side * (x @ weights)))
        return np.asarray(x.T @ missed + np.append(weights[:-1], 0.0))

    bounds = [(0, None) if sign > 0 else (None, 0) for sign in signs] + [(None, None)]
    found = minimize(loss, np.zeros(x.shape[1]), jac=slope, bounds=bounds, method="L-BFGS-B")
    return tuple(round(float(w), 5) for w in found.x)


def believed(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> tuple[float, ...]:
    """A weight a model and an offset: how much each model is believed is fitted on which side sided texts take; how
    far, and the offset, on all. logits: of both sides, shape (n, 2, models)."""
    sided = labels < NONE
    signs = (1,) * logits.shape[2]
    weights = np.array(fit(logits[sided, 0] - logits[sided, 1], labels[sided] == SUPPORT, signs)[:-1])
    truth = (labels[:, None] == np.array([SUPPORT, OPPOSE])).reshape(-1)
    scale, offset = fit((logits @ weights).reshape(-1, 1), truth, (1,))
    return (*(round(float(w * scale), 5) for w in weights), offset)


def crossed(logits: NDArray[np.float32], labels: NDArray[np.int64], groups: Sequence[str]) -> NDArray[np.float32]:
    """Probabilities of both sides, (n, 2): each half of the questions by the weights of the other half."""
    halves = np.array([random.Random(group).random() < 0.5 for group in groups], bool)
    scores = np.zeros((len(labels), 2), np.float32)
    for half in (halves, ~halves):
        weights = np.array(believed(logits[~half], labels[~half]))
        scores[half] = sigmoid(np.asarray(logits[half] @ weights[:-1] + weights[-1], np.float32))
    return scores


def with_strangers(rows: Sequence[Example]) -> list[Example]:
    """And as many again with another question's text, which says nothing there: most of what is read in a search is
    like that, and the sets have little of it."""
    others = random.Random(len(rows)).sample(list(rows), len(rows))
    pairs = zip(rows, others, strict=True)
    apart = [(e, o.text) for e, o in pairs if e.group != o.group]
    return [*rows, *(replace(e, text=t, target=(0, 0, 1), dataset="another question's") for e, t in apart)]


def store(**fitted: tuple[float, ...]) -> None:
    """Writes these regressions into the calibration of the judge."""
    stored = asdict(embedded.read_calibration()) | fitted
    (embedded.FOLDER / "calibration.json").write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def put_in_place(made: Path, folder: Path) -> None:
    """Moves the files of a model to where it ships, in the place of the former ones."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("model*"):
        old.unlink()
    for file in made.iterdir():
        shutil.move(file, folder / file.name)
        (folder / file.name).chmod(0o644)


def reaches(weights: Weights, reader: Reader, texts: Texts) -> dict[str, NDArray[np.float32]]:
    """How far each channel reaches at the inputs of feed-forward layers, as `NAME.reach`, where one is beyond REACH."""
    layers = sum(name.endswith("intermediate.dense.weight") for name in weights)
    layer_inputs = [f"encoder.layer.{n}.{part}.dense" for n in range(layers) for part in ("intermediate", "output")]
    session, tokenizer = as_float(weights, reader, layer_inputs)
    found: dict[str, NDArray[np.float32]] = {}
    for statement, text in texts:
        one = tokenizer.encode(statement, text)
        fed = {"ids": [one.ids], "mask": [one.attention_mask], "types": [one.type_ids]}
        for name, x in zip(layer_inputs, session.run([f"{t}.input" for t in layer_inputs], fed), strict=True):
            found[name] = np.maximum(found.get(name, 0), np.abs(x).max(axis=(0, 1)))
    return {f"{name}.reach": reach for name, reach in found.items() if reach.max() > REACH}


def as_float(weights: Weights, reader: Reader, shown_inputs: Sequence[str] = ()) -> tuple[Any, Any]:
    """The model in float32 as a session of ONNX Runtime, and its tokenizer."""
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(
        build_bert(weights, reader.heads, "classifier", shown_inputs).SerializeToString()
    )
    tokenizer = Tokenizer.from_file(str(reader.tokenizer))
    tokenizer.enable_truncation(reader.max_length, strategy="longest_first")
    tokenizer.no_padding()
    return session, tokenizer


def reference(weights: Weights, reader: Reader, texts: Texts) -> str:
    """Probabilities of the float model as JSON, with which every load compares the int8 one."""
    session, tokenizer = as_float(weights, reader)
    rows = sigmoid(Int8Model(session, tokenizer, reader.max_length).run(list(texts)))
    stored = [
        {"statement": s, "text": t, "probabilities": [round(float(p), 4) for p in row]}
        for (s, t), row in zip(texts, rows, strict=True)
    ]
    return json.dumps(stored, indent=1) + "\n"
