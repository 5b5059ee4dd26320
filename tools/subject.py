"""Where the subject ends: in a question whose verb comes first, and in a statement.

Each place is scored by the word there and its neighbours, and the best place wins. What marks the end of a subject:
a base verb after 'should' or 'does'; after 'is' an adjective, adverb, article or participle that follows a noun, since
inside an English noun phrase adjectives and articles stand before the noun. A relative clause keeps its first verb.
"""

from collections.abc import Callable, Sequence

from tools.inflect import base_form, is_gerund, is_participle, verb_strength
from tools.lexicon import (
    CONJUNCTIONS,
    DEGREES,
    PREPOSITIONS,
    QUANTIFIERS,
    RELATIVES,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
    Word,
)

BE = frozenset(["is", "are", "was", "were", "am"])
DO = frozenset(["do", "does", "did"])
HAVE = frozenset(["has", "have", "had"])
MODALS = frozenset(["should", "would", "will", "can", "could", "may", "might", "must", "shall", "ought", "cannot"])
AUXILIARIES = BE | DO | HAVE | MODALS

_CAUSATIVE = frozenset(
    ["make", "keep", "leave", "render", "drive", "turn", "get", "consider", "find", "hold", "put", "set"]
)
_IMPOSSIBLE = -9.0
_EVIDENCE = 0.4  # below this no place is a likely one
_OPENS_CLAUSE = SUBORDINATORS | frozenset("how why what that than".split())
_DEMONSTRATIVE = frozenset(["this", "that", "these", "those", "all", "both"])

Score = Callable[[Sequence[Word], int, str], float]


def subject_end(words: Sequence[Word], aux: str) -> int:
    """Index of the first word after the subject in `words`, which follow a fronted auxiliary.

    Returns len(words) when nothing but a subject is there.
    """
    if len(words) < 2:
        return len(words)
    if (pronoun := _pronoun_end(words, aux)) is not None:
        return pronoun
    score: Score = _predicate_score if aux in BE else _participle_score if aux in HAVE else _base_verb_score
    blocked = _relative_positions(words)
    best, place = _IMPOSSIBLE, len(words)
    for i in range(1, len(words)):
        value = _IMPOSSIBLE if i in blocked else score(words, i, aux) - 0.05 * i
        if value > best:
            best, place = value, i
    if best < _EVIDENCE and aux in BE:
        return _last_noun(words) or (place if best > _IMPOSSIBLE / 2 else len(words))
    return place if best > _IMPOSSIBLE / 2 else len(words)


def _pronoun_end(words: Sequence[Word], aux: str) -> int | None:
    first, second = words[0].core, words[1]
    if first in SUBJECT_PRONOUNS and not (first == "one" and (second.preposition or second.noun)):
        if first in ("we", "you", "they") and second.core in ("all", "both"):
            return 2
        bare = first in ("it", "i", "he", "she", "we", "you", "they", "there")
        return 1 if bare or not (second.preposition or second.core in RELATIVES) else None
    alone = first in _DEMONSTRATIVE and not (second.noun or second.determiner or second.core == "of")
    if alone and aux in BE | HAVE:
        return None if second.adjective and len(words) > 2 and words[2].noun else 1
    return 1 if alone and verb_strength(second.core) > 1.5 else None


def _relative_positions(words: Sequence[Word]) -> set[int]:
    """Positions inside relative and object clauses up to their verb, with a copula's complement."""
    blocked: set[int] = set()
    for i, word in enumerate(words[:-1]):
        opens = word.core in RELATIVES and (i == 0 or not words[i - 1].closes or word.core != "that")
        if not opens or (word.core == "that" and i and words[i - 1].preposition):
            continue
        verb = next((j for j in range(i + 1, len(words)) if _finite(words, j, i)), None)
        if verb is None:
            continue
        end = verb
        while end + 1 < len(words) and (words[end + 1].adverb or words[end + 1].core in ("be", "been", "to")):
            end += 1
        takes_more = words[verb].core in AUXILIARIES or end > verb
        blocked.update(range(i, min(end + (2 if takes_more else 1), len(words))))
    return blocked


def _finite(words: Sequence[Word], j: int, start: int) -> bool:
    core = words[j].core
    if core in AUXILIARIES:
        return True
    if j == start + 1:
        return bool(verb_strength(core) or base_form(core)) and not (words[j].adverb or words[j].determiner)
    left_plain = not (words[j - 1].determiner or words[j - 1].adjective or words[j - 1].preposition)
    return left_plain and (verb_strength(core) >= 1 or words[j].tag in ("VBZ", "VBD", "VBP") or core.endswith("ed"))


def _left(words: Sequence[Word], i: int) -> Word:
    """The word before place `i` that is no adverb."""
    j = i - 1
    while j > 0 and words[j].adverb and not words[j].noun:
        j -= 1
    return words[j]


def _can_close(words: Sequence[Word], i: int) -> float:
    """How well a noun phrase can end before place `i`: below 0 badly, above 0 well."""
    left = _left(words, i)
    word = words[i - 1]
    if word.core in CONJUNCTIONS or (word.core in DEGREES and not word.closes) or word.core in SUBORDINATORS:
        return _IMPOSSIBLE
    if (left.determiner and left.core not in ("these", "those", "this")) or left.possessive or left.core == "to":
        return _IMPOSSIBLE
    if (left.core in PREPOSITIONS and not left.closes) or (left.core in QUANTIFIERS and i > 1 and left is words[i - 1]):
        return _IMPOSSIBLE
    if left.noun or left.core in SUBJECT_PRONOUNS or left.tag in ("CD", "PRP") or left.closes:
        return 1.0
    if left.adjective:
        position = i - 2
        return 0.5 if position >= 0 and words[position].core == "the" else -0.6
    return 0.3 if is_gerund(left.core) else 0.0


def _right_of_verb(words: Sequence[Word], i: int) -> float:
    """How well what stands right of place `i` follows a verb."""
    if i + 1 >= len(words) or words[i].closes:
        return 0.3
    right = words[i + 1]
    if right.core == "of":
        return -2.0
    if right.core in ("be", "have", "do") or right.core in AUXILIARIES:
        return -4.0
    if right.determiner or right.core in ("to", "us", "them", "him", "me", "it", "you", "that", "more", "less"):
        return 1.2
    if right.preposition:
        return 0.5
    if verb_strength(right.core) >= 2.5 and not right.noun:
        return -1.5
    return 0.6 if right.plural or right.adjective or right.adverb or is_participle(right.core) else 0.2


def _base_verb_score(words: Sequence[Word], i: int, aux: str) -> float:
    """For 'should', 'will', 'does' and the like: the first base-form verb after a complete noun phrase."""
    word = words[i]
    if word.adverb and not verb_strength(word.core):
        return _before_verb(words, i)
    strength = verb_strength(word.core)
    if not strength or word.possessive:
        return _IMPOSSIBLE
    closing = _can_close(words, i)
    if closing <= _IMPOSSIBLE:
        return _IMPOSSIBLE
    value = strength + closing + _right_of_verb(words, i) - 2.0 * word.text[0].isupper()
    if words[i - 1].adverb:
        value += 0.3
    if _left(words, i).plural and strength < 2:
        value += 0.8
    if aux in DO:
        value += _agreement(words[:i], aux)
    return value - 0.15 * i


def _before_verb(words: Sequence[Word], i: int) -> float:
    """An adverb between the subject and its verb: as good as the verb behind it, and a little better."""
    j = i + 1
    while j < len(words) and words[j].adverb:
        j += 1
    if j >= len(words) or not verb_strength(words[j].core) or _can_close(words, i) < 0:
        return _IMPOSSIBLE
    return _base_verb_score(words, j, "") + 0.5 + 0.15 * (j - i)


def head_noun(subject: Sequence[Word]) -> Word | None:
    """The last noun before the first preposition, relative or infinitive: it decides the verb's number."""
    head: Word | None = None
    for i, word in enumerate(subject):
        if i and (word.core in PREPOSITIONS or word.core in RELATIVES or word.core == "to"):
            break
        if word.noun or word.core in SUBJECT_PRONOUNS or head is None:
            head = word
    return head


def _agreement(subject: Sequence[Word], aux: str) -> float:
    head = head_noun(subject)
    if head is None or aux == "did":
        return 0.0
    several = any(word.core == "and" for word in subject)
    if aux == "do":
        return 0.6 if head.plural or several else -0.8
    gerund = is_gerund(subject[0].core)
    return -0.8 if head.plural and not gerund else 0.2


def _participle_score(words: Sequence[Word], i: int, aux: str) -> float:
    """For 'has' and 'have': the first past participle after a noun phrase, adverbs in front of it included."""
    word = words[i]
    j = i
    while j < len(words) and words[j].adverb:
        j += 1
    if j >= len(words) or not is_participle(words[j].core):
        return _IMPOSSIBLE
    closing = _can_close(words, i)
    if closing < 0:
        return _IMPOSSIBLE
    core = words[j].core
    sure = core == "been" or words[j].tag not in ("NN", "JJ")
    follows = words[j + 1] if j + 1 < len(words) else None
    attributive = follows is not None and follows.noun and not words[j - 1].noun
    return 2.0 + sure + closing + (0.5 if word.adverb else 0.0) - 1.5 * attributive - 0.1 * i


def _predicate_score(words: Sequence[Word], i: int, aux: str) -> float:
    """For 'is' and 'are': where a second phrase begins that cannot belong to the subject's noun phrase."""
    word, left = words[i], words[i - 1]
    if left.closes and left.text.endswith(",") and word.core in CONJUNCTIONS:
        return _IMPOSSIBLE
    closing = _can_close(words, i)
    if closing <= _IMPOSSIBLE or word.core in CONJUNCTIONS or word.core in RELATIVES:
        return _IMPOSSIBLE
    value = _predicate_start(words, i)
    if value <= _IMPOSSIBLE:
        return value
    after_noun = left.noun and not (i == 1 and is_gerund(left.core)) or left.core in SUBJECT_PRONOUNS or left.closes
    attributive = word.adjective and i + 1 < len(words) and words[i + 1].noun and not word.closes
    after_infinitive = i > 1 and words[i - 2].core == "to"
    if not after_noun:
        value -= 2.5 if word.determiner or attributive or is_gerund(word.core) else 1.5
        value += 0.5 if after_infinitive else 0.0
    if any(earlier.core in SUBORDINATORS for earlier in words[:i]):
        value -= 2.0
    return value


def _predicate_start(words: Sequence[Word], i: int) -> float:
    word = words[i]
    right = words[i + 1] if i + 1 < len(words) and not word.closes else None
    if word.possessive:
        return _IMPOSSIBLE if word.text[0].isupper() and words[i - 1].text[0].isupper() else 3.0
    if word.determiner or word.core == "one" and right is not None and right.core == "of":
        return 3.0
    if word.core in DEGREES and right is not None and (word.core != "as" or right.adjective):
        return 3.0 if right.adjective or right.adverb or right.determiner or is_participle(right.core) else 1.0
    if word.core == "worth" or word.core in ("good", "bad", "right", "wrong", "better", "worse", "evil"):
        return 3.2
    if word.adverb:
        fits = right is not None and (
            right.adjective
            or right.determiner
            or right.adverb
            or right.core in DEGREES
            or is_participle(right.core)
            or is_gerund(right.core)
        )
        return 3.0 if fits else 1.2
    if is_gerund(word.core) and not (word.tag == "NN" and right is None):
        return _gerund_score(word, right)
    if is_participle(word.core):
        return 2.2 + (0.5 if right is None or right.preposition or right.core == "to" else -1.5 if right.noun else 0.0)
    if word.adjective:
        return 3.0
    if word.preposition and word.core != "of":
        return 0.6
    if word.core == "to" and right is not None:
        return 0.3
    return _IMPOSSIBLE


def _gerund_score(word: Word, right: Word | None) -> float:
    if right is not None and base_form(word.core) in _CAUSATIVE:
        return 4.0
    if right is not None and (right.adjective or is_participle(right.core)) and not right.noun:
        return 0.4
    takes_object = right is not None and (right.determiner or right.plural or right.preposition or right.noun)
    return 2.3 + (0.3 if takes_object else 0.0)


def _last_noun(words: Sequence[Word]) -> int | None:
    """'Is sugar poison': the last of two or more nouns before the first preposition is the predicate."""
    end = next((i for i, word in enumerate(words) if word.preposition and i), len(words))
    return end - 1 if end >= 2 and words[end - 1].noun and words[end - 2].noun else None


def finite_verb(words: Sequence[Word]) -> int | None:
    """Index of a statement's finite verb or auxiliary, or None when there is none (a noun phrase, a fragment)."""
    blocked = _relative_positions(words) | _contact_clause(words)
    best, place = _EVIDENCE, None
    for i in range(len(words)):
        if i in blocked:
            continue
        value = _finite_score(words, i)
        if value - 0.3 * i > best:
            best, place = value - 0.3 * i, i
        if words[i].core in AUXILIARIES and value > 2:
            break
    return place


def _finite_score(words: Sequence[Word], i: int) -> float:
    word = words[i]
    if i == 0:
        return _IMPOSSIBLE
    left = words[i - 1]
    if word.core in AUXILIARIES:
        if any(earlier.core in _OPENS_CLAUSE for earlier in words[1:i]):
            return 2.0
        noun_may = word.core in ("will", "can", "may", "might", "must") and left.determiner
        return _IMPOSSIBLE if noun_may or left.core in ("to", "and") or left.core in PREPOSITIONS else 9.0
    closing = _can_close(words, i)
    if closing < 0 or word.core in SUBJECT_PRONOUNS:
        return _IMPOSSIBLE
    subject = _left(words, i)
    singular = not subject.plural and subject.core not in ("i", "you", "we", "they")
    base = base_form(word.core) if word.core not in ("being", "been") else ""
    if word.core.endswith("s") and base and not is_gerund(word.core):
        several = any(w.core == "and" for w in words[:i])
        return (3.5 if word.tag == "VBZ" else 1.5) + (0.8 if singular and not several else -1.0) + closing
    if base and not is_gerund(word.core) and word.tag in ("VBD", "VBN"):
        right = words[i + 1] if i + 1 < len(words) else None
        return (3.2 if word.tag == "VBD" else 1.6) + (0.0 if right is None or not right.preposition else -1.0)
    strength = verb_strength(word.core)
    if not strength or (singular and not any(w.core == "and" for w in words[:i]) and strength < 3):
        return _IMPOSSIBLE
    return min(strength, 3.0) + (0.8 if not singular else -0.8) + closing + 0.5 * _right_of_verb(words, i)


def _contact_clause(words: Sequence[Word]) -> set[int]:
    """'The roles an actor can play should …': a subject right after a noun opens a clause that keeps its verb."""
    for i in range(1, len(words) - 2):
        opens = words[i].core in ("we", "they", "he", "she", "i", "you", "people", "a", "an")
        if opens and words[i - 1].noun and not words[i - 1].closes:
            verbs = [j for j in range(i + 1, len(words)) if _finite(words, j, i - 1)]
            later = [j for j in verbs if words[j].core in AUXILIARIES]
            if len(later) >= 1 and len(verbs) >= 2 and later[-1] != verbs[0]:
                end = verbs[0] + (1 if words[verbs[0]].core in AUXILIARIES else 0)
                return set(range(i, end + 1))
    return set()
