"""What a pronoun that opens a sentence stands for: the subject of the sentence before."""

import re
from collections.abc import Sequence

from tools.language.grammar.boundary import head_noun
from tools.language.grammar.clause import from_statement
from tools.language.grammar.lexicon import Word, join, words_of
from tools.language.grammar.word_classes import (
    DETERMINERS,
    DO,
    PREPOSITIONS,
    RELATIVES,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
)

_LONGEST = 8  # words of a subject that is put in brackets
_ENDS = re.compile(r"[.!?…:;][\"'”’)\]]*$")
_PLURAL = frozenset("they their them".split())
_PERSON = frozenset("he she his her him".split())
_OWNING = frozenset("its their his".split())  # 'her' may be either, and is taken for the object


def antecedent(pronoun: str, before: str) -> str:
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
    text = join(subject)
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
    return named and len(subject) <= _LONGEST and not re.search(r"[\"“”‘()\[\]]", join(subject))


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
