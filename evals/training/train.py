"""`python -m evals judge-train`: trains a judge. Needs the extra `models` (torch, transformers).

The embedded judge (`evals/training/cross_encoder.py`):
    python -m evals judge-train --data DIR --out DIR
    python -m evals judge-pack --weights DIR --data DIR
Its closer reading, from its weights on, on sentences in their place, beside both statements or the question:
    python -m evals judge-train --data DIR --out DIR --encoder tools/weights/close_judge
    python -m evals judge-pack --weights DIR --data DIR

A stopped run goes on from its last checkpoint.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evals.training.data import load_corpus
from tools.errors import InputError, SettingsError

_PLAN = "plan.json"
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
_SENTENCES = {False: {"contrasts": 25.0, "disputes": 40.0}, True: {"contrasts": 60.0, "disputes": 180.0}}
"""What a judge of sentences draws beside these, in the broad and in the near part."""
_WHOLE = (0.15, 0.7)  # how often a passage stays whole, in the broad and in the near part


@dataclass
class Plan:
    """Settings of a run. Its length is told in tokens read, padding included, so that a slow machine trains no less."""

    millions: float = 14.0
    rate: float = 1.5e-4
    tokens: int = 3072
    warm_up: float = 0.03
    near_from: float = 0.3
    mean_from: float = 0.5
    """From here on, in shares of the whole, the weights are averaged; the mean is what is exported."""
    coarse_from: float = 0.6
    """From here on the model computes with inputs as coarse as int8."""
    nearness: float = 0.3
    """Weight of the second task: to tell the cosine of the encoder's vectors of statement and text."""
    told: float = 0.0
    """How often a pair's statement is read beside the contrary one, or as the question."""
    base: str = ""
    """The folder of the closer reading's model to go on from."""
    frozen: int = 0
    """How many of its layers stay as they are, and the embeddings with them."""
    sentences: bool = False
    """Whether passages are read in sentences only, as a judge of sentences will read them."""
    seed: int = 7
    measure_every: float = 10.0
    """Minutes of training between checkpoints."""

    def drawn(self, progress: float) -> tuple[dict[str, float], float]:
        """What is drawn from at a point of the run (0 to 1): the sets with their weights, and how often a passage stays
        whole."""
        near = progress >= self.near_from
        sets = _NEAR if near else _BROAD
        if self.sentences:
            return sets | _SENTENCES[near], 0.15
        return sets, _WHOLE[near]


_CLOSE: dict[str, Any] = {
    "millions": 3.0, "rate": 5e-5, "tokens": 2048, "frozen": 3, "told": 0.7, "nearness": 0.0, "near_from": 0.0,
    "mean_from": 0.6, "sentences": True,
}  # fmt: skip
"""The plan of the closer reading's model where it differs: read on sentences, mostly beside both statements."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="the folder that holds judge/ and berds/")
    add("--out", type=Path, required=True, metavar="DIR", help="checkpoints, log and weights; a stopped run goes on")
    add("--seed", type=int, default=7, metavar="N", help="of the split's samples, the order and the new weights")
    add("--rate", type=float, metavar="R", help="the highest learning rate")
    add("--millions", type=float, metavar="N", help="millions of tokens to read (default: 14 or 3)")
    add("--encoder", type=Path, metavar="DIR", help="the closer reading, from its weights here on")


def run(args: argparse.Namespace) -> int:
    """Trains until the plan is done; needs the extra 'models'. Raises SettingsError, InputError."""
    if missing := [name for name in ("torch", "transformers") if find_spec(name) is None]:
        raise SettingsError(f"{missing[0]} is not installed. Install the extra 'models': pip install -e '.[models]'")
    _check(args)
    corpus = load_corpus(args.data, args.seed)
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise InputError(f"{args.out} cannot be made a folder ({exc.strerror or exc}).") from exc
    from evals.training import cross_encoder

    usual = _CLOSE | {"base": str(args.encoder.resolve())} if args.encoder else {}
    options = ("millions", "rate", "seed")
    plan = Plan(**usual | {name: value for name in options if (value := getattr(args, name)) is not None})
    _check_plan(args.out, {**asdict(plan), "data": corpus.digest()})
    cross_encoder.train(cross_encoder.start(plan, corpus, args.out))
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raises InputError for options that cannot be."""
    if args.encoder and not any((args.encoder / name).is_file() for name in ("model.onnx", "model.safetensors")):
        raise InputError(f"{args.encoder} holds no weights of the closer reading (tools/weights/close_judge does).")
    for name in ("rate", "millions"):
        if (value := getattr(args, name)) is not None and value <= 0:
            raise InputError(f"--{name} has to be more than 0, not {value}.")
    if not (args.data / "judge" / "train").is_dir():
        raise InputError(f"{args.data} has no folder judge/train. Name the folder that holds judge/ and berds/.")


def _check_plan(out: Path, plan: dict[str, Any]) -> None:
    """Raises InputError where `out` holds a checkpoint of another plan or of other data."""
    path = out / _PLAN
    begun = json.loads(path.read_text(encoding="utf-8")) if path.exists() and any(out.glob("checkpoint*")) else plan
    if other := sorted(name for name in {*begun, *plan} if begun.get(name) != plan.get(name)):
        was, now = begun.get(other[0]), plan.get(other[0])
        raise InputError(
            f"{out} was begun with another plan ({other[0]} was {was!r}, is {now!r}). "
            "Name another folder, or go on with what it was begun with."
        )
    path.write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")
