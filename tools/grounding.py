"""Whether a written claim says what its passages say.

Three things are asked: every fact that can be looked up is there (`missing_facts`), the claim is no stronger than its
evidence, and the passage supports it (the judge, the encoder and shared words together).
"""

from collections.abc import Sequence
from functools import cache

from tools.facts import missing_facts
from tools.sentences import split_sentences

__all__ = ["content_overlap", "evidence_sentences", "is_grounded", "missing_facts"]

_LIGHT = frozenset(
    "can could may might must shall should will would do does did has have had be been being am was were than then so "
    "more most very also only just even when where who whom whose which what how why while because since though "
    "although he she his her him its our we you your my me us i from over under up down out about after before between "
    "against within without through during each other some any own same too yet both either neither nor here there "
    "make makes made get gets got one ones".split()
)


def content_overlap(claim: str, passage: str) -> float:
    """Share of the claim's different content words whose stems occur in the passage, 0 to 1; 0 for a claim of none."""
    asked = _stems(claim)
    return len(asked & _stems(passage)) / len(asked) if asked else 0.0


def evidence_sentences(claim: str, passage: str, limit: int = 2, nearness: Sequence[float] | None = None) -> list[str]:
    """The sentences of the passage that carry the claim, best first, verbatim but for white space.

    They are ranked by shared content words, or by the mean of that and `nearness`, a number from 0 to 1 (such as the
    cosine to the claim) for each of `split_sentences(passage)` in their order.
    """
    sentences = split_sentences(passage)
    scores = [content_overlap(claim, s) for s in sentences]
    if nearness is not None:
        scores = [(o + n) / 2 for o, n in zip(scores, nearness, strict=True)]
    order = sorted(range(len(sentences)), key=lambda i: -scores[i])
    return [sentences[i] for i in order[:limit]]


def is_grounded(claim: str, passage: str, entailment: float, nearness: float) -> bool:
    """Whether the passage says the claim."""
    return not missing_facts(claim, [passage]) and entailment >= 0.3 and nearness >= 0.5


@cache
def _stems(text: str) -> frozenset[str]:
    from tools.lexical import analyzer

    return frozenset(analyzer().analyze(" ".join(w for w in text.split() if w.lower() not in _LIGHT)))
