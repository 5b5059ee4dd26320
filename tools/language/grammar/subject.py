"""Where the subject ends: in a question whose verb comes first, and in a statement.

Each place is scored by the word there and its neighbours, and the best place wins. What marks the end of a subject:
a base verb after 'should' or 'does'; after 'is' an adjective, adverb, article or participle that follows a noun, since
inside an English noun phrase adjectives and articles stand before the noun. A relative clause keeps its first verb.
"""

from collections.abc import Callable, Sequence

from tools.language.grammar.boundary import (
    EVIDENCE,
    IMPOSSIBLE,
    can_close,
    compound_verb,
    head_noun,
    left_of,
    relative_positions,
    right_of_verb,
)
from tools.language.grammar.inflect import base_form, is_gerund, is_participle, verb_strength
from tools.language.grammar.lexicon import Word, lookup
from tools.language.grammar.word_classes import (
    ADVERBS,
    BE,
    CONJUNCTIONS,
    DEGREES,
    HAVE,
    RELATIVES,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
)

_CAUSATIVE = frozenset("make keep leave render drive turn get consider find hold put set".split())
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
    blocked = relative_positions(words)
    best, place = IMPOSSIBLE, len(words)
    for i in range(1, len(words)):
        value = IMPOSSIBLE if i in blocked else score(words, i, aux) - 0.05 * i
        if value > best:
            best, place = value, i
    if best < EVIDENCE and aux in BE:
        return _last_noun(words) or (place if best > IMPOSSIBLE / 2 else len(words))
    return place if best > IMPOSSIBLE / 2 else len(words)


def _pronoun_end(words: Sequence[Word], aux: str) -> int | None:
    first, second = words[0].core, words[1]
    if first in SUBJECT_PRONOUNS:
        bare = first in ("it", "i", "he", "she", "we", "you", "they", "there")
        goes_on = second.preposition or second.core in RELATIVES or (first == "one" and second.noun)
        return 1 if bare or not goes_on else None
    if first in ("this", "that") and second.determiner:
        return 1
    alone = first in _DEMONSTRATIVE and not (second.noun or second.core == "of")
    if alone and aux in BE | HAVE:
        return None if second.adjective and len(words) > 2 and words[2].noun else 1
    return 1 if alone and verb_strength(second.core) > 1.5 else None


def _base_verb_score(words: Sequence[Word], i: int, aux: str) -> float:
    """For 'should', 'will', 'does' and the like: the first base-form verb after a complete noun phrase."""
    word = words[i]
    if word.adverb:
        placed = word.core in ADVERBS or word.core.endswith("ly")  # 'abroad' and 'here' stand after what they go with
        return _before_verb(words, i) if placed else IMPOSSIBLE
    strength, closing = verb_strength(word.core), can_close(words, i)
    if not strength or closing <= IMPOSSIBLE:
        return IMPOSSIBLE
    value = strength + closing + right_of_verb(words, i) - 2.0 * word.text[0].isupper()
    if left_of(words, i).plural and strength < 2:
        value += 0.8
    if aux in ("do", "does"):
        value += _agreement(words[:i], aux)
    if any(earlier.core in SUBORDINATORS for earlier in words[1:i]):
        value -= 3.0
    if _inside_compound(words, i):
        value -= 2.5
    return value - 0.15 * i


def _inside_compound(words: Sequence[Word], i: int) -> bool:
    """'the gender pay gap exist': a noun that could be a verb, while a surer verb closes the question."""
    if compound_verb(words, i):
        return True
    last = words[-1]
    between = words[i + 1 : -1]
    return (
        bool(between)
        and all(word.noun and not word.plural for word in between)
        and words[i - 1].noun
        and not words[i - 1].plural
        and verb_strength(last.core) >= 3
    )


def _before_verb(words: Sequence[Word], i: int) -> float:
    """An adverb between the subject and its verb: as good as the verb behind it, and a little better."""
    j = i + 1
    while j < len(words) and words[j].adverb:
        j += 1
    if j >= len(words) or not verb_strength(words[j].core) or can_close(words, i) < 0:
        return IMPOSSIBLE
    return _base_verb_score(words, j, "") + 0.5 + 0.15 * (j - i)


def _agreement(subject: Sequence[Word], aux: str) -> float:
    head = head_noun(subject)
    plural = head is not None and head.plural
    if aux == "do":
        return 0.6 if plural or any(word.core == "and" for word in subject) else -0.8
    return -0.8 if plural and not is_gerund(subject[0].core) else 0.2


def _participle_score(words: Sequence[Word], i: int, aux: str) -> float:
    """For 'has' and 'have': the first past participle after a noun phrase, adverbs in front of it included."""
    word = words[i]
    j = i
    while j < len(words) and words[j].adverb:
        j += 1
    closing = can_close(words, i)
    if j >= len(words) or not is_participle(words[j].core) or closing < 0:
        return IMPOSSIBLE
    core = words[j].core
    sure = core == "been" or words[j].tag not in ("NN", "JJ")
    follows = words[j + 1] if j + 1 < len(words) else None
    attributive = follows is not None and follows.noun and not words[j - 1].noun
    return 2.0 + sure + closing + (0.5 if word.adverb else 0.0) - 1.5 * attributive - 0.1 * i


def _predicate_score(words: Sequence[Word], i: int, aux: str) -> float:
    """For 'is' and 'are': where a second phrase begins that cannot belong to the subject's noun phrase."""
    word, left = words[i], words[i - 1]
    if can_close(words, i) <= IMPOSSIBLE or word.core in CONJUNCTIONS:
        return IMPOSSIBLE
    value = _predicate_start(words, i)
    after_infinitive = i > 1 and words[i - 2].core == "to"
    coined = after_infinitive and not lookup(left.core)  # 'to defund'
    named = left.noun and not coined and not (i == 1 and is_gerund(left.core))
    attributive = word.adjective and i + 1 < len(words) and words[i + 1].noun and not word.closes
    if not (named or left.core in SUBJECT_PRONOUNS or left.closes):
        value -= 2.5 if word.determiner or attributive or is_gerund(word.core) else 1.5
        value += 0.5 if after_infinitive else 0.0
    if any(earlier.core in SUBORDINATORS or earlier.core == "than" for earlier in words[:i]):
        value -= 2.0
    return value


def _predicate_start(words: Sequence[Word], i: int) -> float:
    word = words[i]
    right = words[i + 1] if i + 1 < len(words) and not word.closes else None
    if right is not None and right.core in ("day", "week", "month", "year", "night", "time"):
        return IMPOSSIBLE
    if word.determiner or word.core == "one" or _sure_start(word, right):
        return 3.0
    if word.core in DEGREES and right is not None and (word.core != "as" or right.adjective):
        close = right.adjective or right.adverb or right.determiner or right.core == "to" or is_participle(right.core)
        return 3.0 if close else 1.0
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
        takes_object = right is not None and (right.determiner or right.plural or right.preposition or right.noun)
        causes = right is not None and base_form(word.core) in _CAUSATIVE
        return 4.0 if causes else 2.6 if takes_object else 2.3
    if is_participle(word.core):
        return 2.2 + (0.5 if right is None or right.preposition or right.core == "to" else -1.5 if right.noun else 0.0)
    if word.adjective:
        return 3.0
    if word.preposition and word.core != "of":
        return 0.6
    return IMPOSSIBLE


def _sure_start(word: Word, right: Word | None) -> bool:
    """'is anything but …', 'is of no use', 'are to blame'."""
    follows = right.core if right is not None else ""
    of = word.core == "of" and follows in ("any", "no", "much", "little", "great", "some")
    return (
        of or word.core in ("anything", "something", "nothing", "everything") or (word.core, follows) == ("to", "blame")
    )


def _last_noun(words: Sequence[Word]) -> int | None:
    """'Is sugar poison': the last of two or more nouns before the first preposition is the predicate."""
    end = next((i for i, word in enumerate(words) if word.preposition), len(words))
    return end - 1 if end >= 2 and words[end - 1].noun and words[end - 2].noun else None
