"""Puts a trained judge into the repository: its int8 graph, calibration, thresholds, reference outputs.

`python -m evals judge-pack --weights RUN --data DIR` reads what `judge-train` wrote. Calibration
and thresholds come from development pairs, held-out questions and the samples, on the int8 model as it will run.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.datasets.pairs import contraries
from evals.metrics.classification import NONE, best_f, roc_auc, yes_or_no
from evals.training import packing
from evals.training.data import Corpus, load_corpus
from evals.training.examples import hard
from evals.training.graph import build_bert, write_int8
from tools.models.int8 import Int8Model, load_model
from tools.models.judges import embedded
from tools.models.judges.judge import Pair, judged_text, side_score

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
    which.add_argument(
        "--weights", type=Path, nargs="+", metavar="DIR", help="a run of judge-train, or several for their mean"
    )
    which.add_argument("--packed", action="store_true", help="pack nothing: the closer reading's figures, as it ships")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="the folder that holds judge/ and berds/"
    )
    parser.add_argument("--seed", type=int, default=7)


def run(args: argparse.Namespace) -> int:
    """Writes the folder `tools/weights/judge` and prints the figures that go into its model card.

    Raises InputError; the folder changes only when everything is there.
    """
    weights, tokenizer = packing.read_trained(args.weights) if args.weights else ({}, Path())
    corpus = load_corpus(args.data, args.seed)
    if args.packed:
        figures = packing.calibrate_close(corpus, *packing.both_models())[1]
    elif "relative.weight" in weights:  # the larger model, which reads two statements at once
        figures = packing.pack_close(weights, tokenizer, corpus)
    else:
        figures = pack_small(weights, corpus)
    print(json.dumps(figures, indent=1))
    if weights and "relative.weight" not in weights:
        again = "The closer reading weighs this model's logits too: pack that again (docs/decisions/0017)."
        print(again, file=sys.stderr)
    return 0


def pack_small(weights: dict[str, NDArray[np.float32]], corpus: Corpus) -> dict[str, float]:
    """Writes the files of the embedded judge, and gives the figures."""
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "judge"
        made.mkdir()
        reader = packing.Reader(embedded.judge_files().tokenizer, embedded.MAX_LENGTH)
        held = held_out_cases(corpus)
        weights |= packing.reaches(
            weights, reader, [(pair.statement, judged_text(pair.text)) for pair, _ in held[:_WATCHED]]
        )
        write_int8(build_bert(weights, reader.heads, "classifier"), made)
        model = load_model(embedded.judge_files(made), lambda _: True, "judge")
        opposite = contraries(corpus.development)
        developed = [(Pair(p.perspective, p.document, opposite.get(p.side, "")), p.label) for p in corpus.development]
        calibration, figures = calibrate(model, developed, held)
        figures |= packing.rounded(stances(model, corpus) | int8_distance(model, weights, reader, calibration))
        (made / "calibration.json").write_text(json.dumps(asdict(calibration), indent=1) + "\n", encoding="utf-8")
        (made / "reference.json").write_text(packing.reference(weights, reader, _REFERENCE), encoding="utf-8")
        packing.put_in_place(made, embedded.FOLDER)
    return figures


def calibrate(model: Int8Model, developed: Cases, held: Cases) -> tuple[embedded.Calibration, dict[str, float]]:
    """Both regressions and the threshold of passages (best F-beta) on development pairs and held-out passages together;
    that of sentences by how many of the samples' may stand on the wrong side."""
    cases = [*developed, *held]
    truth = np.array([label for _, label in cases], bool)
    own = model.run([(pair.statement, judged_text(pair.text)) for pair, _ in cases])
    other = model.run([(pair.contrary, judged_text(pair.text)) for pair, _ in cases])
    weights = packing.fit(own, truth, (1, -1))
    weights_told = packing.fit(np.hstack([own, other]), truth, (1, -1, -1, 1))
    known = embedded.read_calibration()  # of the closer reading and of answers, which are fitted apart
    fitted = replace(known, alone=weights, told=weights_told)
    judge = embedded.EmbeddedJudge(model, "", fitted)
    told = judge.score([pair for pair, _ in cases])
    alone = judge.score([replace(pair, contrary="") for pair, _ in cases])
    threshold = round(best_f(truth, told, _BETA)[1], 4)
    labels, scores = sentence_scores(judge)
    sentence_threshold = round(max(threshold, lowest_threshold(labels, scores, WRONG_SIDE)), 4)
    accepted, n = scores >= sentence_threshold, len(developed)
    figures = {
        **_figures("development", truth[:n], alone[:n], threshold),
        **_figures("development_told", truth[:n], told[:n], threshold),
        **_figures("held_out", truth[n:], alone[n:], threshold),
        **_figures("held_out_told", truth[n:], told[n:], threshold),
        "sentences_accepted": float(accepted[labels == 0].mean()),
        "sentences_wrong_side": float(np.sum(labels[accepted] == 1) / max(1, accepted.sum())),
        "threshold": threshold,
        "sentence_threshold": sentence_threshold,
    }
    return replace(fitted, threshold=threshold, sentence_threshold=sentence_threshold), packing.rounded(figures)


def _figures(name: str, truth: NDArray[np.bool_], scores: NDArray[np.float32], threshold: float) -> dict[str, float]:
    found = yes_or_no(truth, scores >= threshold)
    told = {f"{name}_{measure}": found[measure].value for measure in ("f1", "accuracy")}
    return {f"{name}_auc": roc_auc(truth, scores)} | told


def int8_distance(
    model: Int8Model, weights: dict[str, NDArray[np.float32]], reader: packing.Reader, calibration: embedded.Calibration
) -> dict[str, float]:
    """How far the int8 model is from the float one on the samples' passages: the mean difference of the probability of
    support, and the share of decisions that agree."""
    pairs = list(dict.fromkeys((p.statement, judged_text(p.text)) for _, p, _ in sample_sentences()))[:_WATCHED]
    session, tokenizer = packing.as_float(weights, reader)
    exactly = Int8Model(session, tokenizer, reader.max_length)
    alone = np.array(calibration.alone, np.float32)
    coarse, exact = (embedded.sigmoid(m.run(pairs) @ alone[:2] + alone[2]) for m in (model, exactly))
    alike = (coarse >= calibration.threshold) == (exact >= calibration.threshold)
    return {"int8_distance": float(np.abs(coarse - exact).mean()), "int8_alike": float(alike.mean())}


def stances(model: Int8Model, corpus: Corpus) -> dict[str, float]:
    """How often support is told from opposition on held-out questions, by data set and over all their pairs."""
    sided = {name: [e for e in hard(held) if e.label != NONE] for name, held in sorted(corpus.held_out.items())}
    sided = {name: held for name, held in sided.items() if len(held) >= _LEAST_SIDED}
    found = {
        name: packing.side_told(name, held, _MOST_SIDED, lambda texts: embedded.sigmoid(model.run(texts)))
        for name, held in sided.items()
    }
    counts = {name: min(_MOST_SIDED, len(held)) for name, held in sided.items()}
    whole = sum(found[name] * count for name, count in counts.items()) / max(1, sum(counts.values()))
    return {f"stance_{name}": share for name, share in found.items()} | ({"stance": whole} if found else {})


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


def sentence_scores(judge: embedded.EmbeddedJudge) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The samples' sentences: their labels (0: their own side, 1: the other one) and how surely they serve it."""
    sentences = sample_sentences()
    single = judge.score([p for sentence, passage, _ in sentences for p in (sentence, passage)]).reshape(-1, 2)
    scores = np.array([side_score(float(s), float(p)) for s, p in single], np.float32)
    return np.array([label for *_, label in sentences]), scores


def lowest_threshold(labels: NDArray[np.int64], scores: NDArray[np.float32], wrong_side: float) -> float:
    """The lowest threshold from which on at most `wrong_side` of the accepted oppose."""
    for threshold in np.arange(0.05, 0.99, 0.01):
        chosen = labels[scores >= threshold]
        if chosen.size and np.sum(chosen == 1) <= wrong_side * chosen.size:
            return float(threshold)
    return 0.99


def sample_sentences() -> list[tuple[Pair, Pair, int]]:
    """The samples' sentences that stand alone, each with its passage: for their own side (0: support) and for the other
    one (1: oppose)."""
    from agent.samples import FOLDER
    from evals.datasets.cases import Side, load_samples
    from evals.models import question_of
    from tools.documents.markdown import markdown_document
    from tools.language.question import ANSWERS
    from tools.language.quotable import stands_alone
    from tools.language.sentences import split_sentences

    pairs: list[tuple[Pair, Pair, int]] = []
    for case in load_samples().cases:
        if not (words := ANSWERS.get(question_of(case.question).kind)):
            continue
        yes, no = (f"{word}: {case.question}" for word in words)
        sides: dict[Side, tuple[str, str]] = {"supports": (yes, no), "opposes": (no, yes)}
        for stance, (own, other) in sides.items():
            for name in sorted(case.gold[stance]):
                document, _ = markdown_document((FOLDER.parent / name).read_text(encoding="utf-8"), name)
                for sentence in filter(stands_alone, split_sentences(document.text)):
                    for label, (side, contrary) in enumerate(((own, other), (other, own))):
                        texts = (sentence, document.text)
                        part, whole = (Pair(side, text, contrary, form="answer") for text in texts)
                        pairs.append((part, whole, label))
    return pairs
