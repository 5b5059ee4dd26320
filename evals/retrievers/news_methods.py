"""Methods that choose among an event's candidates (stage II of NEWSCOPE), by name: METHOD[:λ[:μ]].

`python -m evals news --help` describes the methods. The choice of DkMIPS depends only on μ(1 − λ) / λ. The
greedy methods cover all clusters and then fill up to k by similarity. The paper prints the stop condition inverted:
read literally, the condition never stops at k.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from evals.datasets.news import NewsEvent
from evals.retrievers.corpus_index import Ranking, highest
from evals.retrievers.news import EventCandidates
from evals.retrievers.published_selections import dkmips, greedy_plus, greedy_scs, mmr
from evals.suite import check_known
from tools.errors import InputError

_SLOPE, _MIDPOINT = 23.6, 0.72
"""Parameters of `similarity`, fitted on one half of LocalNews' events. The slope comes from a logistic regression of
'relevant' on the cosine (Platt 1999). The midpoint is the median of the midpoints that reach a published P of 0.9 and
1.5 times dense retrieval's C and I."""
FITTED_ON = "LocalNews"


def held_out(events: Sequence[NewsEvent]) -> set[str]:
    """Returns the events outside the fit: the second half of a seeded shuffle."""
    drawn = list(events)
    Random(1).shuffle(drawn)
    return {e.id for e in drawn[(len(drawn) + 1) // 2 :]}


def article_cosine(ready: EventCandidates) -> NDArray[np.float32]:
    """Returns for each candidate the highest cosine in the candidate's article (MaxP, Dai and Callan 2019)."""
    best: dict[str, np.float32] = {}
    for article, cosine in zip(ready.articles, ready.cosine, strict=True):
        best.setdefault(article, cosine)  # candidates are in the order of their cosines
    return np.array([best[article] for article in ready.articles], np.float32)


def similarity(cosine: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns 1 / (1 + exp(−slope · (cosine − midpoint)))."""
    halved = _SLOPE * (cosine - _MIDPOINT) / 2
    return np.asarray((1 + np.tanh(halved)) / 2, np.float32)  # the same, without exp's overflow


def _first(ready: EventCandidates, k: int) -> Ranking:
    return list(range(min(k, len(ready.ids))))


def _plus(ready: EventCandidates, near: NDArray[np.float32], k: int, trade_off: float) -> Ranking:
    if math.isinf(trade_off):
        return highest(near, k)
    return greedy_plus(ready.clusters, near, k, trade_off)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of method. choose: maps event, k, λ and μ to positions, best first. usual:
    default λ and μ. clustered: whether the method uses clusters."""

    choose: Callable[..., Ranking]
    usual: tuple[float, ...] = ()
    clustered: bool = True


_KINDS = {
    "bm25": _Kind(_first, clustered=False),
    "dense": _Kind(_first, clustered=False),
    # NEWSCOPE does not publish λ of MMR and DkMIPS, nor μ of DkMIPS.
    "mmr": _Kind(lambda r, k, trade: mmr(r.cosine, r.vectors, k, trade, largest=1.0), (0.75,), False),
    "dkmips": _Kind(lambda r, k, trade, mu: dkmips(r.cosine, r.vectors, k, trade, mu), (0.75, 1.0), False),
    "scs": _Kind(lambda r, k: greedy_scs(r.clusters, r.cosine, k)),
    "scs-released": _Kind(lambda r, k: greedy_scs(r.clusters, r.cosine, k, released=True)),
    "greedyplus": _Kind(lambda r, k, trade: _plus(r, r.cosine, k, trade), (0.5,)),
    # The logistic function replaces a re-ranker's sigmoid.
    "greedyplus-calibrated": _Kind(lambda r, k, trade: _plus(r, similarity(article_cosine(r)), k, trade), (0.5,)),
}
METHODS = tuple(_KINDS)

_NAME = re.compile(r"([a-z0-9-]+)((?::(?:inf|\d+\.?\d*))*)")


@dataclass(frozen=True, slots=True)
class NewsMethod:
    """A method with its numbers. kind: one of METHODS."""

    kind: str
    numbers: tuple[float, ...]

    @property
    def clustered(self) -> bool:
        return _KINDS[self.kind].clustered and not math.isinf(max(self.numbers, default=0.0))

    def choose(self, ready: EventCandidates, k: int) -> Ranking:
        """Returns positions of up to k of the candidates `of(ready)`, best first."""
        return _KINDS[self.kind].choose(self.of(ready), k, *self.numbers)

    def of(self, ready: EventCandidates) -> EventCandidates:
        """Returns the candidates of the method: BM25's candidates for bm25, else stage I's."""
        return (ready.by_words or ready) if self.kind == "bm25" else ready


def named(names: Iterable[str]) -> dict[str, NewsMethod]:
    """Returns the methods of these names, dense first. Raises InputError for an unknown name."""
    return {name: _read(name) for name in dict.fromkeys(("dense", *names))}


def _read(name: str) -> NewsMethod:
    found = _NAME.fullmatch(name)
    kind, numbers = found.groups() if found else (name, "")
    check_known([kind], METHODS, "method")
    known, given = _KINDS[kind], [float(n) for n in numbers.split(":")[1:]]
    bounded = kind in ("mmr", "dkmips") and any(trade > 1 for trade in given[:1])
    if len(given) > len(known.usual) or bounded or (math.inf in given and "plus" not in kind):
        takes = ("no numbers", "λ", "λ and μ")[len(known.usual)]
        raise InputError(f"'{name}': {kind} takes {takes}, λ from 0 to 1 for mmr and dkmips, such as mmr:0.75.")
    return NewsMethod(kind, (*given, *known.usual[len(given) :]))
