"""The finite verb of a statement: scored like the subject's end, but the verb stands where it belongs."""

from collections.abc import Sequence

from tools.language.grammar.boundary import (
    EVIDENCE,
    IMPOSSIBLE,
    can_close,
    left_of,
    may_be_finite,
    relative_positions,
    right_of_verb,
)
from tools.language.grammar.inflect import base_form, verb_strength
from tools.language.grammar.lexicon import Word
from tools.language.grammar.word_classes import AUXILIARIES, PREPOSITIONS, SUBJECT_PRONOUNS, SUBORDINATORS

_OPENS_CLAUSE = SUBORDINATORS | frozenset("how why what that than".split())


def finite_verb(words: Sequence[Word]) -> int | None:
    """Index of a statement's finite verb or auxiliary, or None when there is none (a noun phrase, a fragment)."""
    blocked = relative_positions(words) | _contact_clause(words)
    best, place = EVIDENCE, None
    for i in range(len(words)):
        if i in blocked:
            continue
        in_clause = place is not None and any(word.core in _OPENS_CLAUSE for word in words[place + 1 : i])
        if in_clause and words[i].core in AUXILIARIES:
            break
        value = _finite_score(words, i)
        if value - 0.3 * i > best:
            best, place = value - 0.3 * i, i
        if words[i].core in AUXILIARIES and value > 2:
            break
    return place


def _finite_score(words: Sequence[Word], i: int) -> float:
    word = words[i]
    if i == 0:
        return IMPOSSIBLE
    left = words[i - 1]
    if word.core in AUXILIARIES:
        if i + 1 < len(words) and words[i + 1].core in AUXILIARIES - {"have", "do"}:
            return IMPOSSIBLE
        noun_may = word.core in ("will", "can", "may", "might", "must") and left.determiner
        return IMPOSSIBLE if noun_may or left.core in ("to", "and") or left.core in PREPOSITIONS else 9.0
    closing = can_close(words, i)
    if closing < 0 or word.core in SUBJECT_PRONOUNS:
        return IMPOSSIBLE
    subject = left_of(words, i)
    singular = not subject.plural and subject.core not in ("i", "you", "we", "they")
    if word.plural and i + 1 < len(words) and words[i + 1].tag == "VBZ":
        return IMPOSSIBLE  # 'banning bags pushes up prices'
    if word.plural and i + 2 < len(words) and verb_strength(words[i + 1].core) >= 1 and words[i + 2].plural:
        return IMPOSSIBLE  # 'beauty contests harm women'
    base = base_form(word.core) if word.core not in ("being", "been") else ""
    if word.core.endswith("s") and base:
        several = any(w.core == "and" for w in words[:i])
        return (3.5 if word.tag == "VBZ" else 1.5) + (0.8 if singular and not several else -1.0) + closing
    if base and word.tag in ("VBD", "VBN"):
        right = words[i + 1] if i + 1 < len(words) else None
        return (3.2 if word.tag == "VBD" else 1.6) + (0.0 if right is None or not right.preposition else -1.0)
    strength = verb_strength(word.core)
    if not strength or (singular and not any(w.core == "and" for w in words[:i]) and strength < 3):
        return IMPOSSIBLE
    return min(strength, 3.0) + (0.8 if not singular else -0.8) + closing + 0.5 * right_of_verb(words, i)


def _contact_clause(words: Sequence[Word]) -> set[int]:
    """'The roles an actor can play should …': a subject right after a noun opens a clause that keeps its verb."""
    for i in range(1, len(words) - 2):
        opens = words[i].core in ("we", "they", "he", "she", "i", "you", "people", "a", "an")
        if opens and words[i - 1].noun and not words[i - 1].closes:
            verbs = [j for j in range(i + 1, len(words)) if may_be_finite(words, j, i - 1)]
            later = [j for j in verbs if words[j].core in AUXILIARIES]
            if len(later) >= 1 and len(verbs) >= 2 and later[-1] != verbs[0]:
                end = verbs[0] + (1 if words[verbs[0]].core in AUXILIARIES else 0)
                return set(range(i, end + 1))
    return set()
