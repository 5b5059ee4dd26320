"""`python -m evals judge-mean --out DIR RUN RUN …`: the mean of the weights of several runs of `judge-train`.

Runs that began from the same weights and differ in seed, order or rate often have a mean that does better than each
(Wortsman et al. 2022, 'model soups'). DIR is read like a run's folder: by `judge --judge`, `judge-train --start` and
`judge-pack --weights`.
"""

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.training.trained import CONFIG, TOKENIZER, WEIGHTS, Trained, read_trained
from tools.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = __doc__
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders of judge-train, two or more")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder for the mean")


def run(args: argparse.Namespace) -> int:
    """Writes the mean. Raises InputError."""
    if len(args.runs) < 2:
        raise InputError("a mean needs two runs or more.")
    if args.out.exists():
        raise InputError(f"{args.out} is there already. Name a new folder.")
    write_mean([read_trained(folder) for folder in args.runs], args.out)
    print(f"Written to {args.out}: the mean of {len(args.runs)} runs.")
    return 0


def mean_of(runs: Sequence[Trained]) -> dict[str, NDArray[np.float32]]:
    """The mean of each weight. Raises InputError where the runs are of different shapes, or read other words."""
    first = runs[0]
    for other in runs[1:]:
        shapes = [{name: value.shape for name, value in one.weights.items()} for one in (first, other)]
        if unlike := sorted(n for n in {*shapes[0], *shapes[1]} if shapes[0].get(n) != shapes[1].get(n)):
            raise InputError(
                f"{first.folder} and {other.folder} have no mean: {unlike[0]} is {_shape(shapes[0].get(unlike[0]))} in "
                f"the one and {_shape(shapes[1].get(unlike[0]))} in the other."
            )
        if len({(one.folder / TOKENIZER).read_bytes() for one in (first, other)}) > 1:
            raise InputError(f"{first.folder} and {other.folder} have no mean: their tokenizers differ.")
    return {
        name: np.asarray(np.mean([one.weights[name] for one in runs], axis=0), np.float32) for name in first.weights
    }


def write_mean(runs: Sequence[Trained], out: Path) -> None:
    """As `judge-train` writes a run's weights; the config tells of which they are the mean."""
    from safetensors.numpy import save_file

    mean = mean_of(runs)
    folder = out / "weights"
    folder.mkdir(parents=True)
    save_file({name: value.astype(np.float16) for name, value in mean.items()}, folder / WEIGHTS)
    shutil.copyfile(runs[0].folder / TOKENIZER, folder / TOKENIZER)
    shared = {name: value for name, value in runs[0].config.items() if name not in ("steps", "seconds", "plan")}
    runs_before = [{name: one.config.get(name) for name in ("steps", "seconds", "plan")} for one in runs]
    (folder / CONFIG).write_text(json.dumps({**shared, "mean_of": runs_before}, indent=1) + "\n", encoding="utf-8")


def _shape(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else " × ".join(map(str, shape))
