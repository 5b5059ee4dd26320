"""`python -m evals judge-train`: trains a judge. Needs the extra `models` (torch, transformers).

The embedded judge (`evals/training/cross_encoder.py`):
    python -m evals judge-train --data DIR --out DIR
    python -m evals judge-pack --weights DIR --data DIR
Its closer reading, the first layers of a larger encoder, on sentences beside both statements:
    python -m evals judge-train --data DIR --out DIR --encoder FOLDER
    python -m evals judge-pack --weights DIR --data DIR

A stopped run goes on from its last checkpoint.
"""

import argparse
import json
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evals.training.data import load_corpus
from evals.training.plan import Plan, close_plan
from tools.errors import InputError, SettingsError

_PLAN = "plan.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="the folder that holds judge/ and berds/")
    add("--out", type=Path, required=True, metavar="DIR", help="checkpoints, log and weights; a stopped run goes on")
    add("--seed", type=int, default=7, metavar="N", help="of the split's samples, the order and the new weights")
    add("--rate", type=float, metavar="R", help="the highest learning rate")
    add("--millions", type=float, metavar="N", help="millions of tokens to read (default: 14 or 3)")
    add("--encoder", type=Path, metavar="DIR", help="this MPNet encoder, for the closer reading")
    add("--layers", type=int, metavar="N", help="how many of its layers are kept (default: 8)")
    add("--frozen", type=int, metavar="N", help="how many of them stay as they are (default: 3)")


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

    plan = Plan(**_given(args, "millions", "rate", "seed"))
    if args.encoder:
        plan = close_plan(str(args.encoder.resolve()), **_given(args, "millions", "rate", "seed", "layers", "frozen"))
    _check_plan(args.out, {**asdict(plan), "data": corpus.digest()})
    cross_encoder.train(cross_encoder.start(plan, corpus, args.out), corpus)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raises InputError for options that do not go together, or cannot be."""
    if closer := [name for name in ("layers", "frozen") if getattr(args, name) is not None and not args.encoder]:
        raise InputError(f"--{closer[0]} is for the closer reading. Name its encoder: --encoder FOLDER.")
    if args.encoder and not all((args.encoder / name).is_file() for name in ("config.json", "tokenizer.json")):
        raise InputError(f"{args.encoder} holds no encoder (config.json, model.safetensors, tokenizer.json).")
    for name in ("rate", "millions"):
        if (value := getattr(args, name)) is not None and value <= 0:
            raise InputError(f"--{name} has to be more than 0, not {value}.")
    if not (args.data / "judge" / "train").is_dir():
        raise InputError(f"{args.data} has no folder judge/train. Name the folder that holds judge/ and berds/.")


def _given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options of these names that were given."""
    return {name: value for name in names if (value := getattr(args, name)) is not None}


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
