"""`python -m evals judge-train`: trains a judge. Needs the extra `models` (torch, transformers).

To train the embedded judge from all-MiniLM-L6-v2:
    python -m evals judge-train --data DIR --out RUN
    python -m evals judge-pack --weights RUN --data DIR
To train the larger judge (the closer reading) from its shipped weights, on sentences in their context:
    python -m evals judge-train --data DIR --out RUN --encoder tools/weights/close_judge
    python -m evals judge-pack --weights RUN --data DIR

A stopped run resumes from its last checkpoint.
"""

import argparse
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evals.training.data import load_corpus
from tools.errors import InputError, SettingsError

_BROAD = {
    "polarities": 12.0, "argkp_topic": 14, "argkp21": 7, "berds": 13,
    "arguana": 6, "arc_stance": 6, "procon20": 8, "read_labels": 8,
    "ibm_gpr_sentence": 3, "ibm_ce_emnlp15": 4, "arc_gist": 2, "debatepedia": 4, "climate_fever": 4, "healthver": 3,
    "perspectrum_support": 5, "theperspective": 3, "fnc_arc": 2, "iam_window": 3, "vast_sentswap": 0.5, "wice": 0.5,
    "control": 1, "claimdiff": 1, "perspectrum_amt_pilot": 0.2, "corrections": 4,
}  # fmt: skip
_NEAR = {
    "read_labels": 28.0, "readings": 32, "read_sentences": 22, "written": 24, "berds": 10, "procon20": 8,
    "argkp_topic": 8, "arguana": 5, "polarities": 4, "arc_stance": 6, "perspectrum_support": 5, "theperspective": 3,
    "argkp21": 3, "iam_window": 2, "ibm_ce_emnlp15": 3, "ibm_gpr_sentence": 2, "debatepedia": 2, "climate_fever": 3,
    "healthver": 2, "corrections": 8,
}  # fmt: skip
_CLOSE = _NEAR | {"contrasts": 60.0, "disputes": 180.0}


@dataclass
class TrainingPlan:
    """Settings of a run. Progress is the number of tokens read, with padding, as a share of `millions`."""

    millions: float = 14.0
    rate: float = 1.5e-4
    tokens: int = 3072  # of a batch
    near_from: float = 0.3  # progress at which the mixture changes to data sets like the agent's input
    mean_from: float = 0.5  # progress from which steps count in the exported mean of weights
    coarse_from: float = 0.6  # progress from which training rounds products' inputs as int8 does
    nearness: float = 0.3  # weight of the second task: predict the cosine of the encoder's vectors
    joint: float = 0.0  # probability that the model reads both statements, or a question
    base: str = ""  # folder of the closer reading's weights; empty: train the small judge
    frozen: int = 0  # layers that stay unchanged, with the embeddings
    seed: int = 7

    def mixture(self, progress: float) -> tuple[dict[str, float], float]:
        """Returns the weights of the data sets, and the probability that a passage stays whole. The larger judge reads
        mainly sentences."""
        if self.base:
            return _CLOSE, 0.15
        return (_NEAR, 0.7) if progress >= self.near_from else (_BROAD, 0.15)


_CLOSE_PLAN: dict[str, Any] = {
    "millions": 3.0, "rate": 5e-5, "tokens": 2048, "frozen": 3, "joint": 0.7, "nearness": 0.0, "mean_from": 0.6
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder with judge/ and berds/")
    add("--out", type=Path, required=True, metavar="DIR", help="folder for checkpoints, log and weights")
    add("--seed", type=int, default=7, metavar="N", help="seed of the samples, their order and the new weights")
    add("--rate", type=float, metavar="R", help="highest learning rate")
    add("--millions", type=float, metavar="N", help="millions of tokens to read (default: 14 or 3)")
    add("--encoder", type=Path, metavar="DIR", help="train the closer reading, from these weights")


def run(args: argparse.Namespace) -> int:
    """Trains to the end of the plan. Raises SettingsError, InputError."""
    if missing := [name for name in ("torch", "transformers") if find_spec(name) is None]:
        raise SettingsError(f"{missing[0]} is not installed. Install the extra 'models': pip install -e '.[models]'")
    _check(args)
    corpus = load_corpus(args.data, args.seed)
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise InputError(f"cannot make the folder {args.out} ({exc.strerror or exc}).") from exc
    from evals.training import training_loop

    usual = _CLOSE_PLAN | {"base": str(args.encoder.resolve())} if args.encoder else {}
    given = {name: getattr(args, name) for name in ("millions", "rate", "seed")}
    plan = TrainingPlan(**usual | {name: value for name, value in given.items() if value is not None})
    training_loop.train(training_loop.start(plan, corpus, args.out))
    return 0


def _check(args: argparse.Namespace) -> None:
    """Checks the arguments. Raises InputError."""
    if args.encoder and not any((args.encoder / name).is_file() for name in ("model.onnx", "model.safetensors")):
        raise InputError(f"{args.encoder} has no weights of the closer reading. Use tools/weights/close_judge.")
    for name in ("rate", "millions"):
        if (value := getattr(args, name)) is not None and value <= 0:
            raise InputError(f"--{name} must be greater than 0, not {value}.")
    if not (args.data / "judge" / "train").is_dir():
        raise InputError(f"{args.data} has no folder judge/train. Name the folder with judge/ and berds/.")
