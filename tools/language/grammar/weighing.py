"""What a thing is worth, asked without a clause: 'benefits of zoos', 'the case against zoos', 'the debate over zoos',
or the bare topic 'zoos'.

However it leans, it asks one thing: is it good or bad?
"""

import re
from collections.abc import Sequence

from tools.language.grammar.boundary import copula, head_noun, takes_are
from tools.language.grammar.clause import Clause, lower_first
from tools.language.grammar.finite import finite_verb
from tools.language.grammar.inflect import base_form, is_gerund, is_participle, participle
from tools.language.grammar.lexicon import Word, is_noun_by_ending, is_word, join, words_of
from tools.language.grammar.word_classes import POLICIES

_LONGEST = 12  # words of what is weighed
_LONGEST_TOPIC = 6
_SIDED = r"(?:for (?:and|&|or|/) against|for and the (?:\w+ )?(?:case|arguments?|points?|reasons?) against|pro and con)"
_ADJECTIVES = (
    r"(?:(?:main|biggest|greatest|key|major|strongest|best|important|potential|possible|real|alleged|usual|common|"
    r"different|opposing|competing|good|solid|various) )*"
)
_POINTS = (
    r"(?:benefits?|advantages?|merits?|virtues?|upsides?|strengths?|pros?|positives|"
    r"objections?|criticisms?|opposition|problems?|troubles?|drawbacks?|disadvantages?|downsides?|harms?|risks?|dangers?|"
    r"weaknesses|flaws|cons?|negatives|"
    r"(?:(?:positive|negative|good|bad|harmful|beneficial) (?:effects?|sides?|points?|aspects?|things?)))"
)
_RATING = r"(?:(?:so|very|really) )?(?:good|bad|great|harmful|beneficial|wrong|right|terrible)"
_DISPUTES = (
    r"(?:perspectives?|debates?|controvers(?:y|ies)|disputes?|arguments?|ethics|morality|opinions?|views?|"
    r"viewpoints?|"
    r"thoughts|points of view|positions?|cases?|discussions?|conversation|question|issue|row|fuss|"
    r"disagreements?|story|"
    r"points|facts|(?:(?:both|all|two|either|different|the) )+(?:sides?|camps))"
)
_ON = r"(?:on|over|about|of|around|surrounding|regarding|concerning|to|for|in|behind|with)"
_SIDES = r"(?:supporters|opponents|critics|fans|defenders|backers|advocates|proponents|champions|enemies|sceptics)"
_SAY = (
    r"(?:say|says|think|argue|argues|believe|claim|feel|disagree|disagrees|differ|saying|arguing|fight|argue so much)"
)
_UNLISTED = re.compile(
    r", (?!(?:[\w-]+ ){1,3}?(?:and|or) )| but (?:please|no|not|keep)\b"
    r"| and (?:how|why|what|the (?:case|reasons|arguments?))\b"
    r"| with (?:those|the (?:case|reasons|arguments?)) (?:for|against)\b",
    re.I,
)
"""What opens no further item: from here on it is said how the answer is wanted."""
_WEIGHED = re.compile(
    r"(?:(?:what (?:is|are|were)|list|name|explain|describe|discuss|give me|show me|tell me(?: about)?) )?"
    r"(?:(?:both|some|all|any) (?:of )?)?(?:the )?(?:"
    rf"{_ADJECTIVES}{_POINTS}(?:,? (?:and|or|vs\.?|versus|&)(?: the)? {_POINTS})? (?:of|with|to having|about|to|"
    rf"for|on) |"
    rf"{_ADJECTIVES}(?:arguments?|reasons?|case|cases|points)(?: (?:for|against),? (?:and|or)(?: the case)?)? "
    r"(?:for|against|in favou?r of) |"
    rf"(?:the )?{_ADJECTIVES}(?:great |big |new |whole )*{_DISPUTES}(?: (?:of|in|on|to) (?:the |this )?{_DISPUTES})?"
    rf" (?:{_SIDED}|(?!for |to |in |with ){_ON}) |"
    rf"(?:both|all|the two) sides (?:in|to) (?:the )?|"
    rf"{_ADJECTIVES}(?:arguments?|points|case|views?) (?:\w+ ){{0,2}}(?:by|from|of) (?:[\w-]+ ){{1,5}}?(?:of|on|"
    rf"about|over) |"
    rf"(?:\w+ )?{_SIDED},?:?(?: (?:on|of|about))? "
    r")(?:the (.+?) (?:debate|controversy|issue|question|argument|row)|(?P<thing>.+))"
    rf"|what (?:would|do|might|can|could) (?:[\w-]+ ){{0,4}}?{_SIDES} of (?P<backed>.+) (?:each )?{_SAY}"
    rf"|what (?:can|could|might|may) be said (?:{_SIDED}|for|against|about|in favou?r of) (?P<said>.+)"
    rf"|(?:what|how|why)(?: (?!(?:i|we|you|it|that|this)\b)[\w-]+){{1,6}}? {_SAY} (?:about )?"
    rf"(?:{_SIDED}|about|on|over|for|against|with) (?P<disputed>.+)"
    rf"|what (?:is|are) {_RATING} (?:about|with) (?P<blamed>.+)"
    rf"|what makes (?P<made>.+?) {_RATING}"
    r"|are you (?:for|against|in favou?r of|opposed to) (?P<held>(?!\w+ing ).+)"
    r"|(?:pros? (?:and|&|or|/) cons?|for (?:and|or) against|for/against): ?(?P<after>.+)"
    r"|(?:the )?(?P<listed>.+?),?:? (?:pros (?:and|&|or) cons|advantages and (?:disadvantages|drawbacks)|"
    r"benefits and (?:risks|drawbacks|harms|costs)|debate|controversy|for (?:and|or) against|(?:both|all) sides)"
    r"(?: (?P<whose>(?:for|in|to) .+))?",
    re.I,
)


def weighed(text: str, requested: bool = False) -> Clause | None:
    """'Nuclear power is good' for any text that asks what speaks for nuclear power, or against it, or both.

    `text` comes without its question mark. What is `requested` is a thing and no statement. None for any other text.
    """
    match = _WEIGHED.fullmatch(text)
    thing = _UNLISTED.split(" ".join(filter(None, match.groups())) if match else "")[0]
    words = words_of(thing)
    if not 0 < len(words) <= _LONGEST or (_states(words) and not requested):
        return None
    asks = words[0].core in ("whether", "how", "why", "what", "if", "who")
    return None if asks else worth(thing)


def worth(thing: str) -> Clause:
    """'X is good'; of a name of two words or more, that it deserves praise; of what is to be done, that it should
    be done."""
    words = words_of(thing)
    if policy := _policy(words):
        return policy
    if len(words) > 1 and all(w.text[:1].isupper() for w in words):
        return Clause(thing, "do" if takes_are(words) else "does", "deserve praise")
    return thing_is_good(thing)


def thing_is_good(thing: str) -> Clause:
    """'X is a good thing', 'Xs are a good thing'."""
    if re.match(r"(?:effects?|influence|impacts?|costs?|role|use|future|ethics|state|rise|value) of |right to ", thing):
        thing = f"the {thing}"
    return Clause(lower_first(thing), copula(thing), "a good thing")


def _policy(words: Sequence[Word]) -> Clause | None:
    """'banning cars in cities' as 'cars should be banned in cities', where it is plain what is to be done to what."""
    base = base_form(words[0].core) if is_gerund(words[0].core) else ""
    if base not in POLICIES and not base.endswith(("ise", "ize", "ify")):
        return None
    end = next((i for i, w in enumerate(words) if i and (w.preposition or w.core in ("to", "and"))), len(words))
    thing, rest = list(words[1:end]), list(words[end:])
    return Clause(join(thing), "should", f"be {participle(base)} {join(rest)}".strip())


def is_topic(words: Sequence[Word]) -> bool:
    """Whether the words are a bare noun phrase that people could take sides on."""
    if len(words) > _LONGEST_TOPIC or not all(_known(w) for w in words):
        return False
    head = head_noun(words)
    kinds = all(
        w.noun or w.adjective or w.preposition or w.determiner or w.core in ("and", "&", "to") or is_gerund(w.core)
        or w.tag in ("NNP", "VBN", "CD") for w in words
    )  # fmt: skip
    if words[-1].core == "will":
        return True
    named = head is not None and (head.noun or is_gerund(head.core)) and not words[-1].preposition
    return kinds and named


def _known(word: Word) -> bool:
    """Whether it is an English word, or may be a name."""
    return is_word(word.core) or is_noun_by_ending(word.core) or (word.text[:1].isupper() and word.text.isascii())


def _states(words: Sequence[Word]) -> bool:
    """'vaccines outweigh the risks' states something; 'energy drinks' and 'genetically modified food' are things."""
    at = finite_verb(words)
    if at is None or (at == len(words) - 1 and words[at].noun):
        return False
    return not (is_participle(words[at].core) and words[at - 1].adverb)
