"""Draws training pairs from a mixture of data sets in a seeded order, and varies each pair at random."""

import random
from dataclasses import dataclass, field, replace
from functools import cache

from evals.training.data import HARD_TARGETS, Example, Target, placed_sentences
from evals.training.negation import negated
from evals.training.text import sentences, words_in_common
from tools.models.judges.embedded import joint_statement

_UNRELATED = 0.05
_QUESTION = 0.3  # how often a statement of a joint pair is replaced by its question
_WORDING = 0.75  # how often another wording of the question, if known, replaces the statement
_PLACED = 0.7  # how often a sentence has its context
_TWO_SIDED = ("arc_stance", "read_labels", "readings", "read_sentences", "written", "arguana", "theperspective")


@dataclass
class Sampler:
    """Draws training pairs. A resumed run needs only `state`: how many examples of each data set were drawn."""

    corpus: dict[str, list[Example]]
    seed: int
    state: dict[str, int] = field(default_factory=dict)

    def draw(self, mixture: dict[str, float], count: int, whole: float, joint: float = 0.0) -> list[Example]:
        """Draws `count` pairs. whole: probability that a passage stays whole. joint: probability that the pair has both
        opposing statements, or a question, instead of one statement; 0 for the small judge, which reads single
        statements."""
        chunk = self.state["chunk"] = self.state.get("chunk", 0) + 1
        rng = random.Random(f"{self.seed}/{chunk}")
        known = {name: weight for name, weight in mixture.items() if self.corpus.get(name)}
        names = rng.choices(list(known), weights=list(known.values()), k=count)
        drawn = [_varied(self._next(name), rng, whole, joint) for name in names]
        texts = [rng.choice(drawn) if rng.random() < _UNRELATED else e for e in drawn]
        none = HARD_TARGETS["none"]
        return [
            e if e.group == o.group else replace(e, text=o.text, target=none) for e, o in zip(drawn, texts, strict=True)
        ]

    def _next(self, name: str) -> Example:
        examples = self.corpus[name]
        position = self.state[name] = self.state.get(name, -1) + 1
        order = _permutation(len(examples), f"{self.seed}/{name}/{position // len(examples)}")
        return examples[order[position % len(examples)]]


@cache
def _permutation(size: int, seed: str) -> list[int]:
    return random.Random(seed).sample(range(size), size)


def _varied(e: Example, rng: random.Random, whole: float, joint: float) -> Example:
    if e.is_sentence and e.placed and joint and rng.random() < _PLACED:
        e = replace(e, text=e.placed)
    elif not e.is_sentence and rng.random() >= whole:
        e = _part(e, rng, joint > 0 and rng.random() < _PLACED)
    if e.wordings and joint and rng.random() < _WORDING:
        wording, affirms = rng.choice(e.wordings)
        return replace(e, statement=wording, target=e.target if affirms else _exchanged(e.target))
    rate = 0.25 if e.dataset in _TWO_SIDED else 0.4
    if e.dataset != "polarities" and not e.statement.endswith("?") and rng.random() < rate:
        contrary = negated(e.statement)
        e = replace(e, statement=contrary, contrary=e.statement, question="", target=_exchanged(e.target))
    return _joint(e, rng, joint)


def _exchanged(target: Target) -> Target:
    return (target[1], target[0], target[2])


def _joint(e: Example, rng: random.Random, share: float) -> Example:
    if share == 0 or e.statement.endswith("?") or rng.random() >= share:
        return e
    if e.question and rng.random() < _QUESTION:
        return replace(e, statement=e.question)
    sides = (e.statement, e.contrary or negated(e.statement))
    if rng.random() < 0.5:
        return replace(e, statement=joint_statement(*sides))
    return replace(e, statement=joint_statement(*reversed(sides)), target=_exchanged(e.target))


def _part(e: Example, rng: random.Random, placed: bool) -> Example:
    """Returns the sentence that shares most words with the statement, alone or between its neighbours. The label
    becomes weaker. placed: return the sentence in its context."""
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
