"""Whether a written claim says what the passages that it cites say.

Whatever a judge says, every fact that can be looked up has to be there (`missing_facts`), nothing may stand in the
claim that has no place in one (`intrusions`), and no clause may be added of which the passages know nothing
(`added_clauses`). Beyond that a judge that checks claims decides, about those that are somewhat like their passages.
Where there is none, the claim has to be near a sentence and nothing in its wording may go beyond the passage
(`wording.objections`). `python -m evals model --grounding` measures it with the embedded encoder; others want
thresholds of their own.
"""

import re
from collections.abc import Sequence

from tools.language.grounding.facts import missing_facts
from tools.language.grounding.intrusions import intrusions
from tools.language.grounding.wording import denied_plainly, objections, stems
from tools.language.sentences import split_sentences
from tools.language.word_lists import LIGHT_WORDS

__all__ = [
    "EVIDENCE",
    "added_clauses",
    "content_overlap",
    "evidence_sentences",
    "is_grounded",
    "likeness",
    "missing_facts",
    "unfounded",
]

EVIDENCE = 2
"""How many sentences of a passage are shown and judged as the evidence of a claim."""
NEAREST = 0.64
"""The cosine to the nearest sentence from which a claim is accepted that no judge checks."""
ALIKE = 1.0
"""The likeness that it has to have besides."""
ALIKE_AND_SAID = 0.9
"""The same of one that a judge finds in its passages."""
SAID = 0.5
"""The judge's probability from which it finds the claim in its passages."""

_FURTHER = re.compile(
    r"(?:[,;:]\s+|\s+[\u2013\u2014]\s+)"
    r"(?=(?:and|which|who|so|but|making|leaving|meaning|allowing|causing|forcing)\b)|;\s+|(?<=[.!?])\s+",
    re.IGNORECASE,
)
_A_CLAUSE = 3  # content words; a shorter one says too little to be looked for
_KNOWN = 0.4  # share of a clause's content words that the passage has


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


def likeness(claim: str, passage: str, nearness: Sequence[float]) -> float:
    """How alike claim and passage are, 0 to 2: the highest of the cosines of its sentences, and `content_overlap`."""
    return max(nearness, default=0.0) + content_overlap(claim, passage)


def added_clauses(claim: str, passage: str, title: str = "") -> list[str]:
    """The further clauses of a claim (', which makes …', ', and it would …') whose words the passage mostly lacks."""
    known = _content(f"{title}. {passage}")
    asked = ((clause, _content(clause)) for clause in _FURTHER.split(claim)[1:])
    return [c for c, words in asked if len(words) >= _A_CLAUSE and len(words & known) < _KNOWN * len(words)]


def unfounded(claim: str, passage: str, title: str = "") -> list[str]:
    """Why a claim cannot stand whatever anybody says: its facts that are missing, what has no place in it, and what it
    adds."""
    return [
        *missing_facts(claim, [f"{title}. {passage}"]),
        *intrusions(claim),
        *added_clauses(claim, passage, title),
    ]


def is_grounded(
    claim: str, passage: str, nearness: Sequence[float], title: str = "", said: float | None = None
) -> bool:
    """Whether the passage says the claim; several passages that are cited together are given as one text.

    nearness: the cosines of the claim to each of `split_sentences(passage)`. said: how surely a judge that checks
    claims finds it there; None without one.
    """
    if unfounded(claim, passage, title):
        return False
    alike, evidence = likeness(claim, passage, nearness), evidence_sentences(claim, passage, nearness=nearness)
    if said is None:
        near = max(nearness, default=0.0) >= NEAREST and alike >= ALIKE
        return near and not objections(claim, passage, evidence)
    return said >= SAID and alike >= ALIKE_AND_SAID and not denied_plainly(claim, passage, evidence)


def _content(text: str) -> frozenset[str]:
    return frozenset(stems(" ".join(w for w in text.split() if w.lower() not in LIGHT_WORDS)))
