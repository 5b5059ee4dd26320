"""Puts a trained judge into the repository: int8 rows, calibration, thresholds, reference outputs.

`python -m evals judge-pack --weights DIR --data DIR` reads `model.safetensors` as `judge-train` wrote it. Calibration
and thresholds come from development pairs, held-out questions and the samples, on the int8 model as it will run.
"""

import argparse
import json
import random
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.training.data import Example, hard, load_corpus
from evals.training.metrics import roc_auc
from tools.grammar import negate
from tools.judges.embedded import FOLDER, Calibration, EmbeddedJudge, judge_recipe, softmax
from tools.judges.judge import Pair, side_score
from tools.onnx_models.int8_weights import load_weights, pack

WRONG_SIDE = 0.07
"""Share of the samples' accepted sentences that may stand on the wrong side: sets the threshold for showing one."""
_BETA = 0.5  # a passage that is counted wrongly harms more than one that is missed

_PASSAGES = {"read_labels": 600}
_REFERENCE = (
    ("Nuclear power is safe.", "Reactors have many barriers, and a single fault cannot breach them all."),
    ("Nuclear power is safe.", "One accident can make a whole region unfit to live in for generations."),
    ("Zoos should be closed.", "The train leaves from another platform today."),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--weights", type=Path, required=True, metavar="DIR", help="what judge-train wrote")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="the folder that holds judge/ and berds/"
    )
    parser.add_argument("--seed", type=int, default=7)


def run(args: argparse.Namespace) -> int:
    """Writes the folder `tools/weights/judge` and prints the figures that go into its model card."""
    from safetensors.numpy import save_file

    FOLDER.mkdir(parents=True, exist_ok=True)
    weights = load_weights(args.weights / "model.safetensors")
    save_file(pack(weights), FOLDER / "model.safetensors")
    _write_reference(weights)
    plain = Calibration(1.0, 0.0, 0.5, 0.5)
    with tempfile.TemporaryDirectory() as cache:
        judge = _uncalibrated(Path(cache), plain)
        calibration, figures = calibrate(judge, args.data, args.seed)
    (FOLDER / "calibration.json").write_text(json.dumps(vars_of(calibration), indent=1) + "\n")
    print(json.dumps(figures, indent=1))
    return 0


def calibrate(judge: EmbeddedJudge, data: Path, seed: int) -> tuple[Calibration, dict[str, float]]:
    """Platt's slope and offset and the threshold of passages (best F0.5) on both sets together; that of sentences by
    how many of the samples' may stand on the wrong side."""
    corpus = load_corpus(data, seed)
    held = _sample(corpus.held_out, _PASSAGES, seed)
    pairs = [_pair(s, t) for s, t, _ in corpus.development] + [_pair(e.statement, e.text) for e in held]
    truth = np.array([y for _, _, y in corpus.development] + [int(e.label == 0) for e in held])
    raw = judge.score(pairs)
    slope, offset = platt(raw, truth)
    sure = _apply(raw, slope, offset)
    n = len(corpus.development)
    threshold = best_threshold(truth.astype(bool), sure, _BETA)
    chosen, positive = sure[:n] >= threshold, truth[:n].astype(bool)
    f1 = 2 * float(np.sum(chosen & positive)) / max(1, int(chosen.sum() + positive.sum()))
    sentences = sample_sentences()
    labels = np.array([label for *_, label in sentences])
    pairs = [p for sentence, passage, _ in sentences for p in (sentence, passage)]
    single = _apply(judge.score(pairs), slope, offset).reshape(-1, 2)
    scores = np.array([side_score(float(s), float(p)) for s, p in single], np.float32)
    sentence_threshold = max(threshold, lowest_threshold(labels, scores, WRONG_SIDE))
    accepted = scores >= sentence_threshold
    figures = {
        "development_auc": roc_auc(positive, sure[:n]),
        "development_f1": f1,
        "development_accuracy": float(np.mean(chosen == positive)),
        "held_out_passages_auc": roc_auc(truth[n:].astype(bool), sure[n:]),
        "sentences_accepted": float(accepted[labels == 0].mean()),
        "sentences_wrong_side": float(np.sum(labels[accepted] == 1) / max(1, np.sum(labels[accepted] != 2))),
        "slope": slope,
        "offset": offset,
        "threshold": threshold,
        "sentence_threshold": sentence_threshold,
    }
    rounded = {k: round(float(v), 4) for k, v in figures.items()}
    return Calibration(slope, offset, threshold, sentence_threshold), rounded


def platt(raw: NDArray[np.float32], truth: NDArray[np.int64]) -> tuple[float, float]:
    """Slope and offset of a logistic regression on the logit of the raw probability (Platt 1999)."""
    from sklearn.linear_model import LogisticRegression

    p = np.clip(raw, 1e-6, 1 - 1e-6)
    model = LogisticRegression(C=1e6).fit(np.log(p / (1 - p))[:, np.newaxis], truth)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def best_threshold(positive: NDArray[np.bool_], score: NDArray[np.float32], beta: float) -> float:
    """The threshold of the highest F-beta = (1 + b²) · hits / (accepted + b² · positives)."""
    order = np.argsort(-score)
    hits, accepted = np.cumsum(positive[order]), np.arange(1, len(order) + 1)
    return float(score[order][np.argmax((1 + beta**2) * hits / (accepted + beta**2 * positive.sum()))])


def lowest_threshold(labels: NDArray[np.int64], scores: NDArray[np.float32], wrong_side: float) -> float:
    """The lowest threshold from which on, of the accepted that take a side, at most `wrong_side` oppose."""
    for threshold in np.arange(0.05, 0.99, 0.01):
        chosen = labels[scores >= threshold]
        sided = np.sum(chosen != 2)
        if sided and np.sum(chosen == 1) <= wrong_side * sided:
            return float(threshold)
    return 0.99


def vars_of(calibration: Calibration) -> dict[str, float]:
    """The calibration as it is stored."""
    return {name: round(float(getattr(calibration, name)), 5) for name in Calibration.__slots__}


def sample_sentences() -> list[tuple[Pair, Pair, int]]:
    """The samples' sentences that stand alone, each with its passage: for their own side (0: support) and for the other
    one (1: oppose)."""
    from agent.samples import FOLDER
    from evals.answering.cases import Side, load_samples
    from tools.grammar import frame
    from tools.ingest.readers import read_file
    from tools.text.sentences import split_sentences
    from tools.text.standalone import stands_alone

    pairs: list[tuple[Pair, Pair, int]] = []
    for case in load_samples().cases:
        framing = frame(case.question)
        sides: dict[Side, tuple[str, str]] = {
            "supports": (framing.claim, framing.negation),
            "opposes": (framing.negation, framing.claim),
        }
        for stance, (own, other) in sides.items():
            for name in sorted(case.gold[stance]):
                document = next(iter(read_file(FOLDER.parent / name, name)))
                for sentence in filter(stands_alone, split_sentences(document.text)):
                    for label, (side, contrary) in enumerate(((own, other), (other, own))):
                        pairs.append((Pair(side, sentence, contrary), Pair(side, document.text, contrary), label))
    return pairs


def _pair(statement: str, text: str) -> Pair:
    return Pair(statement, text, negate(statement))


def _sample(held_out: dict[str, list[Example]], sizes: dict[str, int], seed: int) -> list[Example]:
    chosen: list[Example] = []
    for name, wanted in sizes.items():
        known = hard(held_out[name])
        chosen += random.Random(f"{seed}/{name}").sample(known, min(wanted, len(known)))
    return chosen


def _apply(raw: NDArray[np.float32], slope: float, offset: float) -> NDArray[np.float32]:
    p = np.clip(raw, 1e-6, 1 - 1e-6)
    return np.asarray(1 / (1 + np.exp(-(slope * np.log(p / (1 - p)) + offset))), np.float32)


def _uncalibrated(cache: Path, plain: Calibration) -> EmbeddedJudge:
    from tools.onnx_models.model import load_model

    return EmbeddedJudge(load_model(judge_recipe(), cache, lambda _: True, "judge"), "uncalibrated", plain)


def _write_reference(weights: dict[str, NDArray[np.float32]]) -> None:
    """Probabilities of the float model, with which every load compares the int8 one."""
    import onnx
    import onnxruntime
    from tokenizers import Tokenizer

    from tools.onnx_models.bert import build_bert
    from tools.onnx_models.model import OnnxModel

    recipe = judge_recipe()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fp32.onnx"
        onnx.save(build_bert(weights, recipe.heads, "classifier"), path)
        model = OnnxModel(
            onnxruntime.InferenceSession(str(path)), Tokenizer.from_file(str(recipe.tokenizer)), recipe.max_length
        )
        rows = softmax(model.run(list(_REFERENCE)))
    stored = [
        {"statement": s, "text": t, "probabilities": [round(float(p), 4) for p in row]}
        for (s, t), row in zip(_REFERENCE, rows, strict=True)
    ]
    (FOLDER / "reference.json").write_text(json.dumps(stored, indent=1) + "\n")
