"""Puts a trained judge into the repository: its int8 graph, calibration, thresholds, reference outputs.

`python -m evals judge-pack --weights RUN --data DIR` reads what `judge-train` wrote. Calibration
and thresholds come from development pairs, held-out questions and the samples, on the int8 model as it will run.
"""

import argparse
import json
import random
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.datasets.pairs import contraries, load_pairs
from evals.metrics.classification import roc_auc, stance_accuracy
from evals.training.answers import fit_answers
from evals.training.data import LABELS, Corpus, hard, load_corpus
from evals.training.graph import build_bert, write_int8
from evals.training.packing import (
    Reader,
    as_float,
    fit,
    pack_close,
    packed_figures,
    put_in_place,
    reaches,
    read_trained,
    reference,
)
from tools.inference.int8 import Int8Model, load_model
from tools.inference.judges.embedded import (
    FOLDER,
    MAX_LENGTH,
    Calibration,
    EmbeddedJudge,
    judge_files,
    read_calibration,
    sigmoid,
)
from tools.inference.judges.judge import Pair, side_score, tidy

Cases = list[tuple[Pair, bool]]
"""Pairs, and whether the text supports the statement."""
WRONG_SIDE = 0.07
"""Share of the samples' accepted sentences that may stand on the wrong side: sets the threshold for showing one."""
_WATCHED = 300
"""Pairs on which the reach of the channels, and the distance of int8 from float32, are seen."""
_LEAST_SIDED, _MOST_SIDED = 20, 300
"""Pairs of a set of which it is said how often their side is told."""
_BETA = 0.5  # a passage that is counted wrongly harms more than one that is missed

_REFERENCE = (
    ("Nuclear power is safe.", "Reactors have many barriers, and a single fault cannot breach them all."),
    ("Nuclear power is safe.", "One accident can make a whole region unfit to live in for generations."),
    ("Zoos should be closed.", "The train leaves from another platform today."),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--weights", type=Path, metavar="DIR", help="a run of judge-train")
    which.add_argument("--answers", action="store_true", help="pack nothing: fit how a question's answers are read")
    which.add_argument("--packed", action="store_true", help="pack nothing: the closer reading's figures, as it ships")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="the folder that holds judge/ and berds/"
    )
    parser.add_argument("--seed", type=int, default=7)


def run(args: argparse.Namespace) -> int:
    """Writes the folder `tools/weights/judge` and prints the figures that go into its model card.

    Raises InputError; the folder changes only when everything is there.
    """
    if args.answers:
        print(json.dumps(fit_answers(load_corpus(args.data, args.seed)), indent=1))
        return 0
    if args.packed:
        print(json.dumps(packed_figures(load_corpus(args.data, args.seed)), indent=1))
        return 0
    weights, tokenizer = read_trained(args.weights)
    if "relative.weight" in weights:  # the larger model, which reads two statements at once
        figures = pack_close(weights, tokenizer, load_corpus(args.data, args.seed))
        print(json.dumps(figures, indent=1))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "judge"
        made.mkdir()
        reader = Reader(judge_files().tokenizer, MAX_LENGTH)
        corpus = load_corpus(args.data, args.seed)
        held = held_out_cases(corpus)
        weights |= reaches(weights, reader, [(pair.statement, tidy(pair.text)) for pair, _ in held[:_WATCHED]])
        write_int8(build_bert(weights, reader.heads, "classifier"), made)
        model = load_model(judge_files(made), lambda _: True, "judge")
        calibration, figures = calibrate(model, development_cases(args.data), held)
        figures |= _rounded(stances(model, corpus) | int8_distance(model, weights, reader, calibration))
        (made / "calibration.json").write_text(json.dumps(asdict(calibration), indent=1) + "\n", encoding="utf-8")
        (made / "reference.json").write_text(reference(weights, reader, _REFERENCE), encoding="utf-8")
        put_in_place(made, FOLDER)
    print(json.dumps(figures, indent=1))
    print("The closer reading weighs this model's logits too: pack that again (docs/decisions/0017).", file=sys.stderr)
    return 0


def calibrate(model: Int8Model, developed: Cases, held: Cases) -> tuple[Calibration, dict[str, float]]:
    """Both regressions and the threshold of passages (best F-beta) on development pairs and held-out passages together;
    that of sentences by how many of the samples' may stand on the wrong side."""
    cases = [*developed, *held]
    truth = np.array([label for _, label in cases], bool)
    own = model.run([(pair.statement, tidy(pair.text)) for pair, _ in cases])
    other = model.run([(pair.contrary, tidy(pair.text)) for pair, _ in cases])
    weights, weights_told = fit(own, truth, (1, -1)), fit(np.hstack([own, other]), truth, (1, -1, -1, 1))
    fitted = Calibration(weights, weights_told, 0.5, 0.5, *_stored())
    judge = EmbeddedJudge(model, "", fitted)
    told = judge.score([pair for pair, _ in cases])
    alone = judge.score([replace(pair, contrary="") for pair, _ in cases])
    threshold = round(best_threshold(truth, told, _BETA), 4)
    labels, scores = sentence_scores(judge)
    sentence_threshold = round(max(threshold, lowest_threshold(labels, scores, WRONG_SIDE)), 4)
    accepted, n = scores >= sentence_threshold, len(developed)
    figures = {
        **_figures("development", truth[:n], alone[:n], threshold),
        **_figures("development_told", truth[:n], told[:n], threshold),
        **_figures("held_out", truth[n:], alone[n:], threshold),
        **_figures("held_out_told", truth[n:], told[n:], threshold),
        "sentences_accepted": float(accepted[labels == 0].mean()),
        "sentences_wrong_side": float(np.sum(labels[accepted] == 1) / max(1, np.sum(labels[accepted] != 2))),
        "threshold": threshold,
        "sentence_threshold": sentence_threshold,
    }
    return replace(fitted, threshold=threshold, sentence_threshold=sentence_threshold), _rounded(figures)


def _stored() -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """The regressions of the closer reading and of answers as they are stored; both models alike where nothing is."""
    try:
        known = read_calibration()
    except FileNotFoundError:
        return (0.5, 0.5, 0.0), (1.0, 0.0, 0.0), (0.5, 0.5, 0.0)
    return known.close, known.answer, known.answer_close


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in figures.items()}


def _figures(name: str, truth: NDArray[np.bool_], scores: NDArray[np.float32], threshold: float) -> dict[str, float]:
    chosen = scores >= threshold
    return {
        f"{name}_auc": roc_auc(truth, scores),
        f"{name}_f1": 2 * float(np.sum(chosen & truth)) / max(1, int(chosen.sum() + truth.sum())),
        f"{name}_accuracy": float(np.mean(chosen == truth)),
    }


def int8_distance(
    model: Int8Model, weights: dict[str, NDArray[np.float32]], reader: Reader, calibration: Calibration
) -> dict[str, float]:
    """How far the int8 model is from the float one on the samples' passages: the mean difference of the probability of
    support, and the share of decisions that agree."""
    pairs = list(dict.fromkeys((p.statement, tidy(p.text)) for _, p, _ in sample_sentences()))[:_WATCHED]
    session, tokenizer = as_float(weights, reader)
    exactly = Int8Model(session, tokenizer, reader.max_length)
    alone = np.array(calibration.alone, np.float32)
    coarse, exact = (sigmoid(m.run(pairs) @ alone[:2] + alone[2]) for m in (model, exactly))
    alike = (coarse >= calibration.threshold) == (exact >= calibration.threshold)
    return {"int8_distance": float(np.abs(coarse - exact).mean()), "int8_alike": float(alike.mean())}


def stances(model: Int8Model, corpus: Corpus) -> dict[str, float]:
    """How often support is told from opposition on held-out questions, by data set and over all their pairs."""
    found: dict[str, float] = {}
    right, pairs = 0.0, 0
    for name, held in sorted(corpus.held_out.items()):
        sided = [e for e in hard(held) if e.label != LABELS.index("none")]
        if len(sided) < _LEAST_SIDED:
            continue
        chosen = random.Random(name).sample(sided, min(_MOST_SIDED, len(sided)))
        labels = np.array([e.label for e in chosen])
        found[f"stance_{name}"] = stance_accuracy(labels, sigmoid(model.run([(e.statement, e.text) for e in chosen])))
        right, pairs = right + found[f"stance_{name}"] * len(chosen), pairs + len(chosen)
    return {**found, "stance": right / pairs} if pairs else {}


def development_cases(data: Path) -> Cases:
    """The human-labelled development pairs, each with the question's other perspective."""
    pairs = load_pairs(data / "judge" / "berds_pairs.dev.jsonl")
    opposite = contraries(pairs)
    return [(Pair(p.perspective, p.document, opposite.get((p.question, p.perspective), "")), p.label) for p in pairs]


def held_out_cases(corpus: Corpus) -> Cases:
    """Passages labelled by reading, of held-out questions, each with the question's other statement."""
    held = corpus.held_out.get("read_labels", [])
    statements: dict[str, set[str]] = {}
    for e in held:
        statements.setdefault(e.group, set()).add(e.statement)
    two = {group: found for group, found in statements.items() if len(found) == 2}
    return [
        (Pair(e.statement, e.text, next(iter(two[e.group] - {e.statement}))), e.label == 0)
        for e in held
        if e.group in two
    ]


def sentence_scores(judge: EmbeddedJudge) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The samples' sentences: their labels (0: their own side, 1: the other one) and how surely they serve it."""
    sentences = sample_sentences()
    single = judge.score([p for sentence, passage, _ in sentences for p in (sentence, passage)]).reshape(-1, 2)
    scores = np.array([side_score(float(s), float(p)) for s, p in single], np.float32)
    return np.array([label for *_, label in sentences]), scores


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


def sample_sentences() -> list[tuple[Pair, Pair, int]]:
    """The samples' sentences that stand alone, each with its passage: for their own side (0: support) and for the other
    one (1: oppose)."""
    from agent.samples import FOLDER
    from evals.datasets.cases import Side, load_samples
    from tools.ingest.markdown import read_markdown
    from tools.language.question import ANSWERS, read_question
    from tools.language.quotable import stands_alone
    from tools.language.sentences import split_sentences

    pairs: list[tuple[Pair, Pair, int]] = []
    for case in load_samples().cases:
        if not (words := ANSWERS.get(read_question(case.question).kind)):
            continue
        yes, no = (f"{word}: {case.question}" for word in words)
        sides: dict[Side, tuple[str, str]] = {"supports": (yes, no), "opposes": (no, yes)}
        for stance, (own, other) in sides.items():
            for name in sorted(case.gold[stance]):
                document = next(read_markdown(FOLDER.parent / name, name))
                for sentence in filter(stands_alone, split_sentences(document.text)):
                    for label, (side, contrary) in enumerate(((own, other), (other, own))):
                        texts = (sentence, document.text)
                        part, whole = (Pair(side, text, contrary, form="answer") for text in texts)
                        pairs.append((part, whole, label))
    return pairs
