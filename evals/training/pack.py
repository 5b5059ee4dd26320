"""Puts a trained judge into the repository: its int8 graph, calibration, threshold, reference outputs.

`python -m evals judge-pack --weights RUN --data DIR` reads what `judge-train` wrote. Calibration
and threshold come from development pairs and held-out questions, on the int8 model as it will run.
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
from evals.metrics.classification import best_f, roc_auc, yes_or_no
from evals.training import packing
from evals.training.data import Corpus, load_corpus
from evals.training.graph import build_bert, write_int8
from tools.models.int8 import Int8Model, load_model
from tools.models.judges import embedded
from tools.models.judges.judge import Pair, judged_text

Cases = list[tuple[Pair, bool]]
"""Pairs, and whether the text supports the statement."""
_WATCHED = 300
"""Pairs on which the reach of the channels is seen."""
_BETA = 0.5  # a passage that is counted wrongly harms more than one that is missed

_REFERENCE = (
    ("Nuclear power is safe.", "Reactors have many barriers, and a single fault cannot breach them all."),
    ("Nuclear power is safe.", "One accident can make a whole region unfit to live in for generations."),
    ("Zoos should be closed.", "The train leaves from another platform today."),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    runs = "a run of judge-train, or several for their mean"
    which.add_argument("--weights", type=Path, nargs="+", metavar="DIR", help=runs)
    which.add_argument("--packed", action="store_true", help="pack nothing: the closer reading's figures, as it ships")
    data = "the folder that holds judge/ and berds/"
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help=data)
    parser.add_argument("--seed", type=int, default=7)


def run(args: argparse.Namespace) -> int:
    """Writes the folder `tools/weights/judge` and prints the figures that go into its model card.

    Raises InputError; the folder changes only when everything is there.
    """
    weights, tokenizer = packing.read_trained(args.weights) if args.weights else ({}, Path())
    corpus = load_corpus(args.data, args.seed)
    if args.packed:
        figures = packing.calibrate_close(corpus, embedded.load_larger_model())[1]
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
        watched = [(pair.statement, judged_text(pair.text)) for pair, _ in held[:_WATCHED]]
        weights |= packing.reaches(weights, reader, watched)
        write_int8(build_bert(weights, reader.heads, "classifier"), made)
        model = load_model(embedded.judge_files(made), lambda _: True, "judge")
        opposite = contraries(corpus.development)
        developed = [(Pair(p.perspective, p.document, opposite.get(p.side, "")), p.label) for p in corpus.development]
        calibration, figures = calibrate(model, developed, held)
        (made / "calibration.json").write_text(json.dumps(asdict(calibration), indent=1) + "\n", encoding="utf-8")
        (made / "reference.json").write_text(packing.reference(weights, reader, _REFERENCE), encoding="utf-8")
        packing.put_in_place(made, embedded.FOLDER)
    return figures


def calibrate(model: Int8Model, developed: Cases, held: Cases) -> tuple[embedded.Calibration, dict[str, float]]:
    """Both regressions and the threshold (best F-beta) on development pairs and held-out passages together."""
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
    n = len(developed)
    figures = {
        **_figures("held_out", truth[n:], alone[n:], threshold),
        **_figures("held_out_told", truth[n:], told[n:], threshold),
        "threshold": threshold,
    }
    return replace(fitted, threshold=threshold), packing.rounded(figures)


def _figures(name: str, truth: NDArray[np.bool_], scores: NDArray[np.float32], threshold: float) -> dict[str, float]:
    found = yes_or_no(truth, scores >= threshold)
    told = {f"{name}_{measure}": found[measure].value for measure in ("f1", "accuracy")}
    return {f"{name}_auc": roc_auc(truth, scores)} | told


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
