"""Whether what the grammar made of a question can stand for it; where not, the question itself is asked.

A statement that is printed above a side has to be one that somebody might write, about nothing but what was asked. So
each test here errs towards 'not sure', and what is not sure is shown as it was typed.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from tools.language.grammar.chat import plainer
from tools.language.grammar.finite import finite_verb
from tools.language.grammar.framed import Framing, is_quoted, is_right, sentence
from tools.language.grammar.inflect import base_form, is_participle, verb_strength
from tools.language.grammar.leads import WH
from tools.language.grammar.lexicon import Word, is_noun_by_ending, is_word, words_of
from tools.language.grammar.reading import Reading
from tools.language.grammar.tidying import tidy
from tools.language.grammar.wellformed import commas_fit
from tools.language.grammar.word_classes import AUXILIARIES, DETERMINERS, SUBJECT_PRONOUNS

_LONGEST_OPTION = 6  # words of an alternative in careless typing
_SIDED = ("polar", "claim", "choice")
_FIRST_PERSON = frozenset("me my myself im ive i'm i've i'd i'll".split())
_CARELESS = re.compile(r"(?=[a-z])(?!.*[^.?!][.?!]$)")  # neither a capital nor a mark
_OPENLY = re.compile(r"(?:what|why|how)$")
_SEVERAL = re.compile(r"[.!?] +\w")
_BREAK = re.compile(r"(?<=[.!?]) +|,\s+|\s+[–—-]+\s+")
_ASKED_FOR = re.compile(
    r"(?:(?:pls|plz|please|can you|could you|would you|i need|i want|help me)\W+)*"
    r"(?:(?:tell|show|give|convince|hit|help) (?:me|us)\b|(?:argue (?:with|for|against)|steelman|draft|compose|prepare|"
    r"write|make (?:a|me|us)|i have to argue|talk me|play devil's advocate)\b)"
    r"|.*\b(?:arguments?|reasons?|points?|case|pros) (?:both )?(?:for and|and) (?:against|cons)\b"
    r"|.*\b(?:reasons?|arguments?) against\W*$|.*\bgive (?:me|us)\b"
    r"|.*\bboth (?:sides|camps|positions) (?:of|on|in|to)\b",
    re.I,
)
# What no statement about the matter has: words of a request; a negation of a negation; a clause that is only joined to
# another; 'anything' that is not negated; 'the risks' of nothing; 'they think that …' with a story around it.
_REQUEST = re.compile(
    r"\b(?:pls|plz|steelman|devil's advocate)\b|\b(?:reasons?|arguments?|points?) for and against\b"
    r"|^we should (?:not )?(?:assess|evaluate|discuss|explain|convince|list|give)\b|^(?:tell|show|give) (?:me|us)\b",
    re.I,
)
_TWICE_DENIED = re.compile(r"\b(?:no|not)\b.* (?:nothing|nobody|no one|never)\b|\bno no\b", re.I)
_JOINED_ON = re.compile(r"^(?:but|and|so|or)\b", re.I)
_UNDENIED = re.compile(
    r"^(?!.*\b(?:not|no|never|cannot|hardly|if|than|without)\b)\S+ .*\b(?:anything|anybody|anymore)\b", re.I
)
_OF_NOTHING = re.compile(
    r"^(?!.*(?:advantages|benefits|gains|good|pros|positives) (?:of|to|from|in)\b)"
    r".*\b(?:the|its|their) (?:(?:dis)?advantages|benefits|risks|drawbacks)\b(?! (?:of|to|from|in|that|which|\w+ed)\b)",
    re.I,
)
_THOUGHT = re.compile(r"^(?!to )(?:[\w-]+ ){1,6}(?:think|reckon)s? (?!of\b|about\b)", re.I)
_IDIOM = re.compile(r"\b(?:has|have|had) (?:any )?business\b|^stop \w+ing\b", re.I)
_DOUBTFUL = (_IDIOM, _REQUEST, _TWICE_DENIED, _JOINED_ON, _UNDENIED, _OF_NOTHING, _THOUGHT)


def trusted(found: Framing, question: str, reading: Reading) -> Framing:
    """The framing where it is sure; else its question as a fallback: that of a frame ('Discuss.') without it, any
    other as it was typed."""
    if found.form == "open" and is_quoted(found.neutral):
        return replace(found, neutral=sentence(question))
    if found.form not in _SIDED or _is_sure(found, question, reading):
        return found
    story = is_personal(reading.text) and not reading.quoted
    if (reading.framed or reading.quoted) and not (story or reading.given or reading.asks):
        return Framing("claim", is_right(reading.text), topic=found.topic)
    return replace(as_typed(question), topic=found.topic)


def _is_sure(found: Framing, question: str, reading: Reading) -> bool:
    statements = [s for s in (found.claim, found.negation, *found.alternatives) if s]
    if any(leans_back(question, s) for s in statements):
        return False
    if is_personal(question) and any(map(is_personal, (found.neutral, *statements))):
        return False
    if not statements and not found.options:
        if found.neutral.startswith("Is this "):
            return not asks_to_be_shown(question)
        return found.form != "claim" and (reading.framed or reading.quoted)
    if found.form == "choice" and _SEVERAL.search(question) and any("better than" in s for s in statements):
        return False  # two names that a title begins with
    careless = _CARELESS.match(question.strip()) is not None and not asks_to_be_shown(question)  # which only names it
    return all(certain(s, careless) for s in statements) and all(named(o, careless) for o in found.options)


def as_typed(question: str) -> Framing:
    """The question in its own words: as it is where it asks, else whether it is right. It is open where it asks for
    something to be shown, or why or which."""
    typed = re.sub(r"\s+", " ", question).strip().strip(",;–—- ")
    plain = plainer(tidy(typed))
    first, last = words_of(plain), _last_clause(typed)
    if not first or not last:
        return Framing("none", sentence(typed))
    if asks_to_be_shown(typed):
        return Framing("open", sentence(typed, "."))
    asks = _begins_question(last)
    offers = re.search(r"\b(?:vs|or)\b", plain) and first[0].core not in AUXILIARIES
    if WH.match(last[0].core) or last[0].core == "or" or (offers and not asks):
        return Framing("open", sentence(typed))
    if "?" in typed or asks or first[0].core in AUXILIARIES:
        return Framing("polar", sentence(typed))
    states = finite_verb(first) is not None
    return Framing("claim", is_right(typed)) if states else Framing("open", sentence(typed, "."))


def _last_clause(typed: str) -> list[Word]:
    """The words of the last sentence, or of a question behind its last comma."""
    sentences = [part for part in re.split(r"(?<=[.!?]) +", typed) if re.search(r"[^\W_]", part)]
    last = sentences[-1] if sentences else ""
    clauses = [part for part in _BREAK.split(last) if re.search(r"[^\W_]", part)]
    behind = words_of(tidy(clauses[-1])) if len(clauses) > 1 else []
    return behind if (behind and _OPENLY.match(behind[0].core)) or _begins_question(behind) else words_of(tidy(last))


def _begins_question(words: Sequence[Word]) -> bool:
    """Whether an auxiliary stands before what can be its subject."""
    if len(words) < 3 or words[0].core not in AUXILIARIES:
        return False
    subject = words[2] if words[1].core == "not" else words[1]
    pronoun = subject.core in SUBJECT_PRONOUNS | DETERMINERS | {"that", "this", "these", "those"}
    return pronoun or (subject.noun and not is_participle(subject.core))


def certain(statement: str, careless: bool) -> bool:
    """Whether the statement can stand for what was asked: nothing doubtful in it, no pronoun for what is not said, no
    clauses that a comma joins; where the typing is careless, no word that the lexicon does not know."""
    words = words_of(statement)
    if any(found.search(statement) for found in _DOUBTFUL) or _leans(words):
        return False
    return not (careless and any(map(_misspelt, words))) and commas_fit(statement)


def named(option: str, careless: bool) -> bool:
    """Whether an alternative can stand as it was named: in careless typing no clause and no unknown word."""
    words = words_of(option)
    clause = any(w.core in AUXILIARIES | SUBJECT_PRONOUNS for w in words)
    return not careless or not (clause or len(words) > _LONGEST_OPTION or any(map(_misspelt, words)))


def leans_back(question: str, statement: str) -> bool:
    """Whether a question of several sentences left a statement that says 'it' or 'her' of what came before."""
    words = words_of(statement)
    things = [w.noun and not verb_strength(w.core) for w in words]
    at = [i for i, w in enumerate(words) if i and w.core in ("it", "her", "him", "them")]
    return _SEVERAL.search(question) is not None and any(not any(things[:i]) for i in at)


def asks_to_be_shown(question: str) -> bool:
    """Whether the text asks for something to be done, and not whether something is so."""
    first = words_of(tidy(question))[:1]
    return bool(first) and _ASKED_FOR.match(question.strip()) is not None and first[0].core not in AUXILIARIES


def is_personal(text: str) -> bool:
    """Whether the text says something in the first person. The number of a king or a war is no 'I'."""
    words = text.split()
    for i, written in enumerate(words):
        bare = written.strip("\"'“”‘’.,;:!?()[]")
        if bare.lower() in _FIRST_PERSON:
            return True
        if bare == "I" and (i < 2 or not words[i - 1][:1].isupper()):
            return True
    return False


def _leans(words: Sequence[Word]) -> bool:
    """Whether a pronoun stands for something that the statement does not name before it."""
    for i, word in enumerate(words):
        if word.core in ("they", "them", "their", "he", "she", "him") and not any(w.noun for w in words[:i]):
            return True
    return False


def _misspelt(word: Word) -> bool:
    """Whether the lexicon knows no part of a word in small letters, nor how it may be built."""
    parts = [part for part in re.split(r"[-/']", word.core) if part.isalpha()]
    return word.text.islower() and any(
        not (is_word(part) or is_noun_by_ending(part) or base_form(part) or is_word(part.removesuffix("s")))
        for part in parts
    )
