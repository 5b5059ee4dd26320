"""Grounding: what words alone tell of a claim and the texts that it cites. A chat model that checks the claim is given
it as hints; it decides nothing, unless that model cannot be trusted.
"""

import re
from functools import lru_cache

from tools.language.facts import missing_facts
from tools.language.sentences import GAP, clean, split_sentences
from tools.language.words import LIGHT_WORDS, NEGATORS

_NEGATORS = NEGATORS | frozenset("nor without hardly barely rarely seldom deny denies denied denying".split())
_INSTEAD = re.compile(r"\b(?:rather than|instead of|as opposed to|(?:and|but) not)\b")
_CLAUSE_END = re.compile(
    r"[,;:!?\n]|\.(?!\d)|\b(?:because|since|but|yet|whereas|while|although|though|so|which|who|unless|if|when|than)\b"
)
_PAUSE = re.compile(r"[,;:]\s+|\s+[\u2013\u2014-]\s+|(?<=[.!?])\s+")
_SPACES = re.compile(r"\s+")
_A_CLAUSE = 3  # content words that two clauses have in common, where one may deny the other
_SAME_CLAUSE = 0.7  # share of the shorter clause's content words from which both speak of the same
_AN_ADDITION = 4  # content words; a shorter part says too little to be looked for
_KNOWN = 0.3  # share of a part's content words that the document has
_REMEMBERED = 4096  # texts
_DOCUMENTS = 128


def word_hints(claim: str, document: str) -> list[str]:
    """What speaks against a claim by its words: facts and parts that the document lacks.

    document: all of its text, with its title, and what else is known of it.
    """
    hints = [f"not found: {fact}" for fact in missing_facts(claim, document)]
    return hints + [f"hardly a word found: {part}" for part in _additions(claim, document)]


def verbatim(claim: str, passage: str) -> bool:
    """Whether the claim's words stand in the passage as they are; white space may differ. No words stand nowhere."""
    words = _SPACES.sub(" ", claim).strip()
    return bool(words) and words in _SPACES.sub(" ", passage)


@lru_cache(maxsize=_REMEMBERED)
def stems(text: str) -> tuple[str, ...]:
    """The stems of a text's words in order, without stop words; the lexical index's own."""
    from tools.language.words import analyzer

    return tuple(analyzer().analyze(clean(text)))


def content_overlap(claim: str, passage: str) -> float:
    """The share of the claim's content words that the passage has, 0 to 1."""
    asked = _content(claim)
    return len(asked & _content(passage)) / len(asked) if asked else 0.0


def evidence(claim: str, passage: str) -> str:
    """The sentence of the passage that has most content words of the claim, with one more where that has a number or
    two words of the claim which the first lacks; in the passage's order, `GAP` between them if they are apart."""
    sentences, asked = split_sentences(passage), _content(claim)
    if not sentences:
        return ""
    words = [asked & _content(s) for s in sentences]
    best = max(range(len(words)), key=lambda i: len(words[i]))
    added = [w - words[best] for w in words]
    more = max(range(len(added)), key=lambda i: len(added[i]))
    numbers = _content(" ".join(w for w in claim.split() if any(map(str.isdigit, w))))
    more = next((i for i, new in enumerate(added) if new & numbers), more)
    if len(added[more]) < 2 and not added[more] & numbers:
        return sentences[best]
    first, last = sorted((best, more))
    return (" " if last == first + 1 else GAP).join((sentences[first], sentences[last]))


def _additions(claim: str, document: str) -> list[str]:
    """The parts of a claim whose words the document mostly lacks."""
    known = frozenset[str]().union(*map(_content, document.splitlines()))  # a whole text is too long to remember
    parts = ((part, _content(part)) for part in _PAUSE.split(claim))
    return [p for p, words in parts if len(words) >= _AN_ADDITION and len(words & known) < _KNOWN * len(words)]


def is_denied(claim: str, passages: str) -> bool:
    """Whether the clauses of the passages that are like one of the claim's are negated where that is not, or the other
    way round. Most often it is a rewording: this is no hint for a model, only a reason to ask it twice."""
    for words, negated in _clauses(claim):
        agree = [same == negated for other, same in _clauses(passages) if _likeness(words, other) >= _SAME_CLAUSE]
        if agree and not any(agree):
            return True
    return False


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    common = len(one & other)
    return common / min(len(one), len(other)) if common >= _A_CLAUSE else 0.0


@lru_cache(maxsize=_DOCUMENTS)
def _clauses(text: str) -> tuple[tuple[frozenset[str], bool], ...]:
    """Each clause's content words, and whether a word negates it."""
    text = re.sub(r"n't\b", " not", text.replace("’", "'").lower()).replace("no one", "nobody")
    found = []
    for clause in _CLAUSE_END.split(_INSTEAD.sub(", not", text.replace("not only", ""))):
        words = re.findall(r"[a-z0-9']+", clause)
        kept = _content(" ".join(w for w in words if w not in _NEGATORS))
        if kept:
            found.append((kept, bool(_NEGATORS.intersection(words))))
    return tuple(found)


def _content(text: str) -> frozenset[str]:
    return frozenset(stems(" ".join(w for w in text.split() if w.lower() not in LIGHT_WORDS)))
