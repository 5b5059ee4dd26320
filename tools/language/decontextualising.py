"""Sentences outside of their text: an opening pronoun is followed by what it stands for, in square brackets.

Decontextualisation (Choi et al. 2021) by form: which word a pronoun stands for is guessed, and only where one word can
be meant.
"""

import re

from tools.language.lexicon import AUXILIARIES, PREPOSITIONS, core_of, finite_verb, tag_of
from tools.language.standalone import leans_back

_PERSONAL = re.compile(r"^[\"'“‘(]?(it|its|they|their|them|he|she|his|her|him)(?=\W)", re.IGNORECASE)
_OPENING = re.compile(r"\w+")
# An 'it' that only prepares a clause stands for nothing.
_PREPARES = re.compile(
    r"^[\"'“‘(]?it(?:'s|’s|\s+(?:is|was|would\s+be|seems))\s+(?:(?:not|also|often)\s+)?(?:no\s+\w+|an?\s+\w+|time|clear|"
    r"true|obvious|(?:un)?likely|(?:im)?possible|important|essential|vital|necessary|easy|easier|hard|harder|difficult|"
    r"good|better|best|bad|worse|right|wrong|(?:un)?fair)\s+(?:to|that|for|whether|if)\b",
    re.IGNORECASE,
)


_LONGEST = 8  # words of a subject that is put in brackets
_ENDS = re.compile(r"[.!?…:;][\"'”’)\]]*$")
_PLURAL, _PERSON, _OWNING = ({"they", "their", "them"}, {"he", "she", "his", "her", "him"}, {"its", "their", "his"})
_CLAUSES = frozenset("although because even given if so though unless when whereas whether while".split())
_NO_NOUN = frozenset("that where which who whom whose what this these those there it they we you he she i one".split())


def antecedent(pronoun: str, before: str) -> str:
    """The subject of the sentence before as it is put in brackets, or '' where it is not surely what is meant."""
    words = _without_lead(_ENDS.sub("", before)).split()
    verb = finite_verb(words)
    subject, rest = (words[:verb], words[verb + 1 :]) if verb else ([], [])
    phrase = next((i for i, w in enumerate(subject) if i and core_of(w) in PREPOSITIONS), len(subject))
    head = next((w for w in reversed(subject[:phrase]) if _is_noun(w)), "")
    if not head or not 0 < len(subject) <= _LONGEST or re.search(r"[\"“”‘()\[\],]", " ".join(subject)):
        return ""
    named = len(subject) > 1 and all(w[0].isupper() for w in subject)
    several = _is_plural(head) or "and" in subject
    agrees = named if pronoun in _PERSON else several == (pronoun in _PLURAL) and (several or not named)
    others = [w for w in (*subject[phrase:], *rest) if core_of(w) != core_of(head)]
    if not agrees or any(_could_be_meant(pronoun, w) for w in others):
        return ""
    first = subject[0] if tag_of(subject[0]).startswith("NNP") or named else subject[0][0].lower() + subject[0][1:]
    text = " ".join([first, *subject[1:]])
    return text + ("'" if text.endswith("s") else "'s") if pronoun in _OWNING else text


def _without_lead(sentence: str) -> str:
    """Without an introduction: 'in 2019, …', 'however, …'."""
    first, comma, rest = sentence.partition(", ")
    opening = core_of(first.split(" ", 1)[0])
    leads = opening in PREPOSITIONS | _CLAUSES or tag_of(opening) == "RB"
    return rest if comma and leads else sentence


def _is_noun(word: str) -> bool:
    core = core_of(word)
    return tag_of(word).startswith("NN") and core not in _NO_NOUN | AUXILIARIES and not core.endswith("'s")


def _is_plural(word: str) -> bool:
    return tag_of(word) in ("NNS", "NNPS")


def _could_be_meant(pronoun: str, word: str) -> bool:
    if pronoun in _PERSON:
        return word[0].isupper()
    return _is_noun(word) and _is_plural(word) == (pronoun in _PLURAL)


def antecedent_added(sentence: str, before: str) -> str:
    """The sentence with what its opening pronoun stands for, 'It [the night ferry] costs …', by the sentence before.

    '' where that is not sure, and where the sentence leans on more than its first word.
    """
    pronoun = None if _PREPARES.match(sentence) else _PERSONAL.match(sentence)
    if pronoun is None or not sentence[pronoun.end() :].startswith(" "):
        return ""
    subject = antecedent(pronoun[1].casefold(), before)
    if not subject or leans_back(_OPENING.sub("Towns", sentence, count=1)):
        return ""
    return f"{sentence[: pronoun.end()]} [{subject}]{sentence[pronoun.end() :]}"
