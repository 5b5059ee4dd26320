"""Methods that choose among an event's candidates (stage II of NEWSCOPE), by name: METHOD[:λ[:μ]][+RULE:SHARE].

`python -m evals news --help` describes the methods. The choice of DkMIPS depends only on μ(1 − λ) / λ. Without a rule,
the greedy methods cover all clusters and then fill up to k by similarity. The paper prints the stop condition inverted:
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
from evals.retrievers.published_selections import Clustered, dkmips, greedy_plus, greedy_scs, mmr
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


def _first(ready: EventCandidates, k: int, enough: float) -> Ranking:
    return list(range(min(k, len(ready.ids))))


def _plus(ready: EventCandidates, near: NDArray[np.float32], k: int, enough: float, trade_off: float) -> Ranking:
    if math.isinf(trade_off):
        return highest(near, k)
    return greedy_plus(ready.clusters, near, k, enough, trade_off)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of method. choose: maps event, k, sufficient share of clusters, λ and μ to positions, best first. usual:
    default λ and μ. clustered: whether the method uses clusters."""

    choose: Callable[..., Ranking]
    usual: tuple[float, ...] = ()
    clustered: bool = True


_KINDS = {
    "bm25": _Kind(_first, clustered=False),
    "dense": _Kind(_first, clustered=False),
    # NEWSCOPE does not publish λ of MMR and DkMIPS, nor μ of DkMIPS.
    "mmr": _Kind(lambda r, k, _, trade: mmr(r.cosine, r.vectors, k, trade, largest=1.0), (0.75,), False),
    "dkmips": _Kind(lambda r, k, _, trade, mu: dkmips(r.cosine, r.vectors, k, trade, mu), (0.75, 1.0), False),
    "scs": _Kind(lambda r, k, enough: greedy_scs(r.clusters, r.cosine, k, enough)),
    "scs-released": _Kind(lambda r, k, enough: greedy_scs(r.clusters, r.cosine, k, enough, released=True)),
    "greedyplus": _Kind(lambda r, k, enough, trade: _plus(r, r.cosine, k, enough, trade), (0.5,)),
    # The logistic function replaces a re-ranker's sigmoid.
    "greedyplus-calibrated": _Kind(
        lambda r, k, enough, trade: _plus(r, similarity(article_cosine(r)), k, enough, trade), (0.5,)
    ),
}
METHODS = tuple(_KINDS)

# NEWSCOPE publishes figures for these λ of GreedyPlus (table 8), and no λ of the other methods.
_PLUS = ("0.125", "0.25", "0.5", "1", "2", "4", "8")
SWEEP = (
    *(f"mmr:{trade}" for trade in ("0.25", "0.5", "0.75", "0.9", "0.95", "0.99")),
    *(f"dkmips:{trade}:{mu}" for mu in ("1", "5", "25") for trade in ("0.25", "0.5", "0.75", "0.9")),
    *(f"{plus}:{trade}" for plus in ("greedyplus", "greedyplus-calibrated") for trade in _PLUS),
)
"""λ and μ of `--sweep`."""
_RULES = ("", ":inf", ":0", "+enough:0.5", "+enough:0.8", "+stop:0.5", "+stop:0.8")
ABLATIONS = tuple(f"{plus}{rule}" for plus in ("greedyplus", "greedyplus-calibrated") for rule in _RULES)
"""GreedyPlus without clusters, without similarity, and with each stop rule."""

_NAME = re.compile(r"([a-z0-9-]+)((?::(?:inf|\d+\.?\d*))*)(?:\+(enough|stop):(\d+\.?\d*))?")


@dataclass(frozen=True, slots=True)
class NewsMethod:
    """A method with its numbers and stop rule. kind: one of METHODS. enough: sufficient share of clusters, or None
    without a rule. fills: whether the method chooses further paragraphs after this share is covered."""

    kind: str
    numbers: tuple[float, ...]
    enough: float | None = None
    fills: bool = True

    @property
    def clustered(self) -> bool:
        return _KINDS[self.kind].clustered and not math.isinf(max(self.numbers, default=0.0))

    def choose(self, ready: EventCandidates, k: int) -> Ranking:
        """Returns positions of up to k of the candidates `of(ready)`, best first."""
        share = 1.0 if self.enough is None else self.enough
        found = _KINDS[self.kind].choose(self.of(ready), k, share, *self.numbers)
        return found if self.fills else until(ready.clusters, found, share)

    def of(self, ready: EventCandidates) -> EventCandidates:
        """Returns the candidates of the method: BM25's candidates for bm25, else stage I's."""
        return (ready.by_words or ready) if self.kind == "bm25" else ready


def until(clusters: Clustered, chosen: Sequence[int], enough: float) -> Ranking:
    """Returns the shortest beginning of the chosen paragraphs that covers the share `enough` of the clusters."""
    everything, covered = set(clusters.label.tolist()), set[int]()
    for count, one in enumerate(chosen):
        if len(covered) >= enough * len(everything):
            return list(chosen[:count])
        covered |= clusters.of(one)
    return list(chosen)


def named(names: Iterable[str]) -> dict[str, NewsMethod]:
    """Returns the methods of these names, dense first. Raises InputError for an unknown name."""
    return {name: _read(name) for name in dict.fromkeys(("dense", *names))}


def _read(name: str) -> NewsMethod:
    found = _NAME.fullmatch(name)
    kind, numbers, rule, part = found.groups("") if found else (name, "", "", "")
    check_known([kind], METHODS, "method")
    known, given, share = _KINDS[kind], [float(n) for n in numbers.split(":")[1:]], float(part) if rule else None
    bounded = kind in ("mmr", "dkmips") and any(trade > 1 for trade in given[:1])
    if len(given) > len(known.usual) or bounded or (math.inf in given and "plus" not in kind):
        takes = ("no numbers", "λ", "λ and μ")[len(known.usual)]
        raise InputError(f"'{name}': {kind} takes {takes}, λ from 0 to 1 for mmr and dkmips, such as mmr:0.75.")
    if share is not None and (share > 1 or not known.clustered):
        raise InputError(f"'{name}': +{rule} takes a share from 0 to 1, and is for the methods that cover clusters.")
    return NewsMethod(kind, (*given, *known.usual[len(given) :]), share, rule != "stop")
