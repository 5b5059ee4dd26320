"""A claim about one effect of a thing, and the wider dispute about the thing itself.

'Ferries cut pollution.' is about pollution; wider is the question whether ferries are a good thing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tools.language.grammar.boundary import head_noun
from tools.language.grammar.clause import from_statement
from tools.language.grammar.inflect import base_form, is_gerund
from tools.language.grammar.lexicon import Word, join, words_of
from tools.language.grammar.tidying import tidy
from tools.language.grammar.weighing import thing_is_good
from tools.language.grammar.wellformed import sound
from tools.language.grammar.word_classes import (
    AUXILIARIES,
    CHANGES,
    CONJUNCTIONS,
    PEOPLE,
    RELATIVES,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
)

_HELPERS = frozenset("do does did will would can could may might must has have had".split())
_PARTICLES = frozenset(["up", "down", "about", "to"])
_NEEDS = {"lead": ("to",), "contribute": ("to",), "push": ("up", "down"), "drive": ("up", "down"), "speed": ("up",)}
"""Verbs that have an effect only with one of these words after them."""
_OF_SEVERAL = {"do": True, "have": True, "does": False, "has": False}
_MAKES = frozenset(["make", "keep", "leave"])
_LONGEST_SUBJECT = 8


@dataclass(frozen=True, slots=True)
class Narrow:
    """What the claim says an effect on, and question, claim and negation of the wider dispute."""

    aspect: str
    question: str
    claim: str
    negation: str


def narrowed(claim: str) -> Narrow | None:
    """The aspect and the wider dispute of a claim about an effect.

    None for any other claim, and where its subject is a pronoun or somebody, or is not certain.
    """
    words = words_of(tidy(claim).rstrip(" .!?"))
    clause = from_statement(words)
    if clause is None or clause.aux not in _HELPERS or not sound(clause):
        return None
    subject = words_of(clause.subject)
    aspect = _aspect(words_of(clause.rest))
    if not aspect or not _is_thing(subject):
        return None
    wider = thing_is_good(clause.subject)
    if clause.aux in _OF_SEVERAL:
        wider = replace(wider, aux="are" if _OF_SEVERAL[clause.aux] else "is")
    return Narrow(aspect, wider.question(), wider.statement(), wider.denial())


def _aspect(rest: Sequence[Word]) -> str:
    """The object of a verb of effect, or ''."""
    at = 0
    while at < len(rest) and (rest[at].adverb or rest[at].core == "been"):
        at += 1
    if at + 1 >= len(rest):
        return ""
    core, after = rest[at].core, rest[at + 1].core
    verb = core if core in CHANGES or core in _NEEDS or core in _MAKES else base_form(core)
    if verb == "help" and (after == "to" or (base_form(after) == "" and after in CHANGES)):
        return _aspect(rest[at + 2 if after == "to" else at + 1 :])
    if verb in _NEEDS and after not in _NEEDS[verb]:
        return ""
    if verb not in CHANGES and verb not in _NEEDS and verb not in _MAKES:
        return ""
    object_ = _object(rest[at + 1 :])
    return _made(object_) if verb in _MAKES else join(object_).rstrip(",;:")


def _object(words: Sequence[Word]) -> list[Word]:
    """The noun phrase after the verb, up to another clause."""
    begin = next((i for i, w in enumerate(words) if w.core not in _PARTICLES), len(words))
    found: list[Word] = []
    for word in words[begin:]:
        if word.core in SUBORDINATORS | RELATIVES | AUXILIARIES | {"because", "by", "so", "but", "as", "than"}:
            break
        found.append(word)
        if word.closes:
            break
    named = any(w.noun or is_gerund(w.core) or w.tag == "CD" for w in found)
    return found if named and not any(w.core in SUBJECT_PRONOUNS for w in found) else []


def _made(words: list[Word]) -> str:
    """'streets safer' as 'streets': what is made worse, better or any other way."""
    at = next((i for i, w in enumerate(words) if i and w.tag in ("JJR", "RBR")), None)
    if at is None and len(words) > 1 and words[-1].adjective:
        at = len(words) - 1
    return join(words[:at]) if at else ""


def _is_thing(subject: Sequence[Word]) -> bool:
    """Whether the subject names a thing that can be good or bad: no pronoun, nobody, no clause."""
    first = subject[0]
    head = head_noun(subject)
    if head is None or len(subject) > _LONGEST_SUBJECT or (first.determiner and first.core not in ("a", "an", "the")):
        return False
    if any(w.core in SUBJECT_PRONOUNS | RELATIVES | SUBORDINATORS | AUXILIARIES or w.closes for w in subject):
        return False
    if any(w.core in CONJUNCTIONS for w in subject) and is_gerund(first.core):
        return False
    named = all(w.text[:1].isupper() and not w.text.isupper() for w in subject)
    return not named and not _somebody(head) and (head.noun or is_gerund(first.core))


def _somebody(head: Word) -> bool:
    core = head.core
    singular = core[:-1] if core.endswith("s") else core
    return core in PEOPLE or singular in PEOPLE or singular.endswith(("ist", "ician", "eer"))
