"""Selections by name: which k of the passages that were found for a question are shown, in the way of one method.

The published ones are in `marginal` and `clusters`; 'coverage' is Steelman's own (`coverage`).
All of them work on a `Pool`, so that the agent and the evaluation choose by the same code.
"""

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.diversity.clusters import Clustered, greedy_plus, greedy_scs
from tools.diversity.coverage import Candidates, Choice, Terms, select
from tools.diversity.marginal import dkmips, mmr
from tools.diversity.mining import mined_points
from tools.diversity.names import FOUND, OWN, parse_selection
from tools.diversity.relevance import RelevanceWeights, relevance

Floats = NDArray[np.floating]

MINED = 0.5
"""What a mined point weighs beside a side that is known."""
TERMS = Terms(relevance=1.0, novelty=0.0, independence=0.05)
_NOTHING = 1e-9
_LOOKED_AT = 5  # passages that a person looks at, for which DkMIPS weighs its pairs
_SURE = 0.3  # support of all sides together from which a passage surely takes one
_WEIGHTS = Path(__file__).parents[1] / "weights" / "relevance.json"


@dataclass(frozen=True, slots=True)
class Pool:
    """The n passages that were found for a question, best first, and what is known of them.

    cosine: to the question, shape (n,). vectors: unit, shape (n, dimensions). words: BM25 scores, 0 where a passage was
    not found by words, shape (n,). support: for each side the probability that a passage supports it, NaN where that
    was not judged, shape (sides, n); (0, n) where the sides are not known. sources: who published each passage; none
    where that is not known. clusters: of the passages' sentences, for the methods that go by them (`needs_clusters`).
    largest: the highest cosine of the data set, by which MMR divides; the pool's own where none is given.
    """

    cosine: Floats
    vectors: NDArray[np.float32]
    words: Floats
    support: Floats
    sources: Sequence[Hashable] = ()
    clusters: Clustered | None = None
    largest: float | None = None

    @property
    def clustered(self) -> Clustered:
        """The clusters. Raises ValueError where they are not known."""
        if self.clusters is None:
            raise ValueError("the pool's sentences are not clustered, so that no method that needs that can choose")
        return self.clusters

    @property
    def size(self) -> int:
        return len(self.cosine)

    @property
    def likely(self) -> NDArray[np.float64]:
        """How likely each passage speaks to the question beside the likeliest of the pool, shape (n,), at most 1.

        The signals are standardised over the pool, so that they tell passages of one pool apart and not pools.
        """
        found = relevance(self.cosine, self.words, self.vectors, fitted())
        return np.asarray(found / max(float(found.max(initial=0.0)), _NOTHING), np.float64)


def chosen(pool: Pool, k: int, terms: Terms = TERMS) -> list[Choice]:
    """Steelman's own choice of up to k passages, with the reasons for each (`coverage`).

    What is to be covered are the sides, as the judge sees them, and the points that are mined from the pool itself; the
    points alone where no side is known. In the reasons, perspectives are numbered as the sides; those from
    `len(pool.support)` on are the passages that stand for points.
    """
    if not pool.size:
        return []
    likely = pool.likely
    points, shares = mined_points(pool.vectors, likely)
    support = np.concatenate([sides_taken(pool.support, likely), points])
    weights = np.concatenate([np.ones(len(pool.support)), MINED * shares])
    return select(Candidates(support, likely, sources=pool.sources, weights=weights), k, terms)


def sides_taken(support: Floats, likely: Floats) -> NDArray[np.float64]:
    """The probability that a passage speaks to the question and takes a side, shape (sides, n).

    A passage's relevance is divided among the sides as the judge's probabilities have it, which tell sides apart better
    than they tell how relevant a passage is; where all are low, a part is left over. What was not judged is taken for
    half of the relevance. support: shape (sides, n), with NaN. likely: relevance, shape (n,).
    """
    known = ~np.isnan(support)
    judged = np.where(known, support, 0.0)
    shares = judged / np.maximum(judged.sum(axis=0), _SURE)
    return np.asarray(np.where(known, shares, 0.5) * likely, np.float64)


@cache
def fitted() -> RelevanceWeights:
    """The weights that `python -m evals select-fit` fitted."""
    stored = json.loads(_WEIGHTS.read_text(encoding="utf-8"))
    return RelevanceWeights(tuple(map(float, stored["signals"])), float(stored["offset"]))


Selection = Callable[[Pool, int, float], list[int]]
"""From a pool, k and the method's dial to positions of up to k passages, best first."""


SELECTIONS: dict[str, Selection] = {
    OWN: lambda pool, k, _: [c.position for c in chosen(pool, k)],
    FOUND: lambda pool, k, _: list(range(min(k, pool.size))),
    "mmr": lambda pool, k, dial: mmr(pool.cosine, pool.vectors, k, dial, pool.largest),
    "dkmips": lambda pool, k, dial: dkmips(pool.cosine, pool.vectors, k, dial, meant=_LOOKED_AT),
    "scs": lambda pool, k, dial: greedy_scs(pool.clustered, pool.cosine, k, dial),
    "scs-released": lambda pool, k, dial: greedy_scs(pool.clustered, pool.cosine, k, dial, released=True),
    "greedyplus": lambda pool, k, dial: greedy_plus(pool.clustered, pool.cosine, k, dial),
}


def pick(name: str, pool: Pool, k: int) -> list[Choice]:
    """Up to k passages of the pool by the selection of that name, best first.

    The reasons are there for the own selection only; of any other a choice tells the position alone. Raises InputError
    for a name that is none.
    """
    method, dial = parse_selection(name)
    if method == OWN:
        return chosen(pool, k)
    return [Choice(i, 0.0) for i in SELECTIONS[method](pool, k, dial)]
