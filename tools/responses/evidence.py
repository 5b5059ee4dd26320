"""Up to three sentences of a document that are evidence for its thesis (multi-perspective search, §4.2.4).

As in the paper the sentences that support the thesis are kept, and ranked by their relevance to it. A sentence that
opens with a pronoun, or with 'this' or 'these', is then given what it leans on, in square brackets: words that are
added are never mixed with those of the document.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.language.grammar.boundary import head_noun
from tools.language.grammar.clause import from_statement
from tools.language.grammar.lexicon import Word, words_of
from tools.language.grammar.word_classes import (
    DETERMINERS,
    DO,
    PREPOSITIONS,
    RELATIVES,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
)
from tools.language.standalone import leans_back, stands_alone

Floats = NDArray[np.floating]

MOST = 3
_LONGEST = 8  # words of a subject that is put in brackets
_ENDS = re.compile(r"[.!?…:;][\"'”’)\]]*$")
_PERSONAL = re.compile(r"^[\"'“‘(]?(it|its|they|their|them|he|she|his|her|him)(?=\W)", re.IGNORECASE)
_POINTING = re.compile(
    r"^[\"'“‘(]?(?:this(?!\s+(?:year|month|week|time|morning|evening|summer|winter|century)\b)|"
    r"these(?!\s+days\b)|those(?!\s+who\b)|"
    r"that(?=(?:'s|’s)|\s+(?:is|was|has|means|makes|would|could|can|will|should|may|might)\b))(?!\w)",
    re.IGNORECASE,
)
_OPENING = re.compile(r"\w+")
# An 'it' that only prepares a clause stands for nothing.
_PREPARES = re.compile(
    r"^[\"'“‘(]?it(?:'s|’s|\s+(?:is|was|would\s+be|seems))\s+(?:(?:not|also|often)\s+)?(?:no\s+\w+|an?\s+\w+|time|clear|"
    r"true|obvious|(?:un)?likely|(?:im)?possible|important|essential|vital|necessary|easy|easier|hard|harder|difficult|"
    r"good|better|best|bad|worse|right|wrong|(?:un)?fair)\s+(?:to|that|for|whether|if)\b",
    re.IGNORECASE,
)
_PLURAL = frozenset("they their them".split())
_PERSON = frozenset("he she his her him".split())
_OWNING = frozenset("its their his".split())  # 'her' may be either, and is taken for the object


@dataclass(frozen=True, slots=True)
class Shown:
    """A sentence as it is shown. `added` is what stands in its square brackets and is not of the sentence, or empty."""

    text: str
    added: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentence at `position` of the document: its cosine to the thesis, the probability that it supports it, and
    how it is shown."""

    position: int
    relevance: float
    support: float
    shown: Shown


def find_evidence(
    sentences: Sequence[str],
    vectors: Floats,
    thesis: Floats,
    support: Floats,
    threshold: float,
    title: str = "",
    left_out: Collection[int] = (),
    most: int = MOST,
) -> list[Evidence]:
    """At most `most` sentences that support the thesis, by their relevance to it, best first; see `ranked`.

    sentences: of the document, n in their order. title: the document's. left_out: positions that may not be chosen,
    such as the thesis itself. Raises ValueError for shapes that differ.
    """
    if len(sentences) != len(vectors):
        raise ValueError(f"{len(sentences)} sentences for {len(vectors)} vectors")
    relevance = vectors @ thesis
    chosen = [i for i in ranked(relevance, support, threshold) if i not in left_out][:most]
    return [
        Evidence(i, float(relevance[i]), float(support[0, i]), mended(sentences[i], _before(sentences, i), title))
        for i in chosen
    ]


def ranked(relevance: Floats, support: Floats, threshold: float) -> list[int]:
    """Positions of the sentences that support the thesis, the most relevant first; of equals the earlier.

    relevance: shape (n,). support: the probabilities that each sentence supports the thesis, and its contrary, shape
    (2, n); a sentence is kept where the first is the threshold or more, and more than the second. One without a verdict
    (NaN) is not. Raises ValueError for shapes that differ.
    """
    if support.shape != (2, len(relevance)):
        raise ValueError(f"support has the shape {support.shape}, not (2, {len(relevance)})")
    kept = np.flatnonzero((support[0] >= threshold) & ~(support[0] <= support[1]))
    return [int(i) for i in kept[np.argsort(-relevance[kept], kind="stable")]]


def likelihood(support: Floats) -> NDArray[np.float64]:
    """How likely each sentence is evidence at all, shape (n,): the larger of its probabilities, NaN where one is.

    The paper's regression is not told which side a sentence is on either. support: shape (sides, n).
    """
    return np.asarray(np.max(support, axis=0), np.float64)


def mended(sentence: str, before: str = "", title: str = "") -> Shown:
    """The sentence with what its opening word leans on, where it opens with a pronoun or with 'this' or 'these'.

    before: the sentence before it, or empty. title: of the document, or empty. A personal pronoun is followed by the
    subject of the sentence before, 'It [the night ferry] costs …', where that agrees with it and nothing else there
    does. Else the sentence before is put in front, where it stands alone itself, and else the title. Where there is
    none of these the sentence stays as it is. Which word a pronoun stands for is a guess by form.
    """
    personal = None if _PREPARES.match(sentence) else _PERSONAL.match(sentence)
    if personal is None and not _POINTING.match(sentence):
        return Shown(sentence)
    following = sentence[personal.end() :] if personal else ""
    if personal and following.startswith(" ") and (subject := _antecedent(personal[1].casefold(), before)):
        return Shown(f"{sentence[: personal.end()]} [{subject}]{following}", subject)
    context = before if stands_alone(before) else title.strip()
    return Shown(f"[{context}] {sentence}", context) if context else Shown(sentence)


def antecedent_added(sentence: str, before: str) -> str:
    """The sentence with what its opening pronoun stands for in square brackets, or '' where that is not sure, or where
    it leans on more than its first word."""
    personal = None if _PREPARES.match(sentence) else _PERSONAL.match(sentence)
    if personal is None or not sentence[personal.end() :].startswith(" "):
        return ""
    subject = _antecedent(personal[1].casefold(), before)
    if not subject or leans_back(_OPENING.sub("Towns", sentence, count=1)):
        return ""
    return f"{sentence[: personal.end()]} [{subject}]{sentence[personal.end() :]}"


def _before(sentences: Sequence[str], position: int) -> str:
    return sentences[position - 1] if position else ""


def _antecedent(pronoun: str, before: str) -> str:
    """The subject of the sentence before as it is put in brackets, or '' where it is not surely what is meant."""
    clause = from_statement(words_of(_ENDS.sub("", before)))
    if clause is None:
        return ""
    subject = words_of(_without_lead(clause.subject))
    rest = words_of(clause.rest)[clause.aux in DO :]  # after 'do' the rest begins with the verb
    head = head_noun(subject)
    if head is None or not _names_something(subject, head) or not _agrees(pronoun, subject, head):
        return ""
    others = subject[subject.index(head) + 1 :] + rest
    if any(_could_be_meant(pronoun, word, head) for word in others):
        return ""
    text = " ".join(word.text for word in subject)
    return text + ("'" if text.endswith("s") else "'s") if pronoun in _OWNING else text


def _without_lead(subject: str) -> str:
    """Without an introduction ('in 2019, …', 'however, …') and without a clause that is put in ('…, who …,')."""
    first, comma, rest = subject.partition(", ")
    opening = words_of(first)[:1]
    leads = bool(opening) and (opening[0].core in PREPOSITIONS | SUBORDINATORS or opening[0].adverb)
    return (rest if comma and leads else first).split(",")[0]


def _names_something(subject: Sequence[Word], head: Word) -> bool:
    """A noun phrase of a few words, whose noun is no pronoun and which is not quoted."""
    named = head.noun and head.core not in SUBJECT_PRONOUNS | DETERMINERS | RELATIVES
    return named and len(subject) <= _LONGEST and not re.search(r"[\"“”‘()\[\]]", " ".join(w.text for w in subject))


def _agrees(pronoun: str, subject: Sequence[Word], head: Word) -> bool:
    """In number; 'he' and 'she' stand for somebody named in full, and 'it' for no such name."""
    if pronoun in _PERSON:
        return _full_name(subject)
    several = head.plural or any(word.core == "and" for word in subject)
    return several if pronoun in _PLURAL else not several and not _full_name(subject)


def _full_name(words: Sequence[Word]) -> bool:
    return len(words) > 1 and all(word.text[0].isupper() for word in words)


def _could_be_meant(pronoun: str, word: Word, head: Word) -> bool:
    if pronoun in _PERSON:
        return word.text[0].isupper()
    return word.noun and word.plural == (pronoun in _PLURAL) and word.core != head.core
