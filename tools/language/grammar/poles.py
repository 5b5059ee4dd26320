"""One question for both of its poles: 'Why is sugar bad?' and 'Why is sugar good?' ask whether it is good or bad.

What is worth something is 'good' or 'bad', and of the sides each affirms its pole. Any other word that a text denies
by ('dangerous', 'unfair') gives way to its opposite, which is then affirmed and denied. So the sides, and all that is
searched for them, do not depend on the pole from which a question comes.
"""

import re
from dataclasses import replace

from tools.language.grammar.framed import Framing
from tools.language.grammar.inflect import verb_strength
from tools.language.grammar.lexicon import join, words_of

_EMPHASIS = r"(?:(?:so|very|really|truly|actually|indeed|extremely|too|such) )*"
_GOOD = r"(?:good|great|beneficial|desirable|an? (?:good|great) (?:thing|idea))"
_BAD = r"(?:bad|harmful|terrible|detrimental|damaging|undesirable|an? (?:bad|terrible) (?:thing|idea))"
_WORTH = re.compile(rf"{_EMPHASIS}(?:(?P<good>{_GOOD})|{_BAD})(?P<tail>(?: (?:for|to) .+)?)\.", re.I)
_RATED = re.compile(rf"(?P<before>.+ (?:is|are|was|were|be)) (?P<rest>{_WORTH.pattern})", re.I)
_CHOICE = re.compile(rf" (?:either )?{_EMPHASIS}(?:{_GOOD}|{_BAD}),? or ", re.I)
_OPPOSITES = dict(
    pair.split("/")
    for pair in (
        "dangerous/safe unsafe/safe unethical/ethical immoral/moral unfair/fair unjust/just unjustified/justified "
        "unhealthy/healthy ineffective/effective useless/useful unnecessary/necessary illegal/legal wrong/right "
        "unacceptable/acceptable inhumane/humane unsustainable/sustainable irresponsible/responsible worse/better "
        "oppose/support"
    ).split()
)
_NEGATIVE = re.compile(rf"{_EMPHASIS}(?P<word>{'|'.join(_OPPOSITES)})(?P<tail>(?: (?!with\b).+)?\.)", re.I)


def evened(framing: Framing) -> Framing:
    """The framing as every wording of its question has it; the same one where its words take no pole.

    The claim is what the better pole says, but of a statement ('Sugar is bad') it stays what was stated.
    """
    if len(framing.alternatives) == 2:
        return _chosen(framing)
    for stated, denied in ((framing.claim, framing.negation), (framing.negation, framing.claim)):
        before, _, rest = denied.partition(" not ")
        if rest and re.fullmatch(rf"{re.escape(before)} {_EMPHASIS}{re.escape(rest)}", stated):
            return _turned(framing, before, rest, affirms=stated == framing.claim)
    return framing


def _turned(framing: Framing, before: str, rest: str, affirms: bool) -> Framing:
    """`affirms`: the claim says '`before` `rest`', and not that it is not so."""
    be = "be " if rest.startswith("be ") else ""
    rest = rest.removeprefix(be)
    asked = re.fullmatch(rf"(.+? ){_EMPHASIS}{re.escape(rest[:-1])}\?", framing.neutral)
    if asked and (match := _WORTH.fullmatch(rest)):
        tail = _tail(match["tail"])
        sides = (f"{before} {be}good{tail}.", f"{before} {be}bad{tail}.")
        neutral, better = f"{asked[1]}good or bad{tail}?", match["good"] is not None
    elif asked and (match := _NEGATIVE.fullmatch(rest)):
        word = f"{_OPPOSITES[match['word'].lower()]}{match['tail']}"
        sides = (f"{before} {be}{word}", f"{before} not {be}{word}")
        neutral, better = f"{asked[1]}{word[:-1]}?", False
    else:
        return framing
    claim, negation = sides if framing.form != "claim" or better == affirms else sides[::-1]
    return replace(framing, neutral=neutral, claim=claim, negation=negation)


def _chosen(framing: Framing) -> Framing:
    """'Is sugar good or bad?' as a question of yes or no."""
    one, other = (_RATED.fullmatch(statement) for statement in framing.alternatives)
    if not one or not other or one["before"] != other["before"] or (one["good"] is None) == (other["good"] is None):
        return framing
    tail = _tail(other["tail"])
    good, bad = (f"{one['before']} {pole}{tail}." for pole in ("good", "bad"))
    neutral = f"{_CHOICE.split(framing.neutral)[0]} good or bad{tail}?"
    return replace(framing, form="polar", neutral=neutral, claim=good, negation=bad, alternatives=())


def _tail(tail: str | None) -> str:
    """'harmful to children' is 'bad for children'; 'good to eat' stays."""
    words = words_of(tail or "")
    about = len(words) > 1 and words[0].core == "to" and not verb_strength(words[1].core)
    return f" for {join(words[1:])}" if about else tail or ""
