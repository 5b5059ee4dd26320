"""`python -m evals judge-pack`: writes a trained judge into `tools/weights` as an int8 graph with its calibration.

We fit the calibration on the int8 model, with held-out questions and development pairs. The printed figures belong in
the model card. The weights decide which of the two judges the command packs. The larger judge's calibration uses the
small judge's logits, so pack the larger judge again after the small judge (docs/decisions/0017-a-closer-reading.md).
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from evals.datasets.pairs import contraries
from evals.metrics import classification
from evals.metrics.classification import NONE, OPPOSE, SUPPORT, stance_accuracy
from evals.training.data import Corpus, Example, hard, load_corpus
from evals.training.graph import HEADS, REACH, Weights, build_bert, load_weights, unpacked, write_int8
from evals.training.negation import negated
from tools.errors import InputError
from tools.models.int8 import Int8Model, ModelFiles, load_model
from tools.models.judges import embedded
from tools.models.judges.judge import Pair, in_context, judged_text

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"  # files of judge-train in RUN/weights
Floats = NDArray[np.float32]
Figures = dict[str, float]
_BETA = 0.5  # a false positive harms more than a false negative
_PER_SET = 600  # largest number of held-out examples of a data set
_WATCHED = 300, 200  # texts to measure channels' reach: small judge, larger judge
_SETS = "argkp_topic arguana arc_stance berds contrasts disputes procon20 read_sentences written".split()
_QUESTION_SETS = ("berds", "contrasts", "disputes", "procon20")
_ANSWER_WORDS = 100  # words of a text that the judge reads with a question
_REFERENCE = (
    ("Nuclear power is safe.", "Reactors have many barriers, and a single fault cannot breach them all."),
    ("Nuclear power is safe.", "One accident can make a whole region unfit to live in for generations."),
    ("Zoos should be closed.", "The train leaves from another platform today."),
)
_ZOOS = "Zoos should be closed. | Zoos should stay open."
_SAVED = "Zoos must stay open, for they have saved many rare species."
_CLOSE_REFERENCE = (
    (_ZOOS, "Close every zoo: animals suffer behind bars and go mad there."),
    (_ZOOS, _SAVED),
    (_ZOOS, "The train leaves from another platform today."),
    (
        "Should zoos be closed?",
        in_context("A keeper writes", "They say we do harm.", _SAVED, "I fed the last of them."),
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    which, add = parser.add_mutually_exclusive_group(required=True), parser.add_argument
    which.add_argument("--weights", type=Path, nargs="+", metavar="DIR", help="runs of judge-train: their mean")
    which.add_argument("--packed", action="store_true", help="only print figures of the shipped closer reading")
    add("--data", type=Path, required=True, metavar="DIR", help="folder with judge/ and berds/")
    add("--seed", type=int, default=7, metavar="N", help="seed of the samples")


def run(args: argparse.Namespace) -> int:
    """Writes `tools/weights/judge` or `close_judge` after all files are complete, and prints the figures. Raises
    InputError."""
    weights, tokenizer = read_trained(args.weights) if args.weights else ({}, Path())
    corpus = load_corpus(args.data, args.seed)
    if args.packed:
        figures = _calibrate_close(corpus, embedded.load_larger_model())[1]
    elif "relative.weight" in weights:
        figures = _pack_close(weights, tokenizer, corpus)
    else:
        figures = _pack_small(weights, corpus)
        print("Now pack the closer reading again: its calibration also weighs this judge's logits.", file=sys.stderr)
    print(json.dumps({name: round(value, 4) for name, value in figures.items()}, indent=1))
    return 0


def read_trained(folders: Sequence[Path]) -> tuple[dict[str, Floats], Path]:
    """Returns the mean weights of the folders, and the last folder's tokenizer. A folder is a run of judge-train or
    `tools/weights/close_judge`. Raises InputError."""
    from safetensors import SafetensorError

    found = []
    for folder in folders:
        where = folder / "weights" if (folder / "weights" / WEIGHTS).is_file() else folder
        packed = where / "model.onnx"
        try:
            found.append(unpacked(packed) if packed.is_file() else load_weights(where / WEIGHTS))
        except (OSError, SafetensorError) as exc:
            raise InputError(f"{folder} has no weights of judge-train ({exc}).") from exc
    mean = {name: np.asarray(sum(one[name] for one in found) / len(found), np.float32) for name in found[-1]}
    return mean, where / TOKENIZER


def _pack_small(weights: dict[str, Floats], corpus: Corpus) -> Figures:
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch)
        files, held = embedded.judge_files(made), held_out_pairs(corpus)
        watched = [(pair.statement, judged_text(pair.text)) for pair, _ in held[: _WATCHED[0]]]
        _write(files, weights, watched, _REFERENCE)
        contrary = contraries(p.side for p in corpus.development)
        developed = [(Pair(p.perspective, p.document, contrary.get(p.side, "")), p.label) for p in corpus.development]
        model = load_model(files, lambda _: True, "judge")
        calibration, figures = _calibrate_small(model, developed, held)
        _install(made, embedded.FOLDER, asdict(calibration))
    return figures


def _calibrate_small(
    model: Int8Model, developed: list[tuple[Pair, bool]], held: list[tuple[Pair, bool]]
) -> tuple[embedded.Calibration, Figures]:
    """Fits two regressions, one without and one with the opposing statement. Fits the threshold with the best F-beta on
    all pairs."""
    cases = [*developed, *held]
    truth = np.array([label for _, label in cases], bool)
    own = model.run([(pair.statement, judged_text(pair.text)) for pair, _ in cases])
    other = model.run([(pair.contrary, judged_text(pair.text)) for pair, _ in cases])
    both = fit(np.hstack([own, other]), truth, (1, -1, -1, 1))
    fitted = replace(embedded.read_calibration(), alone=fit(own, truth, (1, -1)), told=both)
    judge = embedded.EmbeddedJudge(model, "", fitted, embedded.load_larger_model)
    scores = {
        "held_out": judge.score([replace(pair, contrary="") for pair, _ in cases]),
        "held_out_told": judge.score([pair for pair, _ in cases]),
    }
    threshold = round(classification.best_f(truth, scores["held_out_told"], _BETA)[1], 4)
    figures, truth = Figures(), truth[len(developed) :]
    for name, of in scores.items():
        found = classification.yes_or_no(truth, of[len(developed) :] >= threshold)
        figures[f"{name}_auc"] = classification.roc_auc(truth, of[len(developed) :])
        figures |= {f"{name}_{measure}": found[measure].value for measure in ("f1", "accuracy")}
    return replace(fitted, threshold=threshold), figures | {"threshold": threshold}


def held_out_pairs(corpus: Corpus) -> list[tuple[Pair, bool]]:
    """Returns labelled passages of held-out questions with both statements, and whether a passage supports the first
    statement."""
    held = corpus.held_out.get("read_labels", [])
    other = contraries((e.group, e.statement) for e in held)
    known = [(e, other[e.group, e.statement]) for e in held if (e.group, e.statement) in other]
    return [(Pair(e.statement, e.text, contrary), e.label == SUPPORT) for e, contrary in known]


def _pack_close(weights: Weights, tokenizer: Path, corpus: Corpus) -> Figures:
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch)
        files = embedded.larger_model_files(made)
        words = json.loads(tokenizer.read_text(encoding="utf-8")) | {"padding": None, "truncation": None}
        files.tokenizer.write_text(json.dumps(words, ensure_ascii=False) + "\n", encoding="utf-8")
        seen = [*_sentences(corpus)][: _WATCHED[1]]
        watched = [(embedded.joint_statement(e.statement, e.contrary), e.placed or e.text) for e in seen]
        _write(files, weights, watched, _CLOSE_REFERENCE)
        model = load_model(files, lambda _: True, "close-judge")
        fitted, figures = _calibrate_close(corpus, model)
        _install(made, embedded.LARGER_FOLDER, fitted)
    return figures


def _calibrate_close(corpus: Corpus, large: Int8Model) -> tuple[dict[str, tuple[float, ...]], Figures]:
    """Fits regressions of both models' logits on held-out texts. Figures use two-fold cross-fitting by question.

    close: for a statement and the opposing statement. answer_close: for a question (support is 'Yes'). answer: for a
    question, with the small judge alone. Data sets have equal weight in the figures.
    """
    fitted: dict[str, tuple[float, ...]] = {}
    figures: Figures = {}
    small = load_model(embedded.judge_files(), lambda _: True, "judge")
    for name, chosen in (("close", _sentences(corpus)), ("answer_close", _answers(corpus))):
        rows = _with_unrelated_texts(list(chosen))
        labels, sets = np.array([e.label for e in rows]), np.array([e.dataset for e in rows])
        own = small.run([(e.statement, e.text) for e in rows]).reshape(-1, 2)
        pairs = [Pair(e.statement, e.text, e.contrary, placed=e.placed) for e in rows]
        larger = embedded.larger_model_logits(large, pairs)
        both = np.stack([own, larger], axis=2)
        scores = _cross_fitted(both, labels, [e.group for e in rows])
        figures[f"{name}_ece"] = classification.expected_calibration_error(labels == SUPPORT, scores[:, 0])
        for model, of in ((name, scores), (f"{name}_small", own), (f"{name}_large", larger)):
            figures |= _side_accuracy(model, labels, sets, of)
        fitted[name] = _fit_sides(both, labels)
    weight, offset = _fit_sides(both[:, :, :1], labels)
    return {**fitted, "answer": (weight, 0.0, offset)}, figures


def _sentences(corpus: Corpus) -> Iterator[Example]:
    """Yields held-out sentences of each set with both statements in alphabetical order, as the model reads the
    statements."""
    for name in _SETS:
        known = [e for e in hard(corpus.held_out.get(name, ())) if e.is_sentence and not e.statement.endswith("?")]
        both = [replace(e, contrary=e.contrary or negated(e.statement)) for e in known]
        chosen = [e for e in both if e.statement < e.contrary]
        yield from random.Random(name).sample(chosen, min(_PER_SET, len(chosen)))


def _answers(corpus: Corpus) -> Iterator[Example]:
    """Yields held-out examples whose question is known. The question takes the place of the statement."""
    for name in _QUESTION_SETS:
        known = [e for e in hard(corpus.held_out.get(name, ())) if e.question]
        for e in random.Random(name).sample(known, min(_PER_SET, len(known))):
            text = " ".join(e.text.split()[:_ANSWER_WORDS])
            yield replace(e, statement=e.question, contrary="", text=text, placed=e.placed if text == e.text else "")


def _with_unrelated_texts(rows: Sequence[Example]) -> list[Example]:
    """Adds each example with a text of another question, since most retrieved texts are unrelated."""
    others = random.Random(len(rows)).sample(list(rows), len(rows))
    pairs = zip(rows, others, strict=True)
    apart = [replace(e, text=o.text, placed=o.placed) for e, o in pairs if e.group != o.group]
    return [*rows, *(replace(e, target=(0, 0, 1), dataset="another question's") for e in apart)]


def _side_accuracy(name: str, labels: NDArray[np.int64], sets: NDArray[np.str_], scores: Floats) -> Figures:
    """Returns the accuracy of the side by data set, the mean over sets, and the accuracy on the surest quarter of local
    disputes."""
    sided = labels < NONE
    found = {f"{name}_side_{s}": stance_accuracy(labels[sets == s], scores[sets == s]) for s in np.unique(sets[sided])}
    lead = np.where(sided & (sets == "disputes"), np.abs(scores[:, 0] - scores[:, 1]), -1)
    surest = np.argsort(-lead)[: int((lead >= 0).sum()) // 4]
    quarter = {f"{name}_side_disputes_surest": stance_accuracy(labels[surest], scores[surest])} if len(surest) else {}
    return found | {f"{name}_side": float(np.mean(list(found.values())))} | quarter


def fit(logits: Floats, truth: NDArray[np.bool_], signs: tuple[int, ...]) -> tuple[float, ...]:
    """Returns weights and offset of a logistic regression. Each weight has the given sign (1, -1) or is 0.

    Without this constraint the weight of 'opposes' becomes positive, because an opposing text is at least on the topic.
    A text that opposes a side would then count for the side.
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


def _fit_sides(logits: Floats, labels: NDArray[np.int64]) -> tuple[float, ...]:
    """Fits a weight for each model, and an offset. The ratio of the weights is fitted on texts with a side. The scale
    and the offset are fitted on all texts. logits: of both sides, shape (n, 2, models)."""
    sided = labels < NONE
    signs = (1,) * logits.shape[2]
    weights = np.array(fit(logits[sided, 0] - logits[sided, 1], labels[sided] == SUPPORT, signs)[:-1])
    truth = (labels[:, None] == np.array([SUPPORT, OPPOSE])).reshape(-1)
    scale, offset = fit((logits @ weights).reshape(-1, 1), truth, (1,))
    return (*(round(float(w * scale), 5) for w in weights), offset)


def _cross_fitted(logits: Floats, labels: NDArray[np.int64], groups: Sequence[str]) -> Floats:
    """Returns probabilities of both sides, (n, 2). Each half of the questions uses the weights of the other half."""
    halves = np.array([random.Random(group).random() < 0.5 for group in groups], bool)
    scores = np.zeros((len(labels), 2), np.float32)
    for half in (halves, ~halves):
        weights = np.array(_fit_sides(logits[~half], labels[~half]))
        scores[half] = embedded.sigmoid(np.asarray(logits[half] @ weights[:-1] + weights[-1], np.float32))
    return scores


def _write(
    files: ModelFiles, weights: Weights, watched: list[tuple[str, str]], reference: Sequence[tuple[str, str]]
) -> None:
    """Writes the int8 graph and the float model's probabilities. Each load of the judge compares the int8 model's
    probabilities with the float model's."""
    tokenizer = Tokenizer.from_file(str(files.tokenizer))
    exact = Int8Model(_as_float(weights), tokenizer, files.max_length)  # also sets the tokenizer's truncation
    write_int8(_graph({**weights, **_reaches(weights, tokenizer, watched)}), files.folder)
    rows = embedded.sigmoid(exact.run(list(reference)))
    stored = [
        {"statement": s, "text": t, "probabilities": [round(float(p), 4) for p in row]}
        for (s, t), row in zip(reference, rows, strict=True)
    ]
    (files.folder / "reference.json").write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def _reaches(weights: Weights, tokenizer: Tokenizer, texts: Iterable[tuple[str, str]]) -> dict[str, Floats]:
    """Returns the largest input of each channel of the feed-forward layers, as `NAME.reach`, for layers that exceed
    REACH."""
    layers = sum(name.endswith("intermediate.dense.weight") for name in weights)
    names = [f"encoder.layer.{n}.{part}.dense" for n in range(layers) for part in ("intermediate", "output")]
    session = _as_float(weights, names)
    found: dict[str, Floats] = {}
    for statement, text in texts:
        one = tokenizer.encode(statement, text)
        inputs = {"ids": [one.ids], "mask": [one.attention_mask], "types": [one.type_ids]}
        for name, x in zip(names, session.run([f"{n}.input" for n in names], inputs), strict=True):
            found[name] = np.maximum(found.get(name, 0), np.abs(x).max(axis=(0, 1)))
    return {f"{name}.reach": reach for name, reach in found.items() if reach.max() > REACH}


def _as_float(weights: Weights, shown_inputs: Sequence[str] = ()) -> Any:
    """Returns the model in float32 as a session of ONNX Runtime."""
    import onnxruntime

    return onnxruntime.InferenceSession(_graph(weights, shown_inputs).SerializeToString())


def _graph(weights: Weights, shown_inputs: Sequence[str] = ()) -> Any:
    heads = weights["relative.weight"].shape[1] if "relative.weight" in weights else HEADS
    return build_bert(weights, heads, "classifier", shown_inputs)


def _install(made: Path, folder: Path, fitted: dict[str, Any]) -> None:
    """Replaces a shipped model's files, and the fitted parts of its calibration."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("model*"):
        old.unlink()
    for file in made.iterdir():
        shutil.move(file, folder / file.name)
        (folder / file.name).chmod(0o644)
    stored = asdict(embedded.read_calibration()) | fitted
    (embedded.FOLDER / "calibration.json").write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
