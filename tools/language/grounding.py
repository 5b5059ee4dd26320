"""Grounding: whether the passages that a written claim cites say what it says.

Whatever a model says, every fact that can be looked up has to be there (`missing_facts`), nothing may stand in the
claim that has no place in one (`claim_intrusions`), and no clause may be added of which the passages know nothing
(`added_clauses`). Beyond that, of the claims that are
somewhat like their passages and deny none of their clauses, those stand that a chat model, when asked, found there. A
claim that no model was asked about is not grounded.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from tools.language.addressed import claim_intrusions
from tools.language.facts import missing_facts
from tools.language.sentences import clean, split_sentences
from tools.language.words import LIGHT_WORDS, NEGATORS

_NEGATORS = NEGATORS | frozenset(
    "nor hardly rarely seldom few little barely stop stops stopped fail fails failed refuse refuses refused".split()
)
_A_CLAUSE = 3  # stems; a shorter clause is too little to be denied
_AUXILIARIES = frozenset(
    "can do doe did would could should will have ha had be is ar so veri more most one ani even ever onli".split()
)
_CLAUSE_END = re.compile(
    r"[,;:]|\b(?:because|since|but|yet|whereas|while|although|though|so|and|which|who|unless|if|when|than|rather)\b"
)
_REMEMBERED = 4096  # texts


def is_plainly_denied(claim: str, passage: str, evidence: Sequence[str]) -> bool:
    """Whether a whole clause of the passage stands in a clause of the claim that negates it, or the other way round.

    Not where the passage has such a clause as the claim has it, and not where a claim negates and so does the best of
    its evidence: what is negated in both may be put in another way.
    """
    known = [c for s in split_sentences(passage.replace("’", "'")) for c in _clauses(s) if len(c[0]) >= _A_CLAUSE]
    best = re.findall(r"[a-z']+", _written_out(" ".join(evidence[:1]).replace("’", "'")))
    for words, negative in _clauses(claim.replace("’", "'")):
        within = {polarity for clause, polarity in known if clause <= words}
        if within == {not negative} and not (negative and (_NEGATORS | {"without"}).intersection(best)):
            return True
    return False


def _written_out(text: str) -> str:
    """In lower case, each negator a word of its own."""
    return re.sub(r"n't\b", " not", text.lower().replace("no one", "nobody"))


@lru_cache(maxsize=_REMEMBERED)
def stems(text: str) -> tuple[str, ...]:
    """The stems of a text's words in order, without stop words; the lexical index's own."""
    from tools.language.words import analyzer

    return tuple(analyzer().analyze(clean(text)))


@lru_cache(maxsize=_REMEMBERED)
def _clauses(sentence: str) -> tuple[tuple[frozenset[str], bool], ...]:
    """Each clause's stems with whether an odd number of words negates it."""
    found = []
    for clause in _CLAUSE_END.split(_written_out(sentence).replace("not only", "")):
        words = re.findall(r"[a-z']+", clause)
        kept = frozenset(stems(" ".join(w for w in words if w not in _NEGATORS))) - _AUXILIARIES
        if kept:
            found.append((kept, sum(w in _NEGATORS for w in words) % 2 == 1))
    return tuple(found)


EVIDENCE_SENTENCES = 2
"""How many sentences of a passage are shown and judged as the evidence of a claim."""
LEAST_SIMILARITY = 0.9
"""The `similarity` of a claim to its passages from which on a model's verdict on it counts."""
LEAST_ENTAILMENT = 0.5
"""The probability of entailment from which on a claim counts as said by its passages."""

_FURTHER = re.compile(
    r"(?:[,;:]\s+|\s+[\u2013\u2014]\s+)"
    r"(?=(?:and|which|who|so|but|making|leaving|meaning|allowing|causing|forcing)\b)|;\s+|(?<=[.!?])\s+",
    re.IGNORECASE,
)
_AN_ADDED_CLAUSE = 3  # content words; a shorter one says too little to be looked for
_KNOWN = 0.4  # share of a clause's content words that the passage has


def content_overlap(claim: str, passage: str) -> float:
    """Share of the claim's different content words whose stems occur in the passage, 0 to 1; 0 when it has none."""
    asked = _content(claim)
    return len(asked & _content(passage)) / len(asked) if asked else 0.0


def evidence_sentences(
    claim: str, passage: str, limit: int = EVIDENCE_SENTENCES, nearness: Sequence[float] | None = None
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


def similarity(claim: str, passage: str, nearness: Sequence[float]) -> float:
    """Similarity of claim and passage, 0 to 2: the highest cosine of a sentence of it, plus `content_overlap`."""
    return max(nearness, default=0.0) + content_overlap(claim, passage)


def added_clauses(claim: str, passage: str, title: str = "") -> list[str]:
    """The further clauses of a claim (', which makes …', ', and it would …') whose words the passage mostly lacks."""
    known = _content(f"{title}. {passage}")
    asked = ((clause, _content(clause)) for clause in _FURTHER.split(claim)[1:])
    return [c for c, words in asked if len(words) >= _AN_ADDED_CLAUSE and len(words & known) < _KNOWN * len(words)]


def grounding_faults(claim: str, passage: str, title: str = "") -> list[str]:
    """Why a claim cannot stand, whatever a model says of it: facts that the passage lacks, text that has no place in a
    claim, clauses that it adds."""
    return [
        *missing_facts(claim, [f"{title}. {passage}"]),
        *claim_intrusions(claim),
        *added_clauses(claim, passage, title),
    ]


def is_grounded(claim: str, passage: str, nearness: Sequence[float], said: float, title: str = "") -> bool:
    """Whether the passage says the claim; several passages that are cited together are given as one text.

    nearness: the cosines of the claim to each of `split_sentences(passage)`. said: how surely a chat model that was
    asked finds it there.
    """
    alike, evidence = similarity(claim, passage, nearness), evidence_sentences(claim, passage, nearness=nearness)
    if said < LEAST_ENTAILMENT or alike < LEAST_SIMILARITY or grounding_faults(claim, passage, title):
        return False
    return not is_plainly_denied(claim, passage, evidence)


def _content(text: str) -> frozenset[str]:
    return frozenset(stems(" ".join(w for w in text.split() if w.lower() not in LIGHT_WORDS)))
