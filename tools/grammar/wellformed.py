"""The check before anything is searched: is this a clause of which statement and denial can be made with certainty?

Where it is not, the question itself stands in for them, and its sides are Yes and No. So each test here errs towards
'not certain'.
"""

import re
from collections.abc import Sequence

from tools.grammar.boundary import head_noun, relative_positions
from tools.grammar.casing import is_common
from tools.grammar.clause import Clause
from tools.grammar.finite import finite_verb
from tools.grammar.inflect import base_form, is_gerund, is_participle, verb_strength
from tools.grammar.lexicon import Word, words_of
from tools.grammar.word_classes import (
    AUXILIARIES,
    BE,
    CONJUNCTIONS,
    DEGREES,
    DO,
    HAVE,
    RELATIVES,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
)

_LONGEST = 60  # words of a statement
_SAVE = re.compile(r"^(?:any|no)\w*\b.* but\b", re.I)  # 'anybody's business but our own'
_STRAY = re.compile(r"[?!;]|: |\bor not\b|\bdiscuss$|\bagree or\b|\bw/|\bvs?\.?(?= )|\.\.\.", re.I)
_ONE = frozenset(["is", "was", "does", "has"])
_MANY = frozenset(["are", "were", "do", "have"])
_EITHER_NUMBER = frozenset("i you we they who that those these many most some all none what more fewer several both".split())


def sound(clause: Clause) -> bool:
    """Whether the clause reads as one: a subject that can be one, a verb phrase that fits its auxiliary, one number."""
    subject, rest = words_of(clause.subject), words_of(clause.rest)
    if not subject or not rest or len(subject) + len(rest) > _LONGEST:
        return False
    aux_is_be = clause.aux in BE
    return not (
        _SAVE.search(clause.rest)
        or _STRAY.search(f"{clause.subject} {clause.rest}")
        or not balanced(clause.subject)
        or not balanced(clause.rest)
        or _stray_capitals(rest)
        or subject[0].core in SUBORDINATORS
        or (subject[0].core == "to")
        or (aux_is_be and _offers(subject))
        or not _names_something(subject)
        or not _fits(clause.aux, rest)
        or not _agrees(subject, clause.aux)
        or _garden_path(clause.aux, rest)
    )


def is_sentence(words: Sequence[Word], lead: str = "") -> bool:
    """Whether a statement may stand as it was written: one sentence with a finite verb."""
    text = " ".join(w.text for w in words)
    if len(words) < 3 or len(words) > _LONGEST or _STRAY.search(text) or re.search(r"[.] ", text) or not balanced(text):
        return False
    if words[0].core in SUBORDINATORS or words[0].core == "when":
        return sum(w.core in AUXILIARIES or w.tag in ("VBZ", "VBD") for w in words) > 0 and len(words) > 6
    inside = relative_positions(words)
    return finite_verb(words) is not None or any(w.core in AUXILIARIES and i not in inside for i, w in enumerate(words) if i)


def balanced(text: str) -> bool:
    """Whether every quotation mark and bracket is closed."""
    opened = len(re.findall(r"(?<![\w)])'(?=\w)", text))
    closed = len(re.findall(r"(?<=[^s\s])'(?!\w)|(?<=s)'(?!\w)", text)) if opened else 0
    pairs = all(text.count(a) == text.count(b) for a, b in ("()", "[]"))
    return text.count('"') % 2 == 0 and pairs and (not opened or closed >= opened)


def coordinated(rest: str) -> bool:
    """Whether another finite verb may be joined to the first ('infringes … and perpetuates'), so that a single 'not'
    or a question would reach one of the two only."""
    words = words_of(rest)
    for i, word in enumerate(words[:-1]):
        if word.core in ("and", "or", "but", "nor") and i:
            after = next((w for w in words[i + 1 :] if not w.adverb), words[-1])
            verbal = after.core in AUXILIARIES or after.tag in ("VBZ", "VBD", "VBP")
            if verbal or (word.core == "but") or (words[i].text.startswith(",")):
                return True
            if words[i - 1].closes and after.core in SUBJECT_PRONOUNS:
                return True
    return False


def _stray_capitals(rest: Sequence[Word]) -> bool:
    """Small words with a capital: a title that was not lowered, or a second sentence."""
    if rest[0].adjective and rest[0].text[:1].isupper() and is_common(rest[0].text):
        return True
    return any(w.text[:1].isupper() and not w.text.isupper() and w.core in AUXILIARIES for w in rest)


def _names_something(subject: Sequence[Word]) -> bool:
    """Whether these words are a noun phrase: a head, nothing left open at its end, no verb outside its clauses."""
    last = subject[-1]
    left_open = last.core in CONJUNCTIONS or last.core in SUBORDINATORS or (last.core in DEGREES and len(subject) > 1)
    if left_open or last.closes and last.text.endswith((":", ";")):
        return False
    if last.preposition and not is_participle(subject[-2].core if len(subject) > 1 else "") and len(subject) < 3:
        return False
    if last.determiner and last.core not in ("this", "that", "these", "those", "all", "some", "any", "each", "neither"):
        return False
    inside = relative_positions(subject)
    after_clause = any(w.core in RELATIVES or w.core in ("what", "how", "whether", "why") for w in subject)
    if any(w.core in CONJUNCTIONS and subject[i].closes and len(subject) > 6 for i, w in enumerate(subject[1:])):
        return False
    verbs = [i for i, w in enumerate(subject) if w.core in AUXILIARIES and w.core not in ("will", "can", "might", "may", "must")]
    if any(i not in inside for i in verbs) and not after_clause:
        return False
    if len(subject) > 1 and last.core in ("will", "might"):
        return True
    head = any(w.noun or w.core in SUBJECT_PRONOUNS or is_gerund(w.core) or w.tag in ("CD", "NNP", "PRP") for w in subject)
    verbal = len(subject) > 1 and last.tag.startswith("VB")  # 'left turns'
    return head or verbal or subject[0].determiner or subject[0].core in ("what", "those", "all", "more", "both") or last.adjective


def _offers(subject: Sequence[Word]) -> bool:
    """'graffiti vandalism or art': it is not clear whether the subject ends before the 'or'."""
    at = next((i for i, word in enumerate(subject) if word.core == "or"), 0)
    return at > 0 and subject[at - 1].noun and not any(word.preposition for word in subject[:at])


def _fits(aux: str, rest: Sequence[Word]) -> bool:
    """Whether what follows the auxiliary begins as it has to."""
    i = 0
    while i < len(rest) - 1 and (rest[i].adverb or rest[i].core in ("even", "all", "both", "each")) and not verb_strength(
        rest[i].core
    ):
        i += 1
    first = rest[i]
    if aux in BE:
        return not (first.core in AUXILIARIES - {"being"} or first.core in SUBJECT_PRONOUNS - {"one", "nothing", "something",
                    "anything", "everything", "anyone", "someone", "everyone", "you", "it"})  # fmt: skip
    if aux in HAVE:
        return is_participle(first.core) or first.tag in ("VBN", "VBD") or base_form(first.core) != ""
    if aux == "ought":
        return first.core == "to"
    if aux in DO and first.core == "be":
        return False
    return bool(verb_strength(first.core)) and first.core not in SUBJECT_PRONOUNS


def _agrees(subject: Sequence[Word], aux: str) -> bool:
    """Whether subject and verb have one number, as far as that can be told."""
    head = head_noun(subject)
    if head is None or subject[0].core in _EITHER_NUMBER | {"there", "it"} or is_gerund(subject[0].core):
        return not (subject[0].core in ("it", "he", "she") and aux in _MANY)
    joined = any(w.core in ("and", "or", "nor", "&") for w in subject)
    if aux in _MANY and not joined:
        plural = head.plural or head.tag in ("JJ", "CD", "NNP", "NNPS", "VBN", "VBG") or head.core.endswith("s")
        return plural or head.core in _COLLECTIVE or any(w.core in _EITHER_NUMBER for w in subject)
    return True


_COLLECTIVE = frozenset(
    "people police women men children youth media data criteria staff cattle elderly poor rich young old press public "
    "government team family majority minority number couple lot pair clergy team police folk memoranda sheep".split()
)


def _garden_path(aux: str, rest: Sequence[Word]) -> bool:
    """'Are votes cast here stored there': of two participles either may be the verb."""
    if aux not in BE or not is_participle(rest[0].core):
        return False
    for i in range(2, len(rest) - 1):
        later, before, after = rest[i], rest[i - 1], rest[i + 1]
        bare = later.tag in ("VBN", "VBD") and before.noun and after.preposition
        if bare and rest[1].preposition:
            return True
    return False
