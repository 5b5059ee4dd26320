"""`judge-pack --answers`: the regressions by which a question's answers are read off both models' logits.

A statement has regressions of its own (`pack`, `pack_close`); where the question itself is read, its support is 'Yes'
its opposition 'No'. Held-out examples that name their question are read so, and as many beside another question, for
for which they say nothing: most of what a search finds is like that.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
from numpy.typing import NDArray

from evals.metrics.classification import NONE, OPPOSE, SUPPORT, expected_calibration_error, roc_auc, stance_accuracy
from evals.training.data import Corpus, Example, hard
from evals.training.packing import fit
from tools.inference.int8 import load_model
from tools.inference.judges.close import load_close_model
from tools.inference.judges.embedded import FOLDER, judge_files, read_calibration, sigmoid

_SETS = ("berds", "contrasts", "procon20")
_A_SET = 600  # examples of a data set at most
_WORDS = 100  # of a text that is read


def fit_answers(corpus: Corpus) -> dict[str, float]:
    """Writes `answer` and `answer_close` into the calibration, and gives the held-out figures: each half of the
    questions measured with the regressions of the other half. Raises ModelError."""
    rows = _with_strangers(_asked(corpus))
    labels = np.array([e.label for e in rows])
    texts = [(e.question, " ".join(e.text.split()[:_WORDS])) for e in rows]
    small = load_model(judge_files(), lambda _: True, "judge").run(texts).reshape(-1, 2)
    large = load_close_model().run(texts).reshape(-1, 2)
    halves = np.array([random.Random(e.group).random() < 0.5 for e in rows], bool)
    figures = dict[str, float]()
    for name, logits in (("answer", small[:, :, None]), ("answer_close", np.stack([small, large], axis=2))):
        scores = np.zeros((len(rows), 2), np.float32)
        for half in (halves, ~halves):
            weights = _fitted(logits[~half], labels[~half])
            scores[half] = sigmoid(np.asarray(logits[half] @ np.array(weights[:-1]) + weights[-1], np.float32))
        figures |= _figures(name, labels, scores)
    small_alone = _fitted(small[:, :, None], labels)
    stored = replace(
        read_calibration(),
        answer=(small_alone[0], 0.0, small_alone[1]),
        answer_close=_fitted(np.stack([small, large], axis=2), labels),
    )
    (FOLDER / "calibration.json").write_text(json.dumps(asdict(stored), indent=1) + "\n", encoding="utf-8")
    return {"examples": float(len(rows)), **{k: round(v, 4) for k, v in figures.items()}}


def _asked(corpus: Corpus) -> list[Example]:
    found: list[Example] = []
    for name in _SETS:
        known = [e for e in hard(corpus.held_out.get(name, ())) if e.question]
        found += random.Random(name).sample(known, min(_A_SET, len(known)))
    return found


def _with_strangers(rows: Sequence[Example]) -> list[Example]:
    others = random.Random(len(rows)).sample(list(rows), len(rows))
    pairs = zip(rows, others, strict=True)
    return [*rows, *(replace(e, text=o.text, target=(0, 0, 1)) for e, o in pairs if e.question != o.question)]


def _fitted(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> tuple[float, ...]:
    """How much each model is believed is fitted on which side sided texts take; how far, and the offset, on all.
    logits: (n, 2, models)."""
    sided = labels < NONE
    signs = (1,) * logits.shape[2]
    weights = np.array(fit(logits[sided, 0] - logits[sided, 1], labels[sided] == SUPPORT, signs)[:-1])
    truth = (labels[:, None] == np.array([SUPPORT, OPPOSE])).reshape(-1)
    scale, offset = fit((logits @ weights).reshape(-1, 1), truth, (1,))
    return (*(round(float(w * scale), 5) for w in weights), offset)


def _figures(name: str, labels: NDArray[np.int64], scores: NDArray[np.float32]) -> dict[str, float]:
    supported = labels == SUPPORT
    return {
        f"{name}_auc": roc_auc(supported, scores[:, 0]),
        f"{name}_ece": expected_calibration_error(supported.astype(int), scores[:, 0]),
        f"{name}_side": stance_accuracy(labels, scores),
    }
