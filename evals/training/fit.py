"""The judge of features (`evals/training/features.py`), fitted and measured: what the trained judge has to beat.

`python -m evals judge-fit --data DIR`. The network is chosen by nothing but the seed and the plan below.
"""

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evals.training.data import Example, hard, load_corpus
from evals.training.features import FEATURES, GROUPS, FeatureModel, features
from evals.training.metrics import best_f1, roc_auc, stance_accuracy

if TYPE_CHECKING:
    from tools.encoders.encoder import Encoder

_SETS = {
    "read_labels": 1800, "argkp_topic": 900, "berds": 900,
    "procon20": 500, "arc_stance": 400, "arguana": 500, "theperspective": 300,
    "argkp21": 400, "ibm_gpr_sentence": 300, "perspectrum_support": 300,
}  # fmt: skip
_HIDDEN = 16


def sample(corpus: dict[str, list[Example]], share: float, seed: int) -> list[Example]:
    """Examples with a sure label, of each set its number times `share`."""
    rng = random.Random(seed)
    chosen = []
    for name, wanted in _SETS.items():
        known = hard(corpus[name])
        chosen += rng.sample(known, min(round(wanted * share), len(known)))
    return chosen


def fit(x: NDArray[np.float32], labels: NDArray[np.int64], seed: int) -> FeatureModel:
    """A network of one hidden layer (16 units, tanh), with weight decay and early stopping."""
    from sklearn.neural_network import MLPClassifier

    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-6
    network = MLPClassifier(
        (_HIDDEN,),
        activation="tanh",
        alpha=0.01,
        early_stopping=True,
        validation_fraction=0.15,
        n_iter_no_change=12,
        max_iter=200,
        random_state=seed,
    )
    network.fit((x - mean) / scale, labels)
    hidden, output = (np.asarray(w, np.float32) for w in network.coefs_)
    hidden_bias, output_bias = (np.asarray(b, np.float32) for b in network.intercepts_)
    return FeatureModel(mean, scale, hidden, hidden_bias, output, output_bias)


def measure(
    p: NDArray[np.float32], examples: Sequence[Example], developed: NDArray[np.float32], truth: NDArray[np.bool_]
) -> dict[str, float]:
    """Stance accuracy on held-out sentences and passages, and the development pairs' AUC and best F1."""
    labels = np.array([e.label for e in examples])
    short = np.array([e.is_sentence for e in examples])
    found = {"dev_auc": roc_auc(truth, developed[:, 0]), "dev_f1": best_f1(truth, developed[:, 0])[0]}
    for kind, rows in (("sentences", short), ("passages", ~short)):
        found[kind] = stance_accuracy(labels[rows], p[rows])
        found[f"{kind}_25"] = stance_accuracy(labels[rows], p[rows], 0.25)
        found[f"{kind}_auc"] = roc_auc(labels[rows] == 0, p[rows][:, 0])
    return {name: round(value, 3) for name, value in found.items()}


def ablation(data: Path, encoder: "Encoder", seed: int) -> list[dict[str, object]]:
    """A table: all features, each group alone, all without each group."""
    corpus = load_corpus(data, seed)
    training, held = sample(corpus.training, 1.0, seed), sample(corpus.held_out, 0.25, seed)
    x, held_x = (features([(e.statement, e.text) for e in part], encoder) for part in (training, held))
    dev_x = features([(s, t) for s, t, _ in corpus.development], encoder)
    labels = np.array([e.label for e in training])
    truth = np.array([y for _, _, y in corpus.development], bool)
    plans = {"all": list(FEATURES)}
    plans |= {f"only {g}": list(names) for g, names in GROUPS.items()}
    plans |= {f"without {g}": [f for f in FEATURES if f not in names] for g, names in GROUPS.items()}
    table: list[dict[str, object]] = []
    for plan, names in plans.items():
        columns = [FEATURES.index(f) for f in names]
        model = fit(x[:, columns], labels, seed)
        table.append(
            {
                "features": plan,
                **measure(model.classify(held_x[:, columns]), held, model.classify(dev_x[:, columns]), truth),
            }
        )
    return table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="the folder that holds judge/ and berds/"
    )
    parser.add_argument("--seed", type=int, default=0)


def run(args: argparse.Namespace) -> int:
    """Prints a line for all features, for each group alone and for all without it."""
    from agent.settings import load_settings
    from tools.encoders.encoder import load_encoder

    for row in ablation(args.data, load_encoder(load_settings().cache_dir), args.seed):
        print(json.dumps(row))
    return 0
