"""MRecall@k and precision@k with intervals that include the judge's errors.

People labelled pairs: the judge accepted TP + FP of them and rejected FN + TN. With Jeffreys' prior, an accepted pair
supports with probability π ~ Beta(TP + ½, FP + ½), and a rejected one with μ ~ Beta(FN + ½, TN + ½). Each round draws π
and μ, then the truth of each (perspective, passage) pair from them, and resamples the questions: multiple imputation
(Rubin 1987) of labels with errors, as Rogan and Gladen (1978) correct a prevalence.

Assumptions: errors are independent, so misses over many passages are overstated. The share of positives is that of the
labelled pairs; with another share, π and μ differ.
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
"""TP, FP, FN and TN of verdicts on labelled pairs."""


def read_errors(path: Path, asked: Mapping[str, Any]) -> Errors:
    """Counts from a result of the suite `judge` with the same configuration as `asked`. Raises InputError."""
    try:
        found = json.loads(path.read_text())
        changed = [name for name, value in asked.items() if found["config"][name] != value]
        hits, accepted = np.sum([row[1:] for row in found["items"]["precision"]], axis=0)
        positive = sum(row[2] for row in found["items"]["recall"])
        counts = hits, accepted - hits, positive - hits, found["metrics"]["pairs"] - accepted - positive + hits
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise InputError(f"{path} is not a readable result of `python -m evals judge --json` ({exc}).") from exc
    if changed:
        was, now = found["config"][changed[0]], asked[changed[0]]
        remedy = "Measure this judge with `python -m evals judge --contrary --json`, without --answers and --threshold."
        raise InputError(f"{path}: '{changed[0]}' was {was!r} and is {now!r} here. {remedy}")
    return [float(count) for count in counts]


def corrected(
    accepted: Sequence[NDArray[Any]], errors: Errors, cutoffs: Sequence[int], seed: int, rounds: int = ROUNDS
) -> dict[str, list[float]]:
    """Measure to its mean and the ends of its interval. accepted: the verdicts on each question, shape (perspectives,
    passages); NaN for an empty place, which supports nothing."""
    rng, count = np.random.default_rng(seed), len(accepted)
    true, false, missed, rejected = (count + 0.5 for count in errors)
    pi, mu = rng.beta(true, false, (rounds, 1, 1)), rng.beta(missed, rejected, (rounds, 1, 1))
    times = rng.multinomial(count, np.full(count, 1 / count), rounds) / count  # how often each question is drawn
    found = {f"{measure}@{k}": np.zeros(rounds) for measure in ("mrecall", "precision") for k in cutoffs}
    for number, verdicts in enumerate(accepted):
        truth = rng.random((rounds, *verdicts.shape)) < np.select([verdicts == 1, verdicts == 0], [pi, mu])
        for k in cutoffs:  # as in `evals.metrics.perspective_coverage`
            top = truth[:, :, :k]
            recalled = top.any(axis=2).sum(axis=1) >= min(len(verdicts), k)
            found[f"mrecall@{k}"] += recalled * times[:, number]
            found[f"precision@{k}"] += top.any(axis=1).sum(axis=1) / k * times[:, number]
    ends = [100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2]
    return {name: [float(v.mean()), *map(float, np.percentile(v, ends))] for name, v in found.items()}
