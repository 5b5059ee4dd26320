"""What a thing is worth, asked without a clause: 'benefits of zoos', 'the case against zoos', 'the debate over zoos',
or the bare topic 'zoos'.

However it leans, it asks one thing: is it good or bad?
"""

import re
from collections.abc import Sequence

from tools.grammar.boundary import head_noun, takes_are
from tools.grammar.clause import Clause, lower_first
from tools.grammar.finite import finite_verb
from tools.grammar.inflect import is_gerund, is_participle, verb_strength
from tools.grammar.lexicon import Word, is_noun_by_ending, is_word, lookup, words_of
from tools.grammar.word_classes import SUBJECT_PRONOUNS

_LONGEST = 12  # words of what is weighed
_LONGEST_TOPIC = 6
_ADJECTIVES = r"(?:(?:main|biggest|greatest|key|major|strongest|best|important|potential|possible|real|alleged) )*"
_POINTS = (
    r"(?:benefits?|advantages?|merits?|virtues?|upsides?|strengths?|pros?|positives|"
    r"problems?|drawbacks?|disadvantages?|downsides?|harms?|risks?|dangers?|weaknesses|flaws|cons?|negatives|"
    r"(?:(?:positive|negative|good|bad|harmful|beneficial) (?:effects?|sides?|points?|aspects?|things?)))"
)
_RATING = r"(?:(?:so|very|really) )?(?:good|bad|great|harmful|beneficial|wrong|right|terrible)"
_DISPUTES = (
    r"(?:perspectives?|debates?|controvers(?:y|ies)|disputes?|arguments?|ethics|morality|opinions?|views?|thoughts|"
    r"discussions?|conversation|question|issue|(?:both|all|two|different) sides)"
)
_WEIGHED = re.compile(
    r"(?:(?:what (?:is|are|were)|list|name|explain|describe|discuss|give me|show me|tell me(?: about)?) )?"
    r"(?:(?:some|all|any) (?:of )?)?(?:the )?(?:"
    rf"{_ADJECTIVES}{_POINTS}(?:,? (?:and|or|vs\.?|versus|&)(?: the)? {_POINTS})? (?:of|with|to having|about|to) |"
    rf"{_ADJECTIVES}(?:arguments?|reasons?|case)(?: (?:for|against),? (?:and|or))? (?:for|against|in favou?r of) |"
    rf"(?:great |big |new )?{_DISPUTES} (?:on|over|about|of|around|surrounding|regarding|concerning|for and against) "
    r")(?:the (?P<named>.+) (?:debate|controversy|issue|question|argument)|(?P<thing>.+))"
    rf"|what (?:is|are) {_RATING} (?:about|with) (?P<blamed>.+)"
    rf"|what makes (?P<made>.+?) {_RATING}"
    r"|are you (?:for|against|in favou?r of|opposed to) (?P<held>(?!\w+ing ).+)"
    r"|(?:pros? (?:and|&|or|/) cons?|for (?:and|or) against|for/against): ?(?P<after>.+)"
    r"|(?:the )?(?P<listed>.+?),?:? (?:pros (?:and|&|or) cons|advantages and disadvantages|"
    r"benefits and (?:risks|drawbacks|harms)|debate|controversy|for (?:and|or) against)",
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
    if words[0].core in ("whether", "how", "why", "what", "if", "who") or thing[-1] in ",;:":
        return None
    return worth(thing)


def worth(thing: str) -> Clause:
    """'X is good'; of somebody or something with a name of two words or more, that it deserves praise."""
    words = words_of(thing)
    several = takes_are(words)
    if len(words) > 1 and all(w.text[:1].isupper() for w in words):
        return Clause(thing, "do" if several else "does", "deserve praise")
    return Clause(lower_first(thing), "are" if several else "is", "a good thing")


def is_topic(words: Sequence[Word]) -> bool:
    """Whether the words are a bare noun phrase that people could take sides on."""
    if len(words) > _LONGEST_TOPIC or not all(_known(w) for w in words):
        return False
    if any(word.closes for word in words[:-1]):
        return False
    head = head_noun(words)
    kinds = all(
        w.noun or w.adjective or w.preposition or w.determiner or w.core in ("and", "&", "to") or is_gerund(w.core)
        or w.tag in ("NNP", "VBN", "CD") for w in words
    )  # fmt: skip
    if words[-1].core == "will" and len(words) > 1:
        return True
    named = head is not None and (head.noun or is_gerund(head.core)) and not words[-1].preposition
    return kinds and named and lookup(words[0].core) != "UH"


def _known(word: Word) -> bool:
    """Whether it is an English word, or may be a name."""
    return is_word(word.core) or is_noun_by_ending(word.core) or (word.text[:1].isupper() and word.text.isascii())


def _states(words: Sequence[Word]) -> bool:
    """'vaccines outweigh the risks' states something; 'energy drinks' and 'genetically modified food' are things."""
    at = finite_verb(words)
    if at is None or (at == len(words) - 1 and words[at].noun):
        return False
    if is_gerund(words[0].core) and not verb_strength(words[at].core) >= 3:
        return False
    return not (is_participle(words[at].core) and words[at - 1].adverb)
