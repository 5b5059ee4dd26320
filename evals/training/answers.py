"""`judge-pack --answers`: the regressions by which a question's answers are read off both models' logits.

A statement has regressions of its own (`pack`, `pack_close`); where the question itself is read, its support is 'Yes'
and its opposition 'No'. Held-out examples that name their question are read so, and as many beside another question.
"""

import random

import numpy as np

from evals.metrics.classification import SUPPORT, expected_calibration_error, roc_auc, stance_accuracy
from evals.training.data import Corpus, Example, hard
from evals.training.packing import believed, crossed, store, with_strangers
from tools.inference.int8 import load_model
from tools.inference.judges.embedded import judge_files, load_close_model

_SETS = ("berds", "contrasts", "procon20")
_A_SET = 600  # examples of a data set at most
_WORDS = 100  # of a text that is read


def fit_answers(corpus: Corpus) -> dict[str, float]:
    """Writes `answer` and `answer_close` into the calibration, and gives the held-out figures: each half of the
    questions measured with the regressions of the other half. Raises ModelError."""
    rows = with_strangers(_asked(corpus))
    labels, groups = np.array([e.label for e in rows]), [e.group for e in rows]
    texts = [(e.question, " ".join(e.text.split()[:_WORDS])) for e in rows]
    small = load_model(judge_files(), lambda _: True, "judge").run(texts).reshape(-1, 2)
    both = np.stack([small, load_close_model().run(texts).reshape(-1, 2)], axis=2)
    figures = {"examples": float(len(rows))}
    for name, logits in (("answer", both[:, :, :1]), ("answer_close", both)):
        scores = crossed(logits, labels, groups)
        figures[f"{name}_auc"] = roc_auc(labels == SUPPORT, scores[:, 0])
        figures[f"{name}_ece"] = expected_calibration_error((labels == SUPPORT).astype(int), scores[:, 0])
        figures[f"{name}_side"] = stance_accuracy(labels, scores)
    weight, offset = believed(both[:, :, :1], labels)
    store(answer=(weight, 0.0, offset), answer_close=believed(both, labels))
    return {name: round(value, 4) for name, value in figures.items()}


def _asked(corpus: Corpus) -> list[Example]:
    found: list[Example] = []
    for name in _SETS:
        known = [e for e in hard(corpus.held_out.get(name, ())) if e.question]
        found += random.Random(name).sample(known, min(_A_SET, len(known)))
    return found
