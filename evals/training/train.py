"""`python -m evals judge-train`: trains a judge. Needs the extra `models` (torch, transformers, peft).

The embedded judge (`evals/training/cross_encoder.py`):
    python -m evals judge-train --data DIR --out DIR
    python -m evals judge-pack --weights DIR --data DIR
Its closer reading, the first layers of a larger encoder, on sentences beside both statements:
    python -m evals judge-train --data DIR --out DIR --encoder FOLDER
    python -m evals judge-pack --weights DIR --data DIR
A large one, LoRA on an instruct model (`evals/training/lora.py`):
    python -m evals judge-train --data DIR --out DIR --base Qwen/Qwen3-4B-Instruct-2507 --download
    make local-models MODEL=DIR/model

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
    add("--labels", type=Path, metavar="FILE", help="labels of judge-label, beside the data's own")
    add("--seed", type=int, default=7, metavar="N", help="of the split's samples, the order and the new weights")
    add("--rate", type=float, metavar="R", help="the highest learning rate")
    add("--base", metavar="MODEL", help="tune this instruct model (a folder or a hub's name) instead")
    small = parser.add_argument_group("the embedded judge")
    small.add_argument("--millions", type=float, metavar="N", help="millions of tokens to read (default: 14 or 3)")
    small.add_argument("--encoder", type=Path, metavar="DIR", help="this MPNet encoder, for the closer reading")
    small.add_argument("--layers", type=int, metavar="N", help="how many of its layers are kept (default: 8)")
    small.add_argument("--frozen", type=int, metavar="N", help="how many of them stay as they are (default: 3)")
    large = parser.add_argument_group("with --base")
    large.add_argument("--download", action="store_true", help="fetch the model if it is not on this machine")
    large.add_argument(
        "--prompt", default="judge", metavar="NAME", help="how it is asked: judge, judge_one_shot, a file"
    )
    large.add_argument("--pairs", type=int, metavar="N", help="pairs to learn from (default: 3,000, as in the paper)")


def run(args: argparse.Namespace) -> int:
    """Trains until the plan is done; needs the extra 'models'. Raises SettingsError, InputError."""
    needed = ("torch", "transformers", *(("peft",) if args.base else ()))
    if missing := [name for name in needed if find_spec(name) is None]:
        raise SettingsError(f"{missing[0]} is not installed. Install the extra 'models': pip install -e '.[models]'")
    from evals.training.label import read_labels

    _check(args)
    corpus = load_corpus(args.data, args.seed, read_labels(args.labels) if args.labels else ())
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise InputError(f"{args.out} cannot be made a folder ({exc.strerror or exc}).") from exc
    if args.base:
        from evals.training import lora

        tuning = lora.Plan(base=args.base, prompt=args.prompt, **_given(args, "rate", "pairs", "seed"))
        _check_plan(args.out, {**asdict(tuning), "data": corpus.digest(), "prompt": lora.prompt_of(tuning).digest})
        lora.tune(tuning, corpus, args.out, args.download)
        return 0
    from evals.training import cross_encoder

    plan = Plan(**_given(args, "millions", "rate", "seed"))
    if args.encoder:
        plan = close_plan(str(args.encoder.resolve()), **_given(args, "millions", "rate", "seed", "layers", "frozen"))
    _check_plan(args.out, {**asdict(plan), "data": corpus.digest()})
    cross_encoder.train(cross_encoder.start(plan, corpus, args.out), corpus)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raises InputError for options that do not go together, or cannot be."""
    if args.base and args.encoder:
        raise InputError("--encoder is for the embedded judge. Leave out --base, or it.")
    if closer := [name for name in ("layers", "frozen") if getattr(args, name) is not None and not args.encoder]:
        raise InputError(f"--{closer[0]} is for the closer reading. Name its encoder: --encoder FOLDER.")
    if args.encoder and not all((args.encoder / name).is_file() for name in ("config.json", "tokenizer.json")):
        raise InputError(f"{args.encoder} holds no encoder (config.json, model.safetensors, tokenizer.json).")
    for name in ("rate", "millions", "pairs"):
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
