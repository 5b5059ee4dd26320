"""Selections by name: NAME[:NUMBER[:NUMBER]][+RULE:SHARE]. A selection chooses which k of the retrieved passages come
first.

'coverage' is the agent's selection (`tools/selection.py`). The other selections are in `published_selections`. The
numbers are λ, and μ of DkMIPS, whose choice depends only on μ(1 − λ) / λ. Without a rule, the cluster methods cover all
clusters and then fill up to k by similarity. The paper prints the stop condition inverted: read literally, the
condition never stops at k.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evals.retrievers.corpus_index import Ranking, highest
from evals.retrievers.published_selections import (
    UNCLUSTERED,
    Clustered,
    Vectors,
    dkmips,
    greedy_plus,
    greedy_scs,
    mmr,
)
from evals.suite import check_known
from tools.errors import InputError
from tools.selection import Pool, choose_by_coverage

COVERAGE = "coverage"
SEARCH_ORDER = "found"
_LOOKED_AT = 5  # the k of DkMIPS: passages that a person reads


@dataclass(frozen=True, slots=True)
class ClusteredPool(Pool):
    """A pool with the input of the published selections. clusters: clusters of the passages' sentences, empty if not
    needed. largest: the data set's highest cosine, by which MMR divides. The default is the pool's highest cosine.
    meant: the k of DkMIPS; None for the number of passages to choose."""

    clusters: Clustered = UNCLUSTERED
    largest: float | None = None
    meant: int | None = _LOOKED_AT


@dataclass(frozen=True, slots=True)
class Kind:
    """choose: maps pool, k, sufficient share of clusters and numbers to positions of up to k passages, best first.
    usual: the default numbers. clustered: whether the selection uses sentence clusters."""

    choose: Callable[..., Ranking]
    usual: tuple[float, ...] = ()
    clustered: bool = False


def plus(clusters: Clustered, similarity: Vectors, k: int, enough: float, trade_off: float) -> Ranking:
    """Chooses by GreedyPlus. λ = ∞ means by similarity alone."""
    if math.isinf(trade_off):
        return highest(similarity, k)
    return greedy_plus(clusters, similarity, k, enough, trade_off)


# NEWSCOPE does not publish λ of MMR and DkMIPS, nor μ of DkMIPS.
KINDS = {
    COVERAGE: Kind(lambda pool, k, _: choose_by_coverage(pool, k)),
    SEARCH_ORDER: Kind(lambda pool, k, _: list(range(min(k, len(pool.vectors))))),
    "mmr": Kind(lambda pool, k, _, trade: mmr(pool.cosine, pool.vectors, k, trade, pool.largest), (0.75,)),
    "dkmips": Kind(
        lambda pool, k, _, trade, mu: dkmips(pool.cosine, pool.vectors, k, trade, mu, pool.meant), (0.75, 1.0)
    ),
    "scs": Kind(lambda pool, k, enough: greedy_scs(pool.clusters, pool.cosine, k, enough), clustered=True),
    "scs-released": Kind(
        lambda pool, k, enough: greedy_scs(pool.clusters, pool.cosine, k, enough, released=True), clustered=True
    ),
    "greedyplus": Kind(
        lambda pool, k, enough, trade: plus(pool.clusters, pool.cosine, k, enough, trade), (0.5,), clustered=True
    ),
}
_NAME = re.compile(r"([a-z0-9-]+)((?::(?:inf|\d+\.?\d*))*)(?:\+(enough|stop):(\d+\.?\d*))?")


@dataclass(frozen=True, slots=True)
class Selection:
    """A kind of selection with its numbers and stop rule. enough: sufficient share of clusters. fills: whether the
    selection chooses further passages after this share is covered."""

    kind: Kind
    numbers: tuple[float, ...]
    enough: float = 1.0
    fills: bool = True

    @property
    def clustered(self) -> bool:
        return self.kind.clustered and math.inf not in self.numbers

    def choose(self, pool: ClusteredPool, k: int) -> Ranking:
        """Returns positions of up to k of the pool's passages, best first."""
        found = self.kind.choose(pool, k, self.enough, *self.numbers)
        return found if self.fills else until(pool.clusters, found, self.enough)


def until(clusters: Clustered, chosen: Sequence[int], enough: float) -> Ranking:
    """Returns the shortest beginning of the chosen paragraphs that covers the share `enough` of the clusters."""
    everything, covered = set(clusters.label.tolist()), set[int]()
    for count, one in enumerate(chosen):
        if len(covered) >= enough * len(everything):
            return list(chosen[:count])
        covered |= clusters.of(one)
    return list(chosen)


def parse_selection(name: str, kinds: Mapping[str, Kind] = KINDS) -> Selection:
    """Parses a selection's name. Raises InputError."""
    found = _NAME.fullmatch(name)
    kind, numbers, rule, part = found.groups("") if found else (name, "", "", "")
    check_known([kind], kinds, "selection")
    known, given = kinds[kind], [float(n) for n in numbers.split(":")[1:]]
    bounded = kind in ("mmr", "dkmips") and any(trade > 1 for trade in given[:1])
    if len(given) > len(known.usual) or bounded or (math.inf in given and "plus" not in kind):
        takes = ("no numbers", "λ", "λ and μ")[len(known.usual)]
        raise InputError(f"'{name}': {kind} takes {takes}, λ from 0 to 1 for mmr and dkmips, such as mmr:0.75.")
    share = float(part or 1)
    if rule and (share > 1 or not known.clustered):
        raise InputError(f"'{name}': +{rule} takes a share from 0 to 1, and is for the methods that cover clusters.")
    return Selection(known, (*given, *known.usual[len(given) :]), share, rule != "stop")
