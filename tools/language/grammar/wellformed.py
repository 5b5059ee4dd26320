"""The check before anything is searched: is this a clause of which statement and denial can be made with certainty?

Where it is not, the question itself replaces them, and its sides are Yes and No. So each test here errs towards
'not certain'.
"""

import re
from collections.abc import Sequence

from tools.language.grammar.boundary import head_noun, opens_contact_clause, relative_positions
from tools.language.grammar.casing import is_common
from tools.language.grammar.clause import Clause
from tools.language.grammar.finite import finite_verb
from tools.language.grammar.inflect import base_form, is_gerund, is_participle, verb_strength
from tools.language.grammar.lexicon import Word, words_of
from tools.language.grammar.word_classes import (
    AUXILIARIES,
    BE,
    CONJUNCTIONS,
    DEGREES,
    DO,
    HAVE,
    INTRANSITIVE,
    PREPOSITIONS,
    RELATIVES,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
)

_LONGEST = 60  # words of a statement
_SAVE = re.compile(r"^(?:any|no)\w*\b.* but\b", re.I)  # 'anybody's business but our own'
_STRAY = re.compile(r"[?!;]|: |\bor not\b|\bdiscuss$|\bagree or\b|\bw/|\bvs?\.?(?= )|\.\.\.", re.I)
_CONCLUDES = re.compile(r", (?:so|thus|hence|therefore|then)\b", re.I)
_INTRODUCES = PREPOSITIONS | SUBORDINATORS | {"to", "given", "when", "now", "today", "once", "according", "currently"}
_HANGS = PREPOSITIONS | SUBORDINATORS | {"rather", "including", "not", "compared"}
_POINTS = re.compile(r"\b(?:it|them|this)\b")
_JOINED = re.compile(r"(?:^|\s)(?:and|or|nor|not|but not)\b", re.I)
_TWO_SENTENCES = re.compile(
    r"\b(?!(?i:gov|gen|sen|rep|rev|mrs|prof|pres|col|sgt|inc|etc|no|st|dr|mr|ms)\.)\w{2,}\. [A-Z]"
)
_NOMINATIVES = frozenset("they we he she".split())
_MANY = frozenset(["are", "were", "do", "have"])
_ANY_NUMBER = frozenset(
    "i you we they there who that those these many most some all none what more fewer several both".split()
)
_COLLECTIVE = frozenset(
    "people police women men children youth media data criteria staff cattle elderly poor rich young old press public "
    "government team family majority minority number couple lot pair clergy folk sheep".split()
)
_ALSO_NOUNS = frozenset("will can might may must".split())


def sound(clause: Clause) -> bool:
    """Whether the clause reads as one: a subject that can be one, a verb phrase that fits its auxiliary, one number."""
    subject, rest = words_of(clause.subject), words_of(clause.rest)
    if not subject or not rest or len(subject) + len(rest) > _LONGEST:
        return False
    text = f"{clause.subject} {clause.rest}"
    if _SAVE.search(clause.rest) or any(found.search(text) for found in (_TWO_SENTENCES, _STRAY, _CONCLUDES)):
        return False
    if not balanced(clause.subject) or not balanced(clause.rest) or _stray_capitals(rest):
        return False
    if clause.rest.count(",") == 1 and re.search(r", (?:or|nor)\b", clause.rest):
        return False
    inside = any(w.core in ("if", "unless", "because") for w in subject)
    unclear = inside or subject[0].core in SUBORDINATORS | {"to", "that"} or (clause.aux in BE and _offers(subject))
    return not unclear and (
        _names_something(subject)
        and _fits(clause.aux, rest)
        and _agrees(subject, clause.aux)
        and not _garden_path(clause.aux, rest)
        and not (clause.aux not in BE | HAVE and (_two_verbs(subject) or _hidden_verb(subject, rest)))
    )


def is_sentence(words: Sequence[Word], lead: str = "") -> bool:
    """Whether a statement may stand as it was written: one sentence with a finite verb."""
    text = " ".join(w.text for w in words)
    if not 3 <= len(words) <= _LONGEST or _STRAY.search(text) or not commas_fit(text) or not balanced(text):
        return False
    inside = relative_positions(words)
    return finite_verb(words) is not None or any(
        w.core in AUXILIARIES and i not in inside for i, w in enumerate(words) if i
    )


def balanced(text: str) -> bool:
    """Whether every quotation mark and bracket is closed."""
    opened = len(re.findall(r"(?<![\w)])'(?=\w)", text))
    closed = len(re.findall(r"(?<=[^s\s])'(?!\w)|(?<=s)'(?!\w)", text)) if opened else 0
    pairs = all(text.count(a) == text.count(b) for a, b in ("()", "[]"))
    return text.count('"') % 2 == 0 and pairs and (not opened or closed >= opened)


def commas_fit(statement: str) -> bool:
    """Whether each comma closes an introduction, parts items of a list or adjectives, or stands before what hangs on: a
    participle, a preposition, a subordinate clause."""
    first = statement.split(" ", 1)[0].lower()
    text = statement.partition(", ")[2] or statement if first in _INTRODUCES else statement
    pieces = text.split(", ")
    if not all(words_of(piece) for piece in pieces):
        return False
    for i, piece in enumerate(pieces[1:], start=1):
        listed = any(_JOINED.search(p) for p in pieces[i:]) and finite_verb(words_of(piece)) is None
        before, after = words_of(pieces[i - 1])[-1], words_of(piece)[0]
        hangs = (
            (is_gerund(after.core) and not _POINTS.search(piece)) or is_participle(after.core) or after.core in _HANGS
        )
        described = before.adjective and after.adjective and [w.noun for w in words_of(piece)[1:2]] == [True]
        if not (listed or hangs or described):
            return False
    return True


def coordinated(clause: Clause) -> bool:
    """Whether another finite verb may be joined to the first ('infringes … and perpetuates'), so that a single 'not'
    or a question would reach one of the two only."""
    words = words_of(clause.rest)
    for i, word in enumerate(words[1:-1], start=1):
        after = next((k for k in range(i + 1, len(words)) if not words[k].adverb), i + 1)
        again = words[after].determiner and finite_verb(words[after:]) is not None
        past = clause.aux == "did" and words[after].core.endswith("ed")
        joined = word.core in CONJUNCTIONS and (word.closes or _finite(words, after))
        if word.core == "but" or joined or (word.core == "and" and (again or past)):
            return True
    return False


def _finite(words: Sequence[Word], i: int) -> bool:
    word = words[i]
    if word.core in AUXILIARIES or word.tag in ("VBZ", "VBD", "VBP"):
        return True
    object_ = i + 1 < len(words) and words[i + 1].determiner
    return bool(object_ and word.core.endswith("s") and base_form(word.core)) or word.core in SUBJECT_PRONOUNS


def _stray_capitals(rest: Sequence[Word]) -> bool:
    """Small words with a capital: a title that was not lowered, or a second sentence."""
    if rest[0].adjective and rest[0].text[:1].isupper() and is_common(rest[0].text):
        return True
    return any(w.text[:1].isupper() and not w.text.isupper() and w.core in AUXILIARIES for w in rest)


def _names_something(subject: Sequence[Word]) -> bool:
    """Whether these words are a noun phrase: a head, nothing left open at its end, no verb outside its clauses."""
    last = subject[-1]
    if _left_open(subject) or _verb_inside(subject) or (len(subject) > 1 and opens_contact_clause(subject[-2], last)):
        return False
    if len(subject) > 1 and (last.core in ("will", "might") or last.tag == "VBZ"):
        return True  # 'free will', 'left turns'
    first = subject[0]
    stands = first.determiner or last.adjective or first.core in ("what", "those", "all", "more", "both")
    return stands or any(
        w.noun or w.core in SUBJECT_PRONOUNS or is_gerund(w.core) or w.tag in ("CD", "NNP", "PRP") for w in subject
    )


def _left_open(subject: Sequence[Word]) -> bool:
    """Whether the last word asks for another one."""
    last, several = subject[-1], len(subject) > 1
    joins = last.core in CONJUNCTIONS | SUBORDINATORS or (last.core in DEGREES and several)
    return joins or last.core in ("being", "be", "to", "not") or (last.adverb and last.closes)


def _verb_inside(subject: Sequence[Word]) -> bool:
    """Whether there is a finite verb outside the subject's own clauses, or a second clause behind a comma."""
    if any(w.core in CONJUNCTIONS and subject[i].closes and len(subject) > 6 for i, w in enumerate(subject[1:])):
        return True
    if any(w.core in RELATIVES or w.core in ("what", "how", "whether", "why") for w in subject):
        return False
    return any(w.core in AUXILIARIES - _ALSO_NOUNS for w in subject)


def _two_verbs(subject: Sequence[Word]) -> bool:
    """'kids play | tackle football': the last word of the subject may well be the verb."""
    if len(subject) > 2 and opens_contact_clause(subject[-3], subject[-2]):
        return False
    return len(subject) > 1 and subject[-2].plural and verb_strength(subject[-1].core) >= 2.5


def _hidden_verb(subject: Sequence[Word], rest: Sequence[Word]) -> bool:
    """'paper | bin work': the verb may as well be the next word."""
    hides = len(rest) > 1 and not rest[0].adverb and rest[1].core in INTRANSITIVE
    ends = len(rest) == 2 or (len(rest) > 2 and rest[2].preposition)
    return hides and ends and subject[-1].noun and not subject[-1].plural


def _offers(subject: Sequence[Word]) -> bool:
    """'graffiti vandalism or art': it is not clear whether the subject ends before the 'or'."""
    at = next((i for i, word in enumerate(subject) if word.core == "or"), 0)
    return at > 0 and subject[at - 1].noun and not any(word.preposition for word in subject[:at])


def _fits(aux: str, rest: Sequence[Word]) -> bool:
    """Whether what follows the auxiliary begins as it has to."""
    i = 0
    while i < len(rest) - 1 and (rest[i].adverb or rest[i].core in ("even", "all", "both", "each")):
        i += 1
    first = rest[i]
    if aux in BE:
        return first.core not in AUXILIARIES | _NOMINATIVES
    if aux in HAVE:
        return is_participle(first.core)
    if aux == "ought":
        return first.core == "to"
    return bool(verb_strength(first.core)) and not (aux in DO and first.core == "be")


def _agrees(subject: Sequence[Word], aux: str) -> bool:
    """Whether 'are', 'do' and 'have' have a subject that may be plural; a wrong 'is' was meant as it was written."""
    head = head_noun(subject)
    if aux not in _MANY or head is None:
        return True
    joined = any(w.core in ("and", "or", "nor", "&") or w.core in _ANY_NUMBER for w in subject)
    irregular = head.tag in ("JJ", "CD", "NNP", "NNPS", "VBN", "VBG") or head.core in _COLLECTIVE
    return joined or irregular or head.plural or head.core.endswith("s") or is_gerund(subject[0].core)


def _garden_path(aux: str, rest: Sequence[Word]) -> bool:
    """'Are votes cast here stored there': of two participles either may be the verb."""
    if aux not in BE or not is_participle(rest[0].core):
        return False
    for i in range(2, len(rest) - 1):
        later, before, after = rest[i], rest[i - 1], rest[i + 1]
        goes_on = after.preposition or after.adverb
        again = later.tag in ("VBN", "VBD") and before.noun and goes_on and rest[1].preposition
        rated = later.core in DEGREES and after.adjective and before.noun
        if again or rated:
            return True
    return False
