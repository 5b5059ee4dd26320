"""Draws training pairs from the data sets of a corpus: their mixture, their order, and how each pair is varied."""

import random
from dataclasses import dataclass, field, replace
from functools import cache

from evals.training.examples import HARD_TARGETS, Example, placed_sentences
from evals.training.text import negated, sentences, words_in_common
from tools.models.judges.embedded import joint_statement

_UNRELATED = 0.05
_ASKED = 0.3  # how often a told statement gives way to its question
_WORDED = 0.75  # how often it does where other wordings of the question are known
_PLACED = 0.7  # how often a sentence is read among its neighbours, where they are known
_TWO_SIDED = ("arc_stance", "read_labels", "readings", "read_sentences", "written", "arguana", "theperspective")


@dataclass
class Sampler:
    """Draws training pairs from a mixture; `state` is all that a resumed run needs."""

    corpus: dict[str, list[Example]]
    seed: int
    state: dict[str, int] = field(default_factory=dict)

    def draw(self, mixture: dict[str, float], count: int, whole: float, told: float = 0.0) -> list[Example]:
        """`count` pairs of the sets that there are; a passage stays whole with probability `whole`, else a part of it
        is taken. With probability `told` the statement stands beside the contrary one, or gives way to the question."""
        chunk = self.state["chunk"] = self.state.get("chunk", 0) + 1
        rng = random.Random(f"{self.seed}/{chunk}")
        there = {name: weight for name, weight in mixture.items() if self.corpus.get(name)}
        names = rng.choices(list(there), weights=list(there.values()), k=count)
        drawn = [self._varied(self._next(name), rng, whole, told) for name in names]
        return [self._unrelated(e, drawn, rng) if rng.random() < _UNRELATED else e for e in drawn]

    def _unrelated(self, e: Example, others: list[Example], rng: random.Random) -> Example:
        other = rng.choice(others)
        return e if other.group == e.group else replace(e, text=other.text, target=HARD_TARGETS["none"])

    def _next(self, name: str) -> Example:
        examples = self.corpus[name]
        position = self.state[name] = self.state.get(name, -1) + 1
        order = _permutation(len(examples), f"{self.seed}/{name}/{position // len(examples)}")
        return examples[order[position % len(examples)]]

    def _varied(self, e: Example, rng: random.Random, whole: float, told: float) -> Example:
        """Of the closer reading (`told` more than 0) a question comes in one of its wordings, a sentence mostly among
        its neighbours."""
        if e.is_sentence and e.placed and told and rng.random() < _PLACED:
            e = replace(e, text=e.placed)
        elif not e.is_sentence and rng.random() >= whole:
            e = _part(e, rng, told > 0 and rng.random() < _PLACED)
        if e.wordings and told and rng.random() < _WORDED:
            wording, for_it = rng.choice(e.wordings)
            return replace(e, statement=wording, target=e.target if for_it else _exchanged(e.target))
        return _beside_contrary(_perhaps_negated(e, rng), rng, told)


def _perhaps_negated(e: Example, rng: random.Random) -> Example:
    rate = 0.25 if e.dataset in _TWO_SIDED else 0.4
    if e.dataset == "polarities" or e.statement.endswith("?") or rng.random() >= rate:
        return e
    return replace(e, statement=negated(e.statement), contrary=e.statement, question="", target=_exchanged(e.target))


def _exchanged(target: tuple[float, float, float]) -> tuple[float, float, float]:
    return (target[1], target[0], target[2])


def _beside_contrary(e: Example, rng: random.Random, share: float) -> Example:
    if share == 0 or e.statement.endswith("?") or rng.random() >= share:
        return e
    if e.question and rng.random() < _ASKED:
        return replace(e, statement=e.question)
    sides = (e.statement, e.contrary or negated(e.statement))
    if rng.random() < 0.5:
        return replace(e, statement=joint_statement(*sides))
    return replace(e, statement=joint_statement(*reversed(sides)), target=_exchanged(e.target))


@cache
def _permutation(size: int, seed: str) -> list[int]:
    return random.Random(seed).sample(range(size), size)


def _part(e: Example, rng: random.Random, placed: bool) -> Example:
    """A sentence of the text near the statement, or a few in a row; the less is taken, the less of the label is
    believed. placed: one sentence is marked among its neighbours."""
    parts = [s for s in sentences(e.text) if 5 <= len(s.split()) <= 60]
    if len(parts) < 2:
        return e
    noisy = [
        words_in_common(e.statement, s) + 0.3 * rng.random() + (0.15 if i == 0 else 0.0) for i, s in enumerate(parts)
    ]
    best = noisy.index(max(noisy))
    text, share = " ".join(parts[max(best - 1, 0) : best + 2]), 0.85
    if rng.random() < 0.6:
        text, share = ([*placed_sentences("", parts)][best][1] if placed else parts[best]), 0.7
    target = (e.target[0] * share, e.target[1] * share, e.target[2] + (1 - e.target[2]) * (1 - share))
    return replace(e, text=text, target=target)
