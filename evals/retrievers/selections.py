"""Selections by name. A selection chooses which k of a question's retrieved passages come first.

'coverage' is the agent's selection (`tools/selection.py`). The other selections are in `published_selections`.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from evals.retrievers.published_selections import UNCLUSTERED, Clustered, dkmips, greedy_plus, greedy_scs, mmr
from evals.suite import check_known
from tools.errors import InputError
from tools.selection import Pool, choose_by_coverage

COVERAGE = "coverage"
SEARCH_ORDER = "found"
_LOOKED_AT = 5  # the k of DkMIPS: passages that a person reads


@dataclass(frozen=True, slots=True)
class ClusteredPool(Pool):
    """A pool with the input of the published selections. clusters: clusters of the passages' sentences, empty if not
    needed. largest: the data set's highest cosine, by which MMR divides. The default is the pool's highest cosine."""

    clusters: Clustered = UNCLUSTERED
    largest: float | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """choose: maps pool, k and number to positions of up to k passages, best first. usual: the default number, from 0
    to 1; None if the selection takes no number. clustered: whether the selection uses sentence clusters."""

    choose: Callable[[ClusteredPool, int, float], list[int]]
    usual: float | None = None
    clustered: bool = False


# The number is the weight of relevance (λ), or the sufficient share of the clusters.
SELECTIONS = {
    COVERAGE: Selection(lambda pool, k, _: choose_by_coverage(pool, k)),
    SEARCH_ORDER: Selection(lambda pool, k, _: list(range(min(k, pool.size)))),
    "mmr": Selection(lambda pool, k, value: mmr(pool.cosine, pool.vectors, k, value, pool.largest), 0.75),
    "dkmips": Selection(lambda pool, k, value: dkmips(pool.cosine, pool.vectors, k, value, meant=_LOOKED_AT), 0.75),
    "scs": Selection(lambda pool, k, value: greedy_scs(pool.clusters, pool.cosine, k, value), 1.0, True),
    "scs-released": Selection(
        lambda pool, k, value: greedy_scs(pool.clusters, pool.cosine, k, value, released=True), 1.0, True
    ),
    "greedyplus": Selection(lambda pool, k, value: greedy_plus(pool.clusters, pool.cosine, k, value), 1.0, True),
}


def parse_selection(name: str) -> tuple[Selection, float]:
    """Parses 'NAME' or 'NAME:NUMBER' into a selection and its number (0 if the selection has none). Raises
    InputError."""
    method, colon, number = name.partition(":")
    check_known([method], SELECTIONS, "selection")
    selection = SELECTIONS[method]
    if not colon:
        return selection, selection.usual or 0.0
    with suppress(ValueError):
        if selection.usual is not None and 0 <= (value := float(number)) <= 1:
            return selection, value
    raise InputError(
        f"'{name}': a number from 0 to 1 may follow {', '.join(n for n in SELECTIONS if SELECTIONS[n].usual)}."
    )
