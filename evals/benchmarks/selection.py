"""How long the agent's own selection takes, the judge's probabilities given."""

import statistics
from typing import TYPE_CHECKING

import numpy as np

from evals.benchmarks.timing import seconds_of

if TYPE_CHECKING:
    from tools.diversity.selection import Pool

_CANDIDATES, _SIDES, _DIMENSIONS = 200, 8, 384
_ROUNDS = 21


def bench_selection() -> dict[str, float]:
    """200 candidates and 8 sides: the first 5, and the order of all; medians of 21 rounds, milliseconds."""
    from tools.diversity.selection import Pool, chosen

    rng = np.random.default_rng(1)
    subject = rng.normal(size=_DIMENSIONS)
    vectors = rng.normal(size=(_CANDIDATES, _DIMENSIONS)) + 0.7 * subject  # passages on one subject
    unit = np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)
    question = np.asarray(subject / np.linalg.norm(subject), np.float32)
    pool = Pool(
        cosine=unit @ question,
        vectors=unit,
        words=rng.random(_CANDIDATES),
        support=rng.random((_SIDES, _CANDIDATES)),
        sources=[f"source {i % 40}" for i in range(_CANDIDATES)],
    )
    chosen(pool, 1)  # reads the weights
    return {f"first_{k}_ms": round(_median_ms(pool, k), 1) for k in (5, _CANDIDATES)}


def _median_ms(pool: "Pool", k: int) -> float:
    from tools.diversity.selection import chosen

    return statistics.median(1000 * seconds_of(lambda: chosen(pool, k)) for _ in range(_ROUNDS))
