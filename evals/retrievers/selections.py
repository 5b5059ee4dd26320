"""Selections by name: which k of the passages retrieved for a question come first.

'coverage' is the agent's own (`tools/selection/methods.py`); the published ones are in `published_selections`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from evals.retrievers.published_selections import Clustered, dkmips, greedy_plus, greedy_scs, mmr
from tools.errors import InputError
from tools.selection import Pool, choose_by_coverage

COVERAGE = "coverage"
SEARCH_ORDER = "found"
_LOOKED_AT = 5  # passages that a person looks at, for which DkMIPS weighs its pairs


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a selection's number means, and what it is when nobody gives one; it is from 0 to 1."""

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
"""Every selection with its parameter, None for one that has none."""


def needs_clusters(name: str) -> bool:
    """Whether the selection goes by clusters of sentences."""
    return PARAMETERS[parse_selection(name)[0]] is _ENOUGH


def parse_selection(name: str) -> tuple[str, float]:
    """A selection and its number from 'NAME' or 'NAME:NUMBER'; 0 where it has none.

    Raises InputError for a name or a number that is none.
    """
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
    """A pool with what the published selections need.

    clusters: of the passages' sentences, for the selections that need them (`needs_clusters`). largest: the highest
    cosine of the data set, by which MMR divides; without it MMR divides by the pool's own.
    """

    clusters: Clustered | None = None
    largest: float | None = None

    @property
    def clustered(self) -> Clustered:
        """The clusters. Raises ValueError where they are not known."""
        if self.clusters is None:
            raise ValueError("the pool's sentences are not clustered, so that no method that needs that can choose")
        return self.clusters


Selection = Callable[[ClusteredPool, int, float], list[int]]
"""From a pool, k and the method's parameter to positions of up to k passages, best first."""


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
    """Positions of up to k passages of the pool by the selection of that name, best first.

    Raises InputError for a name that is none.
    """
    method, value = parse_selection(name)
    return SELECTIONS[method](pool, k, value)
