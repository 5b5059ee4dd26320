"""What a judge's own errors do to MRecall@k and precision@k: both with an interval that carries them.

On pairs that people labelled it accepted TP + FP, of which TP support, and rejected FN + TN, of which FN support.
So an accepted pair supports with probability π, the judge's precision, and a rejected one with probability μ, its miss
rate; with Jeffreys' prior, what the labels tell of these is

    π ~ Beta(TP + ½, FP + ½)        μ ~ Beta(FN + ½, TN + ½)

A round draws π and μ, then for every (perspective, passage) pair whether it supports, with π where the judge accepted
it and μ where it did not, computes the measure of each question, and draws as many questions as there are with
replacement. This is multiple imputation (Rubin 1987) of labels that are read with error, as Rogan and Gladen (1978)
correct a prevalence.

Taken for granted are that errors are independent (a judge that misses a perspective in one passage is no likelier to
miss it in the next, so that over many passages what it missed is overstated), and that π and μ are those of the
labelled pairs (with another share of positives they are others).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.metrics.measure import LEVEL, ROUNDS
from tools.errors import InputError

Errors = Sequence[float]
"""Of verdicts on labelled pairs TP, FP, FN, TN: accepted rightly and wrongly, rejected wrongly and rightly."""


def read_errors(path: Path, asked: Mapping[str, Any]) -> Errors:
    """From a result of the suite `judge`, whose judge was `asked` as this one is. Raises InputError."""
    try:
        found = json.loads(path.read_text())
        other = [name for name, value in asked.items() if found["config"][name] != value]
        hits, accepted = np.sum([row[1:] for row in found["items"]["precision"]], axis=0)
        _, positive = np.sum([row[1:] for row in found["items"]["recall"]], axis=0)
        counts = hits, accepted - hits, positive - hits, found["metrics"]["pairs"] - accepted - positive + hits
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise InputError(f"{path} is no result of `python -m evals judge --json` that can be read ({exc}).") from exc
    if other:
        was, is_ = found["config"][other[0]], asked[other[0]]
        how = "Measure this judge with `python -m evals judge --contrary --json`, without --answers and --threshold."
        raise InputError(f"{path}: '{other[0]}' was {was!r} and is {is_!r} here. {how}")
    return [float(count) for count in counts]


def corrected(
    said: Sequence[NDArray[Any]], errors: Errors, cutoffs: Sequence[int], seed: int, rounds: int = ROUNDS
) -> dict[str, list[float]]:
    """Measure to the mean and the 2.5 and 97.5 percent points of its rounds. said: of each question whether the judge
    accepted, NaN for an empty place, which supports nothing; shape (perspectives, passages)."""
    rng, count = np.random.default_rng(seed), len(said)
    right, wrong, missing, rejected = (count + 0.5 for count in errors)
    supports, missed = rng.beta(right, wrong, (rounds, 1, 1)), rng.beta(missing, rejected, (rounds, 1, 1))
    times = rng.multinomial(count, np.full(count, 1 / count), rounds) / count  # how often each question is drawn
    found = {f"{measure}@{k}": np.zeros(rounds) for measure in ("mrecall", "precision") for k in cutoffs}
    for number, of_question in enumerate(said):
        chance = np.select([of_question == 1, of_question == 0], [supports, missed])
        truth = rng.random((rounds, *of_question.shape)) < chance
        for k in cutoffs:  # as `evals.metrics.coverage` has them
            top = truth[:, :, :k]
            recalled = top.any(axis=2).sum(axis=1) >= min(len(of_question), k)
            found[f"mrecall@{k}"] += recalled * times[:, number]
            found[f"precision@{k}"] += top.any(axis=1).sum(axis=1) / k * times[:, number]
    ends = [100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2]
    return {name: [float(v.mean()), *map(float, np.percentile(v, ends))] for name, v in found.items()}
