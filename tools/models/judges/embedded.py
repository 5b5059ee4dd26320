"""The embedded judge: a small cross-encoder that scores a statement and a text together. It runs in int8 on ONNX
Runtime.

The judge scores whether the text supports or opposes the statement. `python -m evals judge-train` trained it.
`weights/judge/MODEL_CARD.md` describes its data and accuracy. Sentences to show get a closer reading: a second, larger
model (8 layers, width 768; `weights/close_judge/MODEL_CARD.md`) scores both sides in one forward pass over 'statement |
opposing statement' and the text.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.errors import ModelError
from tools.models.encoders import encoder_files
from tools.models.int8 import WEIGHTS, Int8Model, ModelFiles, load_model
from tools.models.judges.judge import LocalJudge, Pair, best_window_scores, split_into_windows, swap_statements
from tools.models.worker import lower_priority

ANSWERS = ("support", "oppose")
"""The model's two outputs: a logit for support and a logit for opposition."""
FOLDER = WEIGHTS / "judge"
LARGER_FOLDER = WEIGHTS / "close_judge"
MAX_LENGTH = 192
"""Tokens of a pair. They suffice for a statement and the longest text that `windows` does not split."""
LARGER_LENGTH = 160
"""Tokens of both statements and a text for the larger model. Longer texts are truncated."""
_READING = 3  # version of `joint_statement`, `in_reading_order` and the scoring, part of the judge's name
_LARGEST_DIFFERENCE = 0.2  # largest deviation from the stored fp32 probabilities; a wrong build differs more
_LEAST_SUPPORT = 0.1  # below this probability of support, the judge skips the pass with `contrary`
_SURE = 1 - 1e-6
_MOST_KEPT = 1000  # logits of pairs

_WORD = re.compile(r"\w+(?:'\w+)?")
_Logits = Mapping[tuple[str, str], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regressions that map logits to a probability (Platt 1999), and the threshold. All were fitted on
    held-out data.

    Each tuple ends with an offset. `alone`: weights of the statement's two logits. `told`: weights of four logits, two
    of the statement and two of the opposing statement. `close`: weights of the small model's and the larger model's
    logit for a side. `answer` and `answer_close` replace `alone` and `close` for pairs of the form 'answer'. There
    support means 'Yes' and opposition means 'No'.
    """

    alone: tuple[float, ...]
    told: tuple[float, ...]
    threshold: float
    close: tuple[float, ...]
    answer: tuple[float, ...]
    answer_close: tuple[float, ...]


class EmbeddedJudge(LocalJudge):
    essays_only = True
    reads_closely = True

    def __init__(self, model: Int8Model, name: str, calibration: Calibration, closer: Callable[[], Int8Model]) -> None:
        """closer: loads the larger model."""
        self._model = model
        self._closer = closer
        self._latest: dict[tuple[str, str], NDArray[np.float32]] = {}
        self._calibration = calibration
        self.name = name
        self.threshold = calibration.threshold

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Probabilities of support, from the best window. If the opposing statement is known and support is possible,
        the judge scores the text with both statements. In the form 'answer' one pass over the question is enough. A
        text that is identical to the statement supports the statement."""
        if not pairs:
            return np.zeros(0, np.float32)
        parts, places = split_into_windows(pairs)
        logits = self._read((p.query, p.text) for p in parts)
        scores = self._without_contrary(parts, np.stack([logits[p.query, p.text] for p in parts]))[:, 0].copy()
        scores[[p.text == p.statement for p in parts]] = 1.0
        unsure = (scores >= _LEAST_SUPPORT) & (scores < _SURE)
        doubted = [i for i, p in enumerate(parts) if p.contrary and p.form == "statement" and unsure[i]]
        asked = ((parts[i].contrary, parts[i].text) for i in doubted)
        logits |= self._read(one for one in asked if one not in logits)
        scores[doubted] = [self._with_contrary(logits, parts[i]) for i in doubted]
        return best_window_scores(scores, places, len(pairs))

    def score_both(self, pairs: Sequence[Pair], closely: bool = False) -> NDArray[np.float32]:
        """One forward pass with the statement scores support and opposition. A second pass with the opposing statement
        does not improve the choice of the side (docs/results.md)."""
        if closely and pairs:
            return self._closely(pairs, self._closer())
        parts, places = split_into_windows(pairs)
        logits = self.logits([(p.query, p.text) for p in parts])
        return best_window_scores(self._without_contrary(parts, logits), places, len(pairs))

    def _closely(self, pairs: Sequence[Pair], larger_model: Int8Model) -> NDArray[np.float32]:
        """The closer reading: a regression on both models' logits for a side. The larger model gets the text in its
        context, if the context is known.

        Both models get the statements in alphabetical order, so exchanged statements get exactly exchanged
        probabilities. A text that is identical to a statement argues for this statement.
        """
        parts, places = split_into_windows(pairs)
        first = [in_reading_order(p) for p in parts]
        small = self.logits([(p.statement, p.text) for p in first])
        large = larger_model_logits(larger_model, first)
        close = {"statement": self._calibration.close, "answer": self._calibration.answer_close}
        own, larger, offset = np.array([close[p.form] for p in parts], np.float32).T[:, :, None]
        scores = sigmoid(np.asarray(small * own + large * larger + offset, np.float32))
        turned = [p.form == "statement" and p.statement != q.statement for p, q in zip(parts, first, strict=True)]
        scores = _in_side_order(np.where(np.array(turned, bool)[:, None], scores[:, ::-1], scores), parts)
        for i, p in enumerate(parts):
            said, sides = _normalised_words(p.text), [_normalised_words(p.statement), _normalised_words(p.contrary)]
            if p.form == "answer":  # the query is the statement that the answer affirms or denies
                sides = [_normalised_words(p.query), []] if p.affirms else [[], _normalised_words(p.query)]
            if said and said in sides and not p.text.endswith("?"):
                scores[i] = [float(side == said) for side in sides]
        return best_window_scores(scores, places, len(pairs))

    def logits(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Logits of support and opposition, shape (n, 2), of (statement, text), truncated to MAX_LENGTH tokens. The
        latest are kept, because the closer reading needs those of sentences that were just read."""
        known = self._latest if len(self._latest) < _MOST_KEPT else {}
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        self._latest = known = known | dict(zip(missing, self._model.run(missing), strict=True))
        return np.array([known[pair] for pair in pairs], np.float32).reshape(len(pairs), len(ANSWERS))

    def _read(self, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], NDArray[np.float32]]:
        asked = list(dict.fromkeys(pairs))
        return dict(zip(asked, self.logits(asked), strict=True))

    def _without_contrary(self, pairs: Sequence[Pair], logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """The probabilities of support for both statements, from the logits of the first one."""
        fitted = {"statement": self._calibration.alone, "answer": self._calibration.answer}
        own, other, offset = np.array([fitted[p.form] for p in pairs], np.float32).reshape(-1, 3).T[:, :, None]
        scores = sigmoid(np.asarray(logits * own + logits[:, ::-1] * other + offset, np.float32))
        return _in_side_order(scores, pairs)

    def _with_contrary(self, logits: _Logits, pair: Pair) -> float:
        both = np.concatenate([logits[pair.statement, pair.text], logits[pair.contrary, pair.text]])
        *weights, offset = self._calibration.told
        return float(sigmoid(np.asarray(both @ np.array(weights, np.float32) + offset, np.float32)))


def _in_side_order(scores: NDArray[np.float32], pairs: Sequence[Pair]) -> NDArray[np.float32]:
    """Converts probabilities of yes and no, shape (n, 2), to those of each pair's statement and opposing statement."""
    denying = np.array([p.form == "answer" and not p.affirms for p in pairs], bool)
    return np.where(denying[:, None], scores[:, ::-1], scores)


def _normalised_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def judge_files(folder: Path | None = None) -> ModelFiles:
    """The judge's files, with the encoder's tokenizer."""
    return ModelFiles(folder or FOLDER, encoder_files().tokenizer, MAX_LENGTH)


def load_judge() -> EmbeddedJudge:
    """Raises ModelError if its files are unusable."""
    files = judge_files()
    try:
        model = load_model(files, partial(matches_reference, folder=FOLDER), "judge")
        calibration, closer, reading = read_calibration(), _load_in_background(), _fingerprint()
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise ModelError(
            f"the judge's files in {FOLDER} cannot be read ({exc}). Restore them from the project."
        ) from exc
    digest = hashlib.sha256(f"{calibration!r} {reading}".encode()).hexdigest()[:4]
    name = f"embedded-judge-{files.fingerprint()}-{digest}"
    return EmbeddedJudge(model, name, calibration, closer)


def read_calibration() -> Calibration:
    """Raises OSError, ValueError, TypeError, KeyError."""
    stored = json.loads((FOLDER / "calibration.json").read_text(encoding="utf-8"))
    weights = {name: tuple(map(float, stored[name])) for name in ("alone", "told", "close", "answer", "answer_close")}
    if [len(w) for w in weights.values()] != [3, 5, 3, 3, 3]:
        raise ValueError("calibration.json has other weights than the model")
    return Calibration(threshold=float(stored["threshold"]), **weights)


def sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -60, 60))), np.float32)


# The closer reading


def joint_statement(statement: str, contrary: str) -> str:
    """Joins two opposing statements to one text, so that one pass judges both statements."""
    return f"{statement} | {contrary}"


def in_reading_order(pair: Pair) -> Pair:
    """The pair with its statements in alphabetical order; of the form 'answer' only the question and the text."""
    if pair.form == "answer":
        return Pair(pair.query, pair.text, placed=pair.placed)
    return swap_statements(pair) if pair.contrary and pair.contrary < pair.statement else pair


def larger_model_files(folder: Path | None = None) -> ModelFiles:
    """The larger model's files, with its own tokenizer."""
    where = folder or LARGER_FOLDER
    return ModelFiles(where, where / "tokenizer.json", LARGER_LENGTH)


def load_larger_model() -> Int8Model:
    """The larger model. Raises ModelError if its files are unusable."""
    return load_model(larger_model_files(), partial(matches_reference, folder=LARGER_FOLDER), "close-judge")


def _load_in_background() -> Callable[[], Int8Model]:
    """Starts loading the larger model. The returned function waits for it, and raises ModelError."""
    threads = ThreadPoolExecutor(1, "steelman-close-judge", lower_priority)
    coming = threads.submit(load_larger_model)
    threads.shutdown(wait=False)
    return coming.result


def _fingerprint() -> str:
    """Identifies the closer reading in cache keys. Raises OSError."""
    files = larger_model_files()
    words = hashlib.sha256(files.tokenizer.read_bytes()).hexdigest()
    return f"{_READING}:{LARGER_LENGTH}:{files.fingerprint()}:{words}"


def larger_model_logits(model: Int8Model, pairs: Sequence[Pair]) -> NDArray[np.float32]:
    """The logits that each text supports the statement and the opposing statement, or opposes the only statement, shape
    (n, 2). The statements are in the order of `in_reading_order`. The model gets the text in its context, if known."""
    asked = [
        (joint_statement(p.statement, p.contrary) if p.contrary else p.statement, p.placed or p.text) for p in pairs
    ]
    return model.run(asked).reshape(len(pairs), 2)


def matches_reference(model: Int8Model, folder: Path) -> bool:
    """Whether the outputs agree with the fp32 probabilities in `reference.json`."""
    rows = json.loads((folder / "reference.json").read_text(encoding="utf-8"))
    got = 1 / (1 + np.exp(-model.run([(row["statement"], row["text"]) for row in rows])))
    return bool(np.abs(got - np.array([row["probabilities"] for row in rows])).max() <= _LARGEST_DIFFERENCE)
