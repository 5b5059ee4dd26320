"""Pronouns that stand for something said before: filled in where there is one candidate, and only then."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tools.language.grammar.boundary import head_noun, takes_are
from tools.language.grammar.clause import from_question, from_statement, lower_first
from tools.language.grammar.framed import Framing
from tools.language.grammar.inflect import is_gerund, is_participle
from tools.language.grammar.lexicon import words_of
from tools.language.grammar.word_classes import AUXILIARIES, BE

_VERBS = r"(?:is|was|are|were|has|have|had|do|does|did|should|will|would|can|cannot|could|must|may|might|ought)"
_OPENING = re.compile(
    rf"(?P<word>it|this|that|they|these|those|he|she)(?= (?:\w+ly )?(?:{_VERBS}\b|\w+s\b|\w+ed\b))", re.I
)
_ASKED = re.compile(rf"{_VERBS} (?P<word>it|this|that|they|these|those|he|she)\b(?! (?:one|kind|sort|way)\b)", re.I)
_EXPLETIVE = re.compile(
    rf"{_VERBS} it (?!be |able|likely|going|ready|willing|\w+ed )(?:.*\b(?:to|that|if|when|whether)\b(?= \w)|time\b)",
    re.I,
)
_POINTS_BACK = re.compile(
    r"\b(?:this|these|that|such an?|his|her) "
    r"(?:statement|view|claim|idea|argument|approach|opinion|position|practice|policy|quotation|passage|remark|definition|assumption|proposal|plan|decision|change|trend)s?\b",
    re.I,
)
_AT_END = re.compile(r"\b(?P<word>them|it|this|that|these|those)(?=[?.]$)", re.I)
_PLURAL = frozenset(["they", "these", "those"])


@dataclass(frozen=True, slots=True)
class Referred:
    """A framing that leans on something said before; with that filled in, or None where it is not certain."""

    framing: Framing | None


def referred(found: Framing, given: Sequence[str]) -> Referred | None:
    """Of a question that something came before: whether it leans on that, and the framing with the pronoun's referent
    from `given`."""
    if (ends := _AT_END.search(found.neutral)) is not None:
        word = "they" if ends["word"].lower() == "them" else ends["word"].lower()
        thing = next(filter(None, (thing_in(g, word) for g in reversed(given) if g)), "")
        return Referred(_ending(found, thing) if thing and not _ASKED.match(found.neutral) else None)
    if _POINTS_BACK.search(found.neutral):
        return Referred(None)
    match = _ASKED.match(found.neutral)
    if not match or _EXPLETIVE.match(found.neutral):
        return None
    word = match["word"].lower()
    thing = next(filter(None, (thing_in(g, word) for g in reversed(given) if g)), "")
    return Referred(_with(found, thing) if thing else None)


def thing_in(text: str, word: str) -> str:
    """What the pronoun can stand for in the text: the only noun phrase of its number, or the subject of a copula."""
    words = words_of(re.split(r"[;:]\s+| – ", text.rstrip(" ?.!:"))[-1])
    if not words or word in ("he", "she"):
        return ""
    if words[0].core in AUXILIARIES:
        clause = from_question(words)
    elif (stated := from_statement(words)) is not None:
        clause = stated
        if word in ("this", "that"):
            return ""  # all of what was said
    else:
        return _agreeing(text.strip(" ?.!:"), word)
    rest = words_of(clause.rest)
    copula = clause.aux in BE and rest and not is_participle(rest[0].core)
    rivals = [w for w in rest if w.noun and w.plural == (word in _PLURAL)]
    return _agreeing(clause.subject, word) if copula or not rivals else ""


def _agreeing(thing: str, word: str) -> str:
    words = words_of(thing)
    head = head_noun(words)
    if head is None or not (head.noun or is_gerund(head.core)) or len(words) > 8:
        return ""
    return lower_first(thing) if takes_are(words) == (word in _PLURAL) else ""


def _ending(found: Framing, thing: str) -> Framing:
    """The framing with the thing for the pronoun at the end of each sentence."""

    def named(text: str) -> str:
        return _AT_END.sub(lambda _: thing, text)

    texts = tuple(map(named, found.alternatives))
    return replace(found, neutral=named(found.neutral), claim=named(found.claim), negation=named(found.negation),
                   alternatives=texts)  # fmt: skip


def _with(found: Framing, thing: str) -> Framing:
    def named(text: str) -> str:
        return _OPENING.sub(lambda _: thing[:1].upper() + thing[1:], text, count=1) if _OPENING.match(text) else text

    neutral = _ASKED.sub(lambda m: m[0].replace(m["word"], thing), found.neutral, count=1)
    return replace(
        found,
        neutral=neutral,
        claim=named(found.claim),
        negation=named(found.negation),
        alternatives=tuple(map(named, found.alternatives)),
        topic=thing,
    )
