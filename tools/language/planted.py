"""How much a sentence reads like words that somebody planted to sway the writer of an answer.

Logistic regression over a sentence's words and pairs of neighbouring words, fitted by `python -m evals hostile-fit` on
planted and ordinary sentences. It finds what no rule foresaw, since whoever speaks to the writer of an answer has to
speak of summaries, sides, lists and leaving out.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

from tools.errors import ModelError

FILE = Path(__file__).parents[1] / "weights" / "planted.json"
_FEWEST = 5  # words: a heading such as 'Summary of the evidence' tells too little
_TOKEN = re.compile(r"\w+|[\[\]{}<>:#]")


@dataclass(frozen=True, slots=True)
class PlantedWeights:
    """`terms`: weights of words and of pairs. A sentence whose score is above `threshold` counts as planted."""

    offset: float
    threshold: float
    terms: Mapping[str, float] = field(repr=False)

    def score(self, sentence: str) -> float:
        """The logit of being planted, up to the class weights of the fit; minus infinity for fewer than five words."""
        found = features(sentence)
        if not found:
            return -math.inf
        return self.offset + sum(value * self.terms.get(term, 0.0) for term, value in found.items())


def features(sentence: str) -> dict[str, float]:
    """The sentence's words and pairs of neighbours, each with the same value, of unit length together; a number is '0'.
    Empty for fewer than five words."""
    words = ["0" if word.isdigit() else word for word in _TOKEN.findall(sentence.lower())]
    if len(words) < _FEWEST:
        return {}
    terms = {*words, *(f"{first} {second}" for first, second in pairwise(words))}
    return dict.fromkeys(sorted(terms), 1 / math.sqrt(len(terms)))  # sorted: sums come out alike in every process


@cache
def load_planted(path: Path = FILE) -> PlantedWeights:
    """The stored weights. Raises ModelError when they cannot be read."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        terms = {str(term): float(weight) for term, weight in stored["terms"].items()}
        return PlantedWeights(float(stored["offset"]), float(stored["threshold"]), terms)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as exc:
        raise ModelError(f"{path} cannot be read ({exc}). Restore it from the project.") from exc
