"""The embedded judge's closer reading: a larger cross-encoder (8 layers, width 768) over a text and both statements.

It reads 'statement | contrary' and the text at once, and answers for the one and for the other, so that one reading
tells both sides. `python -m evals judge-train --encoder …` trains it; `weights/close_judge/MODEL_CARD.md` says
on what, and how well it does.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.errors import ModelError
from tools.inference.judges.judge import Pair
from tools.inference.onnx.model import OnnxModel, Recipe, built, load_model
from tools.inference.worker import lower_priority

FOLDER = Path(__file__).parents[2] / "weights" / "close_judge"
MAX_LENGTH = 160
"""Tokens that are read of both statements and a text together: the text loses what is beyond."""
HEADS = 12
NAME = "close-judge"
_READING = 3  # counts up whenever `beside`, `as_read` or what is made of the answers changes
_AGREES = 0.2  # largest difference to the stored fp32 probabilities; a wrong build is off by far more


def beside(statement: str, contrary: str) -> str:
    """Two contrary statements as they are read at once: the answers are then for the one and for the other."""
    return f"{statement} | {contrary}"


def swapped(pair: Pair) -> Pair:
    """The same text, asked about the other way round."""
    return Pair(pair.contrary, pair.text, pair.statement)


def as_read(pair: Pair) -> Pair:
    """The pair with its statements in the order in which they are read, whoever asks: that of the alphabet. Of an
    answer the question is read by itself, whichever word answers it."""
    if pair.form == "answer":
        return Pair(pair.asked, pair.text)
    return swapped(pair) if pair.contrary and pair.contrary < pair.statement else pair


def close_recipe(folder: Path | None = None) -> Recipe:
    """The packed weights, in a folder with the tokenizer that belongs to them."""
    where = folder or FOLDER
    return Recipe(where, where / "tokenizer.json", heads=HEADS, head="classifier", max_length=MAX_LENGTH)


def load_close_model(cache_dir: Path) -> OnnxModel:
    """The model, built into `cache_dir` on first use. Raises ModelError when its files cannot be used."""
    try:
        return load_model(close_recipe(), cache_dir, partial(agrees, folder=FOLDER), NAME)
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise ModelError(
            f"the judge's files in {FOLDER} cannot be read ({exc}). Restore them from the project."
        ) from exc


def loading(cache_dir: Path) -> Callable[[], OnnxModel]:
    """Gives the model when it is asked for. What the cache has is read beside what goes on meanwhile; else it is built
    at once, since no question should wait for that. Raises ModelError, now or when it is asked for."""
    if not (FOLDER.is_dir() and built(close_recipe(), cache_dir, NAME).exists()):
        model = load_close_model(cache_dir)
        return lambda: model
    threads = ThreadPoolExecutor(1, "steelman-close-judge", lower_priority)
    coming = threads.submit(load_close_model, cache_dir)
    threads.shutdown(wait=False)
    return coming.result


def fingerprint() -> str:
    """Names what is read and how: what cached verdicts depend on. Raises OSError."""
    recipe = close_recipe()
    words = hashlib.sha256(recipe.tokenizer.read_bytes()).hexdigest()
    return f"{_READING}:{MAX_LENGTH}:{recipe.fingerprint()}:{words}"


def close_logits(model: OnnxModel, pairs: Sequence[Pair]) -> NDArray[np.float32]:
    """Logits that each text supports the statement, and that it supports its contrary, shape (n, 2), of pairs whose
    statements stand in the order in which they are to be read. A pair without a contrary is read by itself: the second
    logit is then that the text opposes the statement."""
    asked = [(beside(p.statement, p.contrary) if p.contrary else p.statement, p.text) for p in pairs]
    return model.run(asked).reshape(len(pairs), 2)


def agrees(model: OnnxModel, folder: Path) -> bool:
    """Whether the model computes, within _AGREES, the fp32 probabilities of the folder's `reference.json`."""
    rows = json.loads((folder / "reference.json").read_text(encoding="utf-8"))
    got = 1 / (1 + np.exp(-model.run([(row["statement"], row["text"]) for row in rows])))
    return bool(np.abs(got - np.array([row["probabilities"] for row in rows])).max() <= _AGREES)
