"""Whether a written claim says what the passages that it cites say.

Three things are asked: every fact that can be looked up is there (`missing_facts`), nothing in the wording goes beyond
the passage (`wording.objections`), and the passage is about just that: a sentence of it is near the claim, and the
judge does not find that its evidence fails to support it. `python -m evals grounding` measures it and fits the
thresholds, with the embedded judge and encoder; others want thresholds of their own.
"""

from collections.abc import Sequence

from tools.grounding.facts import missing_facts
from tools.grounding.wording import objections, stems
from tools.text.sentences import split_sentences

__all__ = ["EVIDENCE", "content_overlap", "evidence_sentences", "is_grounded", "missing_facts", "unfounded"]

EVIDENCE = 2
"""How many sentences of a passage are shown and judged as the evidence of a claim."""
NEAREST = 0.68
"""The cosine of the claim to the nearest sentence from which a claim is accepted."""
ENTAILED = 0.2
"""The judge's probability below which a claim is refused, however near it is."""

_LIGHT = frozenset(
    "can could may might must shall should will would do does did has have had be been being am was were than then so "
    "more most very also only even just when where who whom whose which what how why while because since though "
    "although he she his her him its our we you your my me us i from over under up down out about after before between "
    "against within without through during each other some any own same too yet both either neither nor here "
    "there".split()
)


def content_overlap(claim: str, passage: str) -> float:
    """Share of the claim's different content words whose stems occur in the passage, 0 to 1; 0 when it has none."""
    asked = _content(claim)
    return len(asked & _content(passage)) / len(asked) if asked else 0.0


def evidence_sentences(
    claim: str, passage: str, limit: int = EVIDENCE, nearness: Sequence[float] | None = None
) -> list[str]:
    """The sentences of the passage that carry the claim, best first.

    They are ranked by shared content words, or by the mean of that and `nearness`, the cosine to the claim of each of
    `split_sentences(passage)` in their order.
    """
    sentences = split_sentences(passage)
    scores = [content_overlap(claim, s) for s in sentences]
    if nearness is not None:
        scores = [(overlap + near) / 2 for overlap, near in zip(scores, nearness, strict=True)]
    order = sorted(range(len(sentences)), key=lambda i: -scores[i])
    return [sentences[i] for i in order[:limit]]


def unfounded(claim: str, passage: str, evidence: Sequence[str], title: str = "") -> list[str]:
    """Why a claim cannot stand whatever the models say: its facts that are missing, and `wording.objections`."""
    return [*missing_facts(claim, [f"{title}. {passage}"]), *objections(claim, passage, evidence)]


def is_grounded(claim: str, passage: str, entailment: float, nearness: Sequence[float], title: str = "") -> bool:
    """Whether the passage says the claim; several passages that are cited together are given as one text.

    `nearness` are the cosines of the claim to each of `split_sentences(passage)`; `entailment` is the mean probability
    of the judge's `Pair(claim, sentence)` over `evidence_sentences(claim, passage, nearness=nearness)`.
    """
    if max(nearness, default=0.0) < NEAREST or entailment < ENTAILED:
        return False
    return not unfounded(claim, passage, evidence_sentences(claim, passage, nearness=nearness), title)


def _content(text: str) -> frozenset[str]:
    return frozenset(stems(" ".join(w for w in text.split() if w.lower() not in _LIGHT)))
