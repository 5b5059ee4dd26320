"""Steelman's own selection: the k passages that together are likeliest to cover every perspective.

For passages S the value is

    F(S) = Σ over perspectives p of w_p · (1 − Π over i in S of (1 − P[p, i]))      expected coverage
         + a · Σ over i in S of relevance[i]                                         relevance
         + b · Σ over sentence clusters that S covers of their weight                novelty
         + c · number of different sources in S                                      independence

with P[p, i] the probability that passage i supports perspective p. Every term is monotone and submodular, so the greedy
choice has at least 1 − 1/e (63 %) of the best possible value (Nemhauser, Wolsey and Fisher 1978). It is made lazily
(Minoux 1978): a passage's gain never grows, so that one which was behind before is looked at again only when it leads.
"""

import heapq
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DIGITS = 9  # of a gain: rounding makes no order among equals


@dataclass(frozen=True, slots=True)
class Terms:
    """How much the terms beside expected coverage weigh; all are 0 or more."""

    relevance: float = 0.3
    novelty: float = 0.05
    independence: float = 0.05

    def __post_init__(self) -> None:
        if min(self.relevance, self.novelty, self.independence) < 0:
            raise ValueError("no term may weigh less than 0: the value would no longer grow with every passage")


@dataclass(frozen=True, slots=True)
class Candidates:
    """Passages to choose from.

    support: probabilities of shape (perspectives, n), each between 0 and 1. relevance: shape (n,), 0 or more; no values
    stand for 0. clusters: of each passage, the sentence clusters that it covers. sources: who published each; passages
    of one source are no independent witnesses. weights: of the perspectives, 1 each where none are given.
    Raises ValueError for shapes that differ and for values out of range.
    """

    support: NDArray[np.floating]
    relevance: NDArray[np.floating]
    clusters: Sequence[frozenset[int]] = ()
    sources: Sequence[Hashable] = ()
    weights: NDArray[np.floating] | None = None

    def __post_init__(self) -> None:
        n = len(self.relevance)
        if self.support.ndim != 2 or self.support.shape[1] != n:
            raise ValueError(f"support has the shape {self.support.shape}, not (perspectives, {n})")
        if any(part and len(part) != n for part in (self.clusters, self.sources)):
            raise ValueError(f"clusters and sources are told for all {n} passages or for none")
        if np.isnan(self.support).any() or self.support.min(initial=0) < 0 or self.support.max(initial=0) > 1:
            raise ValueError("support has to lie between 0 and 1")
        if self.relevance.min(initial=0) < 0:
            raise ValueError("relevance has to be 0 or more")


@dataclass(frozen=True, slots=True)
class Choice:
    """A passage that was chosen, and what it added when it was."""

    position: int
    gain: float
    perspectives: dict[int, float] = field(default_factory=dict)
    """By how much it raised the probability that a perspective is covered."""
    relevance: float = 0.0
    clusters: frozenset[int] = frozenset()
    """Sentence clusters that nothing chosen before covers."""
    new_source: bool = False


def select(candidates: Candidates, k: int, terms: Terms = Terms()) -> list[Choice]:
    """Up to k passages in the order in which they were chosen, each with its reasons; see the module for the value.

    Fewer than k only where there are fewer passages. Of equals the earlier passage is chosen.
    """
    state = _State(candidates, terms)
    heap = [(-gain, i, 0) for i, gain in enumerate(state.first_gains())]
    heapq.heapify(heap)
    chosen: list[Choice] = []
    while heap and len(chosen) < k:
        _, i, turn = heapq.heappop(heap)
        if turn < len(chosen) and heap and (-(gain := state.gain(i)), i) > heap[0][:2]:
            heapq.heappush(heap, (-gain, i, len(chosen)))
            continue
        chosen.append(state.take(i))
    return chosen


class _State:
    """What is covered so far."""

    def __init__(self, candidates: Candidates, terms: Terms) -> None:
        self._candidates, self._terms = candidates, terms
        by_passage = np.asarray(candidates.support.T, np.float64, order="C")
        weights = np.ones(by_passage.shape[1]) if candidates.weights is None else np.asarray(candidates.weights)
        self._support, self._weights = by_passage, weights
        self._missed = np.ones(by_passage.shape[1])
        """The probability that nothing chosen supports a perspective."""
        self._clusters: set[int] = set()
        self._sources: set[Hashable] = set()

    def first_gains(self) -> Floats:
        """Of every passage, while nothing is chosen."""
        gains = self._support @ self._weights + self._terms.relevance * self._candidates.relevance
        if self._candidates.clusters:
            gains = gains + self._terms.novelty * np.array([len(c) for c in self._candidates.clusters])
        gains = gains + (self._terms.independence if self._candidates.sources else 0.0)
        return np.asarray(np.round(gains, _DIGITS), np.float64)

    def gain(self, i: int) -> float:
        """What passage `i` would add now."""
        fresh, new_source = self._fresh(i)
        return self._gain(i, len(fresh), new_source)

    def take(self, i: int) -> Choice:
        """Chooses passage `i`; tells what it added."""
        fresh, new_source = self._fresh(i)
        raised = self._missed * self._support[i]
        relevance = self._terms.relevance * float(self._candidates.relevance[i])
        perspectives = {int(p): float(raised[p]) for p in np.flatnonzero(raised > 0)}
        choice = Choice(i, self._gain(i, len(fresh), new_source), perspectives, relevance, fresh, new_source)
        self._missed *= 1 - self._support[i]
        self._clusters |= fresh
        if self._candidates.sources:
            self._sources.add(self._candidates.sources[i])
        return choice

    def _gain(self, i: int, fresh: int, new_source: bool) -> float:
        covered = float(self._support[i] @ (self._weights * self._missed))
        beside = self._terms.novelty * fresh + self._terms.independence * new_source
        return round(covered + self._terms.relevance * float(self._candidates.relevance[i]) + beside, _DIGITS)

    def _fresh(self, i: int) -> tuple[frozenset[int], bool]:
        """The sentence clusters that passage `i` would be first to cover, and whether its source is new."""
        fresh = frozenset(self._candidates.clusters[i] - self._clusters) if self._candidates.clusters else frozenset()
        return fresh, bool(self._candidates.sources) and self._candidates.sources[i] not in self._sources


def pairs_to_judge(
    support: NDArray[np.floating], expected: NDArray[np.floating], budget: int, k: int
) -> list[tuple[int, int]]:
    """The (perspective, passage) pairs, at most `budget`, whose verdicts can change the choice of k most; best first.

    support: what is judged already, NaN elsewhere; expected: a guess for every pair; both of shape (perspectives, n).
    A verdict matters where the perspective is still likely to be missed and the passage is likely to support it: pairs
    come by missed[p] · expected[p, i], and with every pair `missed` falls by what it is expected to bring, so that the
    budget moves on to the perspectives that need it.
    """
    left = np.isnan(support)
    missed = np.prod(1 - np.sort(np.where(left, 0.0, support), axis=1)[:, -k:], axis=1)
    ordered: list[tuple[int, int]] = []
    for _ in range(min(budget, int(left.sum()))):
        worth = np.where(left, missed[:, None] * expected, -1.0)
        p, i = divmod(int(np.argmax(worth)), worth.shape[1])
        ordered.append((p, i))
        left[p, i] = False
        missed[p] *= 1 - float(expected[p, i])
    return ordered
