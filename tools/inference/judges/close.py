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

from tools.inference.int8 import WEIGHTS, Int8Model, ModelFiles, load_model
from tools.inference.judges.judge import Pair
from tools.inference.worker import lower_priority

FOLDER = WEIGHTS / "close_judge"
MAX_LENGTH = 160
"""Tokens that are read of both statements and a text together: the text loses what is beyond."""
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


def close_files(folder: Path | None = None) -> ModelFiles:
    """The model's folder, which has the tokenizer that belongs to it."""
    where = folder or FOLDER
    return ModelFiles(where, where / "tokenizer.json", MAX_LENGTH)


def load_close_model() -> Int8Model:
    """The model. Raises ModelError when its files cannot be used."""
    return load_model(close_files(), partial(agrees, folder=FOLDER), "close-judge")


def loading() -> Callable[[], Int8Model]:
    """Gives the model when it is asked for; it is read beside what goes on meanwhile. What is given raises
    ModelError."""
    threads = ThreadPoolExecutor(1, "steelman-close-judge", lower_priority)
    coming = threads.submit(load_close_model)
    threads.shutdown(wait=False)
    return coming.result


def fingerprint() -> str:
    """Names what is read and how: what cached verdicts depend on. Raises OSError."""
    files = close_files()
    words = hashlib.sha256(files.tokenizer.read_bytes()).hexdigest()
    return f"{_READING}:{MAX_LENGTH}:{files.fingerprint()}:{words}"


def close_logits(model: Int8Model, pairs: Sequence[Pair]) -> NDArray[np.float32]:
    """Logits that each text supports the statement, and that it supports its contrary, shape (n, 2), of pairs whose
    statements stand in the order in which they are to be read. A pair without a contrary is read by itself: the second
    logit is then that the text opposes the statement."""
    asked = [(beside(p.statement, p.contrary) if p.contrary else p.statement, p.text) for p in pairs]
    return model.run(asked).reshape(len(pairs), 2)


def agrees(model: Int8Model, folder: Path) -> bool:
    """Whether the model computes, within _AGREES, the fp32 probabilities of the folder's `reference.json`."""
    rows = json.loads((folder / "reference.json").read_text(encoding="utf-8"))
    got = 1 / (1 + np.exp(-model.run([(row["statement"], row["text"]) for row in rows])))
    return bool(np.abs(got - np.array([row["probabilities"] for row in rows])).max() <= _AGREES)
