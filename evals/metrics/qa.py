"""Overlap of a perspective extracted from a query with the annotated one."""

import re
from collections.abc import Iterable

from evals.metrics.measure import Ratio


def words(text: str) -> list[str]:
    """Lower-case words without punctuation and articles, as in SQuAD (Rajpurkar et al. 2016)."""
    return [w for w in re.sub(r"[^\w\s]", "", text.lower()).split() if w not in ("a", "an", "the")]


def qa_f1(rows: Iterable[tuple[str, str, str]]) -> Ratio:
    """The mean of |T ∩ G| / |T ∪ G| over rows of (question, extracted text T, gold text G), as sets of words; 0 if T is
    empty. PIR calls it QA-F1 (A.8); it is the Jaccard index."""
    sets = [(question, {*words(drawn)}, {*words(gold)}) for question, drawn, gold in rows]
    return Ratio.of((question, len(t & g) / len(t | g) if t else 0, 1) for question, t, g in sets)
