"""Draws training pairs from the data sets of a corpus: their mixture, their order, and how each pair is varied."""

import random
from dataclasses import dataclass, field, replace
from functools import cache

from evals.training.data import HARD_TARGETS, Example
from evals.training.text import negated, sentences, words_in_common
from tools.models.judges.embedded import joint_statement

_UNRELATED = 0.05
_ASKED = 0.3  # how often a told statement gives way to its question
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
        drawn = [_beside_contrary(self._vary(self._next(name), rng, whole), rng, told) for name in names]
        return [self._unrelated(e, drawn, rng) if rng.random() < _UNRELATED else e for e in drawn]

    def _unrelated(self, e: Example, others: list[Example], rng: random.Random) -> Example:
        other = rng.choice(others)
        return e if other.group == e.group else replace(e, text=other.text, target=HARD_TARGETS["none"])

    def _next(self, name: str) -> Example:
        examples = self.corpus[name]
        position = self.state[name] = self.state.get(name, -1) + 1
        order = _permutation(len(examples), f"{self.seed}/{name}/{position // len(examples)}")
        return examples[order[position % len(examples)]]

    def _vary(self, e: Example, rng: random.Random, whole: float) -> Example:
        target, statement, text = e.target, e.statement, e.text
        rate = 0.25 if e.dataset in _TWO_SIDED else 0.4
        if e.dataset != "polarities" and rng.random() < rate and not statement.endswith("?"):
            e = replace(e, contrary=statement, question="")
            statement, target = negated(statement), (target[1], target[0], target[2])
        if not e.is_sentence and rng.random() >= whole:
            text, share = _part(statement, text, rng)
            target = (target[0] * share, target[1] * share, target[2] + (1 - target[2]) * (1 - share))
        return replace(e, statement=statement, text=text, target=target)


def _beside_contrary(e: Example, rng: random.Random, share: float) -> Example:
    if share == 0 or e.statement.endswith("?") or rng.random() >= share:
        return e
    if e.question and rng.random() < _ASKED:
        return replace(e, statement=e.question)
    sides = (e.statement, e.contrary or negated(e.statement))
    if rng.random() < 0.5:
        return replace(e, statement=joint_statement(*sides))
    return replace(e, statement=joint_statement(*reversed(sides)), target=(e.target[1], e.target[0], e.target[2]))


@cache
def _permutation(size: int, seed: str) -> list[int]:
    return random.Random(seed).sample(range(size), size)


def _part(statement: str, text: str, rng: random.Random) -> tuple[str, float]:
    """A sentence of the text, or a few in a row, near the statement; and how much of the label to believe of it."""
    parts = [s for s in sentences(text) if 5 <= len(s.split()) <= 60]
    if len(parts) < 2:
        return text, 1.0
    noisy = [
        words_in_common(statement, s) + 0.3 * rng.random() + (0.15 if i == 0 else 0.0) for i, s in enumerate(parts)
    ]
    best = noisy.index(max(noisy))
    if rng.random() < 0.6:
        return parts[best], 0.7
    return " ".join(parts[max(best - 1, 0) : best + 2]), 0.85
