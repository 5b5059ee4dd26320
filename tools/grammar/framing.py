"""The embedded framing of a question: its neutral form, the claim at issue and the claim's denial.

The work is done by rules over parts of speech, without a model: `lexicon` tags words, `subject` finds where the
subject ends, `clause` builds statement, denial and question, `openers` takes off what stands around the clause.
"""

import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from tools.grammar.alternatives import choices, comparison, split_clauses
from tools.grammar.clause import Clause, from_question, from_statement, lower_first
from tools.grammar.inflect import base_form, is_gerund, verb_strength
from tools.grammar.lexicon import Word, join, lookup, words_of
from tools.grammar.openers import asks_opinion, denies, inner_claim, person_swapped, rating, strip_tail, tidy
from tools.grammar.weighing import weighed
from tools.grammar.word_classes import (
    AUXILIARIES,
    BE,
    CONJUNCTIONS,
    DO,
    EFFECTS,
    MODALS,
    PREPOSITIONS,
    RATINGS,
    SUBORDINATORS,
)

Form = Literal["polar", "choice", "open", "claim", "none"]

_WH = re.compile(r"(?:what|which|who|whom|whose|when|where|why|how)(?:'s|'re)?\b", re.I)
_ASKS_OPENLY = re.compile(r"(?:tell|explain|describe|discuss|compare|list|name|summari[sz]e|give|show|write)\b", re.I)
_POLICY = frozenset(
    "ban end stop tax cap limit cut raise fund scrap axe close open free fix boycott stop start".split()
)
_VERDICT = re.compile(r"(?:yes or no|for or against|good or bad|pros? (?:or|and|vs\.?) cons?)\W*$", re.I)
_LEADS = PREPOSITIONS | SUBORDINATORS | {"to", "now", "today", "according", "nowadays", "once", "currently"}
_MOST_COMMAS = 6  # a clause that introduces a question has no more


@dataclass(frozen=True, slots=True)
class Framing:
    """What a question asks. `claim` and `negation` end in a full stop and are empty for open questions and none."""

    form: Form
    neutral: str
    claim: str = ""
    negation: str = ""
    alternatives: tuple[str, ...] = ()
    topic: str = ""


def frame(question: str) -> Framing:
    """Frame one question, claim or imperative; never raises for any text.

    Raises ModelError when TextBlob's lexicon is not installed.
    """
    text = tidy(question)
    words = words_of(text)
    if not any(any(c.isalpha() for c in word.core) for word in words) or _foreign(words):
        return Framing("none", _asked(text))
    title, body = _after_title(text)
    if title and _VERDICT.match(body):
        be = "are" if words_of(title)[-1].plural else "is"
        return _answered(Clause(lower_first(title), be, "a good thing"), "polar")
    found = _framed(body, asked=text.endswith("?"))
    if title and found.form in ("polar", "claim", "choice"):
        return _resolved(found, title)
    if found.form == "none" and title:
        return _titled(title, body, text)
    return found


def _framed(text: str, asked: bool) -> Framing:
    text = text.rstrip(" ?.!")
    if not text:
        return Framing("none", "")
    text, tagged = strip_tail(text)
    lead, text = _lead(text)
    if not lead and (worth := weighed(text)):
        return _answered(worth, "polar")
    if items := comparison(text):
        topic = " or ".join(re.split(r" (?:is|are) ", item)[0] for item in items)
        return Framing("choice", _asked(text), alternatives=items, topic=topic)
    inner = inner_claim(text)
    flip = denies(text)
    if inner != text and not lead:
        lead, inner = _lead(inner)
    words = words_of(inner)
    if not words:
        return Framing("none", _asked(text))
    if len(words) > 3 and _presumes(words):
        words = words[1:]
    imperative = words[0].core == "do" and words[1:2] and words[1].core == "not" and not asked
    if words[0].core in AUXILIARIES and len(words) > 2 and not imperative:
        return _polar(words, lead, flip)
    if _WH.match(inner) or _ASKS_OPENLY.match(inner):
        return Framing("open", _asked(f"{lead} {text}".strip()), topic=_open_topic(words))
    clause = _stated(words, lead, inner != text)
    if clause is None:
        topic = inner if len(words) > 1 and all(word.noun or word.adjective or word.preposition or word.determiner
                                                or word.core == "and" for word in words) else ""  # fmt: skip
        return Framing("none", _asked(text), topic=topic)
    polar = asked or tagged or (inner != text and words_of(text)[0].core in AUXILIARIES)
    return _answered(replace(clause, denied=clause.denied != flip), "polar" if polar else "claim", asks_opinion(text))


def _presumes(words: list[Word]) -> bool:
    """'Why is sugar bad' asks for the reasons of what is at issue; 'Why does bread rise' for those of a fact."""
    if words[0].core == "why":
        return words[1].core in BE | MODALS or (words[1].core in DO and any(w.core in EFFECTS for w in words[2:]))
    return words[0].core == "how" and words[1].core in BE and any(w.core in RATINGS for w in words[3:])


def _polar(words: list[Word], lead: str, flip: bool) -> Framing:
    if pair := split_clauses(words):
        statements = tuple(clause.statement() for clause in pair)
        return Framing("choice", _asked(join(words)), alternatives=statements, topic=pair[0].topic())
    clause = rating(from_question(words, lead))
    if not clause.rest:
        return Framing("polar", _asked(join(words)), topic=clause.topic())
    if statements := choices(clause):
        return Framing("choice", clause.question(), alternatives=statements, topic=clause.topic())
    return _answered(replace(clause, denied=clause.denied != flip), "polar")


def _answered(clause: Clause, form: Form, opinion: bool = False) -> Framing:
    spoken = person_swapped(clause, opinion)
    return Framing(form, clause.question(), spoken.statement(), spoken.denial(), topic=clause.topic())


def _stated(words: list[Word], lead: str, reported: bool) -> Clause | None:
    """The clause of a statement or an imperative."""
    first = words[0]
    if first.core == "do" and len(words) > 2 and words[1].core == "not":
        return Clause("we", "should", join(words[2:]), lead, denied=True)
    clause = from_statement(words, lead)
    if clause is not None:
        return clause
    bans = first.core in _POLICY or verb_strength(first.core) >= 2
    if len(words) > 1 and bans and not words[1].preposition and words[1].core != "and":
        text = join(words)
        return Clause("we", "should", text[:1].lower() + text[1:], lead)
    if reported and is_gerund(first.core) and (base := base_form(first.core)):
        return Clause("we", "should", " ".join([base, join(words[1:])]).strip(), lead)
    return Clause(join(words), "should", "be supported", lead) if reported and first.tag != "SYM" else None


def _lead(text: str) -> tuple[str, str]:
    """'In a democracy, should …' as its lead (comma included) and the clause that it introduces."""
    opening = words_of(text)
    if not opening or opening[0].core in AUXILIARIES or (_WH.match(text) and opening[0].core not in _LEADS):
        return "", text
    introduces = opening[0].core in _LEADS
    for match in islice(re.finditer(r",\s+", text), _MOST_COMMAS):
        rest = text[match.end() :]
        after = words_of(rest)
        inverted = len(after) > 3 and after[0].core in AUXILIARIES and not verb_strength(after[1].core)
        asks = inverted or (introduces and bool(_WH.match(rest)))
        states = introduces and bool(after) and after[0].core not in CONJUNCTIONS and from_statement(after) is not None
        if asks or states:
            return text[: match.start() + 1], rest
    return "", text


def _after_title(text: str) -> tuple[str, str]:
    """'Brexit: was it a good choice?' as title and question; the title is empty where there is none."""
    title, colon, body = text.partition(": ")
    head = words_of(title)
    if not colon or not head or len(head) > 8 or not body.strip(" ?.!"):
        return "", text
    if head[0].core in AUXILIARIES or _WH.match(title):
        return "", text
    if _OR_TITLE.search(title):
        return "", text
    return title.strip(), body.strip()


_OR_TITLE = re.compile(r"\b(?:or|vs?\.?|versus)\b", re.I)


def _resolved(found: Framing, title: str) -> Framing:
    """The title in place of a pronoun that stands for it."""
    opening = re.compile(r"^(It|This|They|That)(?= (?:is|was|are|were|has|have|does|do|should|will|would|can|could)\b)")
    asked = re.compile(r"^(\w+) (it|this|they|that)\b")

    def named(sentence: str) -> str:
        return opening.sub(lambda _: title, sentence)

    if not any(opening.match(s) for s in (found.claim, *found.alternatives)):
        return replace(found, topic=found.topic or title)
    neutral = asked.sub(lambda m: f"{m[1]} {title}", found.neutral)
    texts = tuple(named(s) for s in found.alternatives)
    return replace(found, neutral=neutral, claim=named(found.claim), negation=named(found.negation), alternatives=texts,
                   topic=title)  # fmt: skip


def _titled(title: str, body: str, text: str) -> Framing:
    """'Open source: the best way to develop software?' asks whether the one is the other."""
    words = words_of(body)
    if text.endswith("?") and words and (words[0].determiner or words[0].adjective):
        plural = words_of(title)[-1].plural
        clause = Clause(title, "are" if plural else "is", body.rstrip(" ?.!"))
        return _answered(clause, "polar")
    return Framing("none", _asked(text), topic=title)


def _foreign(words: list[Word]) -> bool:
    """Most small words are none of the English lexicon's."""
    small = [word for word in words if word.text.islower() and word.core.isalpha()]
    return len(small) >= 3 and sum(not lookup(word.core) for word in small) > 0.6 * len(small)


def _open_topic(words: list[Word]) -> str:
    content = [word for word in words if not (_WH.match(word.core) or word.core in AUXILIARIES)]
    while content and (content[0].determiner or content[0].adverb or content[0].preposition):
        content.pop(0)
    return join(content).strip(" ?.!,;:")


def _asked(text: str) -> str:
    text = text.strip().rstrip(" ?.!,;:")
    return f"{text[:1].upper()}{text[1:]}?" if text else ""
