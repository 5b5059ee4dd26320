"""What a thing is worth, asked without a clause: 'benefits of zoos', 'the case against zoos', 'what is bad about zoos'.

However it leans, it asks one thing: is it good or bad?
"""

import re
from collections.abc import Sequence

from tools.grammar.boundary import head_noun
from tools.grammar.clause import Clause, lower_first
from tools.grammar.finite import finite_verb
from tools.grammar.inflect import is_gerund, is_participle
from tools.grammar.lexicon import Word, words_of
from tools.grammar.word_classes import SUBJECT_PRONOUNS

_LONGEST = 12  # words of what is weighed
_ADJECTIVES = r"(?:(?:main|biggest|greatest|key|major|strongest|best|important|potential|possible|real|alleged) )*"
_POINTS = (
    r"(?:benefits?|advantages?|merits?|virtues?|upsides?|strengths?|pros?|positives|"
    r"problems?|drawbacks?|disadvantages?|downsides?|harms?|risks?|dangers?|weaknesses|flaws|cons?|negatives|"
    r"(?:(?:positive|negative|good|bad|harmful|beneficial) (?:effects?|sides?|points?|aspects?|things?)))"
)
_RATING = r"(?:(?:so|very|really) )?(?:good|bad|great|harmful|beneficial|wrong|right|terrible)"
_WEIGHED = re.compile(
    r"(?:(?:what (?:is|are|were)|list|name|explain|describe|discuss|give me|show me|tell me(?: about)?) )?"
    r"(?:(?:some|all|any) (?:of )?)?(?:the )?(?:"
    rf"{_ADJECTIVES}{_POINTS}(?:,? (?:and|or|vs\.?|versus)(?: the)? {_POINTS})? (?:of|with|to having|about) |"
    rf"{_ADJECTIVES}(?:arguments?|reasons?|case)(?: (?:for|against),? (?:and|or))? (?:for|against|in favou?r of) "
    r")(?P<thing>.+)"
    rf"|what (?:is|are) {_RATING} (?:about|with) (?P<blamed>.+)"
    rf"|what makes (?P<made>.+?) {_RATING}"
    r"|are you (?:for|against|in favou?r of|opposed to) (?P<held>(?!\w+ing ).+)"
    r"|(?P<listed>.+?),?:? (?:pros and cons|advantages and disadvantages|benefits and (?:risks|drawbacks|harms))",
    re.I,
)


def weighed(text: str) -> Clause | None:
    """'Nuclear power is good' for any text that asks what speaks for nuclear power, or against it, or both.

    `text` comes without its question mark. None for any other text.
    """
    match = _WEIGHED.fullmatch(text)
    thing = next(filter(None, match.groups()), "") if match else ""
    words = words_of(thing)
    if not 0 < len(words) <= _LONGEST or words[0].core in SUBJECT_PRONOUNS or _states(words):
        return None
    head = head_noun(words)
    several = head is not None and (head.plural or any(word.core == "and" for word in words))
    return Clause(lower_first(thing), "are" if several and not is_gerund(words[0].core) else "is", "good")


def _states(words: Sequence[Word]) -> bool:
    """'vaccines outweigh the risks' states something; 'energy drinks' and 'genetically modified food' are things."""
    at = finite_verb(words)
    if at is None or (at == len(words) - 1 and words[at].noun):
        return False
    return not (is_participle(words[at].core) and words[at - 1].adverb)
