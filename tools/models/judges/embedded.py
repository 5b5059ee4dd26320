"""The embedded judge: a small cross-encoder that reads a statement and a text together, int8 on ONNX Runtime.

It answers two questions, does the text support the statement and does it oppose it, and was trained by
`python -m evals judge-train`; `weights/judge/MODEL_CARD.md` says on what, and how well it does. What may be shown is
read closer, by a larger model as well (8 layers, width 768; `weights/close_judge/MODEL_CARD.md`): it reads
'statement | contrary' and the text at once, and answers for the one and for the other, so that one reading tells both
sides.
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
from tools.models.encoders.encoder import encoder_files
from tools.models.int8 import WEIGHTS, Int8Model, ModelFiles, load_model
from tools.models.judges.judge import LocalJudge, Pair, best_window_scores, split_into_windows, swapped
from tools.models.worker import lower_priority

ANSWERS = ("support", "oppose")
"""What the model is asked of a statement and a text; each has a logit of its own."""
FOLDER = WEIGHTS / "judge"
LARGER_FOLDER = WEIGHTS / "close_judge"
MAX_LENGTH = 192
"""Tokens of a pair that are read: enough for a statement and what `windows` leaves in one piece."""
LARGER_LENGTH = 160
"""Tokens that the larger model reads of both statements and a text together: the text loses what is beyond."""
_READING = 3  # counts up whenever `joint_statement`, `in_reading_order` or what is made of the answers changes
_AGREES = 0.2  # largest difference to the stored fp32 probabilities; a wrong build is off by far more
_WORTH_ASKING_TWICE = 0.1  # below it a text supports nothing, whatever the contrary statement would say
_SURE = 1 - 1e-6

_WORD = re.compile(r"\w+(?:'\w+)?")
_Logits = Mapping[tuple[str, str], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regressions on held-out data from the model's logits to a probability (Platt 1999), and the threshold.

    `alone`: weights of the statement's two logits, and an offset. `told`: where the contrary statement is known, the
    weights of the statement's two and of the contrary's two, and an offset. `close`: the weights of the small model's
    logit for a side and of the larger one's, and an offset. `answer` and `answer_close` take the place of `alone` and
    `close` where a question is read, whose support is 'Yes' and whose opposition is 'No'.
    """

    alone: tuple[float, ...]
    told: tuple[float, ...]
    threshold: float
    close: tuple[float, ...]
    answer: tuple[float, ...]
    answer_close: tuple[float, ...]


class EmbeddedJudge(LocalJudge):
    """Probabilities of support from the cross-encoder."""

    essays_only = True

    def __init__(
        self, model: Int8Model, name: str, calibration: Calibration, closer: Callable[[], Int8Model] | None = None
    ) -> None:
        """closer: gives the larger model; without it nothing is read closer."""
        self._model = model
        self._closer = closer
        self.reads_closely = closer is not None
        self._calibration = calibration
        self.name = name
        self.threshold = calibration.threshold

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Long texts count by their best window. Where a contrary statement is known and the text may support the
        statement at all, the text is read beside both; of an answer one reading of the question tells. A text supports
        the statement that it is, word for word."""
        if not pairs:
            return np.zeros(0, np.float32)
        parts, places = split_into_windows(pairs)
        logits = self._read((p.query, p.text) for p in parts)
        scores = self._alone(parts, np.stack([logits[p.query, p.text] for p in parts]))[:, 0].copy()
        scores[[p.text == p.statement for p in parts]] = 1.0
        doubted = [
            i
            for i, p in enumerate(parts)
            if p.contrary and p.form == "statement" and _WORTH_ASKING_TWICE <= scores[i] < _SURE
        ]
        asked = ((parts[i].contrary, parts[i].text) for i in doubted)
        logits |= self._read(one for one in asked if one not in logits)
        scores[doubted] = [self._told(logits, parts[i]) for i in doubted]
        return best_window_scores(scores, places, len(pairs))

    def score_both(self, pairs: Sequence[Pair], closely: bool = False) -> NDArray[np.float32]:
        """Both come from one reading, beside the statement alone: the model was asked whether a text opposes a
        statement too, and the side that a sentence takes is told as well by one reading as by two (docs/results.md).
        """
        if closely and self._closer is not None and pairs:
            return self._closely(pairs, self._closer())
        parts, places = split_into_windows(pairs)
        return best_window_scores(
            self._alone(parts, self.logits([(p.query, p.text) for p in parts])), places, len(pairs)
        )

    def _closely(self, pairs: Sequence[Pair], larger_model: Int8Model) -> NDArray[np.float32]:
        """By both models: a regression on the logits that each has for a side. The larger one reads the text in its
        place, where that is known.

        Both read the two statements in the order of the alphabet: whoever asks, the same is read, and exchanged
        statements get exchanged probabilities, to the last bit. A text argues for the statement that it is, whatever
        the models say.
        """
        parts, places = split_into_windows(pairs)
        first = [in_reading_order(p) for p in parts]
        small = self.logits([(p.statement, p.text) for p in first])
        large = larger_model_logits(larger_model, first)
        close = {"statement": self._calibration.close, "answer": self._calibration.answer_close}
        own, larger, offset = np.array([close[p.form] for p in parts], np.float32).T[:, :, None]
        scores = sigmoid(np.asarray(small * own + large * larger + offset, np.float32))
        turned = [p.form == "statement" and p.statement != q.statement for p, q in zip(parts, first, strict=True)]
        scores = _by_side(np.where(np.array(turned, bool)[:, None], scores[:, ::-1], scores), parts)
        for i, p in enumerate(parts):
            said, sides = _words(p.text), [_words(p.statement), _words(p.contrary)]
            if p.form == "answer":  # its query is the statement that is affirmed or denied
                sides = [_words(p.query), []] if p.affirms else [[], _words(p.query)]
            if said and said in sides and not p.text.endswith("?"):
                scores[i] = [float(side == said) for side in sides]
        return best_window_scores(scores, places, len(pairs))

    def logits(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Of support and of opposition, shape (n, 2), of (statement, text) pairs, each cut at MAX_LENGTH tokens."""
        return self._model.run(list(pairs)).reshape(len(pairs), len(ANSWERS))

    def _read(self, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], NDArray[np.float32]]:
        asked = list(dict.fromkeys(pairs))
        return dict(zip(asked, self.logits(asked), strict=True))

    def _alone(self, pairs: Sequence[Pair], logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities that each text supports the statement, and the contrary, of the logits beside it alone."""
        fitted = {"statement": self._calibration.alone, "answer": self._calibration.answer}
        own, other, offset = np.array([fitted[p.form] for p in pairs], np.float32).reshape(-1, 3).T[:, :, None]
        scores = sigmoid(np.asarray(logits * own + logits[:, ::-1] * other + offset, np.float32))
        return _by_side(scores, pairs)

    def _told(self, logits: _Logits, pair: Pair) -> float:
        both = np.concatenate([logits[pair.statement, pair.text], logits[pair.contrary, pair.text]])
        return logistic(both, self._calibration.told)


def _by_side(scores: NDArray[np.float32], pairs: Sequence[Pair]) -> NDArray[np.float32]:
    """The probabilities of yes and of no to a question, (n, 2), as those of a pair's statement and its contrary."""
    denying = np.array([p.form == "answer" and not p.affirms for p in pairs], bool)
    return np.where(denying[:, None], scores[:, ::-1], scores)


def _words(text: str) -> list[str]:
    """Its words in lower case: what tells a copy."""
    return _WORD.findall(text.lower())


def logistic(values: NDArray[np.float32], weights: Sequence[float]) -> float:
    """1 / (1 + exp(-(values · weights + offset))); the offset is the last of the weights."""
    return float(sigmoid(np.asarray(values @ np.array(weights[:-1], np.float32) + weights[-1], np.float32)))


def judge_files(folder: Path | None = None) -> ModelFiles:
    """The judge's folder with the encoder's tokenizer, which it was trained with."""
    return ModelFiles(folder or FOLDER, encoder_files().tokenizer, MAX_LENGTH)


def load_judge() -> EmbeddedJudge:
    """The judge. Raises ModelError when its files cannot be used."""
    files = judge_files()
    try:
        model = load_model(files, partial(matches_reference, folder=FOLDER), "judge")
        calibration, closer, reading = read_calibration(), _loading(), _fingerprint()
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise ModelError(
            f"the judge's files in {FOLDER} cannot be read ({exc}). Restore them from the project."
        ) from exc
    digest = hashlib.sha256(f"{calibration!r} {reading}".encode()).hexdigest()[:4]
    name = f"embedded-judge-{files.fingerprint()}-{digest}"
    return EmbeddedJudge(model, name, calibration, closer)


def read_calibration() -> Calibration:
    """The stored calibration. Raises OSError, ValueError, TypeError, KeyError."""
    stored = json.loads((FOLDER / "calibration.json").read_text(encoding="utf-8"))
    weights = {name: tuple(map(float, stored[name])) for name in ("alone", "told", "close", "answer", "answer_close")}
    if [len(w) for w in weights.values()] != [3, 5, 3, 3, 3]:
        raise ValueError("calibration.json has other weights than the model")
    return Calibration(threshold=float(stored["threshold"]), **weights)


def sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """1 / (1 + exp(-x)), each by itself."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -60, 60))), np.float32)


# The closer reading


def joint_statement(statement: str, contrary: str) -> str:
    """Two contrary statements as one text, for the model to judge both in one reading: its answers are one for each."""
    return f"{statement} | {contrary}"


def in_reading_order(pair: Pair) -> Pair:
    """The pair with its two statements in the order in which the model reads them, which is alphabetical. Of an answer
    the question is read by itself, whichever word answers it."""
    if pair.form == "answer":
        return Pair(pair.query, pair.text, placed=pair.placed)
    return swapped(pair) if pair.contrary and pair.contrary < pair.statement else pair


def larger_model_files(folder: Path | None = None) -> ModelFiles:
    """The larger model's files; its folder has the tokenizer that belongs to it."""
    where = folder or LARGER_FOLDER
    return ModelFiles(where, where / "tokenizer.json", LARGER_LENGTH)


def load_larger_model() -> Int8Model:
    """The larger model, of the closer reading. Raises ModelError when its files cannot be used."""
    return load_model(larger_model_files(), partial(matches_reference, folder=LARGER_FOLDER), "close-judge")


def _loading() -> Callable[[], Int8Model]:
    """Gives the model when it is asked for; it is read beside what goes on meanwhile. What is given raises
    ModelError."""
    threads = ThreadPoolExecutor(1, "steelman-close-judge", lower_priority)
    coming = threads.submit(load_larger_model)
    threads.shutdown(wait=False)
    return coming.result


def _fingerprint() -> str:
    """Names what is read and how: what cached verdicts depend on. Raises OSError."""
    files = larger_model_files()
    words = hashlib.sha256(files.tokenizer.read_bytes()).hexdigest()
    return f"{_READING}:{LARGER_LENGTH}:{files.fingerprint()}:{words}"


def larger_model_logits(model: Int8Model, pairs: Sequence[Pair]) -> NDArray[np.float32]:
    """Logits that each text supports the statement, and that it supports its contrary, shape (n, 2), of pairs whose
    statements stand in the order in which they are to be read, each text in its place where that is known. A pair
    without a contrary is read by itself: the second logit is then that the text opposes the statement."""
    asked = [
        (joint_statement(p.statement, p.contrary) if p.contrary else p.statement, p.placed or p.text) for p in pairs
    ]
    return model.run(asked).reshape(len(pairs), 2)


def matches_reference(model: Int8Model, folder: Path) -> bool:
    """Whether the model computes, within _AGREES, the fp32 probabilities of the folder's `reference.json`."""
    rows = json.loads((folder / "reference.json").read_text(encoding="utf-8"))
    got = 1 / (1 + np.exp(-model.run([(row["statement"], row["text"]) for row in rows])))
    return bool(np.abs(got - np.array([row["probabilities"] for row in rows])).max() <= _AGREES)
