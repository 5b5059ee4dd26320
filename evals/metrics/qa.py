"""Is a reply the answer, and how many of its words are? Of several gold answers the best counts for each measure.

Words are lower-case, without punctuation and articles (as SQuAD has it, Rajpurkar et al. 2016).

accuracy   exact match of the words, in order (PIR, §3.3)
qa_f1      |T ∩ G| / |T ∪ G| of the sets of words: so PIR writes it (A.8); elsewhere that is the Jaccard index
token_f1   2 · common / (words of the reply + words of the answer), as often as they come: SQuAD's F1
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from evals.metrics.measure import Figure, Ratio


def words(text: str) -> list[str]:
    """The words that are compared."""
    return [w for w in re.sub(r"[^\w\s]", "", text.lower()).split() if w not in ("a", "an", "the")]


def answer_scores(reply: str, gold: Sequence[str]) -> list[float]:
    """The measures of one reply, each 0 where it has no words, as one that failed."""
    said, told = words(reply), [0.0, 0.0, 0.0]
    for right in map(words, gold) if said else ():
        overlap = len({*said} & {*right}) / len({*said, *right})
        f1 = 2 * (Counter(said) & Counter(right)).total() / (len(said) + len(right))
        told = [max(pair) for pair in zip(told, (float(said == right), overlap, f1), strict=True)]
    return told


def answer_measures(rows: Iterable[tuple[str, str, Sequence[str]]]) -> dict[str, Figure]:
    """The means over rows of (question, reply, gold answers)."""
    each = [(question, answer_scores(reply, gold)) for question, reply, gold in rows]
    names = ("accuracy", "qa_f1", "token_f1")
    return {name: Ratio.of((q, scores[i], 1) for q, scores in each) for i, name in enumerate(names)}
