"""What marks the ends of phrases, shared by the search for the subject of a question and of a statement."""

from collections.abc import Sequence

from tools.language.grammar.inflect import base_form, is_gerund, is_participle, verb_strength
from tools.language.grammar.lexicon import Word, words_of
from tools.language.grammar.word_classes import (
    AUXILIARIES,
    CONJUNCTIONS,
    DEGREES,
    INTRANSITIVE,
    PREPOSITIONS,
    QUANTIFIERS,
    RELATIVES,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
)

IMPOSSIBLE = -9.0
"""The score of a place where no boundary can be."""

EVIDENCE = 0.4
"""Below this score no place is a likely one."""


def relative_positions(words: Sequence[Word]) -> set[int]:
    """Positions inside relative and object clauses up to their verb, with a copula's complement."""
    blocked: set[int] = set()
    for i, word in enumerate(words[:-1]):
        opens = word.core in RELATIVES and (i == 0 or not words[i - 1].closes or word.core != "that")
        if not opens or (word.core == "that" and i and words[i - 1].preposition):
            continue
        verb = next((j for j in range(i + 1, len(words)) if may_be_finite(words, j, i)), None)
        if verb is None:
            continue
        end = verb
        while end + 1 < len(words) and (words[end + 1].adverb or words[end + 1].core in ("be", "been", "to")):
            end += 1
        takes_more = words[verb].core in AUXILIARIES or end > verb
        blocked.update(range(i, min(end + (2 if takes_more else 1), len(words))))
    return blocked


def may_be_finite(words: Sequence[Word], j: int, start: int) -> bool:
    core = words[j].core
    if core in AUXILIARIES or j == start + 1:
        return core in AUXILIARIES or bool(verb_strength(core) or base_form(core))
    left_plain = not (words[j - 1].determiner or words[j - 1].adjective or words[j - 1].preposition)
    return left_plain and (verb_strength(core) >= 1 or words[j].tag in ("VBZ", "VBD", "VBP") or core.endswith("ed"))


def left_of(words: Sequence[Word], i: int) -> Word:
    """The word before place `i` that is no adverb."""
    j = i - 1
    while j > 0 and words[j].adverb:
        j -= 1
    return words[j]


def can_close(words: Sequence[Word], i: int) -> float:
    """How well a noun phrase can end before place `i`: below 0 badly, above 0 well."""
    left = left_of(words, i)
    word = words[i - 1]
    alone = i < 2 or words[i - 2].core not in ("human", "living")
    if (word.core == "being" and alone) or (i > 1 and opens_contact_clause(words[i - 2], word)):
        return IMPOSSIBLE
    if word.core in CONJUNCTIONS or (word.core in DEGREES and not word.closes) or word.core in SUBORDINATORS:
        return IMPOSSIBLE
    if (left.determiner and left.core not in ("these", "those", "this")) or left.possessive or left.core == "to":
        return IMPOSSIBLE
    if (left.core in PREPOSITIONS and not left.closes) or (left.core in QUANTIFIERS and i > 1 and left is words[i - 1]):
        return IMPOSSIBLE
    if left.noun or left.core in SUBJECT_PRONOUNS or left.tag in ("CD", "PRP") or left.closes:
        return 1.0
    if left.adjective:
        position = i - 2
        return 0.5 if position >= 0 and words[position].core == "the" else -0.6
    return 0.3 if is_gerund(left.core) else 0.0


def opens_contact_clause(before: Word, word: Word) -> bool:
    """'the choices people make': a subject right after a noun has its own verb behind it."""
    again = word.core in ("they", "we", "he", "she") or (word.core == "people" and before.plural)
    return again and before.noun and not before.closes


def compound_verb(words: Sequence[Word], i: int) -> bool:
    """'paper bin | work': a noun that could be a verb, between a singular noun and what may be the verb too."""
    if not 0 < i < len(words) - 1 or not words[i].noun or words[i].closes:
        return False
    before, after = words[i - 1], words[i + 1]
    ends = i + 2 == len(words) or words[i + 2].preposition or words[i + 2].adverb
    plain = before.noun and not before.plural and before.text.islower()
    return bool(plain and ends and after.core in INTRANSITIVE)


def right_of_verb(words: Sequence[Word], i: int) -> float:
    """How well what stands right of place `i` follows a verb."""
    if i + 1 >= len(words) or words[i].closes:
        return 0.3
    right = words[i + 1]
    if right.core == "of":
        return -2.0
    if right.determiner or right.core in ("to", "us", "them", "him", "me", "it", "you", "that", "more", "less"):
        return 1.2
    if right.preposition:
        return 0.5
    return 0.6 if right.plural or right.adjective or right.adverb or is_participle(right.core) else 0.2


_SINGULAR = frozenset(["data", "news", "media"])


def takes_are(phrase: Sequence[Word]) -> bool:
    """Whether a noun phrase is plural: 'zoos', 'cats and dogs'; 'data', 'ethics' and 'news' are not."""
    head = head_noun(phrase)
    if head is None or (is_gerund(phrase[0].core) and "-" not in phrase[0].core):
        return False
    joined = any(word.core in ("and", "&") for word in phrase)
    return (
        joined
        or head.core in ("people", "police")
        or (head.plural and not head.core.endswith("ics") and head.core not in _SINGULAR)
    )


def copula(phrase: str) -> str:
    """'is' or 'are', as a noun phrase takes it."""
    return "are" if takes_are(words_of(phrase)) else "is"


def head_noun(subject: Sequence[Word]) -> Word | None:
    """The last noun before the first preposition, relative or infinitive: it decides the verb's number."""
    head: Word | None = None
    for i, word in enumerate(subject):
        if i and (word.core in PREPOSITIONS or word.core in RELATIVES or word.core == "to"):
            break
        if word.noun or word.core in SUBJECT_PRONOUNS or head is None:
            head = word
    return head
