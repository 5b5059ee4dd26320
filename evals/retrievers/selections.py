"""Selections by name: which k of a question's retrieved passages come first.

'coverage' is the agent's (`tools/selection.py`); the others are in `published_selections`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from evals.retrievers.published_selections import Clustered, dkmips, greedy_plus, greedy_scs, mmr
from tools.errors import InputError
from tools.selection import Pool, choose_by_coverage

COVERAGE = "coverage"
SEARCH_ORDER = "found"
_LOOKED_AT = 5  # the k of DkMIPS: passages that a person reads


@dataclass(frozen=True, slots=True)
class Parameter:
    """The meaning and default of a selection's number, which is from 0 to 1."""

    meaning: str
    usual: float


_TRADE_OFF = Parameter("weight of relevance (λ)", 0.75)
_ENOUGH = Parameter("share of the clusters that is enough", 1.0)

PARAMETERS: dict[str, Parameter | None] = {
    COVERAGE: None,
    SEARCH_ORDER: None,
    "mmr": _TRADE_OFF,
    "dkmips": _TRADE_OFF,
    "scs": _ENOUGH,
    "scs-released": _ENOUGH,
    "greedyplus": _ENOUGH,
}
"""Each selection with its parameter, or None."""


def needs_clusters(name: str) -> bool:
    """Whether the selection uses sentence clusters."""
    return PARAMETERS[parse_selection(name)[0]] is _ENOUGH


def parse_selection(name: str) -> tuple[str, float]:
    """A selection and its number (0 if it has none) from 'NAME' or 'NAME:NUMBER'. Raises InputError."""
    method, colon, number = name.partition(":")
    if method not in PARAMETERS:
        raise InputError(f"there is no selection '{method}'. There are: {', '.join(PARAMETERS)}.")
    parameter = PARAMETERS[method]
    if not colon:
        return method, 0.0 if parameter is None else parameter.usual
    if parameter is None:
        raise InputError(f"the selection '{method}' takes no number: write '{method}'.")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(
            f"'{name}': the {parameter.meaning} is a number from 0 to 1, such as {method}:{parameter.usual}."
        )
    return method, value


@dataclass(frozen=True, slots=True)
class ClusteredPool(Pool):
    """A pool with the input of the published selections. clusters: of the passages' sentences, if needed. largest: the
    data set's highest cosine, by which MMR divides; default: the pool's."""

    clusters: Clustered | None = None
    largest: float | None = None

    @property
    def clustered(self) -> Clustered:
        """The clusters. Raises ValueError if they are unknown."""
        if self.clusters is None:
            raise ValueError("the pool has no sentence clusters")
        return self.clusters


Selection = Callable[[ClusteredPool, int, float], list[int]]
"""From pool, k and parameter to positions of up to k passages, best first."""


SELECTIONS: dict[str, Selection] = {
    COVERAGE: lambda pool, k, _: choose_by_coverage(pool, k),
    SEARCH_ORDER: lambda pool, k, _: list(range(min(k, pool.size))),
    "mmr": lambda pool, k, value: mmr(pool.cosine, pool.vectors, k, value, pool.largest),
    "dkmips": lambda pool, k, value: dkmips(pool.cosine, pool.vectors, k, value, meant=_LOOKED_AT),
    "scs": lambda pool, k, value: greedy_scs(pool.clustered, pool.cosine, k, value),
    "scs-released": lambda pool, k, value: greedy_scs(pool.clustered, pool.cosine, k, value, released=True),
    "greedyplus": lambda pool, k, value: greedy_plus(pool.clustered, pool.cosine, k, value),
}


def select_passages(name: str, pool: ClusteredPool, k: int) -> list[int]:
    """Positions of up to k passages by that selection, best first. Raises InputError for an unknown name."""
    method, value = parse_selection(name)
    return SELECTIONS[method](pool, k, value)
